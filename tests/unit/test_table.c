/* The table grammar: recovery, the grid, what may come out as HTML. */
#include "unit/result_pages.h"

#include "result/html.h"
#include "result/span.h"
#include "result/table.h"
#include "hang.h"

#include <string.h>
#include <time.h>

static struct table *read_all(const char *s)
{
    struct table *t;

    assert_true(table_at(str_of(s)));
    assert_int_equal(table_read(str_of(s), &t), strlen(s));
    return t;
}

static void expect_html(const char *in, const char *out)
{
    struct table *t = read_all(in);
    struct buf b = {0};

    table_put_html(&b, t);
    assert_string_equal(b.p, out);
    table_free(t);
    buf_reset(&b);
}

static void expect_rows(const char *in, const char *out)
{
    struct table *t = read_all(in);
    struct buf b = {0};

    buf_add(&b, "", 0);
    table_put_rows(&b, t, buf_str);
    assert_string_equal(b.p, out);
    table_free(t);
    buf_reset(&b);
}

/* The grid as one string: "r,c,rs,cs:text" of each cell. */
static void expect_grid(const char *in, int rows, int cols, const char *cells)
{
    struct table *t = read_all(in);
    struct buf b = {0};

    buf_add(&b, "", 0);
    for (int i = 0; i < t->n_cell; i++) {
        const struct table_cell *c = &t->cell[i];

        buf_fmt(&b, "%s%d,%d,%d,%d:", i ? " " : "", c->row, c->col, c->rowspan, c->colspan);
        buf_str(&b, table_cell_text(t, c));
    }
    assert_string_equal(b.p, cells);
    assert_int_equal(t->n_row, rows);
    assert_int_equal(t->n_col, cols);
    table_free(t);
    buf_reset(&b);
}

#define SIMPLE "<table><tr><td>A</td><td>B</td></tr><tr><td>1</td><td>2</td></tr></table>"

static void test_simple(void **state)
{
    expect_html(SIMPLE, SIMPLE);
    expect_grid(SIMPLE, 2, 2, "0,0,1,1:A 0,1,1,1:B 1,0,1,1:1 1,1,1,1:2");
    expect_rows(SIMPLE, "A\tB\n1\t2");
    expect_html("<TABLE border=1>\n <tr>\n  <TD style=\"x\">A</td >\n</tr>\n</TABLE>",
                "<table><tr><td>A</td></tr></table>");
}

static void test_end(void **state)
{
    struct table *t;
    static const char more[] = SIMPLE " more";

    assert_int_equal(table_read(STR(more), &t), sizeof SIMPLE - 1);
    table_free(t);
    assert_false(table_at(STR("<tables>")));
    assert_false(table_at(STR("<table")));
    assert_false(table_at(STR("</table>")));
    assert_false(table_at(STR("<table <b>")));
    assert_true(table_at(STR("<table/>")));
}

static void test_recovery(void **state)
{
    /* nothing closed */
    expect_html("<table><tr><td>A<td>B<tr><td>1<td>2", SIMPLE);
    expect_html("<table><tr><td>A</td><td>B", "<table><tr><td>A</td><td>B</td></tr></table>");
    /* text where no cell is */
    expect_html("<table><tr>A</tr></table>", "<table><tr><td>A</td></tr></table>");
    expect_html("<table>A<tr><td>B</td></tr></table>",
                "<table><tr><td>A</td></tr><tr><td>B</td></tr></table>");
    expect_html("<table><td>A</td></table>", "<table><tr><td>A</td></tr></table>");
    expect_html("<table><tr><td>A</td>x<td>B</td></tr></table>",
                "<table><tr><td>A</td><td>x</td><td>B</td></tr></table>");
    /* closed twice, or never opened */
    expect_html("<table></td></tr></b><tr><td>A</td></td></tr></tr></table>",
                "<table><tr><td>A</td></tr></table>");
    expect_html("<table></table>", "<table></table>");
    expect_html("<table><tr></tr><tr><td></td></tr></table>",
                "<table><tr></tr><tr><td></td></tr></table>");
}

