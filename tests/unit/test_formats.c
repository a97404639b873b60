/* HTML, CSV, hOCR, ALTO, JSON lines: the worked example, what each rule says, hostile text, and what other programs say
 * of the files (xmllint with ALTO's own schema, cmark, jsonschema). */
#include "programs.h"
#include "unit/written.h"

#include <string.h>

static const char hostile[] = HOSTILE;

static const char *const names[] = {"md",   "txt",  "html", "json", "jsonl",
                                    "hocr", "alto", "csv",  "mmd",  "raw"};

/* ---- writing --------------------------------------------------------------------------------- */

static int draw(void *ctx, int page, struct recto_image *im)
{
    const struct recto_page *p = ctx;

    *im = (struct recto_image){p->width, p->height, NULL};
    im->rgb = mem_alloc((size_t)im->width * (size_t)im->height * 3);
    for (size_t i = 0; i < (size_t)im->width * (size_t)im->height * 3; i++)
        im->rgb[i] = (unsigned char)(i * 7 + i / 5000);
    return 0;
}

static struct recto_write_options options(void)
{
    struct recto_write_options o;

    recto_write_options_init(&o);
    o.name = "x.png";
    return o;
}

/* Write n pages; the files stay until the next call. */
static struct written taken;

static const char *write_pages(const char *format, const struct recto_write_options *o,
                               struct recto_page *p, int n, bool has_pixels)
{
    struct pixels pixels = {.draw = draw, .ctx = &p[0]};
    const char *main;

    written_reset(&taken);
    main = written(&taken, format, o, has_pixels ? &pixels : NULL, p, n);
    pixels_reset(&pixels);
    return main;
}

static const char *write_text(const char *format, const struct recto_write_options *o,
                              const char *text)
{
    struct recto_page p = test_page(str_of(text), RECTO_FINISH_EOS);
    const char *out;

    p.width = p.height = 100;
    out = write_pages(format, o, &p, 1, false);
    recto_page_reset(&p);
    return out;
}

/* The same page from a PDF, read well. */
static struct recto_page pdf_page(void)
{
    struct recto_page p = example_page();

    p.tiles_w = 2, p.tiles_h = 3;
    p.conf = 0.9931;
    p.dpi = 216;
    p.width_pt = 666, p.height_pt = 999;
    p.finish = RECTO_FINISH_EOS;
    return p;
}

