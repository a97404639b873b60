/* Word documents: the archive and each part of it as Python reads them, and what text, tables and figures become. */
#include "programs.h"
#include "unit/written.h"

#include "base/mem.h"
#include "result/docx_text.h"
#include "result/zip.h"

#include <string.h>

/* Prints the paragraphs of a document, one a line: STYLE|text, with "/" for a line's end, "^" for a page's, "[N]" before what is in
 * a cell that spans N columns, "v" or "V" for one that is merged down or begins that. Fails when a part is no XML or a file of
 * the archive is damaged. */
static const char reader[] =
    "PYTHONIOENCODING=utf-8 /usr/bin/python3 -c 'import sys, zipfile, xml.etree.ElementTree as E\n"
    "z = zipfile.ZipFile(sys.argv[1])\n"
    "assert z.testzip() is None\n"
    "parts = {n: E.fromstring(z.read(n)) for n in z.namelist() if n.endswith((\".xml\", "
    "\".rels\"))}\n"
    "W = \"{http://schemas.openxmlformats.org/wordprocessingml/2006/main}\"\n"
    "for r in parts[\"word/_rels/document.xml.rels\"]:\n"
    "    assert \"word/\" + r.get(\"Target\") in z.namelist()\n"
    "def para(p):\n"
    "    s = p.find(W + \"pPr/\" + W + \"pStyle\")\n"
    "    out = (s.get(W + \"val\") if s is not None else \"\") + \"|\"\n"
    "    out += \"^\" * len(p.findall(W + \"pPr/\" + W + \"pageBreakBefore\"))\n"
    "    for e in p.iter():\n"
    "        out += e.text if e.tag == W + \"t\" else \"/\" if e.tag == W + \"br\" else \"\"\n"
    "        out += \"<picture>\" if e.tag == W + \"drawing\" else \"\"\n"
    "    return out\n"
    "for e in parts[\"word/document.xml\"][0]:\n"
    "    if e.tag == W + \"p\": print(para(e))\n"
    "    for row in e.findall(W + \"tr\"):\n"
    "        cells = []\n"
    "        for c in row.findall(W + \"tc\"):\n"
    "            span = c.find(W + \"tcPr/\" + W + \"gridSpan\")\n"
    "            down = c.find(W + \"tcPr/\" + W + \"vMerge\")\n"
    "            mark = \"[%%s]\" %% span.get(W + \"val\") if span is not None else \"\"\n"
    "            if down is not None: mark += \"V\" if down.get(W + \"val\") else \"v\"\n"
    "            cells.append(mark + \"/\".join(para(p)[1:] for p in c.findall(W + \"p\")))\n"
    "        print(\"# \" + \" # \".join(cells))\n"
    "' %s 2>&1";

static struct recto_write_options options(void)
{
    struct recto_write_options o;

    recto_write_options_init(&o);
    return o;
}

/* What the reader above prints of the document. */
static struct buf read_back(const struct written *w)
{
    char *path = keep_file(&w->main, "x.docx");
    int status;
    struct buf text = shell(reader, path, &status);

    unlink(path);
    if (status)
        fail_msg("%s", text.p);
    return text;
}

static void expect_pages(struct recto_page *p, int n, struct pixels *pixels, const char *want)
{
    struct recto_write_options o = options();
    struct written w = {0};
    struct buf text;

    written(&w, "docx", &o, pixels, p, n);
    text = read_back(&w);
    assert_string_equal(text.p, want);
    assert_int_equal(w.n_side, 0);
    buf_reset(&text);
    written_reset(&w);
}

static void expect_text(const char *in, const char *want)
{
    struct recto_page p = test_page(str_of(in), RECTO_FINISH_EOS);

    expect_pages(&p, 1, NULL, want);
    recto_page_reset(&p);
}

static int draw(void *ctx, int page, struct recto_image *im)
{
    *im = (struct recto_image){1998, 2997, mem_zero(1998 * 2997, 3)};
    return 0;
}