static void test_sections(void **state)
{
    static const char clean[] =
        "<table><caption>T <b>1</b></caption><thead><tr><th>A</th></tr></thead>"
        "<tbody><tr><td>1</td></tr></tbody></table>";

    expect_html(clean, clean);
    expect_html("<table><thead><tr><th>A<tbody><tr><td>1<caption>T <b>1", clean);
    expect_rows(clean, "T 1\nA\n1");
    expect_html("<table><caption>a</caption><caption>b</caption></table>",
                "<table><caption>a b</caption></table>");
}

static void test_spans(void **state)
{
    expect_grid(
        "<table><tr><td rowspan=\"2\">A</td><td colspan='2'>B</td></tr><tr><td>C</td><td>D</td>"
        "</tr></table>",
        2, 3, "0,0,2,1:A 0,1,1,2:B 1,1,1,1:C 1,2,1,1:D");
    expect_html("<table><tr><td rowspan=2 colspan = 3>A</table>",
                "<table><tr><td colspan=\"3\">A</td></tr></table>");
    expect_rows("<table><tr><td rowspan=2>A<td colspan=2>B<tr><td>C<td>D</table>",
                "A\tB\t\n\tC\tD");
    /* values that are none, or out of 1..1000 */
    expect_grid("<table><tr><td colspan=0>A<td rowspan=9999>B<td colspan=-2>C<td colspan=2.5>D<td "
                "rowspan=x>E<tr><td>F</table>",
                2, 5, "0,0,1,1:A 0,1,1,1:B 0,2,1,1:C 0,3,1,1:D 0,4,1,1:E 1,0,1,1:F");
    expect_grid("<table><tr><td rowspan=1000>A<td>B<tr><td>C</table>", 2, 2,
                "0,0,2,1:A 0,1,1,1:B 1,1,1,1:C");
    expect_grid("<table><tr><td colspan=1000>A</table>", 1, 400, "0,0,1,400:A");
}

/* A wide cell does not overlap what hangs down from the row above: it goes behind it. */
static void test_overlap(void **state)
{
    expect_grid("<table><tr><td>A<td rowspan=2>B<tr><td colspan=2>C<td>D</table>", 2, 5,
                "0,0,1,1:A 0,1,2,1:B 1,2,1,2:C 1,4,1,1:D");
}

static void test_nested(void **state)
{
    static const char in[] =
        "<table><tr><td>x<table><tr><td>a</td><td>b</td></tr></table>y</td><td>z</td></tr></table>";
    struct table *t = read_all(in);

    assert_int_equal(t->n_cell, 2);
    assert_non_null(t->cell[0].nested);
    assert_int_equal(t->cell[0].nested->n_cell, 2);
    table_free(t);
    expect_html(in, in);
    expect_rows(in, "x a; by\tz");
    expect_html("<table><table><td>a",
                "<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>");
}

/* The fourth level is text, and its end does not end the third. */
static void test_depth(void **state)
{
    expect_html(
        "<table><tr><td><table><tr><td><table><tr><td><table><tr><td>x</td></tr></table>y</td>"
        "</tr></table>"
        "</td></tr></table></td></tr></table>",
        "<table><tr><td><table><tr><td><table><tr><td>&lt;table&gt;&lt;tr&gt;&lt;td&gt;x&lt;/td"
        "&gt;&lt;/tr&gt;"
        "&lt;/table&gt;y</td></tr></table></td></tr></table></td></tr></table>");
}

