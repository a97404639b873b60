/* The grammar and every recovery rule by its number, as bytes; then cuts of good output, and
 * time and memory. */
#include "unit/result_pages.h"

#include "base/file.h"
#include "base/json.h"
#include "result/model.h"
#include "hang.h"

#include <stdio.h>
#include <time.h>

static void expect_box(const struct recto_block *b, int i, int x1, int y1, int x2, int y2)
{
    assert_true(i < b->n_box);
    assert_int_equal(b->box[i].x1, x1);
    assert_int_equal(b->box[i].y1, y1);
    assert_int_equal(b->box[i].x2, x2);
    assert_int_equal(b->box[i].y2, y2);
}

/* Parse one block with these boxes and return it; the page is freed at the next call. */
static const struct recto_block *block_of(const char *det)
{
    static struct recto_page page;
    struct buf b = {0};

    recto_page_reset(&page);
    buf_fmt(&b, "<|ref|>text<|/ref|><|det|>%s<|/det|>\nbody", det);
    page = test_page(buf_view(&b), RECTO_FINISH_EOS);
    buf_reset(&b);
    assert_int_equal(page.n_block, 1);
    assert_string_equal(page.block[0].text, "body");
    return &page.block[0];
}

static void block_free(void)
{
    block_of("[]");
}

/* ---- grammar ------------------------------------------------------------------------------- */

static void test_blocks(void **state)
{
    struct recto_page p = PAGE(REF("title") DET(BOX) "\n# Report\n\n" REF("sub_title")
                                   DET("[[1, 2, 3, 4]]") "\n### Deep\n\n" REF("text")
                                       DET("[[5,6,7,8] , [9,10,11,12]]") "\n two \n lines \n\n");

    assert_int_equal(p.n_block, 3);
    assert_int_equal(p.n_stray, 0);
    assert_int_equal(p.block[0].kind, RECTO_BLOCK_TITLE);
    assert_string_equal(p.block[0].label, "title");
    assert_string_equal(p.block[0].text, "Report");
    assert_string_equal(p.block[0].raw, "# Report");
    assert_string_equal(p.block[0].det, BOX);
    assert_int_equal(p.block[0].level, 1);
    expect_box(&p.block[0], 0, 100, 50, 500, 80);
    assert_int_equal(p.block[1].kind, RECTO_BLOCK_HEADING);
    assert_int_equal(p.block[1].level, 3);
    assert_string_equal(p.block[2].text, "two \n lines");
    assert_string_equal(p.block[2].raw, " two \n lines \n\n");
    expect_box(&p.block[2], 1, 9, 10, 11, 12);
    for (int i = 0; i < 3; i++)
        assert_int_equal(p.block[i].order, i);
    assert_true(
        str_starts((str){p.raw, p.n_raw}, STR(REF("title") DET(BOX) "\n# Report\n\n<|ref|>")));
    recto_page_reset(&p);
}

static void test_separators(void **state)
{
    struct recto_page p = PAGE(REF("text") DET("[]") "\n\nA\n\n\n" REF("text") "\nB");

    assert_string_equal(p.block[0].raw, "\nA\n");
    assert_string_equal(p.block[1].raw, "\nB"); /* no boxes: the newline is the body's */
    recto_page_reset(&p);
}

/* The same characters from ordinary tokens are text; from text alone they are markers. */
static void test_spelled_markers(void **state)
{
    static const char text[] = REF("title") "x";
    int32_t id[sizeof text];
    struct recto_page p = {0}, q = {0};

    for (size_t i = 0; i < sizeof text - 1; i++)
        id[i] = (unsigned char)text[i];
    parse_ids(id, sizeof text - 1, test_pieces(), N_PIECE, &test_markers, RECTO_FINISH_EOS, &p);
    assert_int_equal(p.n_block, 1);
    assert_string_equal(p.block[0].text, text);
    assert_int_equal(p.block[0].flags, RECTO_BLOCK_IMPLICIT);
    parse_text(STR(text), RECTO_FINISH_EOS, &q);
    assert_int_equal(q.n_block, 1);
    assert_string_equal(q.block[0].label, "title");
    assert_string_equal(q.block[0].text, "x");
    assert_string_equal(p.raw, q.raw);
    recto_page_reset(&p);
    recto_page_reset(&q);
}

