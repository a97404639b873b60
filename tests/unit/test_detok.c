/* However bytes are cut into ids, the text is the same. */
#include "base/mem.h"
#include "result/detok.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Ids 0-255 are the single bytes; 256 has no text; 257-260 are longer. */
static char bytes[256];
static str piece[261];

static int make_pieces(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
        piece[i] = (str){&bytes[i], 1};
    }
    piece[256] = (str){"", 0};
    piece[257] = STR("<td>");
    piece[258] = STR("\x98\x80!");    /* the end of U+1F600 and more */
    piece[259] = STR("ab\xf0\x9f");   /* its start behind other text */
    piece[260] = STR("\x80\xe2\x82"); /* an end, then a start */
    return 0;
}

static void assert_text(const int32_t *id, int n, str want, int n_held, int n_textless,
                        int n_invalid)
{
    struct buf got = {0};
    struct detok d;

    detok_init(&d, piece, (int)COUNT(piece));
    for (int i = 0; i < n; i++)
        detok_put(&d, id[i], &got);
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.n ? got.p : "", want.p, want.n);
    assert_int_equal(d.n_textless, n_textless);
    assert_int_equal(d.n_invalid, n_invalid);
    assert_int_equal(detok_flush(&d), n_held);
    assert_int_equal(detok_flush(&d), 0);
    buf_reset(&got);
}

#define IDS(...) (int32_t[]){__VA_ARGS__}, (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void test_pieces(void **state)
{
    (void)state;
    assert_text(IDS('a', 257, 'b'), STR("a<td>b"), 0, 0, 0);
    assert_text(IDS(259, 258), STR("ab😀!"), 0, 0, 0);
    assert_text(IDS(0xe2, 0x82, 260, 0xac, 'x'), STR("\u2080€x"), 0, 0, 0);
    assert_text(IDS(0), STR("\0"), 0, 0, 0);
}

static void test_held_at_the_end(void **state)
{
    (void)state;
    assert_text(IDS('a', 0xc3), STR("a"), 1, 0, 0);
    assert_text(IDS('a', 0xf0, 0x9f, 0x98), STR("a"), 3, 0, 0);
    assert_text(IDS(259), STR("ab"), 2, 0, 0);
}

static void test_invalid(void **state)
{
    (void)state;
    assert_text(IDS(0xff), STR("\uFFFD"), 0, 0, 1);
    assert_text(IDS(0x80, 'a'), STR("\uFFFDa"), 0, 0, 1);
    assert_text(IDS(0xc3, 257), STR("\uFFFD<td>"), 0, 0, 1);
    assert_text(IDS(0xf0, 0x9f, 'a'), STR("\uFFFDa"), 0, 0, 1);
    assert_text(IDS(0xf0, 0x9f, 0xf0, 258), STR("\uFFFD\uFFFD!"), 0, 0,
                2); /* f0 98 80 could go on */
    assert_text(IDS(0xed, 0xa0, 0x80), STR("\uFFFD\uFFFD\uFFFD"), 0, 0, 3);
    assert_text(IDS(0xf0, 0x9f, 0x98, 0xc3, 0xa9), STR("\uFFFDé"), 0, 0, 1);
}

static void test_textless(void **state)
{
    (void)state;
    assert_text(IDS(256, 261, -1, 2147483647, 'a'), STR("a"), 0, 4, 0);
    assert_text(IDS(0xc3, 256, 0xa9), STR("é"), 0, 1, 0); /* nothing stands between the halves */
}

/* Two cuts anywhere in s, so every split point of every character is met: the text is s. */
static void test_every_split(void **state)
{
    static const char text[] = "aé߿ࠀ€�𐀀😀􏿿z";
    const size_t n = sizeof(text) - 1;

    (void)state;
    for (size_t i = 0; i <= n; i++)
        for (size_t j = i; j <= n; j++) {
            str part[3] = {{text, i}, {text + i, j - i}, {text + j, n - j}};
            struct buf got = {0};
            struct detok d;
            uint32_t code;

            detok_init(&d, part, 3);
            for (int k = 0; k < 3; k++) {
                detok_put(&d, k, &got);
                for (str left = buf_view(&got); left.n;) { /* whole characters at any time */
                    int len = utf8_next(left, &code);
                    assert_true(len > 0);
                    left.p += len, left.n -= (size_t)len;
                }
            }
            assert_int_equal(detok_flush(&d), 0);
            assert_string_equal(got.p, text);
            buf_reset(&got);
        }
}

/* Random bytes, mostly of broken characters: one piece, or one piece a byte, or anything between.
 */
static void test_random_cuts(void **state)
{
    static const unsigned char pool[] = {'a',  0x80, 0xbf, 0xc2, 0xe0, 0xa0, 0xed,
                                         0x9f, 0xf0, 0x90, 0xf4, 0x8f, 0xff};
    uint32_t seed = 3;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char s[12];
        str part[12];
        struct buf whole = {0}, cut = {0};
        struct detok a, b;
        int n_part = 0;

        for (size_t i = 0, start = 0; i < sizeof(s); i++) {
            seed = seed * 1664525u + 1013904223u;
            s[i] = (char)pool[(seed >> 8) % sizeof(pool)];
            if ((seed >> 20) % 2 || i + 1 == sizeof(s)) {
                part[n_part++] = (str){s + start, i + 1 - start};
                start = i + 1;
            }
        }
        detok_init(&a, &(str){s, sizeof(s)}, 1);
        detok_put(&a, 0, &whole);
        detok_init(&b, part, n_part);
        for (int k = 0; k < n_part; k++)
            detok_put(&b, k, &cut);
        assert_true(str_eq(buf_view(&whole), buf_view(&cut)));
        assert_int_equal(a.n_invalid, b.n_invalid);
        assert_int_equal(detok_flush(&a), detok_flush(&b));
        buf_reset(&whole);
        buf_reset(&cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_held_at_the_end),
        cmocka_unit_test(test_invalid),     cmocka_unit_test(test_textless),
        cmocka_unit_test(test_every_split), cmocka_unit_test(test_random_cuts),
    };

    return cmocka_run_group_tests(tests, make_pieces, NULL);
}