static void test_sanitise(void **state)
{
    expect_html("<table><tr><td><script>alert(1)</script></td></tr></table>",
                "<table><tr><td>&lt;script&gt;alert(1)&lt;/script&gt;</td></tr></table>");
    expect_html(
        "<table><tr><td onclick=\"x()\"><b onmouseover=x>a</b> <a href=\"javascript:x\">b</a>"
        "</td></tr></table>",
        "<table><tr><td><b>a</b> &lt;a href=\"javascript:x\"&gt;b&lt;/a&gt;</td></tr></table>");
    expect_html(
        "<table><tr><td><img src=x> <!-- c --> 1 < 2 & 3 &lt; &amp; &#39; &bogus</td></tr></table>",
        "<table><tr><td>&lt;img src=x&gt; &lt;!-- c --&gt; 1 &lt; 2 &amp; 3 &lt; &amp; &#39; "
        "&amp;bogus</td></tr></table>");
    /* balance */
    expect_html("<table><tr><td><b><i>a</b>b</i>c<sup>2</td><td>d</sup></td></tr></table>",
                "<table><tr><td><b><i>a</i></b>bc<sup>2</sup></td><td>d</td></tr></table>");
    expect_html(
        "<table><tr><td><p>a<p>b<br/>c<ul><li>d<li>e</ul></td></tr></table>",
        "<table><tr><td><p>a</p><p>b<br>c<ul><li>d</li><li>e</li></ul></p></td></tr></table>");
    /* a blank line would end the HTML block in Markdown */
    expect_html("<table><tr><td>a \n \n\t\nb</b>\n\nc</td></tr></table>",
                "<table><tr><td>a\nb\nc</td></tr></table>");
}

static void test_text(void **state)
{
    expect_grid("<table><tr><td> a \n b <br> c &lt;b&gt; &amp;amp; &#x41;&#66;&eacute;<sup>2</sup> "
                "</td></tr></table>",
                1, 1, "0,0,1,1:a b\nc <b> &amp; AB&eacute;2");
    expect_rows("<table><tr><td>a<br>b</td><td>c\td</td></tr></table>", "a b\tc d");
}

