/* Views against the official preprocessing: hashes of 15 synthetic sizes, 225 grids, and two pages
 * byte for byte. */
#include "page/inkcheck.h"
#include "page/view.h"
#include "page_files.h"

#include "base/mem.h"

#include <stdio.h>

#define GOLDEN TEST_DIR "/golden/"

static void remember_last(void *ctx, const char *line)
{
    snprintf(ctx, 200, "%s", line);
}

static void golden_sizes_and_grids(void **state)
{
    char last[200] = "";

    if (recto_verify_preprocess(GOLDEN "preprocess/cases.json", remember_last, last) < 0)
        fail_msg("%s", err_text());
    assert_string_equal(last, "preprocess 15/15 sizes, 225/225 grids");
}

/* The verifier itself must see a wrong hash, a wrong grid, an empty list and a broken file. */
static void verifier_can_fail(void **state)
{
    static const struct {
        const char *json;
        int code;
    } cases[] = {
        {"{\"cases\":[{\"width\":8,\"height\":8,\"tiles_wide\":1,\"tiles_high\":1,"
         "\"tile_sha256\":[],"
         "\"global_sha256\":\"00\"}],\"ratios\":[]}",
         RECTO_EVERIFY},
        {"{\"cases\":[],\"ratios\":[[100,100,1,2]]}", RECTO_EVERIFY},
        {"{\"cases\":[],\"ratios\":[[100,769,1,6]]}", 0},
        {"{\"cases\":[],\"ratios\":[]}", RECTO_EVERIFY},
        {"{\"cases\":[],\"ratios\":[[100,0,1,1]]}", RECTO_EFORMAT},
        {"{\"cases\":[7],\"ratios\":[]}", RECTO_EFORMAT},
        {"{\"cases\":{}}", RECTO_EFORMAT},
        {"{", RECTO_EFORMAT},
    };
    char path[] = "/tmp/recto-cases-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    for (size_t k = 0; k < COUNT(cases); k++) {
        assert_int_equal(file_write(path, str_of(cases[k].json)), 0);
        assert_int_equal(recto_verify_preprocess(path, NULL, NULL), cases[k].code);
    }
    close(fd);
    unlink(path);
    assert_int_equal(recto_verify_preprocess(path, NULL, NULL), RECTO_ENOTFOUND);
}

static struct recto_image read_picture(struct page_source *s, const char *path)
{
    struct buf b = load(path);
    struct recto_image im = decode_ok(s, &b, NULL);

    buf_reset(&b);
    return im;
}

static void same_as_file(struct page_source *s, const unsigned char *view, int side,
                         const char *path)
{
    struct recto_image want = read_picture(s, path);

    assert_int_equal(want.width, side);
    assert_int_equal(want.height, side);
    assert_memory_equal(view, want.rgb, (size_t)side * (size_t)side * 3);
    free(want.rgb);
}

static void golden_pages(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 0);
    struct recto_image im = read_picture(s, GOLDEN "tiny/small.png");
    struct page_views v;

    assert_int_equal(views_make(&v, &im, true), 0);
    assert_int_equal(v.n_tile, 0);
    assert_null(v.tile);
    same_as_file(s, v.global, VIEW_GLOBAL, GOLDEN "tiny/small_global.png");
    views_reset(&v);
    free(im.rgb);

    im = read_picture(s, GOLDEN "tiny/tiled.png");
    assert_int_equal(views_make(&v, &im, true), 0);
    assert_int_equal(v.tiles_w, 2);
    assert_int_equal(v.tiles_h, 3);
    assert_int_equal(v.n_tile, 6);
    same_as_file(s, v.global, VIEW_GLOBAL, GOLDEN "tiny/tiled_global.png");
    for (int t = 0; t < 6; t++) {
        char path[200];

        snprintf(path, sizeof path, "%s%d.png", GOLDEN "tiny/tiled_tile", t);
        same_as_file(s, v.tile + (size_t)t * VIEW_TILE_BYTES, VIEW_TILE, path);
    }
    views_reset(&v);
    free(im.rgb);
    page_source_close(s);
}

static void without_crop_mode_no_tiles(void **state)
{
    struct recto_image im = {900, 1300, calloc(900 * 1300, 3)};
    struct page_views v;

    assert_int_equal(views_make(&v, &im, false), 0);
    assert_int_equal(v.n_tile, 0);
    assert_int_equal(v.tiles_w * v.tiles_h, 1);
    views_reset(&v);
    assert_int_equal(views_make(&v, &im, true), 0);
    assert_int_equal(v.n_tile, 6);
    views_reset(&v);
    free(im.rgb);
}

static void visual_rows(void **state)
{
    static const struct {
        int w, h, rows;
    } pages[] = {{640, 488, 257},   {768, 768, 257},   {769, 768, 833},   {429, 806, 545},
                 {3000, 400, 1121}, {400, 3000, 1121}, {1190, 1684, 1121}};

    assert_int_equal(view_rows(768), 144);
    assert_int_equal(view_rows(1024), 256);
    for (size_t k = 0; k < COUNT(pages); k++) {
        int i, j;

        view_grid(pages[k].w, pages[k].h, true, &i, &j);
        assert_int_equal(view_n_visual(i * j > 1 ? i * j : 0), pages[k].rows);
    }
}