static void expect_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("not found: %s\nin: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* ---- other programs -------------------------------------------------------------------------- */

/* Run `command FILE` on the main file; its output. The command must exist and succeed. */
static const char *run_on_main(const char *command)
{
    static struct buf said;
    char *path = keep_file(&taken.main, "format");
    int status;

    buf_reset(&said);
    said = shell(command, path, &status);
    unlink(path);
    if (status)
        print_error("%s: %s\n%s\n", command, said.p, taken.main.p);
    assert_int_equal(status, 0);
    return said.p;
}

#define ALTO_DIR SOURCE_DIR "/tests/fixtures/alto"

static void check_alto(void)
{
    run_on_main("XML_CATALOG_FILES=" ALTO_DIR
                "/catalog.xml xmllint --nonet --noout --schema " ALTO_DIR "/alto-4-4.xsd %s 2>&1");
}

static void check_xml(void)
{
    run_on_main("xmllint --nonet --noout %s 2>&1");
}

static void check_json(void)
{
    run_on_main("/usr/bin/python3 -W ignore -m jsonschema -i %s " SOURCE_DIR
                "/docs/recto-layout-1.schema.json 2>&1");
}

/* ---- the worked example ---------------------------------------------------------------------- */

static void test_html(void **state)
{
    struct recto_write_options o = options();
    struct recto_page p = pdf_page();
    const char *html;

    o.stem = "x";
    html = write_pages("html", &o, &p, 1, true);
    expect_has(html, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "img-src 'self' data:; style-src 'unsafe-inline'\">");
    expect_has(html, "<title>x.png</title>");
    expect_has(html, "<section class=page data-page=1 data-status=ok>\n"
                     "<h1 data-box=\"100 50 500 80\">Report</h1>\n"
                     "<p data-box=\"100 100 899 160\">Cost is $5 (2024).</p>\n"
                     "<p class=eq data-box=\"300 180 700 220\"><span class=\"math\">\\[ E "
                     "\\coloneqq mc^{2} \\quad (1) \\]</span></p>\n"
                     "<table data-box=\"100 240 899 330\"><tr><td>A</td><td>B</td></tr><tr>"
                     "<td>1</td><td>2</td></tr></table>\n"
                     "<figure data-box=\"100 350 500 600\"><img src=\"x.files/p0001-f1.jpg\" "
                     "alt=\"Fig. 1. Map\"><figcaption data-box=\"100 610 500 640\">Fig. 1. "
                     "Map</figcaption></figure>\n</section>\n</body>\n</html>\n");
    assert_memory_equal(taken.sides.p, "p0001-f1.jpg:\xFF\xD8", 15);
    o.embed = true;
    html = write_pages("html", &o, &p, 1, true);
    expect_has(html, "<img src=\"data:image/jpeg;base64,/9j/");
    assert_int_equal(taken.sides.n, 0);
    html = write_pages("html", &o, &p, 1, false);
    assert_null(strstr(html, "<img"));
    recto_page_reset(&p);
}

static void test_hocr(void **state)
{
    struct recto_write_options o = options();
    struct recto_page p = pdf_page();
    const char *hocr = write_pages("hocr", &o, &p, 1, false);

    expect_has(hocr, "<meta name=\"ocr-system\" content=\"recto " RECTO_VERSION "\"/>");
    expect_has(hocr, "<meta name=\"recto-lines\" content=\"estimated\"/>");
    expect_has(hocr, "<div class=\"ocr_page\" id=\"page_1\" title=\"image &quot;x.png&quot;; bbox "
                     "0 0 1998 2997; ppageno 0; scan_res 216 216\">");
    expect_has(hocr, "<span class=\"ocr_line\" title=\"bbox 200 150 1000 240\"><span "
                     "class=\"ocrx_word\" title=\"bbox 200 150 1000 240; x_wconf "
                     "99\">Report</span></span>");
    expect_has(hocr, "<div class=\"ocr_table\"");
    expect_has(hocr,
               "<div class=\"ocr_photo\" id=\"block_1_5\" title=\"bbox 200 1050 1000 1800\">");
    expect_has(hocr, "<div class=\"ocr_caption\"");
    check_xml();
    recto_page_reset(&p);
}

static void test_alto(void **state)
{
    struct recto_write_options o = options();
    struct recto_page p[3] = {pdf_page(), {.number = 2, .status = RECTO_PAGE_ERROR}, PAGE(hostile)};
    const char *alto = write_pages("alto", &o, p, 1, false);

    expect_has(alto, "<String CONTENT=\"Report\" HPOS=\"200\" VPOS=\"150\" WIDTH=\"800\" "
                     "HEIGHT=\"90\" WC=\"0.99\"/>");
    expect_has(alto, "<Illustration ID=\"p1f4\" TAGREFS=\"kind_figure\" HPOS=\"200\" "
                     "VPOS=\"1050\" WIDTH=\"800\" HEIGHT=\"750\"/>");
    expect_has(alto, "<SP ");
    check_alto();
    p[2].number = 3, p[2].width = p[2].height = 700;
    o.name = "a & \"b\" \xFF.png";
    alto = write_pages("alto", &o, p, 3, false);
    expect_has(alto, "PHYSICAL_IMG_NR=\"2\" WIDTH=\"0\" HEIGHT=\"0\" QUALITY_DETAIL=\"error\"");
    check_alto();
    recto_page_reset(&p[0]);
    recto_page_reset(&p[2]);
}

static void test_csv(void **state)
{
    static const char spans[] =
        "<table><tr><td rowspan=2>a,b</td><td colspan=2>say \"hi\"</td></tr><tr><td>=1+1</td>"
        "<td>\\( x \\)<br>y</td></tr></table> and <table><tr><td>o<table><tr><td>p<td>q</table></td></tr></table>";
    struct recto_write_options o = options();
    struct recto_page p = pdf_page();

    assert_string_equal(write_pages("csv", &o, &p, 1, false), "A,B\r\n1,2\r\n");
    recto_page_reset(&p);
    assert_string_equal(write_text("csv", &o, spans),
                        "\"a,b\",\"say \"\"hi\"\"\",\r\n,=1+1,\"x\ny\"\r\n\r\no p; q\r\n");
    o.csv_fill = o.csv_safe = true;
    o.stem = "x";
    assert_string_equal(write_text("csv", &o, spans), "");
    assert_string_equal(taken.sides.p,
                        "p0001-t1.csv:\"a,b\",\"say \"\"hi\"\"\",\"say \"\"hi\"\"\"\r\n"
                        "\"a,b\",'=1+1,\"x\ny\"\r\n\np0001-t2.csv:o p; q\r\n\n");
}

static void test_json(void **state)
{
    struct recto_write_options o = options();
    struct recto_page p[4] = {pdf_page(),
                              {.number = 2, .status = RECTO_PAGE_ERROR},
                              PAGE(hostile),
                              {.number = 4, .status = RECTO_PAGE_BLANK}};

    p[1].error = RECTO_EDAMAGED;
    p[2].number = 3, p[2].width = p[2].height = 700;
    p[2].status = RECTO_PAGE_LOOP, p[2].finish = RECTO_FINISH_LOOP;
    write_pages("json", &o, p, 4, false);
    check_json();
    o.dpi = "auto", o.retries = 3, o.created = "2026-01-01T00:00:00Z", o.n_pages = 4;
    write_pages("json", &o, p, 4, false);
    check_json();
    write_pages("jsonl", &o, p, 4, false);
    for (int i = 0, n = 0; i <= 4; i++) {
        assert_true(i == 4 ? taken.main.p[n] == 0 : taken.main.p[n] == '{');
        n += (int)strcspn(taken.main.p + n, "\n") + 1;
        if (i == 3)
            n = (int)taken.main.n;
    }
    recto_page_reset(&p[0]);
    recto_page_reset(&p[2]);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

static void expect_html(const char *in, const char *want)
{
    struct recto_write_options o = options();
    const char *html = write_text("html", &o, in), *from = strstr(html, "data-status=ok>\n"),
               *to = strstr(html, "</section>");

    assert_true(from && to);
    from += strlen("data-status=ok>\n");
    taken.main.p[to - html] = 0;
    assert_string_equal(from, want);
}

static void test_html_text(void **state)
{
    expect_html("a **b *c* d** 2*3\nnext  \nhard\n\nnew",
                "<p>a <strong>b <em>c</em> d</strong> 2*3\nnext<br>\nhard</p>\n<p>new</p>\n");
    expect_html("x\n- one\n- two\nmore\n\nend",
                "<p>x</p>\n<ul>\n<li>one</li>\n<li>two\nmore</li>\n</ul>\n<p>end</p>\n");
    expect_html("1. one\n2) two\nmore 3. x\n1984. y",
                "<p>1. one<br>\n2) two\nmore 3. x\n1984. y</p>\n");
    expect_html("x<sup>2</sup> <b>bold</i> \\$5 &lt; & <",
                "<p>x<sup>2</sup> <b>bold $5 &lt; &amp; &lt;</b></p>\n");
}

static void test_html_rest(void **state)
{
    expect_html("a\\( x<y \\)b", "<p>a<span class=\"math\">\\( x&lt;y \\)</span>b</p>\n");
    expect_html("a" EXAMPLE_TABLE "b", "<p>a</p>\n" EXAMPLE_TABLE "\n<p>b</p>\n");
    expect_html(REF("title") DET("[]") "\n# A\nB <b>c", "<h1>A B <b>c</b></h1>\n");
    expect_html(REF("sub_title") DET("[]") "\n### A", "<h3>A</h3>\n");
    expect_html(REF("code") DET("[]") "\n```\na < b\n```", "<pre>a &lt; b</pre>\n");
    expect_html(REF("page_number") DET("[]") "\n7", "");
    expect_html("![alt](http://x)", "<p>alt</p>\n");
    expect_html("a <br> b<p>c", "<p>a<br>\nb\nc</p>\n");
}

/* ---- options --------------------------------------------------------------------------------- */

static void test_pipes(void **state)
{
    struct recto_write_options o = options();

    o.tables = "pipe";
    assert_string_equal(write_text("md", &o,
                                   "<table><caption>C</caption><tr><th>A|B</th><td>\\( x \\)"
                                   "</td></tr><tr><td>&lt;script></td></tr></table>"),
                        "C\n\n| A\\|B | $x$ |\n| --- | --- |\n| &lt;script&gt; |  |\n");
    expect_has(run_on_main("cmark --unsafe %s"), "<p>| A|B |");
    assert_string_equal(write_text("md", &o, "<table><tr><td colspan=2>A</td></tr></table>"),
                        "<table><tr><td colspan=\"2\">A</td></tr></table>\n");
    assert_string_equal(write_text("md", &o, "<table><tr><td>a<br>b</td></tr></table>"),
                        "<table><tr><td>a<br>b</td></tr></table>\n");
}

static void test_dehyphenate(void **state)
{
    static const char in[] = "an exam-\nple, well-\nKnown 3-\n4 \\( a-\nb \\) Grö-  \nße";
    struct recto_write_options o = options();

    assert_string_equal(write_text("txt", &o, in),
                        "an exam-\nple, well-\nKnown 3-\n4 a-\nb Grö-\nße\n");
    o.dehyphenate = true;
    assert_string_equal(write_text("txt", &o, in), "an example, well-\nKnown 3-\n4 a-\nb Größe\n");
    expect_has(write_text("md", &o, in), "an example, well-");
    expect_has(write_text("html", &o, in), "an example, well-");
}

/* ---- every format ---------------------------------------------------------------------------- */

/* Nothing of the model's becomes markup: case 34 and more. */
static void test_hostile(void **state)
{
    struct recto_write_options o = options();
    struct recto_page p = PAGE(hostile);

    p.width = p.height = 300;
    p.number = 1;
    o.stem = "x\"><script>";
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *out = write_pages(names[i], &o, &p, 1, true);
        bool is_markup = strcmp(names[i], "html") == 0 || strcmp(names[i], "hocr") == 0 ||
                         strcmp(names[i], "alto") == 0;

        assert_int_equal(strlen(out), taken.main.n);
        if (is_markup) {
            assert_null(strstr(out, "<script"));
            assert_null(strstr(out, "<img src=x"));
            assert_null(strstr(out, "<a "));
            assert_null(strstr(out, "=\"http://x"));
        }
        if (strcmp(names[i], "md") == 0) {
            expect_has(out, "&lt;script&gt;alert(1)&lt;/script&gt;");
            expect_has(out, "[link\\](javascript:");
            assert_null(strstr(run_on_main("sed '/^```/,/^```/d' %s | cmark --unsafe"), "<script"));
            assert_null(strstr(run_on_main("cmark --unsafe %s"), "<a href"));
        }
    }
    write_pages("hocr", &o, &p, 1, true);
    check_xml();
    recto_page_reset(&p);
}

/* Another reader of CommonMark sees the headings, emphasis, tables and figures that we mean. */
static void test_cmark(void **state)
{
    struct recto_write_options o = options();
    struct recto_page p = pdf_page();
    const char *html;

    o.stem = "x y";
    write_pages("md", &o, &p, 1, true);
    html = run_on_main("cmark --unsafe %s");
    expect_has(html, "<h1>Report</h1>");
    expect_has(html, "<p>Cost is $5 (2024).</p>");
    expect_has(html, EXAMPLE_TABLE);
    expect_has(html, "<img src=\"x%20y.files/p0001-f1.jpg\" alt=\"Fig. 1. Map\" />");
    expect_has(html, "<em>Fig. 1. Map</em>");
    write_text("md", &o,
               REF("sub_title") DET("[]") "\n## A *b*\n\n" REF("text")
                   DET("[]") "\n**c**  \nd\n\n- e\n- f");
    html = run_on_main("cmark --unsafe %s");
    expect_has(html, "<h2>A <em>b</em></h2>");
    expect_has(html, "<strong>c</strong><br />");
    expect_has(html, "<li>e</li>\n<li>f</li>");
    recto_page_reset(&p);
}

static void test_empty_and_error_pages(void **state)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        struct recto_write_options o = options();
        struct recto_page p[2] = {
            {.number = 1, .status = RECTO_PAGE_ERROR},
            {.number = 2, .status = RECTO_PAGE_BLANK, .width = 9, .height = 9}};

        p[0].error_text = (char *)"damaged: <x> -->";
        p[0].error = RECTO_EDAMAGED;
        write_pages(names[i], &o, p, 2, true);
        if (strcmp(names[i], "html") == 0)
            expect_has(taken.main.p, "<section class=page data-page=1 data-status=error>\n<p "
                                     "class=problem>page 1: error: damaged: &lt;x&gt; --&gt;</p>\n"
                                     "</section>\n<section class=page data-page=2 "
                                     "data-status=blank>\n</section>\n");
        if (strcmp(names[i], "hocr") == 0)
            expect_has(taken.main.p, "<!-- page 1: error -->");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html),        cmocka_unit_test(test_hocr),
        cmocka_unit_test(test_alto),        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),        cmocka_unit_test(test_html_text),
        cmocka_unit_test(test_html_rest),   cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_dehyphenate), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_cmark),       cmocka_unit_test(test_empty_and_error_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
