/* The option table: where a value may come from, which place wins, what is refused and with which
 * words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

enum { MAX_ARG = 16 };

/* Parse `line`, parted at spaces; the words stay in a static buffer, as argv would. */
static int parse(struct options *o, unsigned mask, const char *line)
{
    static char words[1024];
    char *argv[MAX_ARG];
    int argc = 0;

    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w && argc < MAX_ARG; w = strtok(NULL, " "))
        argv[argc++] = w;
    return options_parse(o, mask == FOR_VERIFY ? "verify" : "read", mask, argc, argv);
}

/* A configuration file that lives as long as the test program. */
static char path[] = "/tmp/recto-test-options-XXXXXX";

static void config(const char *text)
{
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    assert_true(fd >= 0 && ftruncate(fd, 0) == 0);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    setenv("RECTO_CONFIG", path, 1);
}

static int remove_config(void **state)
{
    unlink(path);
    return 0;
}

static int no_outside(void **state)
{
    for (int k = 0; k < N_OPT; k++) {
        char name[64] = "RECTO_";
        size_t n = strlen(name);
        for (const char *s = option_table[k].name; *s; s++)
            name[n++] = *s == '-' ? '_' : (char)(*s - 'a' + 'A');
        name[n] = 0;
        unsetenv(name);
    }
    setenv("RECTO_CONFIG", "/dev/null", 1);
    return 0;
}

static void every_row_is_whole(void **state)
{
    for (int k = 0; k < N_OPT; k++) {
        const struct option_def *d = &option_table[k];
        assert_non_null(d->name);
        assert_non_null(d->help);
        assert_true(d->mask != 0);
        assert_int_equal(options_find(d->mask, d->name, strlen(d->name)), k);
        assert_true(d->type == TYPE_FLAG ? !d->values : d->values != NULL);
        assert_true((d->type != TYPE_INT && d->type != TYPE_REAL) || d->max > d->min);
        for (int j = 0; j < k; j++)
            assert_true(d->letter == 0 || d->letter != option_table[j].letter);
    }
}

static void forms_of_an_argument(void **state)
{
    static const char *const same[] = {"--max-tokens 7 -q a", "--max-tokens=7 --quiet a",
                                       "a -n7 --quiet=yes", "-qn 7 a", "-n 5 -n 7 -q -- a"};
    struct options o;

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(parse(&o, FOR_READ, same[i]), 0);
        assert_int_equal(opt_int(&o, OPT_MAX_TOKENS, 0), 7);
        assert_true(opt_flag(&o, OPT_QUIET));
        assert_false(opt_given(&o, OPT_STREAM));
        assert_int_equal(o.n_input, 1);
        assert_string_equal(o.input[0], "a");
        options_reset(&o);
    }
    assert_int_equal(parse(&o, FOR_READ, "- -- -q --stream"), 0);
    assert_int_equal(o.n_input, 3);
    assert_string_equal(o.input[0], "-");
    assert_string_equal(o.input[2], "--stream");
    options_reset(&o);
}

static void refused_arguments(void **state)
{
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"--strem a", "unknown option --strem; see recto read --help"},
        {"-z", "unknown option -z"},
        {"--golden x", "belongs to recto verify, not to recto read"},
        {"--max-tokens", "--max-tokens needs a value"},
        {"-n", "-n needs a value"},
        {"-n 0", "'0' is not a whole number from 1 to 1000000"},
        {"-n 12x", "--max-tokens: '12x' is not a whole number"},
        {"-n 99999999999999999999", "is not a whole number"},
        {"--max-tokens=", "is not a whole number"},
        {"--temperature hot", "is not a number from 0 to 10"},
        {"--temperature nan", "is not a number"},
        {"--top-p 1.5", "is not a number"},
        {"--router int8", "--router: 'int8' is not one of fp32|bf16"},
        {"--precision fp", "'fp' is not one of auto|bf16|fp32"},
        {"--precision bf16|fp32", "is not one of"},
        {"--stream=perhaps", "neither yes nor no"},
        {"--model=", "--model: the value is empty"},
        {"--config /nonexistent/recto.ini", "/nonexistent/recto.ini: No such file"},
        {"--config /", "/: Is a directory"},
    };
    struct options o;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(&o, FOR_READ, cases[i].line), -1);
        if (!strstr(o.error, cases[i].said))
            fail_msg("%s: said '%s', expected '%s'", cases[i].line, o.error, cases[i].said);
        options_reset(&o);
    }
}