/* At the exact middle between two ratios, the larger grid wins only with more than half its pixels.
 */
static void ties(void **state)
{
    int i, j;

    view_grid(1000, 800, true, &i,
              &j); /* 5/4, between 1/1 (as 2x2) and 3/2: 800000 px < half of six tiles */
    assert_int_equal(i * 10 + j, 22);
    view_grid(2000, 1600, true, &i, &j);
    assert_int_equal(i * 10 + j, 32);
    view_grid(1750, 1000, true, &i,
              &j); /* 7/4, between 3/2 and 2/1: 1750000 px, half of six tiles is 1769472 */
    assert_int_equal(i * 10 + j, 21);
    view_grid(1778, 1016, true, &i, &j);
    assert_int_equal(i * 10 + j, 32);
    view_grid(1600, 1920, true, &i,
              &j); /* 5/6 is a middle too, but not in doubles: 2/3 comes out further off */
    assert_int_equal(i * 10 + j, 22);
}

static void frames(void **state)
{
    static const struct {
        int w, h;
        struct view_frame want;
    } cases[] = {
        {640, 488, {0, 122, 1024, 781}},
        {1024, 783, {0, 120, 1024, 783}}, /* 121.5 -> 122, 120.5 -> 120 */
        {500, 500, {0, 0, 1024, 1024}},
        {1, 5000, {512, 0, 1, 1024}}, /* a side of 0 becomes 1 */
        {100000, 1, {0, 512, 1024, 1}},
        {2, 1, {0, 256, 1024, 512}},
    };

    for (size_t k = 0; k < COUNT(cases); k++) {
        struct view_frame f = view_global_frame(cases[k].w, cases[k].h);

        assert_memory_equal(&f, &cases[k].want, sizeof f);
    }
}

static void thin_page_has_views(void **state)
{
    struct recto_image im = {1, 5000, calloc(5000, 3)};
    struct page_views v;

    assert_int_equal(views_make(&v, &im, true), 0);
    assert_int_equal(v.n_tile, 6);
    assert_int_equal(v.global[0], 127);
    assert_int_equal(v.global[512 * 3], 0);
    views_reset(&v);
    free(im.rgb);
}

static struct ink ink_of(struct page_source *s, const char *path)
{
    struct recto_image im = read_picture(s, path);
    struct page_views v;
    struct ink ink;

    assert_int_equal(views_make(&v, &im, false), 0);
    assert_int_equal(ink_measure(&ink, v.global, view_global_frame(im.width, im.height)), 0);
    views_reset(&v);
    free(im.rgb);
    return ink;
}

/* The mini model's own pages and a large-typed one are within its reach, a dense brochure is not.
 */
static void ink_of_known_pages(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 0);
    struct ink ink;

    for (int k = 0; k < 12; k++) {
        char path[200];

        snprintf(path, sizeof path, "%s/models/mini/pages/page%02d.png", SOURCE_DIR, k);
        ink = ink_of(s, path);
        assert_false(ink_is_dense(&ink));
        assert_false(ink_is_blank(&ink));
    }
    ink = ink_of(s, SAMPLES "typewriter.png");
    assert_false(ink_is_dense(&ink));
    ink = ink_of(s, SAMPLES "linn.png");
    assert_true(ink_is_dense(&ink));
    assert_in_range(ink.n_kept, 801, 1000);
    page_source_close(s);
}

static void ink_of_drawn_pages(void **state)
{
    unsigned char *view = mem_alloc(VIEW_GLOBAL_BYTES);
    struct view_frame f = view_global_frame(300, 400);
    struct ink ink;

    memset(view, 127, VIEW_GLOBAL_BYTES); /* the padding, which must not count */
    for (int y = f.y; y < f.y + f.h; y++)
        memset(view + ((size_t)y * VIEW_GLOBAL + (size_t)f.x) * 3, 250, (size_t)f.w * 3);
    assert_int_equal(ink_measure(&ink, view, f), 0);
    assert_true(ink_is_blank(&ink));
    assert_false(ink_is_dense(&ink));

    /* One stroke of 2 x 5 in yellow: little contrast in grey, much in blue. Dust of 2 x 2 does not
     * count. */
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 2; x++)
            view[((size_t)(500 + y) * VIEW_GLOBAL + (size_t)(500 + x)) * 3 + 2] = 0;
    for (int y = 0; y < 2; y++)
        memset(view + ((size_t)(300 + y) * VIEW_GLOBAL + 600) * 3, 0, 6);
    assert_int_equal(ink_measure(&ink, view, f), 0);
    assert_int_equal(ink.n_kept, 1);
    assert_int_equal(ink.median_height, 5);
    assert_false(ink_is_blank(&ink));
    free(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_sizes_and_grids),
        cmocka_unit_test(verifier_can_fail),
        cmocka_unit_test(golden_pages),
        cmocka_unit_test(without_crop_mode_no_tiles),
        cmocka_unit_test(visual_rows),
        cmocka_unit_test(ties),
        cmocka_unit_test(frames),
        cmocka_unit_test(thin_page_has_views),
        cmocka_unit_test(ink_of_known_pages),
        cmocka_unit_test(ink_of_drawn_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
