/* OmniDocBench: items of a page, normal forms, pairs, scores; values worked out by hand. */
#include "latex.h"
#include "omni.h"
#include "omni_items.h"
#include "omni_match.h"
#include "omni_norm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

/* ---- items ----------------------------------------------------------------------------------- */

/* "T text|F formula|I inline|H html|L latex|C code" in their order. */
static void items_are(const char *md, const char *want)
{
    static const char letters[] = "TCFIHL";
    struct omni_items l = omni_items_of(md);
    struct page_text got = {0};

    print(&got, "%s", "");
    for (int i = 0; i < l.n; i++)
        print(&got, "%s%c %s", i ? "|" : "", letters[l.item[i].kind], l.item[i].text);
    if (strcmp(got.p, want) != 0)
        fail_msg("'%s' has\n%s\nnot\n%s", md, got.p, want);
    free(got.p);
    omni_items_reset(&l);
}

static void items(void **state)
{
    items_are("", "");
    items_are("one\n\ntwo\nlines", "T one|T two\nlines");
    items_are("one\ntwo", "T one|T two"); /* no empty line: at every line */
    items_are("a ![alt](x.png) b\n\nc", "T a  b|T c");
    items_are("```markdown\na\n\nb\n```", "T a|T b");
    items_are("x________y", "T x____y");
    items_are("a\n\n$$x\ny$$\n\nb", "T a|F \\[x y\\]|T b");
    /* places of paragraphs leave empty lines out: c counts as before the formula */
    items_are("a\n\nb\n\nc $x$", "T a|T b|T c $x$|I \\[x\\]");
    items_are("\\[ x \\]\n\nb", "F \\[ x \\]|T b");
    items_are("let $x_1$ be\n\nb", "T let $x_1$ be|I \\[x_1\\]|T b");
    items_are("a\n\n<table><tr><td>1</td></tr></table>\n\nb",
              "T a|H <table><tr><td>1</td></tr></table>|T b");
    items_are("<table><tr><td><table></table></td></tr></table>",
              "H <table><tr><td><table></table></td></tr></table>");
    items_are("<table>open\n\n<table>b</table>", "T <table>open|H <table>b</table>");
    items_are("| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
              "H <table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>|T end");
    items_are("\\begin{tabular}{l}a\\end{tabular}\n\nb",
              "L \\begin{tabular}{l}a\\end{tabular}|T b");
    items_are("\\section{One}\n\nb", "T One|T b");
    items_are("$$$$\n\nb", "I \\[\\]|T b");
}

/* ---- normal forms ---------------------------------------------------------------------------- */

static void is(struct eval_text t, const char *want)
{
    struct eval_text w = eval_text_of(want, strlen(want), EVAL_AS_IS);

    if (t.n != w.n || memcmp(t.code, w.code, t.n * sizeof *t.code) != 0) {
        for (size_t i = 0; i < t.n; i++)
            printf("%04x ", (unsigned)t.code[i]);
        fail_msg("is not '%s'", want);
    }
    eval_text_reset(&t);
    eval_text_reset(&w);
}

static void normal_forms(void **state)
{
    is(omni_text("A b, c_d!\n2\u00B2 \u4E2D\u6587\u3002"), "Abc_d2\u00B2\u4E2D\u6587");
    is(omni_text("e\u0301 na\u00EFve"), "ena\u00EFve"); /* combining marks go */
    is(omni_text("a\\tb\\nc/td"), "abcd");
    is(omni_text("let $\\alpha_1$ be $x$"), "let\u03B1_1bex");
    is(omni_text("\\(\\frac{a}{b}\\)"), "ab");
    is(omni_formula("$$ X^{2} \\quad \\mathrm{d}x \\tag{1} $$"), "x^{2}{d}x");
    is(omni_formula("\\[ \\left( A \\right). \\]"), "(a)");
    is(omni_formula("\\begin{array}{l} a \\\\ b \\end{array}"), "{l}a\\\\b");
    is(omni_formula_as_text("x = \\sin \\hat{y} \\mathbb{R}"), "xsiny\u211D");
    char *t = omni_table(
        "<table class=\"x\"><thead><tr><th colspan=\"2\">A &amp; B</th></tr></thead>\n<tbody><tr>"
        "<td align=\"left\">1<sup>2</sup></td><td><span>x</span></td></tr></tbody></table>");
    assert_string_equal(
        t,
        "<table border=\"1\" ><tr><td colspan=\"2\">A & B</td></tr><tr><td>12</td><td>x</td></tr>"
        "</table>");
    free(t);
    t = omni_table("no table");
    assert_string_equal(t, "");
    free(t);
}