static void test_limits(void **state)
{
    struct buf b = {0};
    struct table *t;

    buf_text(&b, "<table>");
    for (int i = 0; i < 4100; i++)
        buf_text(&b, "<tr><td>x");
    assert_int_equal(table_read(buf_view(&b), &t), b.n);
    assert_int_equal(t->n_row, 4000);
    assert_int_equal(t->n_cell, 4000);
    assert_true(t->capped);
    table_free(t);
    buf_clear(&b);
    buf_text(&b, "<table><tr>");
    for (int i = 0; i < 500; i++)
        buf_text(&b, "<td>x<table>");
    assert_int_equal(table_read(buf_view(&b), &t), b.n);
    table_free(t);
    buf_clear(&b);
    buf_text(&b, "<table><tr>");
    for (int i = 0; i < 500; i++)
        buf_text(&b, "<td>x");
    assert_int_equal(table_read(buf_view(&b), &t), b.n);
    assert_int_equal(t->n_col, 400);
    assert_int_equal(t->n_cell, 400);
    assert_true(t->capped);
    table_free(t);
    buf_reset(&b);
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* "T:text" "M:tex" "D:tex" "H:table" "I:alt" of each span, separated by "|". */
static void expect_spans(const char *in, const char *out)
{
    struct spans k = spans_of(str_of(in));
    struct span s;
    struct buf b = {0}, all = {0};

    buf_add(&b, "", 0);
    while (span_next(&k, &s)) {
        if (b.n)
            buf_char(&b, '|');
        buf_fmt(&b, "%c:", "TMDHI"[s.kind]);
        buf_str(&b, s.inner);
        buf_str(&all, s.all);
        table_free(s.table);
    }
    assert_string_equal(b.p, out);
    assert_true(str_eq(buf_view(&all), str_of(in)));
    buf_reset(&b);
    buf_reset(&all);
}

static void test_math_spans(void **state)
{
    expect_spans("", "");
    expect_spans("a \\( x^2 \\) b", "T:a |M:x^2|T: b");
    expect_spans("\\[ E = mc^{2} \\quad (1) \\]", "D:E = mc^{2} \\quad (1)");
    expect_spans("\\(x\\)\\(y\\)", "M:x|M:y");
    expect_spans("open \\( x", "T:open \\( x");
    expect_spans("\\( a\n\nb \\)", "T:\\( a\n\nb \\)");
    expect_spans("\\( a \\( b \\)", "T:\\( a |M:b");
    expect_spans("\\[ a \\\\[2pt] b \\]", "D:a \\\\[2pt] b");
    expect_spans("not \\\\(x\\\\)", "T:not \\\\(x\\\\)");
    expect_spans("\\(\\)", "T:\\(\\)");
    expect_spans("$$ a\nb $$", "D:a\nb");
    expect_spans("$$ a", "T:$$ a");
}

static void test_dollar_spans(void **state)
{
    expect_spans("Cost is $5 (2024).", "T:Cost is $5 (2024).");
    expect_spans("$5 and $10", "T:$5 and $10");
    expect_spans("from $5-$10", "T:from $5-$10");
    expect_spans("$2,097.05 x $37295", "T:$2,097.05 x $37295");
    expect_spans("let $x$ be", "T:let |M:x|T: be");
    expect_spans("$2^{10}$", "M:2^{10}");
    expect_spans("$20$", "T:$20$");
    expect_spans("\\$x$", "T:\\$x$");
    expect_spans("$x\ny$", "T:$x\ny$");
    expect_spans("$ x$", "T:$ x$");
}

static void test_other_spans(void **state)
{
    expect_spans("a <table><tr><td>x</table> b", "T:a |H:<table><tr><td>x</table>|T: b");
    expect_spans("![alt](http://x/y.png)!", "I:alt|T:!");
    expect_spans("![alt] (x)", "T:![alt] (x)");
    expect_spans("![a\nb](x)", "T:![a\nb](x)");
}

static void test_spans_close(void **state)
{
    struct spans k = spans_of(STR("a <table><td>b"));
    struct span s;

    assert_true(span_next(&k, &s));
    spans_close(&k); /* the table found behind the text is freed */
    assert_false(span_next(&k, &s));
}

static void test_time(void **state)
{
    static const char *const units[] = {
        "<table>",
        "<table><tr><td>",
        "<tr>",
        "<td>",
        "<td colspan=1000>",
        "<td rowspan=1000>x",
        "<",
        "<td ",
        "&",
        "&amp",
        "<b>",
        "</b>",
        "<li>",
        "\n",
        " ",
        "<td a=\"",
        "<table></table>",
        "\\(",
        "\\[",
        "\\(\\[",
        "$",
        "$$",
        "$a",
        "![",
        "![a](",
        "\\",
        "<table><td>x</table>\n",
        "$$ \\[ $ \\( ![ <table",
        "*",
        "*a ",
        "a* ",
        "<caption>",
    };

    for (size_t i = 0; i < COUNT(units); i++) {
        struct buf b = {0};
        clock_t from = clock();

        for (int with_table = 0; with_table < 2; with_table++) {
            struct spans k;
            struct span s;

            buf_clear(&b);
            if (with_table)
                buf_text(&b, "<table>");
            while (b.n < 1 << 18)
                buf_text(&b, units[i]);
            k = spans_of(buf_view(&b));
            while (span_next(&k, &s))
                table_free(s.table);
        }
        assert_true(clock() - from < HANG_S * CLOCKS_PER_SEC);
        buf_reset(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple),       cmocka_unit_test(test_end),
        cmocka_unit_test(test_recovery),     cmocka_unit_test(test_sections),
        cmocka_unit_test(test_spans),        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_nested),       cmocka_unit_test(test_depth),
        cmocka_unit_test(test_sanitise),     cmocka_unit_test(test_text),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_math_spans),
        cmocka_unit_test(test_dollar_spans), cmocka_unit_test(test_other_spans),
        cmocka_unit_test(test_spans_close),  cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