static void test_example(void **state)
{
    struct pixels pixels = {.draw = draw};
    struct recto_page p = example_page();

    expect_pages(&p, 1, &pixels,
                 "Heading1|Report\n|Cost is $5 (2024).\nFormula|E \\coloneqq mc^{2} \\quad (1)\n"
                 "# A # B\n# 1 # 2\n|\n|<picture>\nCaption|Fig. 1. Map\n");
    pixels_reset(&pixels);
    recto_page_reset(&p);
}

static void test_text(void **state)
{
    expect_text("one\ntwo  \nthree\n\nfour **bold** and <sub>low</sub> \\( x<y \\) &amp; <",
                "|one two/three\n|four bold and low \\( x<y \\) & <\n");
    expect_text(REF("list") DET("[]") "\n- a\n- b\nmore", "ListBullet|a\nListBullet|b more\n");
    expect_text(REF("list") DET("[]") "\n1. a\n2) b\n2024 c", "|1. a/2) b 2024 c\n");
    expect_text(REF("sub_title") DET("[]") "\n### Deep", "Heading3|Deep\n");
    expect_text(REF("code") DET("[]") "\n```\na\n  b < c\n```", "Code|a/  b < c\n");
    expect_text(REF("text") DET("[]") "\nbefore \\[ a \\] after", "|before\nFormula|a\n|after\n");
}

static void test_tables(void **state)
{
    expect_text("<table><thead><tr><th rowspan=2>a</th><th colspan=2>b<br>c</th></tr></thead>"
                "<tr><td>d</td></tr><tr><td colspan=3><b>e</b></td></tr></table>",
                "# Va # [2]b/c\n# v # d # \n# [3]e\n|\n");
    expect_text("<table><tr><td>x<table><tr><td>in</td></tr></table></td></tr></table>",
                "# x in\n|\n");
    expect_text("<table></table>", "");
}

/* Each page begins one, those without text too; what is wrong is said. */
static void test_pages(void **state)
{
    struct recto_page p[4] = {PAGE("one"),
                              {.number = 2, .status = RECTO_PAGE_BLANK},
                              {.number = 3, .status = RECTO_PAGE_ERROR},
                              PAGE("<table><tr><td>t</td></tr></table>")};

    p[2].error_text = mem_strdup("it is <broken>");
    p[3].number = 4;
    expect_pages(p, 4, NULL, "|one\n|^\nProblem|^page 3: error: it is <broken>\n|^\n# t\n|\n");
    for (int i = 0; i < 4; i++)
        recto_page_reset(&p[i]);
}

/* Whatever a model writes, each part is XML. */
static void test_hostile(void **state)
{
    struct recto_page p = PAGE(HOSTILE);
    struct recto_write_options o = options();
    struct written a = {0}, b = {0};
    struct buf text;

    p.width = p.height = 700;
    written(&a, "docx", &o, NULL, &p, 1);
    text = read_back(&a);
    assert_non_null(strstr(text.p, "<script>alert(1)</script>"));
    written(&b, "docx", &o, NULL, &p, 1);
    assert_true(str_eq(buf_view(&a.main), buf_view(&b.main)));
    buf_reset(&text);
    written_reset(&a);
    written_reset(&b);
    recto_page_reset(&p);
}

static void test_zip_limits(void **state)
{
    struct zip z = {.n_entry = ZIP_ENTRIES_MAX}, big = {.n_byte = ZIP_BYTES_MAX - 3};
    struct buf out = {0};

    assert_int_equal(zip_add(&z, &out, "x", STR("")), RECTO_ETOOLARGE);
    assert_int_equal(zip_add(&big, &out, "x", STR("four")), RECTO_ETOOLARGE);
    assert_int_equal(out.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_text),
        cmocka_unit_test(test_tables),  cmocka_unit_test(test_pages),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_zip_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