static void latex(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"\\alpha\\beta x", "αβx"},
        {"\\text{if } n", "if  n"},
        {"\\mathcal{L}\\mathfrak g\\mathbb{N1}", "ℒ𝔤ℕ𝟙"},
        {"\\'e\\\"{o}\\c{c}", "e\u0301o\u0308c\u0327"},
        {"\\label{eq}a\\unknown{b}", "ab"},
        {"5\\% \\{x\\}", "5% {x}"},
        {"{a{b}c}", "abc"},
        {"\\hat", ""},
        {"\\frac{a", "a"},
        {"\\mathbb", ""},
        {"x\\", "x"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *t = latex_to_text(pairs[i][0]);

        assert_string_equal(t, pairs[i][1]);
        free(t);
    }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Lines parted by |; ~ in front: ignorable. */
static int lines_of(const char *s, struct omni_line *line)
{
    int n = 0;

    while (*s) {
        size_t len = strcspn(s, "|");

        line[n].is_ignorable = *s == '~';
        line[n].norm = eval_text_of(s + (*s == '~'), len - (*s == '~'), EVAL_AS_IS);
        n++;
        s += len + (s[len] == '|');
    }
    return n;
}

/* "0=1 1,2=0 3=" : truths = predictions */
static void pairs_are(const char *truth, const char *read, const char *want)
{
    struct omni_line t[16], r[16];
    int n_t = lines_of(truth, t), n_r = lines_of(read, r);
    struct omni_pairs p = omni_match(t, n_t, r, n_r);
    struct page_text got = {0};

    print(&got, "%s", "");
    for (int i = 0; i < p.n; i++) {
        print(&got, "%s", i ? " " : "");
        for (int k = 0; k < p.pair[i].n_truth; k++)
            print(&got, "%s%d", k ? "," : "", p.pair[i].truth[k]);
        print(&got, "=");
        for (int k = 0; k < p.pair[i].n_pred; k++)
            print(&got, "%s%d", k ? "," : "", p.pair[i].pred[k]);
    }
    if (strcmp(got.p, want) != 0)
        fail_msg("%s and %s pair as %s, not %s", truth, read, got.p, want);
    free(got.p);
    omni_pairs_reset(&p);
    for (int i = 0; i < n_t; i++)
        eval_text_reset(&t[i].norm);
    for (int i = 0; i < n_r; i++)
        eval_text_reset(&r[i].norm);
}

static void pairing(void **state)
{
    pairs_are("", "", "");
    pairs_are("abcdefgh", "", "0=");
    pairs_are("", "abc", "");
    pairs_are("alphabet|numerals", "numerals|alphabet", "0=1 1=0");
    pairs_are("alphabet|~numerals", "numerals|alphabet",
              "0=1"); /* the ignorable one takes its text away */
    /* one paragraph read as two */
    pairs_are("thequickbrownfoxjumpsoverthelazydog", "thequickbrownfox|jumpsoverthelazydog",
              "0=0,1");
    /* two read as one */
    pairs_are("abcdefghijklmnop|qrstuvwxyz", "abcdefghijklmnopqrstuvwxyz", "0,1=0");
    /* nothing alike: paired all the same, to be scored by the distance */
    pairs_are("aaaa|bbbb", "cccc|dddd", "0=0 1=1");
    pairs_are("aaaa|bbbb", "cccc", "0=0 1=");
}

/* ---- pages ----------------------------------------------------------------------------------- */

static double number(const json_t *v, const char *key, int at)
{
    v = json_object_get(json_object_get(v, "omnidoc"), key);
    v = at >= 0 ? json_array_get(v, (size_t)at) : v;
    assert_true(json_is_number(v));
    return json_number_value(v);
}