static void argument_over_environment_over_file(void **state)
{
    struct options o;
    config("max-tokens = 30\nthreads = 2\n[read]\nthreads = 3\ntask: text\n");
    char origin[256];

    setenv("RECTO_MAX_TOKENS", "20", 1);
    assert_int_equal(parse(&o, FOR_READ, "-n 10"), 0);
    assert_int_equal(opt_int(&o, OPT_MAX_TOKENS, 0), 10);
    assert_int_equal(opt_int(&o, OPT_THREADS, 0), 3);
    assert_string_equal(opt_text(&o, OPT_TASK), "text");
    assert_string_equal(opt_origin(&o, OPT_MAX_TOKENS), "--max-tokens");
    snprintf(origin, sizeof origin, "threads in %s", path);
    assert_string_equal(opt_origin(&o, OPT_THREADS), origin);
    options_reset(&o);

    assert_int_equal(parse(&o, FOR_READ, ""), 0);
    assert_int_equal(opt_int(&o, OPT_MAX_TOKENS, 0), 20);
    assert_string_equal(opt_origin(&o, OPT_MAX_TOKENS), "RECTO_MAX_TOKENS");
    options_reset(&o);

    unsetenv("RECTO_MAX_TOKENS");
    assert_int_equal(parse(&o, FOR_READ, ""), 0);
    assert_int_equal(opt_int(&o, OPT_MAX_TOKENS, 0), 30);
    options_reset(&o);
}

static void file_sections_are_commands(void **state)
{
    struct options o;

    /* verify knows no --task, and [read] is not its section: neither is an error. */
    config("task = text\nthreads = 2\n[read]\nthreads = 3\nmax-tokens = 4\n");
    assert_int_equal(parse(&o, FOR_VERIFY, "--golden d"), 0);
    assert_int_equal(opt_int(&o, OPT_THREADS, 0), 2);
    assert_false(opt_given(&o, OPT_TASK));
    options_reset(&o);
}

static void refused_files(void **state)
{
    static char long_line[400] = "prompt = ";
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"threads = 1\nthredas = 2\n", "line 2: unknown option 'thredas'"},
        {"\n[raed]\nthreads = 1\n", "line 3: no command is called 'raed'"},
        {"threads = 1\nthreads = 2\n", "line 2: given twice"},
        {"threads = 1\n  2\n", "line 2: given twice (or continued"},
        {"threads\n", "line 1: neither [command] nor name = value"},
        {"threads = many\n", "threads in /tmp/"},
        {"config = x\n", "line 1: unknown option 'config'"},
        {"task =\n", "the value is empty"},
        {long_line, "line 1: longer than 197 bytes"},
    };
    struct options o;

    memset(long_line + strlen(long_line), 'x', 300);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config(cases[i].text);
        assert_int_equal(parse(&o, FOR_READ, "a"), -1);
        if (!strstr(o.error, cases[i].said))
            fail_msg("'%s': said '%s', expected '%s'", cases[i].text, o.error, cases[i].said);
        options_reset(&o);
    }
}

static void refused_environment(void **state)
{
    struct options o;

    setenv("RECTO_THREADS", "-1", 1);
    assert_int_equal(parse(&o, FOR_READ, "a"), -1);
    assert_non_null(strstr(o.error, "RECTO_THREADS: '-1' is not a whole number from 0"));
    options_reset(&o);
    setenv("RECTO_THREADS", "", 1); /* empty is unset, as `RECTO_THREADS= recto` means it */
    assert_int_equal(parse(&o, FOR_READ, "a"), 0);
    assert_false(opt_given(&o, OPT_THREADS));
    options_reset(&o);
}

static void help_comes_whatever_else_is_wrong(void **state)
{
    struct options o;

    setenv("RECTO_THREADS", "many", 1);
    setenv("RECTO_CONFIG", "/nonexistent", 1);
    assert_int_equal(parse(&o, FOR_READ, "-h"), 0);
    assert_true(o.wants_help);
    options_reset(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_row_is_whole, no_outside),
        cmocka_unit_test_setup(forms_of_an_argument, no_outside),
        cmocka_unit_test_setup(refused_arguments, no_outside),
        cmocka_unit_test_setup(argument_over_environment_over_file, no_outside),
        cmocka_unit_test_setup(file_sections_are_commands, no_outside),
        cmocka_unit_test_setup(refused_files, no_outside),
        cmocka_unit_test_setup(refused_environment, no_outside),
        cmocka_unit_test_setup(help_comes_whatever_else_is_wrong, no_outside),
    };
    return cmocka_run_group_tests(tests, NULL, remove_config);
}
