/* olmOCR-bench: a text that passes and one that fails for every kind of test; ratios by hand. */
#include "olm.h"
#include "olm_table.h"
#include "olm_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

/* ---- texts ----------------------------------------------------------------------------------- */

static void folds_to(const char *md, const char *want)
{
    struct eval_text a = olm_fold(md), b = eval_text_of(want, strlen(want), EVAL_AS_IS);

    if (a.n != b.n || memcmp(a.code, b.code, a.n * sizeof *a.code) != 0)
        fail_msg("'%s' does not fold to '%s'", md, want);
    eval_text_reset(&a);
    eval_text_reset(&b);
}

static void folding(void **state)
{
    folds_to("a<br>b<br/>c", "a b c");
    folds_to("**bold** and *it* and _it_", "bold and it and it");
    folds_to("<b>x</b> <i>y</i>", "x y");
    folds_to("a \n\n\tb", "a b");
    folds_to("e\u0301 \u2018x\u2019 \u201Cy\u201D \u2013\u2014\u2212 \u00B5 \uFF3F",
             "\u00E9 'x' \"y\" --- \u03BC _");
}

static double ratio_of(const char *x, const char *y, bool is_partial)
{
    struct eval_text a = eval_text_of(x, strlen(x), EVAL_AS_IS),
                     b = eval_text_of(y, strlen(y), EVAL_AS_IS);
    double r = is_partial ? olm_partial_ratio(&a, &b) : olm_ratio(&a, &b);

    eval_text_reset(&a);
    eval_text_reset(&b);
    return r;
}

static void ratios(void **state)
{
    NEAR(ratio_of("", "", false), 1);
    NEAR(ratio_of("abcd", "abcd", false), 1);
    NEAR(ratio_of("abcd", "bcde", false), 6.0 / 8);
    NEAR(ratio_of("abcd", "", false), 0);
    NEAR(ratio_of("abc", "xxabcxx", true), 1);
    NEAR(ratio_of("abcd", "xxabXdxx", true), 6.0 / 8);
    NEAR(ratio_of("cdab", "ab", true), 1);
    NEAR(ratio_of("abcd", "cdxx", true), 4.0 / 6); /* clipped at the start: "cd" */
    NEAR(ratio_of("", "abc", true), 0);
}

/* The longest common subsequence of the textbook. */
static size_t textbook(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    static size_t row[201];

    memset(row, 0, sizeof row);
    for (size_t i = 0; i < n; i++) {
        size_t corner = 0;

        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j];

            row[j] = a[i] == b[j - 1] ? corner + 1 : row[j - 1] > above ? row[j - 1] : above;
            corner = above;
        }
    }
    return row[m];
}

static void against_the_textbook(void **state)
{
    int32_t a[200], b[200];
    unsigned seed = 2;

    for (int k = 0; k < 500; k++) {
        struct eval_text x = {a, (size_t)(rand_r(&seed) % 200)},
                         y = {b, (size_t)(rand_r(&seed) % 200)};

        for (int i = 0; i < 200; i++) {
            a[i] = rand_r(&seed) % 4;
            b[i] = rand_r(&seed) % 4;
        }
        if (x.n + y.n > 0)
            NEAR(olm_ratio(&x, &y), 2.0 * (double)textbook(a, x.n, b, y.n) / (double)(x.n + y.n));
    }
}

