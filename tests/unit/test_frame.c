/* Parts of a page and the way back: every picture is checked against the page, every box against where it was drawn. */
#include "base/mem.h"
#include "page/document.h"
#include "page/frame.h"
#include "page/inkcheck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct recto_image page_new(int w, int h)
{
    struct recto_image im = {.width = w, .height = h, .rgb = malloc((size_t)w * (size_t)h * 3)};

    assert_non_null(im.rgb);
    memset(im.rgb, 255, (size_t)w * (size_t)h * 3);
    return im;
}

static void ink_box(struct recto_image *im, int x, int y, int w, int h)
{
    for (int i = y; i < y + h; i++)
        memset(im->rgb + ((size_t)i * (size_t)im->width + (size_t)x) * 3, 0, (size_t)w * 3);
}

static bool is_dark(const struct recto_image *im, int x, int y)
{
    return im->rgb[((size_t)y * (size_t)im->width + (size_t)x) * 3] < 128;
}

/* Bounds of all dark pixels, right and lower exclusive. */
static struct recto_box dark_box(const struct recto_image *im)
{
    struct recto_box b = {im->width, im->height, 0, 0};

    for (int y = 0; y < im->height; y++)
        for (int x = 0; x < im->width; x++)
            if (is_dark(im, x, y)) {
                b.x1 = MIN(b.x1, x), b.y1 = MIN(b.y1, y);
                b.x2 = MAX(b.x2, x + 1), b.y2 = MAX(b.y2, y + 1);
            }
    return b;
}

static int grid(int px, int size)
{
    return (px * 999 + size / 2) / size;
}

/* What a frame shows of one dark box, as the model would report it, comes back to where the box is on the page. */
static void expect_back(const struct page_frame *f, const struct recto_image *page,
                        struct recto_box px)
{
    struct recto_image im;
    struct recto_box seen, back;
    int w, h;

    assert_int_equal(frame_draw(f, page, &im), 0);
    frame_size(f, &w, &h);
    assert_int_equal(im.width, w);
    assert_int_equal(im.height, h);
    seen = dark_box(&im);
    assert_true(seen.x2 > seen.x1);
    back = frame_box(f, (struct recto_box){grid(seen.x1, w), grid(seen.y1, h), grid(seen.x2, w),
                                           grid(seen.y2, h)});
    assert_in_range(back.x1 + 1, grid(px.x1, page->width), grid(px.x1, page->width) + 2);
    assert_in_range(back.y1 + 1, grid(px.y1, page->height), grid(px.y1, page->height) + 2);
    assert_in_range(back.x2 + 1, grid(px.x2, page->width), grid(px.x2, page->width) + 2);
    assert_in_range(back.y2 + 1, grid(px.y2, page->height), grid(px.y2, page->height) + 2);
    recto_image_reset(&im);
}

static void every_frame_maps_back(void **state)
{
    struct recto_image page = page_new(900, 1200);
    struct recto_box px = {100, 200, 340, 260};

    ink_box(&page, px.x1, px.y1, px.x2 - px.x1, px.y2 - px.y1);
    for (int turn = 0; turn < 360; turn += 90) {
        struct page_frame f = frame_whole(900, 1200, turn), s, half[2];
        int in;

        expect_back(&f, &page, px);
        s = frame_shifted(f, true);
        expect_back(&s, &page, px);
        s = frame_shifted(f, false);
        expect_back(&s, &page, px);
        assert_int_equal(frame_halves(&f, &page, half), 0);
        in = turn == 0 || turn == 270 ? 0 : 1;
        in = turn == 90 ? 0 : turn == 270 ? 1 : in;
        expect_back(&half[in], &page, px);
    }
    recto_image_reset(&page);
}

static void expect_box(struct recto_box got, int x1, int y1, int x2, int y2)
{
    assert_int_equal(got.x1, x1);
    assert_int_equal(got.y1, y1);
    assert_int_equal(got.x2, x2);
    assert_int_equal(got.y2, y2);
}

/* Whole and turned pages keep every number of the grid exactly. */
static void turns_are_exact(void **state)
{
    for (int v = 0; v <= 989; v++) {
        struct recto_box b = {v, 989 - v, v + 10, 999 - v};
        struct page_frame f[4];

        for (int i = 0; i < 4; i++)
            f[i] = frame_whole(1629, 2304, 90 * i);
        expect_box(frame_box(&f[0], b), b.x1, b.y1, b.x2, b.y2);
        expect_box(frame_box(&f[1], b), b.y1, 999 - b.x2, b.y2, 999 - b.x1);
        expect_box(frame_box(&f[2], b), 999 - b.x2, 999 - b.y2, 999 - b.x1, 999 - b.y1);
        expect_box(frame_box(&f[3], b), 999 - b.y2, b.x1, 999 - b.y1, b.x2);
    }
}

