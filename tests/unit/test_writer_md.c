/* Markdown and plain text: the worked example of the format table, then each rule. */
#include "unit/written.h"

#include "base/json.h"
#include "result/markdown.h"
#include "result/plain.h"
#include "hang.h"

#include <string.h>
#include <time.h>

/* A page whose upper half is white and whose lower half has many colours. */
static int draw(void *ctx, int page, struct recto_image *im)
{
    *im = *(const struct recto_image *)ctx;
    im->rgb = mem_alloc((size_t)im->width * (size_t)im->height * 3);
    memset(im->rgb, 255, (size_t)im->width * (size_t)im->height * 3);
    for (int y = im->height / 2; y < im->height; y++)
        for (int x = 0; x < im->width * 3; x++)
            im->rgb[(size_t)y * (size_t)im->width * 3 + (size_t)x] = (unsigned char)(x * 7 + y);
    return 0;
}

static struct recto_write_options options(void)
{
    struct recto_write_options o;

    recto_write_options_init(&o);
    return o;
}

/* "NAME:first two bytes in hex " of each side file. */
static void list_sides(struct buf *out, const struct written *t)
{
    str all = buf_view(&t->sides);

    for (int i = 0; i < t->n_side; i++) {
        size_t colon = str_find(all, STR(":"), 0), next;

        buf_add(out, all.p, colon);
        buf_fmt(out, ":%02x%02x ", (unsigned char)all.p[colon + 1],
                (unsigned char)all.p[colon + 2]);
        next = str_find(all, STR("\np0"), 0) + 1; /* all have such names */
        all = next < all.n ? (str){all.p + next, all.n - next} : (str){"", 0};
    }
    buf_add(out, "", 0);
}

/* Write pages and compare; pages are freed. sides NULL: there are no pixels. */
static void expect_files(const char *format, const struct recto_write_options *opts,
                         struct recto_page *page, int n, const char *want, const char *sides)
{
    struct recto_image size = {page[0].width, page[0].height, NULL};
    struct pixels pixels = {.draw = draw, .ctx = &size};
    struct written t = {0};
    struct buf list = {0};

    for (int i = 0; i < n; i++)
        page[i].number = i + 1;
    assert_string_equal(written(&t, format, opts, sides ? &pixels : NULL, page, n), want);
    list_sides(&list, &t);
    assert_string_equal(list.p, sides ? sides : "");
    for (int i = 0; i < n; i++)
        recto_page_reset(&page[i]);
    buf_reset(&list);
    written_reset(&t);
    pixels_reset(&pixels);
}

static void expect_pages(const char *format, const struct recto_write_options *opts,
                         struct recto_page *page, int n, const char *want)
{
    expect_files(format, opts, page, n, want, NULL);
}

static void expect_md(const char *in, const char *want)
{
    struct recto_write_options opts = options();
    struct recto_page p = test_page(str_of(in), RECTO_FINISH_EOS);

    expect_pages("md", &opts, &p, 1, want);
}

static void expect_txt(const char *in, const char *want)
{
    struct recto_write_options opts = options();
    struct recto_page p = test_page(str_of(in), RECTO_FINISH_EOS);

    expect_pages("txt", &opts, &p, 1, want);
}

static void test_example_md(void **state)
{
    struct recto_write_options opts = options();
    struct recto_page p = PAGE(EXAMPLE);

    p.width = 1998, p.height = 2997;
    opts.stem = "x";
    expect_files(
        "md", &opts, &p, 1,
        "# Report\n\nCost is \\$5 (2024).\n\n$$\nE \\coloneqq mc^{2} \\quad (1)\n$$\n\n" EXAMPLE_TABLE
        "\n\n![Fig. 1. Map](x.files/p0001-f1.jpg)\n\n*Fig. 1. Map*\n",
        "p0001-f1.jpg:ffd8 ");
}