static void test_labels(void **state)
{
    static const struct {
        const char *label;
        enum recto_block_kind kind;
    } cases[] = {
        {"title", RECTO_BLOCK_TITLE},
        {"Sub-Title", RECTO_BLOCK_HEADING},
        {"section header", RECTO_BLOCK_HEADING},
        {" text ", RECTO_BLOCK_TEXT},
        {"list_item", RECTO_BLOCK_LIST},
        {"formula", RECTO_BLOCK_EQUATION},
        {"TABLE", RECTO_BLOCK_TABLE},
        {"chart", RECTO_BLOCK_FIGURE},
        {"image caption", RECTO_BLOCK_CAPTION},
        {"table_title", RECTO_BLOCK_TABLE_CAPTION},
        {"page_footnote", RECTO_BLOCK_FOOTNOTE},
        {"page-header", RECTO_BLOCK_HEADER},
        {"footer", RECTO_BLOCK_FOOTER},
        {"page_number", RECTO_BLOCK_PAGE_NUMBER},
        {"algorithm", RECTO_BLOCK_CODE},
        {"a red car", RECTO_BLOCK_OTHER},
        {"", RECTO_BLOCK_OTHER},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(block_kind_of_label(str_of(cases[i].label)), cases[i].kind);
}

static void test_heading_marks(void **state)
{
    static const struct {
        const char *body, *text;
        int level;
    } cases[] = {
        {"# A", "A", 1}, {"###### A", "A", 6},      {"####### A", "####### A", 2},
        {"A", "A", 2},   {"#1 of 2", "#1 of 2", 2}, {"##\nA", "A", 2},
        {"#", "", 1},
    };
    struct buf b = {0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recto_page p;

        buf_clear(&b);
        buf_fmt(&b, REF("sub_title") DET("[]") "\n%s", cases[i].body);
        p = test_page(buf_view(&b), RECTO_FINISH_EOS);
        assert_string_equal(p.block[0].text, cases[i].text);
        assert_int_equal(p.block[0].level, cases[i].level);
        recto_page_reset(&p);
    }
    buf_reset(&b);
}

static void test_nothing(void **state)
{
    struct recto_page p = PAGE(""), q = PAGE(" \n\n "), r = {0};

    assert_int_equal(p.n_block, 0);
    assert_string_equal(p.raw, "");
    assert_int_equal(q.n_block, 0);
    assert_string_equal(q.raw, " \n\n ");
    parse_ids(NULL, 0, NULL, 0, &test_markers, RECTO_FINISH_NONE, &r);
    assert_int_equal(r.n_block, 0);
    recto_page_reset(&p);
    recto_page_reset(&q);
    recto_page_reset(&r);
}

/* ---- recovery, by number --------------------------------------------------------------------- */

static void test_r1(void **state)
{
    const struct recto_block *b = block_of("__import__('os').system('x')");

    assert_int_equal(b->n_box, 0);
    assert_int_equal(b->box_error, RECTO_BOX_SYNTAX);
    assert_string_equal(b->det, "__import__('os').system('x')");
    block_free();
}

static void test_r2(void **state)
{
    const struct recto_block *b = block_of("[[1,2],[");

    assert_int_equal(b->n_box, 0);
    assert_int_equal(b->box_error, RECTO_BOX_SYNTAX);
    b = block_of("[[1,2,3,4],[");
    assert_int_equal(b->box_error, RECTO_BOX_SYNTAX);
    assert_int_equal(b->n_box, 1);
    expect_box(b, 0, 1, 2, 3, 4);
    b = block_of("[[1,2,3,4],[5,6,None,8],[9,10,11,12]]");
    assert_int_equal(b->box_error, RECTO_BOX_SYNTAX);
    assert_int_equal(b->n_box, 1);
    assert_int_equal(block_of("")->box_error, RECTO_BOX_SYNTAX);
    assert_int_equal(block_of("[[1,2,3,4]] x")->box_error, RECTO_BOX_SYNTAX);
    assert_int_equal(block_of("[[1 2 3 4]]")->box_error, RECTO_BOX_SYNTAX);
    block_free();
}

static void test_r3(void **state)
{
    static const struct {
        const char *bad;
        enum recto_box_error error;
    } cases[] = {
        {"1,2,3,4,5", RECTO_BOX_ARITY},      {"1,2", RECTO_BOX_ARITY},
        {"1.5,2,3,4", RECTO_BOX_NUMBER},     {"1e3,2,3,4", RECTO_BOX_NUMBER},
        {"0x10,2,3,4", RECTO_BOX_NUMBER},    {"+1,2,3,4", RECTO_BOX_NUMBER},
        {"1234567,2,3,4", RECTO_BOX_NUMBER}, {"1,2,3,99999999999999999999", RECTO_BOX_NUMBER},
        {"--1,2,3,4", RECTO_BOX_NUMBER},     {"1-2,3,4", RECTO_BOX_NUMBER},
    };
    struct buf b = {0};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct recto_block *block;

        buf_clear(&b);
        buf_fmt(&b, "[[1,2,3,4],[%s],[5,6,7,8]]", cases[i].bad);
        block = block_of(b.p);
        assert_int_equal(block->box_error, cases[i].error);
        assert_int_equal(block->n_box, 2);
        expect_box(block, 1, 5, 6, 7, 8);
    }
    assert_int_equal(block_of("[1,2,3,4,5]")->box_error, RECTO_BOX_ARITY);
    buf_reset(&b);
    block_free();
}

