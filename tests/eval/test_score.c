/* Text metrics: pairs worked out by hand, and the fast distance against the table of the textbook. */
#include "score.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true((a) - (b) < 1e-12 && (b) - (a) < 1e-12)

static struct eval_text text(const char *s, enum eval_norm norm)
{
    return eval_text_of(s, strlen(s), norm);
}

static void is_normal(const char *from, const char *to, enum eval_norm norm)
{
    struct eval_text a = text(from, norm), b = text(to, EVAL_N0);

    if (a.n != b.n || memcmp(a.code, b.code, a.n * sizeof *a.code) != 0)
        fail_msg("%s of '%s' is not '%s'", eval_norm_name(norm), from, to);
    eval_text_reset(&a);
    eval_text_reset(&b);
}

static void normalisations(void **state)
{
    is_normal(" \n a  b\t", "a  b", EVAL_N0);
    is_normal("# Head", "# Head", EVAL_N0);
    is_normal(" a \n\n b\u00A0\u3000c ", "a b c", EVAL_N1);
    is_normal("## Head\n\n**bold** text", "Head bold text", EVAL_N1);
    is_normal("<table><tr><td>A</td><td>B</td></tr></table>", "A B", EVAL_N1);
    is_normal("so $x^2$ and\n\n\\[ y \\]", "so x^2 and y", EVAL_N1);
    is_normal("e\u0301", "\u00E9", EVAL_N1);
    is_normal("a\u0323\u0307 a\u0307\u0323", "\u1EA1\u0307 \u1EA1\u0307",
              EVAL_N1);                                               /* order of marks */
    is_normal("\uAC00 \u1100\u1161\u11A8", "\uAC00 \uAC01", EVAL_N1); /* Hangul */
    is_normal("\uFB01 \uFF21 \u00B2", "\uFB01 \uFF21 \u00B2", EVAL_N1);
    is_normal("\uFB01 \uFF21 \u00B2", "fi a 2", EVAL_N2);
    is_normal("Stra\u00DFE \u201Cx\u201D \u2019 \u2013 \u2014 \u2212 \u00ABy\u00BB",
              "strasse \"x\" ' - - - \"y\"", EVAL_N2);
    is_normal("a\xFFz\xE4\xB8", "a\uFFFDz\uFFFD\uFFFD", EVAL_N0);
    is_normal("", "", EVAL_N1);
}

struct pair {
    const char *truth, *text;
    double cer, cer_ns, wer, ned; /* under N1 */
};