static void test_example_stdout(void **state)
{
    struct recto_page p = PAGE(EXAMPLE);
    const struct recto_page *list[] = {&p};
    char *out;
    size_t n;

    assert_int_equal(recto_write("md", list, 1, &out, &n), 0);
    assert_string_equal(
        out,
        "# Report\n\nCost is \\$5 (2024).\n\n$$\nE \\coloneqq mc^{2} \\quad (1)\n$$\n\n" EXAMPLE_TABLE
        "\n\n*Fig. 1. Map*\n");
    assert_int_equal(n, strlen(out));
    free(out);
    assert_int_equal(recto_write("pdf", list, 1, &out, &n), RECTO_EUSAGE);
    assert_null(out);
    assert_int_equal(recto_write(NULL, list, 1, &out, &n), RECTO_EUSAGE);
    recto_page_reset(&p);
}

static void test_example_txt(void **state)
{
    expect_txt(
        EXAMPLE,
        "Report\n\nCost is $5 (2024).\n\nE \\coloneqq mc^{2} \\quad (1)\n\nA\tB\n1\t2\n\nFig. "
        "1. Map\n");
}

static void test_raw(void **state)
{
    struct recto_write_options opts = options();
    struct recto_page p[2] = {PAGE(REF("text") DET(BOX) "\nA"), PAGE("B\n")},
                      q[2] = {PAGE("A"), PAGE("")};

    expect_pages("raw", &opts, p, 2, REF("text") DET(BOX) "\nA\n\fB\n");
    expect_pages("raw", &opts, q, 2, "A\n\f\n");
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void test_headings(void **state)
{
    expect_md(REF("title") DET("[]") "\n### A", "# A\n");
    expect_md(REF("sub_title") DET("[]") "\n# A", "## A\n");
    expect_md(REF("sub_title") DET("[]") "\n#### A", "#### A\n");
    expect_md(REF("sub_title") DET("[]") "\nA", "## A\n");
    expect_md(REF("title") DET("[]") "\n# A  \nB\nC", "# A B C\n");
    expect_md(REF("title") DET("[]") "\n#", "");
}

static void test_text_rules(void **state)
{
    expect_md("a  \nb \nc\n\n\n \nd   ", "a\\\nb\nc\n\nd\n");
    expect_md("a  \n\nb", "a\n\nb\n");
    expect_md("a\n- b\n- c", "a\n- b\n- c\n");
    expect_md("5$ and \\$6 and \\\\$7", "5\\$ and \\$6 and \\\\\\$7\n");
    expect_md("a < b > c & d", "a < b > c & d\n");
}

static void test_math(void **state)
{
    expect_md("let \\( x^{2} \\) be", "let $x^{2}$ be\n");
    expect_md("a\n\\[ x \\]\nb", "a\n$$\nx\n$$\nb\n");
    expect_md("a \\[ x \\] b", "a\n$$\nx\n$$\nb\n");
    expect_md("a\n\n\\[ x \\]\n\nb", "a\n\n$$\nx\n$$\n\nb\n");
    expect_md("$$ x $$ and $y$", "$$\nx\n$$\nand $y$\n");
    expect_md("open \\( x and \\] y", "open \\\\( x and \\\\] y\n");
    expect_md("\\( a<b>c \\)", "$a< b>c$\n");
    expect_md("\\( [x](y) \\)", "$[x] (y)$\n");
    expect_md("\\( x\\ \\)", "$x\\ $\n");
    expect_md("\\( a $ b \\)", "$a \\$ b$\n");
}

static void test_tex_math(void **state)
{
    struct recto_write_options opts = options();
    struct recto_page p = PAGE("a \\(x\\) $5 \\[ y \\]");

    opts.math = "tex";
    expect_pages("md", &opts, &p, 1, "a \\( x \\) \\$5 \\[ y \\]\n");
}

static void test_safety(void **state)
{
    expect_md("a <script>alert(1)</script> b", "a &lt;script&gt;alert(1)&lt;/script&gt; b\n");
    expect_md("[x](javascript:alert(1)) [y]: http://z",
              "[x\\](javascript:alert(1)) [y\\]: http://z\n");
    expect_md("![x](http://y/z.png)", "!\\[x\\](http://y/z.png)\n");
    expect_md("<http://x> <!-- page 2 --> <?php ?>",
              "&lt;http://x&gt; &lt;!-- page 2 --&gt; &lt;?php ?&gt;\n");
    expect_md("<img src=x onerror=y>", "&lt;img src=x onerror=y&gt;\n");
    expect_md("x<sup onclick=a>2</sup> <b>bold</i>", "x<sup>2</sup> <b>bold</b>\n");
    expect_md("</td><td>x</table>", "&lt;/td&gt;&lt;td&gt;x&lt;/table&gt;\n");
    expect_md("<</b>script> [a]</b>(b)", "&lt;script&gt; [a\\](b)\n");
    expect_md("\\](x)", "\\\\\\](x)\n");
}

static void test_tables(void **state)
{
    expect_md("a" EXAMPLE_TABLE "b", "a\n\n" EXAMPLE_TABLE "\n\nb\n");
    expect_md("<table><tr><td>$5 \\( x \\) <script></td></tr>\n\n</table>",
              "<table><tr><td>$5 \\( x \\) &lt;script&gt;</td></tr></table>\n");
    expect_md("<b>a" EXAMPLE_TABLE "b", "<b>a</b>\n\n" EXAMPLE_TABLE "\n\nb\n");
}

static void test_captions(void **state)
{
    char long_caption[400], want[400];

    expect_md(REF("table_title") DET("[]") "\nTable \\(a\\)", "*Table $a$*\n");
    expect_md(REF("figure_title") DET("[]") "\na*b", "a*b\n");
    expect_md(REF("figure_title") DET("[]") "\na\nb", "a\nb\n");
    strcpy(long_caption, REF("figure_title") DET("[]") "\n");
    for (int i = 0; i < 200; i++)
        strcat(long_caption, "x");
    snprintf(want, sizeof want, "*%s*\n", strchr(long_caption, '\n') + 1);
    expect_md(long_caption, want);
    strcat(long_caption, "x");
    snprintf(want, sizeof want, "%s\n", strchr(long_caption, '\n') + 1);
    expect_md(long_caption, want);
}

static void test_code(void **state)
{
    expect_md(REF("code") DET("[]") "\nif a < b:\n    <td> $5  \n\n\n    x",
              "```\nif a < b:\n    <td> $5  \n\n\n    x\n```\n");
    expect_md(REF("code") DET("[]") "\n```python\nx\n```", "```\nx\n```\n");
    expect_md(REF("code") DET("[]") "\na ``` b", "````\na ``` b\n````\n");
}

static void test_furniture(void **state)
{
    static const char in[] = REF("header") DET("[]") "\nH\n\n" REF("text")
        DET("[]") "\nA\n\n" REF("page_number") DET("[]") "\n7\n\n" REF("footer")
            DET("[]") "\nF\n\n" REF("footnote") DET("[]") "\nN";
    struct recto_write_options keep = options();
    struct recto_page p = PAGE(in), q = PAGE(in);

    keep.keep_furniture = true;
    expect_md(in, "A\n\nN\n");
    expect_txt(in, "A\n\nN\n");
    expect_pages("md", &keep, &p, 1, "H\n\nA\n\n7\n\nF\n\nN\n");
    expect_pages("txt", &keep, &q, 1, "H\n\nA\n\n7\n\nF\n\nN\n");
}

/* One crop a box, numbered over the page; boxes without a picture in them have none. */
static void test_figures(void **state)
{
    struct recto_write_options opts = options();
    struct recto_page p = PAGE(REF("figure_title") DET("[]") "\nA [1] <b\n\n" REF("image") DET(
        "[[0, 0, 500, 500], [1, 1, 1, 9], [0, 0, 3, 3], [0, 500, 500, 999]]") "\n\n\n" REF("text")
                                   DET("[]") "\nT\n\n" REF("chart")
                                       DET("[[0, 0, 99, 99]]") "\nbars");

    p.width = p.height = 1000;
    opts.stem = "a b(c)";
    expect_files("md", &opts, &p, 1,
                 "*A [1] &lt;b*\n\n![A \\[1\\] &lt;b](a%20b%28c%29.files/p0001-f1.png)\n\n"
                 "![A \\[1\\] &lt;b](a%20b%28c%29.files/p0001-f2.jpg)\n\nT\n\n"
                 "![](a%20b%28c%29.files/p0001-f3.png)\n\nbars\n",
                 "p0001-f1.png:8950 p0001-f2.jpg:ffd8 p0001-f3.png:8950 ");
}

static void test_pages(void **state)
{
    struct recto_write_options none = options(), blank = options(), rule = options();
    struct recto_page p[3] = {PAGE("A"), PAGE(""), PAGE("C")}, q[2] = {PAGE("A"), PAGE("B")},
                      r[2] = {PAGE("A"), PAGE("B")};

    blank.page_break = "";
    rule.page_break = "* * *";
    expect_pages("md", &none, p, 3, "A\n\n<!-- page 2 -->\n\n<!-- page 3 -->\n\nC\n");
    expect_pages("md", &blank, q, 2, "A\n\nB\n");
    expect_pages("md", &rule, r, 2, "A\n\n* * *\n\nB\n");
}

static void test_problem_pages(void **state)
{
    struct recto_write_options none = options(), blank = options();
    struct recto_page p[3] = {PAGE("A"), PAGE("B"), PAGE("")}, q[2] = {PAGE("A"), PAGE("B")};

    blank.page_break = "";
    p[0].status = RECTO_PAGE_SUSPECT;
    p[1].status = RECTO_PAGE_LOOP;
    p[2].status = RECTO_PAGE_ERROR;
    p[2].error_text = mem_strdup("damaged: --> <script>\n-- x");
    expect_pages("md", &none, p, 3,
                 "<!-- page 1: suspect, text may be wrong -->\n\nA\n\n<!-- page 2: loop, text "
                 "incomplete -->\n\nB\n\n"
                 "<!-- page 3: error: damaged: -   <script  -  x -->\n");
    q[1].status = RECTO_PAGE_LENGTH;
    expect_pages("md", &blank, q, 2, "A\n\n<!-- page 2: length, text incomplete -->\n\nB\n");
}

static void test_empty(void **state)
{
    expect_md("", "");
    expect_md(" \n", "");
    expect_md("</b>", "");
    expect_txt("", "");
}

/* ---- plain text ------------------------------------------------------------------------------ */

static void test_txt(void **state)
{
    expect_txt("# A\n## B\n#5 c\nx # y", "A\nB\n#5 c\nx # y\n");
    expect_txt("**bold** and *it*, ***both***; 2*3*4 * 5 *x", "bold and it, both; 2*3*4 * 5 *x\n");
    expect_txt("**a *b* c**", "a b c\n");
    expect_txt("*a\nb*", "*a\nb*\n");
    expect_txt("snake_case and \\$5 \\* \\_ C:\\dir", "snake_case and $5 * _ C:\\dir\n");
    expect_txt("a  \nb\n\n\n\nc", "a\nb\n\nc\n");
    expect_txt("x<sup>2</sup> <script>y</script><br>z", "x2 <script>y</script>\nz\n");
    expect_txt("let \\( x^{2} \\) be \\[ y \\] so", "let x^{2} be\ny\nso\n");
    expect_txt("a\n\\[ y \\]\nb\n\n\\[ z \\]\n\nc", "a\ny\nb\n\nz\n\nc\n");
    expect_txt("- a\n- b", "- a\n- b\n");
    expect_txt("![alt](http://x)", "alt\n");
    expect_txt("a" EXAMPLE_TABLE "b", "a\n\nA\tB\n1\t2\n\nb\n");
    expect_txt("<table><tr><td>\\( x \\) &lt;b&gt;</td><td># 1</td></tr></table>", "x <b>\t# 1\n");
    expect_txt(REF("code") DET("[]") "\n```c\n# a **b**\n```", "# a **b**\n");
}

static void test_txt_pages(void **state)
{
    struct recto_write_options none = options();
    struct recto_page p[3] = {PAGE("A"), PAGE(""), PAGE("C")}, q[2] = {PAGE("A"), PAGE("")};

    expect_pages("txt", &none, p, 3, "A\n\f\fC\n");
    expect_pages("txt", &none, q, 2, "A\n\f\n");
}

/* ---- the mini model's pages ------------------------------------------------------------------ */

static const char *mini_text(json_t *root, size_t i)
{
    return json_string_value(
        json_object_get(json_object_get(json_array_get(root, i), "fp32"), "text"));
}

static void test_mini_pages(void **state)
{
    json_t *root;

    assert_int_equal(json_read(&root, SOURCE_DIR "/models/mini/expected.json", 1 << 24), 0);
    expect_md(mini_text(root, 1), "# to micrometeorites\n\n# to pay for\n\n- +98 543 2931\n");
    expect_md(mini_text(root, 3),
              "- carpet pad of thick felt\n- \\$3,453.16 I\n\nAt an earlier time or formerly -- "
              "Robert Byrne\n");
    expect_txt(
        mini_text(root, 6),
        "h\\b,D As part of the\n\n1987-05-04\tEurasian UA}L weed\nproblem)\t1YNZ\n\nBalance: "
        "87502\n"
        "Invoice 7O1ZYZBMN\nName 68.09\n\nsent military\tthat\nA\t+10 128 5650\nmovement "
        "in\tRef-0787\nin\t10:15\n");
    expect_md(
        mini_text(root, 6),
        "## h\\b,D As part of the\n\n<table><tr><td>1987-05-04</td><td>Eurasian UA}L weed</td>"
        "</tr><tr><td>problem)"
        "</td><td>1YNZ</td></tr></table>\n\nBalance: 87502\nInvoice 7O1ZYZBMN\nName 68.09\n\n"
        "<table><tr><td>sent "
        "military</td><td>that</td></tr><tr><td>A</td><td>+10 128 5650</td></tr><tr>"
        "<td>movement in</td><td>"
        "Ref-0787</td></tr><tr><td>in</td><td>10:15</td></tr></table>\n");
    expect_md(
        mini_text(root, 11),
        "Balance: +10 758 8332\nPhone Ref-598\nName €50752\nSubtotal: €96222\n\n# "
        "ldv@dakbd.de\n\n- or\n"
        "- lnappropriate playfulness\n- around\n- Ousted By Suharto In A\n- Rimmed with red\n\n"
        "PO: 67030 71715 €27390 31.0% 1973-06-22 48.4% No.: 129 1975-01-19 No.: 443 60.8% "
        "03:11 ]+9%N=w 1995-06-15 "
        "www.hxynx.com 40232 09/03/1982 mpw@wkw.com dwh@xpttffo.net \\$37295\n");
    json_decref(root);
}

static void test_time(void **state)
{
    static const char *const units[] = {
        "*",   "*a ",     " *a",         "a* ",  "**a ", "***a",        "* a*", "# ",
        "<b>", "</b>",    "\n",          "  \n", "\\",   "\\(",         "$",    "]",
        "<",   "<table>", "<table><td>", "![",   "`",    "\\[ x \\]\n", "<br>",
    };

    for (size_t i = 0; i < COUNT(units); i++) {
        struct buf b = {0}, out = {0};
        clock_t from = clock();

        while (b.n < 1 << 18)
            buf_text(&b, units[i]);
        markdown_put(&out, buf_view(&b), false);
        plain_put(&out, buf_view(&b));
        markdown_put_code(&out, buf_view(&b));
        assert_true(clock() - from < HANG_S * CLOCKS_PER_SEC);
        buf_reset(&b);
        buf_reset(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example_md),  cmocka_unit_test(test_example_stdout),
        cmocka_unit_test(test_example_txt), cmocka_unit_test(test_raw),
        cmocka_unit_test(test_headings),    cmocka_unit_test(test_text_rules),
        cmocka_unit_test(test_math),        cmocka_unit_test(test_tex_math),
        cmocka_unit_test(test_safety),      cmocka_unit_test(test_tables),
        cmocka_unit_test(test_captions),    cmocka_unit_test(test_code),
        cmocka_unit_test(test_furniture),   cmocka_unit_test(test_figures),
        cmocka_unit_test(test_pages),       cmocka_unit_test(test_problem_pages),
        cmocka_unit_test(test_empty),       cmocka_unit_test(test_txt),
        cmocka_unit_test(test_txt_pages),   cmocka_unit_test(test_mini_pages),
        cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
