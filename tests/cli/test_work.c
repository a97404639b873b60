/* The work file: pages come back as they were put, a torn line is dropped, another identity starts anew, one run at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

static char dir[] = "/tmp/recto-test-work-XXXXXX";
static const char path[] = "doc.recto-work", who[] = "{\"recto-work\":1,\"size\":5}";

static int enter_dir(void **state)
{
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave_dir(void **state)
{
    unlink(path);
    return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static int put(struct work *w, int index, enum recto_status status, const char *text)
{
    struct recto_page p = {.number = 10 + index,
                           .index = index,
                           .n_index = 4,
                           .status = status,
                           .raw = (char *)text,
                           .n_raw = strlen(text)};
    return work_put(w, &p);
}

static void assert_page(const struct work *w, int index, const char *text)
{
    enum recto_status status;
    struct recto_page p;

    assert_true(work_has(w, index, &status));
    assert_int_equal(work_get(w, index, &p), 0);
    assert_int_equal(p.number, 10 + index);
    assert_int_equal(p.index, index);
    assert_int_equal(p.n_index, 4);
    assert_string_equal(p.raw, text);
    recto_page_reset(&p);
}

static void start(struct work *w)
{
    unlink(path);
    assert_int_equal(work_open(w, path, who, false), 0);
    assert_int_equal(put(w, 2, RECTO_PAGE_OK, "two \"quoted\"\n"), 0);
    assert_int_equal(put(w, 0, RECTO_PAGE_BLANK, ""), 0);
    assert_int_equal(put(w, 1, RECTO_PAGE_LOOP, "one one one"), 0);
}

static void append(const char *text)
{
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static long size_of(void)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void pages_come_back(void **state)
{
    struct work w;
    enum recto_status status;

    start(&w);
    assert_page(&w, 2, "two \"quoted\"\n");
    assert_page(&w, 1, "one one one");
    assert_false(work_has(&w, 3, &status));
    assert_false(work_has(&w, 4, &status));
    assert_int_equal(w.n_known, 3);
    assert_int_equal(work_end(&w, true), 0);
    assert_page(&w, 2, "two \"quoted\"\n"); /* still, though the file has gone */
    assert_int_equal(size_of(), -1);
    work_close(&w);
    assert_int_equal(work_open(&w, NULL, NULL, false), 0); /* without a name */
    assert_int_equal(put(&w, 3, RECTO_PAGE_ERROR, "three"), 0);
    assert_page(&w, 3, "three");
    work_close(&w);
}

static void resumes(void **state)
{
    struct work w;
    enum recto_status status;

    start(&w);
    work_close(&w);
    assert_int_equal(work_open(&w, path, who, true), 0);
    assert_true(w.was_there && !w.was_other);
    assert_int_equal(w.n_page, 4);
    assert_int_equal(w.n_known, 2);
    assert_page(&w, 2, "two \"quoted\"\n");
    assert_page(&w, 0, "");
    assert_false(work_has(&w, 1, &status)); /* a loop is tried once more */
    bool *known = work_known(&w);
    assert_true(known[0] && !known[1] && known[2] && !known[3]);
    free(known);
    assert_int_equal(put(&w, 1, RECTO_PAGE_OK, "one"), 0);
    work_close(&w);
    assert_int_equal(work_open(&w, path, who, true), 0);
    assert_page(&w, 1, "one"); /* the later line counts */
    work_close(&w);
}

static void spoilt_lines(void **state)
{
    static const char *const torn[] = {
        "{\"index\":3,\"pages\":4,\"status\":\"ok\",\"page\":{\"page\":13,\"st",
        "{\"index\":3,\"pages\":4,\"status\":\"ok\",\"page\":{\"page\":13}\n",
        "{\"index\":9,\"pages\":4,\"status\":\"ok\",\"page\":{\"page\":13}}\n",
        "{\"index\":-1,\"pages\":4,\"status\":\"ok\",\"page\":{}}\n",
        "{\"index\":3,\"pages\":999999999,\"status\":\"ok\",\"page\":{}}\n",
        "{\"index\":3,\"pages\":4,\"status\":\"fine\",\"page\":{}}\n",
        "\n",
        "nonsense\n",
    };

    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        struct work w;
        enum recto_status status;

        start(&w);
        work_close(&w);
        long whole = size_of();
        append(torn[i]);
        assert_int_equal(work_open(&w, path, who, true), 0);
        assert_int_equal(w.n_known, 2);
        assert_false(work_has(&w, 3, &status));
        assert_int_equal(size_of(), whole);
        assert_int_equal(put(&w, 3, RECTO_PAGE_OK, "three"), 0);
        work_close(&w);
        assert_int_equal(work_open(&w, path, who, true), 0);
        assert_page(&w, 3, "three");
        work_close(&w);
    }
}

/* NUL bytes, as after a power cut. */
static void zeroed_end(void **state)
{
    struct work w;

    start(&w);
    work_close(&w);
    assert_int_equal(truncate(path, size_of() + 100), 0);
    append("\n");
    assert_int_equal(work_open(&w, path, who, true), 0);
    assert_int_equal(w.n_known, 2);
    work_close(&w);
}

static void another_identity(void **state)
{
    struct work w;

    start(&w);
    work_close(&w);
    assert_int_equal(work_open(&w, path, "{\"recto-work\":1,\"size\":6}", true), 0);
    assert_true(w.was_there && w.was_other);
    assert_int_equal(w.n_known, 0);
    work_close(&w);
    start(&w);
    work_close(&w);
    assert_int_equal(work_open(&w, path, who, false), 0); /* without --resume */
    assert_int_equal(w.n_known, 0);
    assert_int_equal(size_of(), (long)strlen(who) + 1);
    work_close(&w);
}

static void one_run_at_a_time(void **state)
{
    struct work w, other;

    start(&w);
    assert_int_equal(work_is_locked(path), 1);
    assert_int_equal(work_open(&other, path, who, true), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    work_close(&other);
    assert_page(&w, 2, "two \"quoted\"\n"); /* undisturbed */
    work_close(&w);
    assert_int_equal(work_is_locked(path), 0);
    unlink(path);
    assert_int_equal(work_is_locked(path), -1);
}

/* What a full disk took of a line goes again, and the next page finds the file whole. */
static void full_disk(void **state)
{
    struct rlimit l, old;
    struct work w;

    start(&w);
    long whole = size_of();
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    l = old;
    l.rlim_cur = (rlim_t)whole + 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
    assert_int_equal(put(&w, 3, RECTO_PAGE_OK, "three"), -1);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(size_of(), whole);
    assert_int_equal(put(&w, 3, RECTO_PAGE_OK, "three"), 0);
    assert_page(&w, 3, "three");
    work_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_come_back),  cmocka_unit_test(resumes),
        cmocka_unit_test(spoilt_lines),     cmocka_unit_test(zeroed_end),
        cmocka_unit_test(another_identity), cmocka_unit_test(one_run_at_a_time),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