static void border_of_three_percent(void **state)
{
    struct page_frame f = frame_shifted(frame_whole(1000, 2000, 0), true);
    int w, h;

    frame_size(&f, &w, &h);
    assert_int_equal(w, 1060);
    assert_int_equal(h, 2120);
    /* the whole picture is the page; its border lies on the page's edge */
    expect_box(frame_box(&f, (struct recto_box){0, 0, 999, 999}), 0, 0, 999, 999);
    expect_box(frame_box(&f, (struct recto_box){28, 28, 971, 971}), 0, 0, 999, 999);
    f = frame_shifted(frame_whole(500, 600, 0), false);
    frame_size(&f, &w, &h);
    assert_int_equal(w, 1060);
    assert_int_equal(h, 1272);
}

/* The cut goes through the middle of the widest gap between lines; a wide page is cut into left and right. */
static void halves_at_the_emptiest(void **state)
{
    struct recto_image page = page_new(400, 1000);
    struct page_frame f = frame_whole(400, 1000, 0), half[2];

    for (int y = 0; y < 1000; y += 20)
        ink_box(&page, 20, y, 360, 8);
    memset(page.rgb + (size_t)3 * 400 * 548, 255, (size_t)3 * 400 * 32); /* the line at 560 */
    assert_int_equal(frame_halves(&f, &page, half), 0);
    assert_int_equal(half[0].h, 564); /* white from 548 to 579 */
    assert_int_equal(half[1].y, 564);
    assert_int_equal(half[1].h, 436);
    assert_int_equal(half[1].w, 400);
    expect_box(frame_box(&half[1], (struct recto_box){0, 0, 999, 999}), 0, 563, 999, 999);
    recto_image_reset(&page);

    page = page_new(1000, 400);
    f = frame_whole(1000, 400, 0);
    for (int y = 0; y < 400; y += 20) {
        ink_box(&page, 0, y, 480, 8);
        ink_box(&page, 500, y, 500, 8);
    }
    assert_int_equal(frame_halves(&f, &page, half), 0);
    assert_int_equal(half[0].w, 490);
    assert_int_equal(half[1].x, 490);
    assert_int_equal(half[1].h, 400);
    recto_image_reset(&page);
}

static void small_pages_are_not_halved(void **state)
{
    struct page_frame f = frame_whole(600, 70, 0), g = frame_whole(200, 20, 0),
                      h = frame_whole(100, 100, 0);

    assert_true(frame_can_halve(&f));
    assert_false(frame_can_halve(&g));
    assert_true(frame_can_halve(&h));
}

/* Lines across change from row to row; turned by a quarter they do not, and the ratio is inverted. */
static void lines_have_a_direction(void **state)
{
    struct recto_image page = page_new(1000, 1000), turned;
    struct page_frame f = frame_whole(1000, 1000, 90);
    struct ink a, b;

    for (int y = 100; y < 900; y += 24)
        for (int x = 100 + y % 17; x < 880; x += 37)
            ink_box(&page, x, y, 28, 12);
    assert_int_equal(ink_of_raster(&a, &page), 0);
    assert_int_equal(frame_draw(&f, &page, &turned), 0);
    assert_int_equal(ink_of_raster(&b, &turned), 0);
    assert_true(a.line_ratio > 2);
    assert_true(b.line_ratio < 0.5);
    assert_true(a.line_ratio * b.line_ratio > 0.99 && a.line_ratio * b.line_ratio < 1.01);
    recto_image_reset(&page);
    recto_image_reset(&turned);
}

static double ratio_of(struct page_source *s, const struct page_doc *d, int page)
{
    struct recto_image im;
    struct ink ink;

    assert_int_equal(page_doc_draw(d, s, page, &im, NULL), 0);
    assert_int_equal(ink_of_raster(&ink, &im), 0);
    recto_image_reset(&im);
    return ink.line_ratio;
}

/* One printed page, as it is and turned by a quarter, a half and three: a half does not show. */
static void ratios_of_a_turned_page(void **state)
{
    static const double want[] = {3.60, 0.28, 3.60, 0.28};
    struct page_source_options o = {.helper = BIN_DIR "/recto-decode"};
    struct recto_input in = {.path = SOURCE_DIR "/samples/cardinal.pdf"};
    struct page_source *s;
    struct page_doc d;

    if (access("/usr/bin/pdftoppm", X_OK) != 0 || access(o.helper, X_OK) != 0)
        skip();
    assert_int_equal(page_source_open_with(&s, &o), 0);
    assert_int_equal(page_doc_open(&d, s, &in), 0);
    for (int i = 0; i < 4; i++) {
        double r = ratio_of(s, &d, i + 1);

        assert_true(r > want[i] * 0.95 && r < want[i] * 1.05);
    }
    page_doc_close(&d);
    page_source_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_maps_back),      cmocka_unit_test(turns_are_exact),
        cmocka_unit_test(border_of_three_percent),    cmocka_unit_test(halves_at_the_emptiest),
        cmocka_unit_test(small_pages_are_not_halved), cmocka_unit_test(lines_have_a_direction),
        cmocka_unit_test(ratios_of_a_turned_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