static void test_r4(void **state)
{
    const struct recto_block *b = block_of("[[99999, 1, 1000, 2]]");

    assert_int_equal(b->box_error, RECTO_BOX_RANGE);
    expect_box(b, 0, 999, 1, 999, 2);
    assert_string_equal(b->det, "[[99999, 1, 1000, 2]]");
    b = block_of("[[-5, 1, 7, 2]]");
    assert_int_equal(b->box_error, RECTO_BOX_RANGE);
    expect_box(b, 0, 0, 1, 7, 2);
    b = block_of("[[-1, -0, 1000, 1000]]");
    assert_int_equal(b->box_error, RECTO_BOX_OK);
    expect_box(b, 0, 0, 0, 999, 999);
    block_free();
}

static void test_r5(void **state)
{
    const struct recto_block *b = block_of("[[500, 80, 100, 50]]");

    expect_box(b, 0, 100, 50, 500, 80);
    assert_int_equal(b->flags, RECTO_BLOCK_SWAPPED);
    b = block_of("[[5, 6, 5, 9]]");
    expect_box(b, 0, 5, 6, 5, 9);
    assert_int_equal(b->flags, 0);
    block_free();
}

static void test_r6_r7(void **state)
{
    static const char *const none[] = {"[]", "[[]]", " [ ] ", "[[ ]]", "\n[\n]\t", "[[],]"};

    for (size_t i = 0; i < COUNT(none); i++) {
        assert_int_equal(block_of(none[i])->n_box, 0);
        assert_int_equal(block_of(none[i])->box_error, RECTO_BOX_OK);
    }
    assert_int_equal(block_of("[[1,2,3,4],[5,6,7,8],[9,9,9,9],]")->n_box, 3);
    assert_int_equal(block_of("[[1,2,3,4],[5,6,7,8],[9,9,9,9],]")->box_error, RECTO_BOX_OK);
    expect_box(block_of("[ 1 , 2 ,\n3 , 4 ]"), 0, 1, 2, 3, 4);
    assert_int_equal(block_of("[1, 2, 3, 4]")->box_error, RECTO_BOX_OK);
    block_free();
}