static void pairs(void **state)
{
    static const struct pair pairs[] = {
        {"abc", "abc", 0, 0, 0, 0},
        {"", "", 0, 0, 0, 0},
        {"", "x", 1, 1, 1, 1},
        {"x", "", 1, 1, 1, 1},
        {"kitten", "sitting", 3.0 / 6, 3.0 / 6, 1, 3.0 / 7}, /* k-s, e-i, +g */
        {"ab", "xyzxyz", 3, 3, 1, 1},                        /* over 1 */
        {"the cat sat", "the bat sat", 1.0 / 11, 1.0 / 9, 1.0 / 3, 1.0 / 11},
        {"the cat sat", "the catsat", 1.0 / 11, 0, 2.0 / 3,
         1.0 / 11}, /* a word lost, one replaced */
        {"one two", "one  two\n", 0, 0, 0, 0},
        {"# A\n\nb", "A b", 0, 0, 0, 0},
        {"\u4E2D\u6587\u5B57", "\u4E2D\u5B57", 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3},
        {"\u3042b c", "\u3042 b c", 1.0 / 4, 0, 0, 1.0 / 5}, /* kana is a word alone */
        {"caf\u00E9", "cafe\u0301", 0, 0, 0, 0},
        {"a b c d", "b c d e", 4.0 / 7, 2.0 / 4, 2.0 / 4, 4.0 / 7},
        /* characters */
        {"abc", "abcd", 1.0 / 3, 1.0 / 3, 1, 1.0 / 4},
        {"abcd", "abc", 1.0 / 4, 1.0 / 4, 1, 1.0 / 4},
        {"abc", "cba", 2.0 / 3, 2.0 / 3, 1, 2.0 / 3},
        {"aaaa", "bbbb", 1, 1, 1, 1},
        {"aXbXc", "abc", 2.0 / 5, 2.0 / 5, 1, 2.0 / 5},
        {"abcdefghij", "bcdefghijk", 2.0 / 10, 2.0 / 10, 1, 2.0 / 10},
        {"A", "a", 1, 1, 1, 1},
        {"1,234.50", "1,234.5", 1.0 / 8, 1.0 / 8, 1, 1.0 / 8},
        {"1,234.50", "1.234,50", 2.0 / 8, 2.0 / 8, 1, 2.0 / 8},
        {"\U0001F600", "\U0001F601", 1, 1, 1, 1},
        /* words and white space */
        {"ab ab ab", "ab ab", 3.0 / 8, 2.0 / 6, 1.0 / 3, 3.0 / 8},
        {"one two three four", "one three four", 4.0 / 18, 3.0 / 15, 1.0 / 4, 4.0 / 18},
        {"one two three", "one two two three", 4.0 / 13, 3.0 / 11, 1.0 / 3, 4.0 / 17},
        {"a\n\nb", "b\n\na", 2.0 / 3, 1, 1, 2.0 / 3},
        {"a\u00A0b", "a b", 0, 0, 0, 0},
        {"a\u3000b", "ab", 1.0 / 3, 0, 1, 1.0 / 3},
        {"  a  ", "a", 0, 0, 0, 0},
        {"\n\n", "", 0, 0, 0, 0},
        {"\n\n", "\t", 0, 0, 0, 0},
        {" ", "a", 1, 1, 1, 1},
        /* marks on letters */
        {"na\u00EFve", "naive", 1.0 / 5, 1.0 / 5, 1, 1.0 / 5},
        {"nai\u0308ve", "na\u00EFve", 0, 0, 0, 0},
        {"a\u0301b", "ab", 1.0 / 2, 1.0 / 2, 1, 1.0 / 2},
        {"x\u0302y", "xy", 1.0 / 3, 1.0 / 3, 1, 1.0 / 3}, /* no such letter: two codes */
        {"x\u0323\u0302", "x\u0302\u0323", 0, 0, 0, 0},
        {"e\u0301 e\u0301", "\u00E9 e", 1.0 / 3, 1.0 / 2, 1.0 / 2, 1.0 / 3},
        {"\u0438\u0306", "\u0439", 0, 0, 0, 0},
        {"Stra\u00DFe", "Strasse", 2.0 / 6, 2.0 / 6, 1, 2.0 / 7},
        {"\uFB01", "fi", 2, 2, 1, 1},
        /* scripts */
        {"\u03B1 \u03B2 \u03B3", "\u03B1 \u03B3", 2.0 / 5, 1.0 / 3, 1.0 / 3, 2.0 / 5},
        {"\u4E2D\u6587 \u5B57", "\u4E2D\u6587\u5B57", 1.0 / 4, 0, 0, 1.0 / 4},
        {"\u4E2D\u6587", "\u6587\u4E2D", 1, 1, 1, 1},
        {"\u4E2D\u6587", "", 1, 1, 1, 1},
        {"", "\u4E2D\u6587", 1, 1, 1, 1},
        {"\u65E5\u672C\u8A9Etext", "\u65E5\u672Ctext", 1.0 / 7, 1.0 / 7, 1.0 / 4, 1.0 / 7},
        {"\uD55C\uAE00 \uBB38\uC11C", "\uD55C\uAE00 \uBB38", 1.0 / 5, 1.0 / 4, 1.0 / 2, 1.0 / 5},
        {"\u1112\u1161\u11AB", "\uD55C", 0, 0, 0, 0},
        /* marks of Markdown, HTML and math */
        {"<table><tr><td>A</td><td>B</td></tr></table>", "A B", 0, 0, 0, 0},
        {"<table><tr><td>A</td><td>B</td></tr></table>", "A C", 1.0 / 3, 1.0 / 2, 1.0 / 2, 1.0 / 3},
        {"**so** $x^2$", "so x^2", 0, 0, 0, 0},
        {"a < b", "a &lt; b", 0, 0, 0, 0},
        {"&amp;lt;", "&lt;", 1, 1, 1, 1}, /* "&lt;" and "<" */
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct eval_text a = text(pairs[i].truth, EVAL_N1), b = text(pairs[i].text, EVAL_N1);

        print_message("'%s' '%s'\n", pairs[i].truth, pairs[i].text);
        NEAR(eval_rate(eval_char_errors(&a, &b)), pairs[i].cer);
        NEAR(eval_cer(pairs[i].truth, pairs[i].text, EVAL_N1), pairs[i].cer);
        NEAR(eval_rate(eval_char_errors_ns(&a, &b)), pairs[i].cer_ns);
        NEAR(eval_rate(eval_word_errors(&a, &b)), pairs[i].wer);
        NEAR(eval_ned(&a, &b), pairs[i].ned);
        NEAR(eval_ned(&b, &a), pairs[i].ned);
        eval_text_reset(&a);
        eval_text_reset(&b);
    }
}

static size_t textbook(const struct eval_text *a, const struct eval_text *b)
{
    size_t *row = calloc(b->n + 1, sizeof *row), d;

    for (size_t j = 0; j <= b->n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a->n; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b->n; j++) {
            size_t best = corner + (a->code[i - 1] != b->code[j - 1]);

            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    d = row[b->n];
    free(row);
    return d;
}

/* Lengths round the edges of blocks of 64; few letters, so that there is much to choose; some long and alike or not, so
 * that every width round the diagonal is tried. */
static void against_the_textbook(void **state)
{
    enum { MOST = 2000 };
    static int32_t a[MOST], b[MOST];
    unsigned seed = 1;

    for (int k = 0; k < 4000; k++) {
        int most = k % 100 == 0 ? MOST : k % 8 ? 140 : 400, keep = k % 300 == 0 ? 40 : 3;
        struct eval_text x = {a, (size_t)(rand_r(&seed) % most)};
        struct eval_text y = {b, (size_t)(rand_r(&seed) % most)};
        int letters = 1 + rand_r(&seed) % (k % 3 ? 4 : 3000);

        if (k % 200 == 0)
            y.n = x.n;
        for (size_t i = 0; i < x.n; i++)
            a[i] = rand_r(&seed) % letters;
        for (size_t i = 0; i < y.n; i++)
            b[i] = i < x.n && rand_r(&seed) % keep ? a[i] : rand_r(&seed) % letters;
        assert_int_equal(eval_lev(&x, &y), textbook(&x, &y));
        assert_int_equal(eval_lev(&y, &x), eval_lev(&x, &y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalisations),
        cmocka_unit_test(pairs),
        cmocka_unit_test(against_the_textbook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
