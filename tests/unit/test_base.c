#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/queue.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void utf8_follows_the_table_of_unicode(void **state)
{
    static const struct {
        const char *bytes;
        int length;
        uint32_t code;
    } cases[] = {
        {"a", 1, 'a'},
        {"\xC3\xA9", 2, 0xE9},
        {"\xE4\xB8\xAD", 3, 0x4E2D},
        {"\xF0\x9F\x98\x80", 4, 0x1F600},
        {"", 0, 0xFFFD},
        {"\xE4\xB8", 0, 0xFFFD}, /* may become a character */
        {"\xF0\x9F\x98", 0, 0xFFFD},
        {"\xC0\x80", -1, 0xFFFD}, /* overlong */
        {"\xE0\x80\x80", -1, 0xFFFD},
        {"\xED\xA0\x80", -1, 0xFFFD},     /* a surrogate */
        {"\xF4\x90\x80\x80", -1, 0xFFFD}, /* over U+10FFFF */
        {"\xF0\x9F(", -2, 0xFFFD},        /* two bytes belong together, the third does not */
        {"\x80", -1, 0xFFFD},
        {"\xFF", -1, 0xFFFD},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t code;
        int n = utf8_next(str_of(cases[i].bytes), &code);

        assert_int_equal(n, cases[i].length);
        if (n > 0)
            assert_int_equal(code, cases[i].code);
    }
}

static void every_code_point_survives(void **state)
{
    for (uint32_t c = 1; c <= 0x10FFFF; c++) {
        struct buf b = {0};
        uint32_t back;

        if (c == 0xD800)
            c = 0xE000;
        buf_utf8(&b, c);
        assert_int_equal(utf8_next(buf_view(&b), &back), (int)b.n);
        assert_int_equal(back, c);
        buf_reset(&b);
    }
}

static void strings(void **state)
{
    struct buf b = {0};

    buf_fmt(&b, "%s-%d", "ab", 7);
    buf_char(&b, '!');
    assert_string_equal(b.p, "ab-7!");
    assert_true(str_starts(buf_view(&b), STR("ab")));
    assert_true(str_ends(buf_view(&b), STR("7!")));
    assert_false(str_ends(STR("!"), STR("7!")));
    assert_int_equal(str_find(STR("aXbX"), STR("X"), 2), 3);
    assert_int_equal(str_find(STR("ab"), STR("X"), 0), 2);
    assert_int_equal(str_find(STR("ab"), STR("b"), 9), 2);
    assert_true(str_eq(str_trim(STR(" \t a b\r\n")), STR("a b")));
    assert_int_equal(str_trim(STR(" \n")).n, 0);
    buf_reset(&b);
}

static void an_arena_counts_what_it_then_holds(void **state)
{
    struct arena counting = {0}, real;
    char *memory;
    size_t mark;

    assert_null(arena_take(&counting, 100));
    mark = arena_mark(&counting);
    arena_take(&counting, 1000);
    arena_release(&counting, mark);
    arena_take(&counting, 10);
    assert_int_equal(counting.peak, 128 + 1024);
    memory = mem_alloc(counting.peak);
    real = (struct arena){.base = memory, .cap = counting.peak};
    assert_ptr_equal(arena_take(&real, 100), memory);
    assert_non_null(arena_take(&real, 1000));
    assert_false(arena_failed(&real));
    assert_null(arena_take(&real, 1));
    assert_true(arena_failed(&real));
    free(memory);
}

static void errors_are_sentences_of_their_thread(void **state)
{
    assert_int_equal(err(RECTO_EKIND, "%s: no", "x"), RECTO_EKIND);
    assert_string_equal(err_text(), "x: no");
    assert_int_equal(err_prefix(RECTO_EKIND, "page %d", 3), RECTO_EKIND);
    assert_string_equal(err_text(), "page 3: x: no");
    assert_string_equal(recto_error_name(RECTO_EKIND), "E_KIND");
    assert_string_equal(recto_error_name(-999), "E_UNKNOWN");
}