static void test_r8(void **state)
{
    struct recto_page p = PAGE("\nHello\n\n" REF("text") DET(BOX) "\nWorld"),
                      q = PAGE("# Only\n\ntext");

    assert_int_equal(p.n_block, 2);
    assert_int_equal(p.block[0].kind, RECTO_BLOCK_TEXT);
    assert_int_equal(p.block[0].n_box, 0);
    assert_null(p.block[0].det);
    assert_int_equal(p.block[0].flags, RECTO_BLOCK_IMPLICIT);
    assert_string_equal(p.block[0].text, "Hello");
    assert_int_equal(q.n_block, 1);
    assert_string_equal(q.block[0].text, "# Only\n\ntext");
    assert_string_equal(q.block[0].label, "");
    recto_page_reset(&p);
    recto_page_reset(&q);
}

static void test_r9(void **state)
{
    struct recto_page p = PAGE(REF("text") "no boxes"), q = PAGE("<|ref|>title\nBody"),
                      r = PAGE("<|ref|>title<|det|>" BOX "<|/det|>\nBody"), s;
    struct buf b = {0};

    assert_string_equal(p.block[0].text, "no boxes");
    assert_null(p.block[0].det);
    assert_int_equal(p.block[0].box_error, RECTO_BOX_OK);
    assert_string_equal(q.block[0].label, "title");
    assert_string_equal(q.block[0].text, "Body");
    assert_string_equal(r.block[0].label, "title");
    assert_int_equal(r.block[0].n_box, 1);
    assert_string_equal(r.block[0].text, "Body");
    buf_text(&b, "<|ref|>");
    for (int i = 0; i < 100; i++)
        buf_char(&b, 'x');
    s = test_page(buf_view(&b), RECTO_FINISH_EOS);
    assert_int_equal(strlen(s.block[0].label), 64);
    assert_int_equal(s.block[0].flags, RECTO_BLOCK_LABEL_LONG);
    assert_int_equal(s.block[0].n_text, 36);
    buf_reset(&b);
    recto_page_reset(&p);
    recto_page_reset(&q);
    recto_page_reset(&r);
    recto_page_reset(&s);
}

static void test_label_long(void **state)
{
    struct buf b = {0};
    struct recto_page p;

    buf_text(&b, "<|ref|>x");
    for (int i = 0; i < 50; i++)
        buf_text(&b, "é");
    buf_text(&b, "<|/ref|>text");
    p = test_page(buf_view(&b), RECTO_FINISH_EOS);
    assert_int_equal(strlen(p.block[0].label), 63); /* 64 would split a character */
    assert_int_equal(p.block[0].flags, RECTO_BLOCK_LABEL_LONG);
    assert_string_equal(p.block[0].text, "text");
    buf_reset(&b);
    recto_page_reset(&p);
}

static void test_r10(void **state)
{
    struct recto_page p = PAGE("a<|/ref|>b<|det|>[[1,2,3,4]]<|/det|>c\n\n" REF("text")
                                   DET("[]") "\nd<|/det|>e<|det|>f");

    assert_int_equal(p.n_block, 2);
    assert_string_equal(p.block[0].text, "ab[[1,2,3,4]]c");
    assert_int_equal(p.block[0].n_box, 0);
    assert_string_equal(p.block[1].text, "def");
    assert_int_equal(p.n_stray, 5);
    recto_page_reset(&p);
}

static void test_r11(void **state)
{
    struct recto_page p = PAGE(REF("table") DET(BOX) "\n<table><tr><td>A" REF("text")
                                   DET(BOX) "\nB");

    assert_int_equal(p.n_block, 2);
    assert_string_equal(p.block[0].text, "<table><tr><td>A");
    assert_string_equal(p.block[1].text, "B");
    recto_page_reset(&p);
}