static void places(void **state)
{
    struct eval_text in = eval_text_of("abc xx abd yy abc", 17, EVAL_AS_IS),
                     what = eval_text_of("abc", 3, EVAL_AS_IS);
    size_t at[8];

    assert_int_equal(olm_find(&what, &in, 0, at, 8), 2);
    assert_int_equal(at[0], 0);
    assert_int_equal(at[1], 14);
    assert_int_equal(olm_find(&what, &in, 1, at, 8), 3);
    assert_int_equal(at[1], 7);
    assert_int_equal(olm_find(&what, &in, 0, at, 1), 1);
    eval_text_reset(&in);
    eval_text_reset(&what);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* 1 passed, 0 failed, -1 unrendered. */
static int verdict(const char *test, char *md)
{
    json_t *t = json_loads(test, 0, NULL), *tests = json_array();
    struct eval_pred p = {.md = md};

    assert_non_null(t);
    json_array_append_new(tests, t);
    json_t *s = olm_score(tests, &p);
    const json_t *passed = json_object_get(
        json_array_get(json_object_get(json_object_get(s, "olmocr"), "tests"), 0), "passed");
    int v = json_is_true(passed) ? 1 : json_is_false(passed) ? 0 : -1;
    json_decref(s);
    json_decref(tests);
    return v;
}

static void kinds(void **state)
{
    static char table[] =
        "<table><tr><th>Year</th><th colspan=2>Sum</th></tr>"
        "<tr><td rowspan=2>2001</td><td>5</td><td>6</td></tr><tr><td>7</td><td>8</td></tr></table>";
    static const struct {
        const char *test;
        const char *md;
        int want;
    } cases[] = {
        {"{\"type\":\"present\",\"text\":\"quick brown\"}", "The **quick** brown fox", 1},
        {"{\"type\":\"present\",\"text\":\"quick brown\"}", "The quick brawn fox", 0},
        {"{\"type\":\"present\",\"text\":\"quick brown\",\"max_diffs\":1}", "The quick brawn fox",
         1},
        {"{\"type\":\"present\",\"text\":\"QUICK\"}", "quick", 0},
        {"{\"type\":\"present\",\"text\":\"QUICK\",\"case_sensitive\":false}", "quick", 1},
        {"{\"type\":\"present\",\"text\":\"fox\",\"first_n\":5}", "the quick fox", 0},
        {"{\"type\":\"present\",\"text\":\"fox\",\"last_n\":3}", "the quick fox", 1},
        {"{\"type\":\"present\",\"text\":\"a long phrase\"}", " ", 0},
        {"{\"type\":\"absent\",\"text\":\"Page 3\"}", "Text\n\nPage 3", 0},
        {"{\"type\":\"absent\",\"text\":\"Page 3\"}", "Text", 1},
        {"{\"type\":\"order\",\"before\":\"alpha\",\"after\":\"omega\"}", "alpha then omega", 1},
        {"{\"type\":\"order\",\"before\":\"alpha\",\"after\":\"omega\"}", "omega then alpha", 0},
        {"{\"type\":\"order\",\"before\":\"alpha\",\"after\":\"omega\"}", "omega alpha omega", 1},
        {"{\"type\":\"order\",\"before\":\"alpha\",\"after\":\"omega\"}", "alpha", 0},
        {"{\"type\":\"order\",\"before\":\"alpha\",\"after\":\"omega\",\"max_diffs\":1}",
         "alpho omeg", 1},
        {"{\"type\":\"table\",\"cell\":\"7\",\"up\":\"5\",\"left\":\"2001\",\"right\":\"8\"}",
         table, 1},
        {"{\"type\":\"table\",\"cell\":\"7\",\"up\":\"6\"}", table, 0},
        {"{\"type\":\"table\",\"cell\":\"8\",\"top_heading\":\"Sum\",\"left_heading\":\"2001\"}",
         table, 1},
        {"{\"type\":\"table\",\"cell\":\"8\",\"top_heading\":\"Year\"}", table, 0},
        {"{\"type\":\"table\",\"cell\":\"2001\",\"down\":\"5\"}", table, 0},
        {"{\"type\":\"table\",\"cell\":\"b\",\"down\":\"2\"}", "| a | b |\n|---|---|\n| 1 | 2 |\n",
         1},
        {"{\"type\":\"table\",\"cell\":\"b\"}", "no table with b", 0},
        {"{\"type\":\"math\",\"math\":\"x^2\"}", "so $ x^2 $ is", 1},
        {"{\"type\":\"math\",\"math\":\"x^2\"}", "so \\[x^2\\] is", 1},
        {"{\"type\":\"math\",\"math\":\"x^2\"}", "so $x^{2}$ is", -1},
        {"{\"type\":\"baseline\"}", "text", 1},
        {"{\"type\":\"baseline\"}", " ... ", 0},
        {"{\"type\":\"baseline\"}", "a \u4E2D", 0},
        {"{\"type\":\"baseline\",\"check_disallowed_characters\":false}", "a \u4E2D", 1},
        {"{\"type\":\"baseline\",\"max_length\":3}", "ab", 1},
        {"{\"type\":\"baseline\",\"max_length\":3}", "abcd", 0},
        {"{\"type\":\"baseline\",\"max_repeats\":3}", "x abababab", 0},
        {"{\"type\":\"baseline\",\"max_repeats\":4}", "x abababab", 1},
        {"{\"type\":\"format\",\"format\":\"heading\",\"text\":\"Intro\"}", "## Intro\n\ntext", 1},
        {"{\"type\":\"format\",\"format\":\"heading\",\"text\":\"Intro\"}", "Intro\n\ntext", 0},
        {"{\"type\":\"format\",\"format\":\"bold\",\"text\":\"key\"}", "a **key** b", 1},
        {"{\"type\":\"format\",\"format\":\"italic\",\"text\":\"key\"}", "a **key** b", 0},
        {"{\"type\":\"format\",\"format\":\"italic\",\"text\":\"key\"}", "a <em>key</em> b", 1},
        {"{\"type\":\"footnote\",\"marker\":\"1\"}", "word[^1] more", 1},
        {"{\"type\":\"footnote\",\"marker\":\"1\"}", "[^1]: the note", 0},
        {"{\"type\":\"footnote\",\"marker\":\"12\"}", "word\u00B9\u00B2 more", 1},
        {"{\"type\":\"footnote\",\"marker\":\"1\",\"appears_before_marker\":\"the word\"}",
         "the word<sup>1</sup>", 1},
        {"{\"type\":\"footnote\",\"marker\":\"1\",\"appears_before_marker\":\"other\"}",
         "the word<sup>1</sup>", 0},
        {"{\"type\":\"footnote\",\"marker\":\"1\",\"appears_after_marker\":\"more\"}",
         "word[^1] more", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *md = eval_copy(cases[i].md);
        int v = verdict(cases[i].test, md);

        if (v != cases[i].want)
            fail_msg("%s on '%s': %d, expected %d", cases[i].test, md, v, cases[i].want);
        free(md);
    }
}

/* Two of three repeats are enough, one is not. */
static void repeats(void **state)
{
    char yes[] = "the fox", no[] = "nothing";
    char *two[] = {yes, no, yes}, *one[] = {no, no, yes};
    json_t *tests = json_loads(
        "[{\"type\":\"present\",\"text\":\"fox\",\"id\":\"a\",\"set\":\"s\"}]", 0, NULL);
    json_t *s = olm_score(tests, &(struct eval_pred){.repeat = two, .n_repeat = 3});

    NEAR(json_number_value(json_object_get(json_object_get(s, "olmocr"), "pass_rate")), 1);
    json_decref(s);
    s = olm_score(tests, &(struct eval_pred){.repeat = one, .n_repeat = 3});
    NEAR(json_number_value(json_object_get(json_object_get(s, "olmocr"), "pass_rate")), 0);
    json_decref(s);
    json_decref(tests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding), cmocka_unit_test(ratios), cmocka_unit_test(against_the_textbook),
        cmocka_unit_test(places),  cmocka_unit_test(kinds),  cmocka_unit_test(repeats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
