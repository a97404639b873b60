/* Lines and words placed in blocks: bands of drawn pixels, breaks, columns, vertical text, tables. */
#include "unit/result_pages.h"

#include "hang.h"
#include "result/bands.h"
#include "result/lines.h"
#include "result/unicode.h"
#include "result/wrap.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* ---- bands ----------------------------------------------------------------------------------- */

static unsigned char *ink;
static int ink_w, ink_h;

static void paper(int w, int h)
{
    free(ink);
    ink = mem_zero((size_t)w * (size_t)h, 1);
    ink_w = w, ink_h = h;
}

static void bar(int x1, int y1, int x2, int y2)
{
    for (int y = y1; y < y2; y++)
        memset(ink + (size_t)y * (size_t)ink_w + x1, 1, (size_t)(x2 - x1));
}

static void expect_bands(const int (*want)[4], int n, bool is_multi)
{
    struct bands b;

    bands_find(&b, ink, ink_w, ink_h);
    assert_int_equal(b.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(b.band[i].y1, want[i][0]);
        assert_int_equal(b.band[i].y2, want[i][1]);
        assert_int_equal(b.band[i].x1, want[i][2]);
        assert_int_equal(b.band[i].x2, want[i][3]);
    }
    assert_int_equal(b.is_multi_column, is_multi);
    bands_reset(&b);
}

static void test_bands(void **state)
{
    paper(200, 100);
    expect_bands(NULL, 0, false);
    bar(10, 5, 150, 25);
    bar(20, 26, 190, 46); /* a gap of one row is a gap */
    bar(10, 60, 11, 80);  /* a single column of ink is none */
    expect_bands((const int[][4]){{5, 25, 10, 150}, {26, 46, 20, 190}}, 2, false);
}

/* Accents and dots belong to the nearer line; dust far off to none. */
static void test_small_bands(void **state)
{
    paper(200, 200);
    bar(10, 20, 150, 40);
    bar(10, 14, 20, 18); /* above, 2 away: joins */
    bar(10, 60, 150, 80);
    bar(30, 83, 36, 86); /* below, 3 away: joins */
    bar(30, 120, 36, 124);
    bar(10, 150, 150, 170);
    expect_bands((const int[][4]){{14, 40, 10, 150}, {60, 86, 10, 150}, {150, 170, 10, 150}}, 3,
                 false);
}

static void test_large_bands(void **state)
{
    paper(100, 400);
    for (int i = 0; i < 5; i++)
        bar(10, 10 + 30 * i, 90, 30 + 30 * i);
    bar(10, 200, 90, 246); /* 46 = 2.3 medians: two lines */
    bar(10, 300, 90, 332); /* 1.6 medians: still one */
    expect_bands((const int[][4]){{10, 30, 10, 90},
                                  {40, 60, 10, 90},
                                  {70, 90, 10, 90},
                                  {100, 120, 10, 90},
                                  {130, 150, 10, 90},
                                  {200, 223, 10, 90},
                                  {223, 246, 10, 90},
                                  {300, 332, 10, 90}},
                 8, false);
}

static void test_columns(void **state)
{
    paper(400, 100);
    for (int i = 0; i < 4; i++) {
        bar(10, 5 + 25 * i, 190, 20 + 25 * i);
        bar(205, 5 + 25 * i, 390, 20 + 25 * i);
    }
    expect_bands(
        (const int[][4]){{5, 20, 10, 390}, {30, 45, 10, 390}, {55, 70, 10, 390}, {80, 95, 10, 390}},
        4, true);
    bar(195, 30, 200, 45); /* a word in the gap */
    expect_bands(
        (const int[][4]){{5, 20, 10, 390}, {30, 45, 10, 390}, {55, 70, 10, 390}, {80, 95, 10, 390}},
        4, false);
    paper(400, 30); /* one line with a wide gap */
    bar(10, 5, 190, 20);
    bar(250, 5, 390, 20);
    expect_bands((const int[][4]){{5, 20, 10, 390}}, 1, false);
    free(ink);
    ink = NULL;
}

/* ---- breaks ---------------------------------------------------------------------------------- */

static double cost_of(const double *t, int n, const double *b, int k, const int *first)
{
    double all_t = 0, all_b = 0, cost = 0;

    for (int i = 0; i < n; i++)
        all_t += t[i];
    for (int i = 0; i < k; i++)
        all_b += b[i];
    for (int i = 0; i < k; i++) {
        double in = 0;

        for (int j = first[i]; j < first[i + 1]; j++)
            in += t[j];
        cost += pow(in / all_t - b[i] / all_b, 2);
    }
    return cost;
}

/* The least cost over all ways to break, by trying them. */
static double least_cost(const double *t, int n, const double *b, int k, int *first, int line)
{
    double least = INFINITY;

    if (line == k) {
        first[k] = n;
        return cost_of(t, n, b, k, first);
    }
    for (first[line] = first[line - 1] + 1; first[line] <= n - (k - line); first[line]++)
        least = fmin(least, least_cost(t, n, b, k, first, line + 1));
    return least;
}