static json_t *page_of(const char *dets, const char *relations)
{
    char *text = eval_string(
        "{\"page_info\":{\"image_path\":\"a.jpg\"},\"layout_dets\":[%s],\"extra\":{\"relation\":[%s]}}",
        dets, relations);
    json_t *page = json_loads(text, 0, NULL);

    assert_non_null(page);
    free(text);
    return page;
}

#define TEXT(id, order, category, text)                                       \
    "{\"anno_id\":" #id ",\"order\":" #order ",\"category_type\":\"" category \
    "\",\"text\":\"" text "\"}"
#define TABLE(id, order, html) \
    "{\"anno_id\":" #id ",\"order\":" #order ",\"category_type\":\"table\",\"html\":\"" html "\"}"
#define FORMULA(id, order, tex)              \
    "{\"anno_id\":" #id ",\"order\":" #order \
    ",\"category_type\":\"equation_isolated\",\"latex\":\"" tex "\"}"

static void pages(void **state)
{
    json_t *page = page_of(
        TEXT(1, 1, "title", "Head line") "," TEXT(2, 2, "text_block", "abcd efgh ijkl") "," TEXT(
            3, 3, "page_number",
            "17") "," TABLE(4, 4,
                            "<table><tr><td>a</td><td>b</td></tr></table>") "," FORMULA(5, 5,
                                                                                        "$$x^2$$"),
        "");
    json_t *s = omni_score(
        page,
        "# Head line\n\nabcd efgh ijXl\n\n17\n\n<table><tr><td>a</td><td>c</td></tr></table>\n\n"
        "\\[x^3\\]\n");

    NEAR(number(s, "text", 0), 1); /* X for k; "17" is taken by the page number */
    NEAR(number(s, "text", 1), 8 + 12);
    NEAR(number(s, "text_edit", -1), 1.0 / 20);
    NEAR(number(s, "formula_edit", -1), 1.0 / 3);
    NEAR(number(s, "teds", -1), 2.0 / 3);
    NEAR(number(s, "teds_s", -1), 1);
    NEAR(number(s, "order_edit", -1), 0);
    NEAR(number(s, "surplus", 0), 0);
    json_decref(s);

    s = omni_score(page, "abcd efgh ijkl\n\n# Head line\n");
    NEAR(number(s, "text", 0), 0);
    NEAR(number(s, "order_edit", -1), 1); /* two of two are elsewhere */
    NEAR(number(s, "teds", -1), 0);
    json_decref(s);

    s = omni_score(page, "");
    NEAR(number(s, "text_edit", -1), 1);
    NEAR(number(s, "formula_edit", -1), 1);
    NEAR(number(s, "table_edit", -1), 1);
    json_decref(s);
    json_decref(page);
}

/* What nobody wrote costs nothing, and is told. */
static void surplus(void **state)
{
    json_t *page = page_of(TEXT(1, 1, "text_block", "abcd efgh ijkl"), "");
    json_t *s = omni_score(page, "abcd efgh ijkl\n\nsomething else, 99\n");

    NEAR(number(s, "text_edit", -1), 0);
    NEAR(number(s, "surplus", 0), 15);
    NEAR(number(s, "surplus", 1), 12);
    json_decref(s);
    json_decref(page);
}

/* Blocks that a page break cut are one; a formula read as words is scored as text. */
static void joined(void **state)
{
    json_t *page = page_of(
        TEXT(1, 1, "text_block", "first half and ") "," TEXT(
            2, 3, "text_block", "second half") "," FORMULA(3, 2, "\\\\alpha beta"),
        "{\"relation_type\":\"truncated\",\"source_anno_id\":1,\"target_anno_id\":2}");
    json_t *s = omni_score(page, "first half and second half\n\n\u03B1beta\n");
    char *md = omni_truth_md(page);

    NEAR(number(s, "text", 0), 0);
    NEAR(number(s, "text", 1), 22 + 5);
    assert_null(json_object_get(json_object_get(s, "omnidoc"), "formula_edit"));
    assert_string_equal(md, "first half and second half\n\n$$\n\\alpha beta\n$$\n\n");
    free(md);
    json_decref(s);
    json_decref(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items),   cmocka_unit_test(normal_forms), cmocka_unit_test(latex),
        cmocka_unit_test(pairing), cmocka_unit_test(pages),        cmocka_unit_test(joined),
        cmocka_unit_test(surplus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