static void test_r12(void **state)
{
    static const str cuts[] = {
        {"<|ref|>ti", 9},
        {"<|ref|>", 7},
        {"<|ref|>text<|/ref|>", 19},
        {"<|ref|>text<|/ref|><|det|>[[1, 2", 32},
        {"<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]", 40},
    };
    struct recto_page p = test_page(STR(REF("text") DET(BOX) "\nna\xC3"), RECTO_FINISH_LENGTH);

    assert_string_equal(p.block[0].text, "na");
    assert_string_equal(p.block[0].raw, "na");
    assert_int_equal(p.raw[p.n_raw - 1], 'a');
    assert_int_equal(p.block[0].flags, RECTO_BLOCK_INCOMPLETE);
    recto_page_reset(&p);
    for (size_t i = 0; i < COUNT(cuts); i++) {
        p = test_page(cuts[i], RECTO_FINISH_LENGTH);
        assert_int_equal(p.n_block, 1);
        assert_int_equal(p.block[0].flags, RECTO_BLOCK_INCOMPLETE);
        assert_string_equal(p.block[0].text, "");
        assert_int_equal(p.block[0].order, -1);
        assert_int_equal(p.block[0].n_box, i == 4);
        assert_int_equal(p.block[0].box_error, i == 3 ? RECTO_BOX_SYNTAX : RECTO_BOX_OK);
        recto_page_reset(&p);
    }
}

/* A list that was never closed does not swallow the body. */
static void test_open_boxes(void **state)
{
    struct recto_page p = PAGE(REF("text") "<|det|>[[1, 2, 3, 4]]\nBody [1]"),
                      q = PAGE(REF("text") "<|det|>[[1, 2\nBody [1]]" REF("text") DET("[]") "\nB");

    assert_int_equal(p.block[0].n_box, 1);
    assert_string_equal(p.block[0].text, "Body [1]");
    assert_int_equal(q.block[0].n_box, 0);
    assert_int_equal(q.block[0].box_error, RECTO_BOX_SYNTAX);
    assert_string_equal(q.block[0].text, "Body [1]]");
    assert_string_equal(q.block[1].text, "B");
    recto_page_reset(&p);
    recto_page_reset(&q);
}