static void test_wrap_is_optimal(void **state)
{
    unsigned seed = 7;

    for (int round = 0; round < 300; round++) {
        double t[10], b[5];
        int n = 1 + round % 10, k = 1 + round / 10 % (n < 5 ? n : 5), first[6], brute[6] = {0};

        for (int i = 0; i < n; i++)
            t[i] = 0.5 + (seed = seed * 1103515245u + 12345u) / 65536 % 20;
        for (int i = 0; i < k; i++)
            b[i] = 1 + (seed = seed * 1103515245u + 12345u) / 65536 % 90;
        wrap_text(t, n, b, k, first);
        assert_int_equal(first[0], 0);
        assert_int_equal(first[k], n);
        for (int i = 0; i < k; i++)
            assert_true(first[i] < first[i + 1]);
        assert_true(fabs(cost_of(t, n, b, k, first) - least_cost(t, n, b, k, brute, 1)) < 1e-12);
    }
}

/* A hostile size takes the linear way and still gives every line a unit. */
static void test_wrap_large(void **state)
{
    enum { N = 200000, K = 3000 };
    static double t[N], b[K];
    static int first[K + 1];
    clock_t from = clock();

    for (int i = 0; i < N; i++)
        t[i] = 1 + i % 7;
    for (int i = 0; i < K; i++)
        b[i] = 1;
    wrap_text(t, N, b, K, first);
    assert_int_equal(first[K], N);
    for (int i = 0; i < K; i++)
        assert_true(first[i] < first[i + 1] && abs(first[i] - (int)((int64_t)i * N / K)) < N / K);
    wrap_text(t, WRAP_CELLS / K, b, K, first);
    assert_true(clock() - from < HANG_S * CLOCKS_PER_SEC);
}

