/* --official: pictures as Pillow gives them to the published scripts, and a page read once with their guard. */
#include "page_files.h"
#include "scripted.h"

static struct page_source *source;

static struct recto_image decode_as(enum recto_official how, const struct buf *b)
{
    page_source_imitate(source, how);
    return decode_ok(source, b, NULL);
}

static void expect_pixel(enum recto_official how, const struct buf *b, int want)
{
    struct recto_image im = decode_as(how, b);

    for (int c = 0; c < 3; c++)
        assert_int_equal(pixel(&im, 1, 0)[c], want);
    recto_image_reset(&im);
}

static void grey_of_16_bits_saturates(void **state)
{
    unsigned char row[8];
    struct buf png;

    for (int x = 0; x < 4; x++)
        row[2 * x] = 40000 >> 8, row[2 * x + 1] = 40000 & 255;
    png = png_make(4, 1, 16, 0, row, sizeof row);
    expect_pixel(RECTO_OFFICIAL_NO, &png, 156); /* 40000 / 257 */
    expect_pixel(RECTO_OFFICIAL_IMAGE, &png, 255);
    expect_pixel(RECTO_OFFICIAL_EVAL, &png, 255);
    buf_reset(&png);
}

static void transparency_is_dropped(void **state)
{
    unsigned char row[16] = {0};
    struct buf png = png_make(4, 1, 8, 6, row, sizeof row);

    expect_pixel(RECTO_OFFICIAL_NO, &png, 255); /* clear, so the paper shows */
    expect_pixel(RECTO_OFFICIAL_IMAGE, &png, 0);
    buf_reset(&png);
}

static void orientations(void **state)
{
    /* By script: is the width of a 4 x 2 picture still 4, with EXIF 5 (mirrored), 6 (a turn), 3, none of which the PDF script
     * looks at? */
    static const struct {
        enum recto_official how;
        int orientation, width, first;
    } cases[] = {
        {RECTO_OFFICIAL_NO, 5, 2, 10},    {RECTO_OFFICIAL_IMAGE, 5, 2, 10},
        {RECTO_OFFICIAL_EVAL, 5, 4, 10},  {RECTO_OFFICIAL_PDF, 5, 4, 10},
        {RECTO_OFFICIAL_EVAL, 6, 2, 50},  {RECTO_OFFICIAL_PDF, 6, 4, 10},
        {RECTO_OFFICIAL_EVAL, 3, 4, 80},  {RECTO_OFFICIAL_PDF, 3, 4, 10},
        {RECTO_OFFICIAL_IMAGE, 2, 4, 40}, {RECTO_OFFICIAL_EVAL, 2, 4, 10},
    };
    static const unsigned char rows[8] = {10, 20, 30, 40, 50, 60, 70, 80};

    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char exif[32];
        struct buf png = {0};
        struct recto_image im;

        png_start(&png, 4, 2, 8, 0);
        png_chunk(&png, "eXIf", exif, exif_make(exif, cases[i].orientation, true));
        png_rows(&png, rows, 4, 2);
        png_chunk(&png, "IEND", "", 0);
        im = decode_as(cases[i].how, &png);
        assert_int_equal(im.width, cases[i].width);
        assert_int_equal(pixel(&im, 0, 0)[0], cases[i].first);
        recto_image_reset(&im);
        buf_reset(&png);
    }
}

static void files_cut_short_are_errors(void **state)
{
    static unsigned char rows[40 * 400];
    struct buf png = png_make(400, 40, 8, 0, rows, 400);
    str most = {png.p, png.n * 9 / 10};
    struct recto_image im;

    page_source_imitate(source, RECTO_OFFICIAL_NO);
    assert_int_equal(page_decode(source, NULL, most.p, most.n, &im, NULL), 0);
    recto_image_reset(&im);
    page_source_imitate(source, RECTO_OFFICIAL_IMAGE);
    decode_fails(source, most, RECTO_ETRUNCATED, "of 40 rows");
    buf_reset(&png);
}

/* Blank or not, once, upright, with the script's guard. */
static void a_page_is_read_once(void **state)
{
    struct picture p = picture_new(600, 600);

    for (int how = RECTO_OFFICIAL_IMAGE; how <= RECTO_OFFICIAL_EVAL; how++) {
        struct recto *r = scripted_open("{'pages':[{'repeat':'a','times':60,'logp':-3}]}");
        int n = how == RECTO_OFFICIAL_EVAL ? 40 : 20;
        struct recto_options o;
        struct recto_page *page;

        recto_options_init(&o);
        o.official = (enum recto_official)how;
        o.no_loop_check = true;
        page = scripted_read(r, "blank.ppm", &p, &o);
        assert_int_equal(page->n_attempt, 1);
        assert_int_equal(page->rotate, 0);
        assert_int_equal(page->n_token, 60);
        /* the first n ids are free, then the ban replaces an id, which breaks the run of n - 1 */
        assert_int_equal(page->raw[n - 1], 'a');
        assert_int_equal(page->raw[n], '0');
        assert_true(page->n_intervention > 0);
        scripted_free(page);
        recto_close(r);
    }
    buf_reset(&p.ppm);
}

static int open_one(void **state)
{
    struct page_source_options o = {.helper = HELPER};

    return page_source_open_with(&source, &o);
}

static int close_one(void **state)
{
    page_source_close(source);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grey_of_16_bits_saturates),
        cmocka_unit_test(transparency_is_dropped),
        cmocka_unit_test(orientations),
        cmocka_unit_test(files_cut_short_are_errors),
        cmocka_unit_test(a_page_is_read_once),
    };

    return cmocka_run_group_tests(tests, open_one, close_one);
}