static void test_r13(void **state)
{
    struct recto_page p = PAGE(REF("<script>\0\x01") DET("[]") "\na\x02"
                                                               "b\tc\nd\xEF\xBF\xBE"
                                                               "e\xFF");

    assert_string_equal(p.block[0].label, "<script>\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_int_equal(p.block[0].kind, RECTO_BLOCK_OTHER);
    assert_string_equal(p.block[0].text, "a\xEF\xBF\xBD"
                                         "b\tc\nd\xEF\xBF\xBD"
                                         "e\xEF\xBF\xBD");
    assert_string_equal(p.block[0].raw, "a\x02"
                                        "b\tc\nd\xEF\xBF\xBE"
                                        "e\xEF\xBF\xBD");
    recto_page_reset(&p);
}

static void test_r14(void **state)
{
    static const int32_t id[] = {'a', ID_EOS,   'b',   ID_NO_TEXT, 'c',   100000,
                                 -7,  ID_IMAGE, ID_TD, 'd',        ID_EOS};
    static const char text[] = "a<｜end▁of▁sentence｜>b<|grounding|><td>c"
                               "<｜end▁of▁sentence｜>";
    struct recto_page p = {0}, q = {0};

    parse_ids(id, COUNT(id), test_pieces(), N_PIECE, &test_markers, RECTO_FINISH_EOS, &p);
    assert_string_equal(p.block[0].text, "abc<td>d");
    assert_string_equal(p.raw, "abc<image><td>d");
    assert_int_equal(p.n_stray, 5); /* the end of sequence at the end belongs there */
    parse_text(STR(text), RECTO_FINISH_EOS, &q);
    assert_string_equal(q.block[0].text, "ab<td>c");
    assert_int_equal(q.n_stray, 2);
    recto_page_reset(&p);
    recto_page_reset(&q);
}

static void test_r15(void **state)
{
    struct buf b = {0};
    struct recto_page p;

    buf_text(&b, "<|ref|>text<|/ref|><|det|>[");
    for (int i = 0; i < 100000; i++)
        buf_text(&b, i ? ",[1,2,3,4]" : "[1,2,3,4]");
    buf_text(&b, "]<|/det|>\nx");
    p = test_page(buf_view(&b), RECTO_FINISH_EOS);
    assert_int_equal(p.n_block, 1);
    assert_int_equal(p.block[0].n_box, 1024);
    assert_int_equal(p.block[0].flags, RECTO_BLOCK_CAPPED);
    assert_int_equal(p.block[0].box_error, RECTO_BOX_OK);
    recto_page_reset(&p);
    buf_clear(&b);
    for (int i = 0; i < 1000000; i++)
        buf_text(&b, "<|ref|>");
    parse_text(buf_view(&b), RECTO_FINISH_LENGTH, &p);
    assert_int_equal(p.n_block, 8192);
    assert_true(p.block[8191].flags & RECTO_BLOCK_CAPPED);
    assert_int_equal(p.n_raw, 7000000);
    recto_page_reset(&p);
    buf_reset(&b);
}

static void test_r16(void **state)
{
#define ONE REF("text") DET(BOX) "\nsame\n\n"
    struct recto_page p = PAGE(ONE REF("list") DET(BOX) "\nsame\n\n" REF("text")
                                   DET(BOX) "\nother\n\n" ONE),
                      q = PAGE(ONE ONE ONE ONE ONE);

    assert_int_equal(p.n_block, 4);
    assert_int_equal(p.block[0].flags, 0);
    assert_int_equal(p.block[1].flags, RECTO_BLOCK_DUPLICATE); /* labels do not count */
    assert_int_equal(p.block[2].flags, 0);
    assert_int_equal(p.block[3].flags, 0);
    assert_int_equal(page_block_loop(&p), -1);
    assert_int_equal(page_block_loop(&q), 1); /* three duplicates: blocks 1, 2, 3 */
    recto_page_reset(&p);
    recto_page_reset(&q);
}

static void test_many_blocks_loop(void **state)
{
    struct buf b = {0};
    struct recto_page p;

    for (int i = 0; i < 401; i++)
        buf_fmt(&b, "<|ref|>text<|/ref|><|det|>[]<|/det|>\n%d\n\n", i);
    p = test_page(buf_view(&b), RECTO_FINISH_EOS);
    assert_int_equal(page_block_loop(&p), 400);
    p.n_block = 400;
    assert_int_equal(page_block_loop(&p), -1);
    p.n_block = 401;
    recto_page_reset(&p);
    buf_reset(&b);
}

/* Order numbers run over blocks with text or a figure. */
static void test_order(void **state)
{
    struct recto_page p = PAGE(REF("image") DET(BOX) "\n\n" REF("text")
                                   DET("[[1,2,3,4]]") "\n\n" REF("text") DET("[[5,6,7,8]]") "\nx");

    assert_int_equal(p.block[0].order, 0);
    assert_int_equal(p.block[1].order, -1);
    assert_int_equal(p.block[2].order, 1);
    recto_page_reset(&p);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static const char good[] = REF("title") DET(BOX) "\n# Ünïted €5\n\n" REF("text")
    DET("[[1, 2, 3, 4], [5, 6, 7, 8]]") "\nfirst\n\nsecond \\( x^{2} \\)\n\n" REF("table") DET(
        "[[100, 240, 899, 330]]") "\n<table><tr><td>A</td><td>B</td></tr></table>\n\n" REF("image")
        DET("[[0, 0, 999, 999]]") "\n\n\n" REF("figure_title")
            DET("[[100, 610, 500, 640]]") "\nFig. 1. Map";

static void expect_same_block(const struct recto_block *a, const struct recto_block *b)
{
    assert_string_equal(a->label, b->label);
    assert_string_equal(a->det, b->det);
    assert_string_equal(a->text, b->text);
    assert_string_equal(a->raw, b->raw);
    assert_int_equal(a->order, b->order);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->box_error, b->box_error);
    assert_int_equal(a->n_box, b->n_box);
    if (a->n_box)
        assert_memory_equal(a->box, b->box, (size_t)a->n_box * sizeof *a->box);
}

/* However good output is cut, the blocks before the last are those of the whole. */
static void expect_prefix(const struct recto_page *cut, const struct recto_page *whole)
{
    assert_true(cut->n_block <= whole->n_block);
    for (int i = 0; i + 1 < cut->n_block; i++)
        expect_same_block(&cut->block[i], &whole->block[i]);
}

static void test_cuts(void **state)
{
    struct recto_page whole = PAGE(good), cut, text;
    int32_t *id;
    size_t n = test_ids(STR(good), &id);

    assert_int_equal(whole.n_block, 5);
    for (size_t i = 0; i <= n; i++) {
        cut = (struct recto_page){0};
        parse_ids(id, i, test_pieces(), N_PIECE, &test_markers, RECTO_FINISH_LENGTH, &cut);
        expect_prefix(&cut, &whole);
        recto_page_reset(&cut);
    }
    for (size_t i = 0; i < sizeof good; i++) {
        text = (struct recto_page){0};
        parse_text((str){good, i}, RECTO_FINISH_LENGTH, &text);
        expect_prefix(&text, &whole);
        recto_page_reset(&text);
    }
    free(id);
    recto_page_reset(&whole);
}

/* A piece taken out at a random place: never an error, every byte string valid. */
static void test_random_cuts(void **state)
{
    uint32_t seed = 12345;

    for (int round = 0; round < 2000; round++) {
        struct buf b = {0};
        struct recto_page p;
        size_t from, to;

        seed = seed * 1664525 + 1013904223;
        from = (seed >> 8) % (sizeof good - 1);
        seed = seed * 1664525 + 1013904223;
        to = from + (seed >> 8) % (sizeof good - 1 - from);
        buf_add(&b, good, from);
        buf_add(&b, good + to, sizeof good - 1 - to);
        p = test_page(buf_view(&b), RECTO_FINISH_EOS);
        for (int i = 0; i < p.n_block; i++) {
            assert_int_equal(strlen(p.block[i].text), p.block[i].n_text);
            assert_true(p.block[i].n_raw >= p.block[i].n_text ||
                        p.block[i].n_raw * 3 >= p.block[i].n_text);
        }
        recto_page_reset(&p);
        buf_reset(&b);
    }
}

/* ---- the mini model's pages ------------------------------------------------------------------ */

static void test_mini_pages(void **state)
{
    json_t *root, *page, *ids;
    struct recto_page p;
    size_t i;

    assert_int_equal(json_read(&root, SOURCE_DIR "/models/mini/expected.json", 1 << 24), 0);
    json_array_foreach(root, i, page)
    {
        json_t *run = json_object_get(page, "fp32");
        str text = str_of(json_string_value(json_object_get(run, "text")));

        ids = json_object_get(run, "ids");
        assert_true(json_array_size(ids) > 0);
        p = test_page(text, RECTO_FINISH_EOS);
        assert_string_equal(p.raw, text.p);
        assert_int_equal(p.n_stray, 0);
        if (!json_is_true(json_object_get(page, "grounding"))) {
            assert_int_equal(p.n_block, 1);
            assert_string_equal(p.block[0].text, text.p);
        } else {
            assert_int_equal(p.n_block, 4);
            for (int k = 0; k < 4; k++) {
                assert_int_equal(p.block[k].n_box, 1);
                assert_int_equal(p.block[k].box_error, RECTO_BOX_OK);
                assert_int_equal(p.block[k].flags, 0);
                assert_null(strchr(p.block[k].text, '|'));
            }
        }
        recto_page_reset(&p);
    }
    json_decref(root);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* 256 KiB of each; the bound leaves room for sanitizers and a loaded machine, and none for a
 * square of it. */
static void test_time(void **state)
{
    static const char *const units[] = {
        "<|ref|>",
        "<|/ref|>",
        "<|det|>[",
        "<|ref|><|det|>[[1,",
        "<",
        "<|",
        "[",
        "\n",
        "\xC3",
        "<|ref|>a\n",
        "<|ref|>text<|/ref|><|det|>",
        "<｜end▁of▁sentence｜>",
    };

    for (size_t i = 0; i < COUNT(units); i++) {
        struct buf b = {0};
        struct recto_page p = {0}, q;
        clock_t from = clock();

        while (b.n < 1 << 18)
            buf_text(&b, units[i]);
        parse_text(buf_view(&b), RECTO_FINISH_LENGTH, &p);
        q = test_page(buf_view(&b), RECTO_FINISH_LENGTH);
        assert_true(clock() - from < HANG_S * CLOCKS_PER_SEC);
        recto_page_reset(&p);
        recto_page_reset(&q);
        buf_reset(&b);
    }
}

static void test_names(void **state)
{
    assert_string_equal(recto_status_name(RECTO_PAGE_CANCELLED), "cancelled");
    assert_string_equal(recto_finish_name(RECTO_FINISH_LOOP), "loop");
    assert_string_equal(recto_block_kind_name(RECTO_BLOCK_OTHER), "other");
    assert_string_equal(recto_block_kind_name(RECTO_BLOCK_PAGE_NUMBER), "page_number");
    assert_string_equal(recto_box_error_name(RECTO_BOX_RANGE), "range");
    assert_null(recto_box_error_name(RECTO_BOX_OK));
    for (int k = 0; k <= RECTO_BLOCK_OTHER; k++) {
        enum recto_block_kind back;

        assert_true(
            block_kind_from_name(str_of(recto_block_kind_name((enum recto_block_kind)k)), &back));
        assert_int_equal(back, k);
    }
}

static void test_px(void **state)
{
    struct recto_box px = box_px((struct recto_box){51, 860, 216, 970}, 1225, 405);

    assert_int_equal(px.x1, 62);
    assert_int_equal(px.y1, 348);
    assert_int_equal(px.x2, 264);
    assert_int_equal(px.y2, 393);
    px = box_px((struct recto_box){0, 0, 999, 999}, 1225, 405);
    assert_int_equal(px.x2, 1225);
    assert_int_equal(px.y2, 405);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_spelled_markers),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_heading_marks),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_r1),
        cmocka_unit_test(test_r2),
        cmocka_unit_test(test_r3),
        cmocka_unit_test(test_r4),
        cmocka_unit_test(test_r5),
        cmocka_unit_test(test_r6_r7),
        cmocka_unit_test(test_r8),
        cmocka_unit_test(test_r9),
        cmocka_unit_test(test_label_long),
        cmocka_unit_test(test_r10),
        cmocka_unit_test(test_r11),
        cmocka_unit_test(test_r12),
        cmocka_unit_test(test_open_boxes),
        cmocka_unit_test(test_r13),
        cmocka_unit_test(test_r14),
        cmocka_unit_test(test_r15),
        cmocka_unit_test(test_r16),
        cmocka_unit_test(test_many_blocks_loop),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_random_cuts),
        cmocka_unit_test(test_mini_pages),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_px),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
