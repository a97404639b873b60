/* Pieces that split patterns cut, white space, and patterns that are refused or hostile. */
#include "base/err.h"
#include "base/mem.h"
#include "prompt/presplit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void join_piece(void *ctx, str piece)
{
    buf_str(ctx, piece);
    buf_char(ctx, '|');
}

static void assert_split(const char *const *regex, str text, const char *want)
{
    struct presplit p = {0};
    struct buf got = {0};

    for (; *regex; regex++)
        if (presplit_add(&p, str_of(*regex)) < 0)
            fail_msg("%s", err_text());
    assert_int_equal(presplit_run(&p, text, join_piece, &got), 0);
    assert_string_equal(got.p ? got.p : "", want);
    buf_reset(&got);
    presplit_reset(&p);
}

#define REGEX(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_split(void **state)
{
    (void)state;
    assert_split(REGEX("b+"), STR("abbcab"), "a|bb|ca|b|");
    assert_split(REGEX("\\p{N}{1,3}", "[^x]+"), STR("a12345x"), "a|123|45|x|");
    assert_split(REGEX("\\p{N}", "\\s+(?!\\S)|\\s+"), STR("  1  a"),
                 "  |1| | |a|");                    /* ends where its piece does */
    assert_split(REGEX("b*"), STR("aab"), "aa|b|"); /* no empty matches */
    assert_split(REGEX("."), STR(""), "");
    assert_split(REGEX("\\\\s"), STR("a\\s "), "a|\\s| |"); /* a backslash, then an s */
}

/* White space of Unicode, which U+180E is not (since 6.3). */
static void test_white_space(void **state)
{
    static const uint32_t space[] = {9,      10,     11,     12,     13,     32,
                                     0x85,   0xA0,   0x1680, 0x2000, 0x200A, 0x2028,
                                     0x2029, 0x202F, 0x205F, 0x3000};
    static const uint32_t other[] = {0x180E, 0x200B, 0x1C, 0x1F, 0xFEFF, 0x2060, 'a'};

    (void)state;
    for (size_t i = 0; i < COUNT(space) + COUNT(other); i++) {
        struct buf text = {0}, want = {0};
        bool is_space = i < COUNT(space);

        buf_char(&text, 'x');
        buf_utf8(&text, is_space ? space[i] : other[i - COUNT(space)]);
        buf_str(&want, is_space ? STR("x|") : buf_view(&text));
        buf_add(&want, text.p + 1, is_space ? text.n - 1 : 0);
        buf_char(&want, '|');
        assert_split(REGEX("\\s+"), buf_view(&text), want.p);
        assert_split(REGEX("[^\\S]+"), buf_view(&text), want.p);
        assert_split(REGEX("\\S+"), buf_view(&text), want.p);
        buf_reset(&text);
        buf_reset(&want);
    }
}

static void test_refused_patterns(void **state)
{
    static const char *const bad[] = {"\\w+", "\\bx",   "(a)\\1", "\\C", "\\h",      "(",
                                      "[a",   "a{3,2}", "*",      "",    "\\p{Nope}"};
    struct presplit p = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(presplit_add(&p, str_of(bad[i])), RECTO_EMODEL);
    assert_int_equal(p.n_step, 0);
    for (int i = 0; i < PRESPLIT_MAX_STEPS; i++)
        assert_int_equal(presplit_add(&p, STR("a")), 0);
    assert_int_equal(presplit_add(&p, STR("a")), RECTO_EMODEL);
    presplit_reset(&p);
}

/* Exponential patterns end with a sentence, and soon. */
static void test_hostile_patterns(void **state)
{
    static const char *const bad[] = {"(x+x+)+y", "(x|xx)+y", "(?:(?:x*)*)*y", "((x?){30}){30}y"};
    struct buf text = {0}, sink = {0};

    (void)state;
    for (int i = 0; i < 500; i++)
        buf_char(&text, 'x');
    buf_char(&text, 'z');
    buf_char(&text, 'y');
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct presplit p = {0};
        int rc = presplit_add(&p, str_of(bad[i]));

        assert_int_equal(rc, 0);
        rc = presplit_run(&p, buf_view(&text), join_piece, &sink);
        assert_true(rc == 0 || rc == RECTO_EMODEL);
        presplit_reset(&p);
    }
    buf_reset(&text);
    buf_reset(&sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_white_space),
        cmocka_unit_test(test_refused_patterns),
        cmocka_unit_test(test_hostile_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