static void a_written_file_is_whole_or_not_there(void **state)
{
    char dir[] = "/tmp/recto-test-base-XXXXXX", *path, *below;
    struct buf b = {0};

    assert_non_null(mkdtemp(dir));
    path = file_join(dir, "a.txt");
    below = file_join(dir, "none/b.txt");
    assert_int_equal(file_write(path, STR("one")), 0);
    assert_int_equal(file_write(path, STR("two")), 0);
    assert_int_equal(file_read(&b, path, 100), 0);
    assert_string_equal(b.p, "two");
    assert_int_equal(file_read(&b, path, 2), RECTO_ETOOLARGE);
    assert_int_equal(file_write(below, STR("x")), RECTO_EOUTPUT);
    assert_non_null(strstr(err_text(), "none/b.txt"));
    assert_int_equal(file_read(&b, below, 100), RECTO_ENOTFOUND);
    assert_int_equal(file_read(&b, dir, 100), RECTO_EREAD);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
    buf_reset(&b);
    free(path);
    free(below);
}

/* ---- threads --------------------------------------------------------------------------------------------------------- */

static void add_one(void *ctx, int64_t i, int worker)
{
    atomic_int *count = ctx;

    atomic_fetch_add(&count[i], 1);
}

static void a_pool_runs_every_item_once(void **state)
{
    enum { N = 1000 };
    static atomic_int count[N];

    for (int threads = 1; threads <= 4; threads++) {
        struct pool *p = pool_open(threads);

        for (int round = 0; round < 50; round++)
            pool_run(p, add_one, count, round % 7 ? N : 1);
        pool_close(p);
    }
    for (int i = 1; i < N; i++)
        assert_int_equal(atomic_load(&count[i]), 4 * 42);
    assert_int_equal(atomic_load(&count[0]), 4 * 50);
    assert_in_range(pool_usable_cores(), 1, 100000);
}

static void *consume(void *arg)
{
    struct queue *q = arg;
    intptr_t sum = 0, item;

    while ((item = (intptr_t)queue_get(q, -1)))
        sum += item;
    return (void *)sum;
}

static void a_queue_hands_each_item_to_one(void **state)
{
    struct queue q;
    pthread_t t[3];
    intptr_t total = 0;

    queue_open(&q, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, consume, &q), 0);
    for (intptr_t i = 1; i <= 5000; i++)
        assert_int_equal(queue_put_wait(&q, (void *)i), 0);
    queue_stop(&q);
    for (int i = 0; i < 3; i++) {
        void *sum;

        pthread_join(t[i], &sum);
        total += (intptr_t)sum;
    }
    assert_int_equal(total, 5000 * 5001 / 2);
    assert_int_equal(queue_put(&q, &q), RECTO_ECANCELED);
    queue_close(&q);
}

static void a_full_queue_says_so_and_an_empty_one_waits_no_longer_than_told(void **state)
{
    struct queue q;
    int64_t start = clock_ns();

    queue_open(&q, 1);
    assert_null(queue_get(&q, 30));
    assert_true(clock_ns() - start >= 30000000);
    assert_int_equal(queue_put(&q, &q), 0);
    assert_int_equal(queue_put(&q, &q), RECTO_EAGAIN);
    assert_int_equal(queue_len(&q), 1);
    queue_stop(&q);
    assert_ptr_equal(queue_get(&q, -1), &q); /* what is inside comes out */
    assert_null(queue_get(&q, -1));
    queue_close(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_follows_the_table_of_unicode),
        cmocka_unit_test(every_code_point_survives),
        cmocka_unit_test(strings),
        cmocka_unit_test(an_arena_counts_what_it_then_holds),
        cmocka_unit_test(errors_are_sentences_of_their_thread),
        cmocka_unit_test(a_written_file_is_whole_or_not_there),
        cmocka_unit_test(a_pool_runs_every_item_once),
        cmocka_unit_test(a_queue_hands_each_item_to_one),
        cmocka_unit_test(a_full_queue_says_so_and_an_empty_one_waits_no_longer_than_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