static void test_width(void **state)
{
    assert_true(text_width(STR("abc")) == 1.5);
    assert_true(text_width(STR("中文a")) == 2.5);
    assert_true(text_width(STR("e\xCC\x81")) == 0.5);
    assert_true(text_width(STR("\xF0\x9F\x98\x80")) == 1);
    assert_true(text_width(STR("\xFF\xFE")) == 0);
    assert_true(code_is_cjk(0x4E2D) && !code_is_cjk(0xAC00) && code_is_wide(0xAC00));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static struct recto_image image;

static void white(int w, int h)
{
    recto_image_reset(&image);
    image = (struct recto_image){w, h, mem_alloc((size_t)w * (size_t)h * 3)};
    memset(image.rgb, 255, (size_t)w * (size_t)h * 3);
}

static void print(int x1, int y1, int x2, int y2)
{
    for (int y = y1; y < y2; y++)
        memset(image.rgb + ((size_t)y * (size_t)image.width + (size_t)x1) * 3, 0,
               (size_t)(x2 - x1) * 3);
}

static void expect_box(struct recto_box b, int x1, int y1, int x2, int y2)
{
    assert_int_equal(b.x1, x1);
    assert_int_equal(b.y1, y1);
    assert_int_equal(b.x2, x2);
    assert_int_equal(b.y2, y2);
}

static void expect_line(const struct lines *k, int i, const char *text)
{
    str s = lines_text(k, k->line[i].text, k->line[i].n_text);

    assert_int_equal(s.n, strlen(text));
    assert_memory_equal(s.p, text, s.n);
}

static void test_pixels(void **state)
{
    struct lines k;

    white(400, 300);
    print(60, 110, 300, 130);
    print(60, 140, 300, 160);
    print(60, 170, 140, 190);
    lines_of_text(&k, STR("one two three four five six seven"),
                  (struct recto_box){50, 100, 350, 200}, &image);
    assert_int_equal(k.n_line, 3);
    expect_line(&k, 0, "one two three");
    expect_line(&k, 1, "four five six");
    expect_line(&k, 2, "seven");
    expect_box(k.line[0].px, 60, 110, 300, 130);
    expect_box(k.line[2].px, 60, 170, 140, 190);
    assert_int_equal(k.n_word, 7);
    assert_int_equal(k.line[1].word, 3);
    assert_int_equal(k.line[1].n_word, 3);
    expect_box(k.word[0].px, 60, 110, 115, 130); /* 3 of 13 letters of 240 px */
    expect_box(k.word[2].px, 208, 110, 300, 130);
    lines_reset(&k);
    /* Hard lines are kept when there are as many as bands. */
    lines_of_text(&k, STR("a\n\nlonger than the line above\nb"),
                  (struct recto_box){50, 100, 350, 200}, &image);
    assert_int_equal(k.n_line, 3);
    expect_line(&k, 0, "a");
    expect_line(&k, 2, "b");
    lines_reset(&k);
    /* Fewer words than bands: equal lines, not one band after the other. */
    lines_of_text(&k, STR("one two"), (struct recto_box){50, 100, 350, 200}, &image);
    assert_int_equal(k.n_line, 1);
    expect_box(k.line[0].px, 50, 100, 350, 200);
    lines_reset(&k);
}

static void test_without_pixels(void **state)
{
    struct lines k;

    lines_of_text(&k, STR("Report"), (struct recto_box){200, 150, 1000, 240}, NULL);
    assert_int_equal(k.n_line, 1);
    expect_box(k.line[0].px, 200, 150, 1000, 240);
    expect_box(k.word[0].px, 200, 150, 1000, 240);
    lines_reset(&k);
    /* 40 letters of width 0.5 in 100 x 120: s = sqrt(12000 / 24), k = round(120 / (1.2 s)) = 4. */
    lines_of_text(&k, STR("aaaaaaaa bbbbbbb ccccccc ddddddd eeeeeee"),
                  (struct recto_box){0, 0, 100, 120}, NULL);
    assert_int_equal(k.n_line, 4);
    expect_box(k.line[1].px, 0, 30, 100, 60);
    lines_reset(&k);
    lines_of_text(&k, STR(" \n"), (struct recto_box){0, 0, 9, 9}, NULL);
    assert_int_equal(k.n_line, 0);
    lines_reset(&k);
    lines_of_text(&k, STR("a b"), (struct recto_box){5, 5, 5, 5}, NULL);
    assert_int_equal(k.n_line, 1);
    lines_reset(&k);
}

static void test_cjk(void **state)
{
    struct lines k;

    white(300, 100);
    print(10, 10, 210, 30);
    print(10, 40, 110, 60);
    lines_of_text(&k, STR("中文没有空格六"), (struct recto_box){0, 0, 300, 100}, &image);
    assert_int_equal(k.n_line, 2);
    assert_false(k.is_vertical);
    assert_int_equal(k.n_word, 2);
    assert_true(k.line[0].n_text > k.line[1].n_text);
    lines_reset(&k);
}

static void test_vertical(void **state)
{
    struct lines k;

    white(100, 300);
    print(60, 10, 80, 290); /* the first column, at the right */
    print(20, 10, 40, 150);
    lines_of_text(&k, STR("縦書きの文章、二列で"), (struct recto_box){0, 0, 100, 300}, &image);
    assert_true(k.is_vertical);
    assert_int_equal(k.n_line, 2);
    expect_box(k.line[0].px, 60, 10, 80, 290);
    expect_box(k.line[1].px, 20, 10, 40, 150);
    expect_line(&k, 1, "二列で");
    lines_reset(&k);
    lines_of_text(&k, STR("not so with Latin letters"), (struct recto_box){0, 0, 100, 300}, &image);
    assert_false(k.is_vertical);
    lines_reset(&k);
}

static void test_multi_column(void **state)
{
    struct lines k;

    white(400, 100);
    for (int i = 0; i < 4; i++) {
        print(0, 5 + 25 * i, 190, 15 + 25 * i);
        print(210, 5 + 25 * i, 400, 15 + 25 * i);
    }
    lines_of_text(&k, STR("aaaa bbbb cccc dddd eeee ffff gggg hhhh"),
                  (struct recto_box){0, 0, 400, 100}, &image);
    assert_int_equal(k.n_line, 2); /* what fits, not the four bands */
    expect_box(k.line[0].px, 0, 0, 400, 50);
    lines_reset(&k);
}

#define TABLE                                                        \
    "<table><tr><td>A</td><td>wide cell</td></tr><tr><td>B</td><td>" \
    "\\( x \\) two</td></tr></table>"

static void test_table(void **state)
{
    struct recto_page p = PAGE(REF("table") DET("[[0, 0, 999, 999]]") "\n" TABLE "\n\n" REF("text")
                                   DET("[[0, 0, 499, 499], [0, 600, 999, 999]]") "\nx " TABLE);
    struct lines k;

    p.width = 400, p.height = 100;
    white(400, 100);
    print(10, 10, 390, 30);
    print(10, 60, 390, 90);
    lines_of_block(&k, &p, &p.block[0], &image);
    assert_int_equal(k.n_line, 2);
    expect_line(&k, 0, "A wide cell");
    expect_line(&k, 1, "B x two");
    expect_box(k.line[0].px, 10, 10, 390, 30);
    expect_box(k.word[0].px, 0, 10, 73, 30); /* columns 1 : 4.5 */
    expect_box(k.word[1].px, 73, 10, 218, 30);
    lines_reset(&k);
    print(10, 45, 390, 50); /* three bands: rows of equal height */
    lines_of_block(&k, &p, &p.block[0], &image);
    expect_box(k.line[1].px, 0, 50, 400, 100);
    lines_reset(&k);
    expect_box(block_area(&p, &p.block[1]), 0, 0, 400, 100);
    lines_of_block(&k, &p, &p.block[1], NULL);
    assert_true(k.n_line >= 1);
    lines_reset(&k);
    recto_page_reset(&p);
    recto_image_reset(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bands),           cmocka_unit_test(test_small_bands),
        cmocka_unit_test(test_large_bands),     cmocka_unit_test(test_columns),
        cmocka_unit_test(test_wrap_is_optimal), cmocka_unit_test(test_wrap_large),
        cmocka_unit_test(test_width),           cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_without_pixels),  cmocka_unit_test(test_cjk),
        cmocka_unit_test(test_vertical),        cmocka_unit_test(test_multi_column),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
