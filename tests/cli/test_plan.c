/* Names of results, what is refused before any work, and files that are whole or absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "output.h"
#include "save.h"
#include "progress.h"

enum { MAX_ARG = 16 };

static char home[] = "/tmp/recto-test-plan-XXXXXX";

static int in_new_folder(void **state)
{
    say_init(SAY_ERROR);
    setenv("RECTO_CONFIG", "/dev/null", 1);
    return mkdtemp(home) && chdir(home) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", home);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* Plan `recto read LINE`; the words live as long as the next call. */
static int plan(struct plan *p, const char *line)
{
    static char words[1024];
    static struct options o;
    char *argv[MAX_ARG];
    int argc = 0;

    options_reset(&o);
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w && argc < MAX_ARG; w = strtok(NULL, " "))
        argv[argc++] = w;
    assert_int_equal(options_parse(&o, "read", FOR_READ, argc, argv), 0);
    return plan_make(p, &o);
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0);
    close(fd);
}

static void names(void **state)
{
    static const struct {
        const char *line, *file[4]; /* first format of each input */
    } cases[] = {
        {"-o out/ scans/a.png", {"out/a.md"}},
        {"-o out// a.tar.png", {"out/a.tar.md"}},
        {"-o out/ -f raw,json a", {"out/a.raw.txt"}},
        {"-o out/ .hidden", {"out/.hidden.md"}},
        {"-o out/ -f json -", {"out/stdin.json"}},
        {"-o out/ a.png a.jpg b.png", {"out/a.png.md", "out/a.jpg.md", "out/b.md"}},
        {"-o text.md a.png", {"text.md"}},
        {"-o . a.png", {"./a.md"}},
        {"-o out/ --official image -f mmd a_pdf.png", {"out/a_pdf.mmd"}},
        {"-o out/ --official pdf -f mmd scans/a_pdf.pdf", {"out/a_mmd.mmd"}},
        {"-o out/ --official pdf -f raw a.pdf b.tif", {"out/a_det.mmd", "out/b.raw.txt"}},
        {"-o out/ --official pdf -f md a_pdf.pdf", {"out/a_pdf.md"}},
        {"-o out/ --official eval -f mmd a.jpg b.png.png c.tif",
         {"out/a.md", "out/b.md.md", "out/c.mmd"}},
    };
    struct plan p;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(plan(&p, cases[i].line), 0);
        assert_false(p.to_stdout);
        for (int d = 0; d < p.n_doc; d++)
            assert_string_equal(p.target[d].file[0], cases[i].file[d]);
        plan_reset(&p);
    }
    assert_int_equal(plan(&p, "-f raw,json,raw -o out/ a"), 0);
    assert_int_equal(p.n_format, 2);
    assert_string_equal(p.target[0].file[1], "out/a.json");
    plan_reset(&p);
}

static void standard_output(void **state)
{
    struct plan p;

    assert_int_equal(plan(&p, "a.png b.png"), 0);
    assert_true(p.to_stdout);
    assert_null(p.target[1].file[0]);
    plan_reset(&p);
    assert_int_equal(plan(&p, "-o - -f txt a.png"), 0);
    assert_true(p.to_stdout);
    assert_string_equal(p.format[0], "txt");
    plan_reset(&p);
}

static void refused(void **state)
{
    static const struct {
        const char *line;
        int exit;
    } cases[] = {
        {"", EXIT_USAGE},
        {"-f pdf a", EXIT_USAGE},
        {"-f md, a", EXIT_USAGE},
        {"-f md,txt a", EXIT_USAGE},
        {"-o one.md a b", EXIT_USAGE},
        {"-o one.md -f md,txt a", EXIT_USAGE},
        {"-o out/ x/a.png y/a.png", EXIT_USAGE},
        {"-o out/ -f txt,raw a.raw.png a.png", 0},
        {"-o out/ --official eval -f mmd a.jpg a.png", EXIT_USAGE},
        {"-o out/ --official eval -f md,mmd a.jpg", EXIT_USAGE},
        {"-o out/ --official eval -f txt,mmd a.jpg", 0},
        {"-o there.md a", EXIT_USAGE},
        {"-o there.md --force a", 0},
        {"-o input.png --force input.png", EXIT_USAGE},
        {"-o input.png/x.md a", EXIT_OUTPUT},
        {"-o input.png/new/ a", EXIT_OUTPUT},
        {"-o nowhere/x.md a", EXIT_OUTPUT},
        {"-o deep/er/ a", 0},
        {"-o /dev/null a", 0},
    };
    struct plan p;

    touch("there.md");
    touch("input.png");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int exit = plan(&p, cases[i].line);
        if (exit != cases[i].exit)
            fail_msg("recto read %s: %d, expected %d", cases[i].line, exit, cases[i].exit);
        plan_reset(&p);
    }
    assert_int_equal(access("deep/er", W_OK), 0);
    assert_int_equal(mkdir("deep/er/a.md", 0777), 0);
    assert_int_equal(plan(&p, "-o deep/er --force a"), EXIT_USAGE); /* a folder has the name */
    plan_reset(&p);
}

static void file_is_whole_or_absent(void **state)
{
    char text[16] = "";
    struct stat st;

    assert_int_equal(save_file("result.md", "first", 5), 0);
    assert_int_equal(save_file("./result.md", "second", 6), 0);
    int fd = open("result.md", O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 6);
    close(fd);
    assert_string_equal(text, "second");
    assert_int_equal(stat("result.md", &st), 0);
    assert_int_equal(st.st_mode & 0111, 0);

    assert_int_equal(save_file("nowhere/result.md", "x", 1), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(save_file("/dev/full", "x", 1), -1); /* in place: no rename over a device */
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(save_file("/dev/null", "x", 1), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_not_equal(system("ls -A | grep -q tmp-"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(standard_output),
        cmocka_unit_test(refused),
        cmocka_unit_test(file_is_whole_or_absent),
    };
    return cmocka_run_group_tests(tests, in_new_folder, leave_folder);
}
