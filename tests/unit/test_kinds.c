/* The kinds of image beyond JPEG and PNG: the fixtures show one picture (tests/fixtures/page), and
 * each must come out of its decoder by its formula, pixel by pixel. */
#include "page_files.h"

#include "base/mem.h"
#include "page/document.h"

#include <stdio.h>

enum { W = 96, H = 160 };

static int board(int x, int y)
{
    return (x / 16 + y / 16) & 1 ? 200 : 40;
}

static void open_page(struct page_doc *d, struct page_source *s, const char *file)
{
    char path[512];

    snprintf(path, sizeof path, FIXTURES "%s", file);
    if (page_doc_open(d, s, &(struct recto_input){.path = path}) < 0)
        fail_msg("%s", err_text());
}

static struct recto_image draw(const struct page_doc *d, struct page_source *s, int page,
                               struct page_note *note)
{
    struct recto_image im;

    if (page_doc_draw(d, s, page, &im, note) < 0)
        fail_msg("%s", err_text());
    return im;
}

static void is_picture(const struct recto_image *im)
{
    assert_int_equal(im->width, W);
    assert_int_equal(im->height, H);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const unsigned char *p = pixel(im, x, y);

            if (p[0] != 2 * x || p[1] != y || p[2] != board(x, y))
                fail_msg("pixel %d, %d is %d %d %d", x, y, p[0], p[1], p[2]);
        }
}

static void lossless_kinds(void **state)
{
    static const char *const files[] = {"still.webp", "frames.webp", "rgb.jp2",
                                        "rgb.j2k",    "rgb24.bmp",   "fields32.bmp"};
    struct page_source *s = open_source(HELPER, 0, 60000);

    for (size_t i = 0; i < COUNT(files); i++) {
        struct page_note note;
        struct page_doc d;
        struct recto_image im;

        open_page(&d, s, files[i]);
        assert_int_equal(d.n_page, 1);
        im = draw(&d, s, 1, &note);
        is_picture(&im);
        if (strcmp(files[i], "frames.webp") == 0) {
            assert_int_equal(note.n_warning, 1);
            assert_string_equal(note.warning[0], "2 more frames ignored");
        } else
            assert_int_equal(note.n_warning, 0);
        recto_image_reset(&im);
        page_note_reset(&note);
        page_doc_close(&d);
    }
    page_source_close(s);
}

/* Case 10: three pages, a thumbnail, a mask. LZW strips; 16-bit grey; CCITT with white as 0. */
static void pages_of_tiff(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct page_note note;
    struct page_doc d;
    struct recto_image im;

    open_page(&d, s, "pages.tif");
    assert_int_equal(d.n_page, 3);
    im = draw(&d, s, 1, &note);
    is_picture(&im);
    assert_int_equal(note.dpi_x, 200);
    recto_image_reset(&im);
    page_note_reset(&note);
    im = draw(&d, s, 2, NULL);
    for (int y = 0; y < H; y++)
        assert_int_equal(pixel(&im, 5, y)[0], y); /* 257 y + 100, rounded */
    recto_image_reset(&im);
    im = draw(&d, s, 3, NULL);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            assert_int_equal(pixel(&im, x, y)[1], board(x, y) == 200 ? 0 : 255);
    recto_image_reset(&im);
    assert_int_equal(page_doc_draw(&d, s, 4, &im, NULL), RECTO_EPAGERANGE);
    page_doc_close(&d);
    page_source_close(s);
}

/* BigTIFF in tiles, RGBA, orientation 6: turned to the right. */
static void tiled_tiff(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct page_note note;
    struct page_doc d;
    struct recto_image im;

    open_page(&d, s, "tiled.tif");
    im = draw(&d, s, 1, &note);
    assert_int_equal(im.width, H);
    assert_int_equal(im.height, W);
    assert_true(note.flags & PAGE_ALPHA);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const unsigned char *p = pixel(&im, H - 1 - y, x);

            assert_true(p[0] == 2 * x && p[1] == y && p[2] == board(x, y));
        }
    recto_image_reset(&im);
    page_note_reset(&note);
    page_doc_close(&d);
    page_source_close(s);
}

/* Case 11: the first of five frames, interlaced, on its canvas; entry 63 is transparent. */
static void frames_of_gif(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct page_note note;
    struct page_doc d;
    struct recto_image im;

    open_page(&d, s, "frames.gif");
    assert_int_equal(d.n_page, 1);
    im = draw(&d, s, 1, &note);
    assert_int_equal(im.width, W + 10);
    assert_int_equal(im.height, H + 6);
    assert_string_equal(note.warning[0], "4 more frames ignored");
    for (int y = 0; y < H + 6; y++)
        for (int x = 0; x < W + 10; x++) {
            bool is_in = x >= 4 && x < 4 + W && y >= 3 && y < 3 + H;
            int i = is_in ? ((x - 4) / 12 + 8 * ((y - 3) / 20)) & 63 : 63;

            assert_int_equal(pixel(&im, x, y)[0], i == 63 ? 255 : (i & 7) * 32);
        }
    recto_image_reset(&im);
    page_note_reset(&note);
    page_doc_close(&d);
    page_source_close(s);
}

static void open_frames(struct page_doc *d, struct page_source *s, const char *path,
                        const char *frames)
{
    if (page_doc_open(d, s, &(struct recto_input){.path = path, .frames = frames}) < 0)
        fail_msg("%s", err_text());
}

/* 40 x 40: red, stays; 20 x 20 of green at 10, 10, cleared; 10 x 10 of blue at 0, 0, undone; 10 x 10 of
 * black at 30, 30. What the four frames show there, and in the corner below left. */
static void disposed_frames(void **state)
{
    static const unsigned red = 0xff0000, green = 0x00ff00, blue = 0x0000ff, white = 0xffffff;
    const unsigned want[4][4] = {{red, red, red, red},
                                 {green, red, red, red},
                                 {white, blue, red, red},
                                 {white, red, 0, red}};
    static const int at[4][2] = {{15, 15}, {5, 5}, {35, 35}, {5, 35}};
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct page_doc d;
    struct recto_image im;

    open_frames(&d, s, FIXTURES "dispose.gif", "all");
    assert_int_equal(d.n_page, 4);
    for (int k = 3; k >= 0; k--) {
        struct page_note note;

        im = draw(&d, s, k + 1, &note);
        assert_int_equal(note.n_warning, 0);
        for (int i = 0; i < 4; i++) {
            const unsigned char *p = pixel(&im, at[i][0], at[i][1]);

            assert_int_equal((unsigned)p[0] << 16 | p[1] << 8 | p[2], want[k][i]);
        }
        recto_image_reset(&im);
        page_note_reset(&note);
    }
    assert_int_equal(page_doc_draw(&d, s, 5, &im, NULL), RECTO_EPAGERANGE);
    page_doc_close(&d);
    page_source_close(s);
}

/* Every frame of both kinds is a page; a list selects, whatever the list of pages is; other kinds stay as they are. */
static void frames_as_pages(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct recto_image im;
    struct page_doc d;
    int *page, n, is_past;

    open_frames(&d, s, FIXTURES "frames.webp", "last,1,9");
    assert_int_equal(d.n_page, 3);
    assert_int_equal(page_doc_select(&d, "2", &page, &n, &is_past), 0);
    assert_true(n == 2 && page[0] == 3 && page[1] == 1 && is_past);
    free(page);
    im = draw(&d, s, 1, NULL);
    is_picture(&im);
    recto_image_reset(&im);
    im = draw(&d, s, 3, NULL);
    assert_true(im.width == W && im.height == H);
    assert_memory_equal(pixel(&im, 0, 0), "\x4a\x4a\x62", 3); /* as ImageMagick has it */
    assert_memory_equal(pixel(&im, 50, 80), "\x2e\x1a\x62", 3);
    assert_memory_equal(pixel(&im, 90, 150), "\xfe\xdc\x62", 3);
    recto_image_reset(&im);
    page_doc_close(&d);
    open_frames(&d, s, FIXTURES "rgb24.bmp", "all");
    assert_int_equal(d.n_page, 1);
    assert_int_equal(page_doc_select(&d, "2", &page, &n, &is_past), RECTO_EPAGERANGE);
    page_doc_close(&d);
    page_source_close(s);
}

static void run_lengths(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct page_doc d;
    struct recto_image im;

    open_page(&d, s, "rle8.bmp");
    im = draw(&d, s, 1, NULL);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            assert_int_equal(pixel(&im, x, y)[0], board(x, y));
    recto_image_reset(&im);
    page_doc_close(&d);
    page_source_close(s);
}

static void netpbm(void **state)
{
    static const struct {
        str bytes;
        int w, h, first, last; /* the red of the first and the last pixel */
    } cases[] = {
        {STR("P1 # bits\n3 2\n1 0 1\n010"), 3, 2, 0, 255},
        {STR("P2\n2 1\n15\n0 15\n"), 2, 1, 0, 255},
        {STR("P3\n1 2\n255\n9 8 7\n200 1 1\n"), 1, 2, 9, 200},
        {STR("P4\n3 2\n\xA0\x40"), 3, 2, 0, 255},
        {STR("P5\n2 1\n65535\n\x9C\x40\x00\x00"), 2, 1, 156, 0},
        {STR("P6\n1 1\n1023\n\x03\xFF\x00\x00\x00\x00"), 1, 1, 255, 255},
    };
    struct page_source *s = open_source(HELPER, 0, 60000);

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf b = {(char *)cases[i].bytes.p, cases[i].bytes.n, 0};
        struct recto_image im = decode_ok(s, &b, NULL);

        assert_int_equal(im.width, cases[i].w);
        assert_int_equal(im.height, cases[i].h);
        assert_int_equal(pixel(&im, 0, 0)[0], cases[i].first);
        assert_int_equal(pixel(&im, im.width - 1, im.height - 1)[0], cases[i].last);
        recto_image_reset(&im);
    }
    decode_fails(s, STR("P2\n2 2\n255\n1 "), RECTO_ETRUNCATED, "cut short");
    decode_fails(s, STR("P5\n2 1\n99999\n"), RECTO_EDAMAGED, "maxval");
    decode_fails(s, STR("P7\nWIDTH 1"), RECTO_EKIND, "P7");
    page_source_close(s);
}

/* A grey JPEG of any size in a few bytes: one code of one bit each for "same brightness as before"
 * and "nothing else in this block", so that all blocks are zero bits. */
static struct buf grey_jpeg(int w, int h)
{
    static const unsigned char rest[] = {
        0xFF, 0xC4, 0, 20, 0x00, 1,    0, 0,  0,    0,    0, 0, 0, 0, 0, 0, 0,  0,
        0,    0,    0, 0,  0xFF, 0xC4, 0, 20, 0x10, 1,    0, 0, 0, 0, 0, 0, 0,  0,
        0,    0,    0, 0,  0,    0,    0, 0,  0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0};
    unsigned char head[] = {0xFF,
                            0xC0,
                            0,
                            11,
                            8,
                            (unsigned char)(h >> 8),
                            (unsigned char)h,
                            (unsigned char)(w >> 8),
                            (unsigned char)w,
                            1,
                            1,
                            0x11,
                            0};
    size_t n_block = (size_t)div_up(w, 8) * (size_t)div_up(h, 8);
    struct buf b = {0};

    buf_add(&b, "\xFF\xD8\xFF\xDB\0\x43\0", 7);
    for (int i = 0; i < 64; i++)
        buf_char(&b, 1);
    buf_add(&b, head, sizeof head);
    buf_add(&b, rest, sizeof rest);
    for (size_t i = 0; i < (n_block + 3) / 4; i++)
        buf_char(&b, 0);
    buf_add(&b, "\xFF\xD9", 2);
    return b;
}

/* Case 15: 376 million pixels are read, scaled by the decoder, and the scale is told. */
static void phone_picture(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct buf b = grey_jpeg(19392, 19392);
    struct page_note note;
    struct recto_image im = decode_ok(s, &b, &note);

    assert_int_equal(note.declared_width, 19392);
    assert_in_range(note.reduce, 2, 8);
    assert_int_equal(im.width, div_up(19392, note.reduce));
    assert_int_equal(pixel(&im, im.width - 1, im.height - 1)[0], 128);
    assert_true(note.n_warning >= 1 && strstr(note.warning[note.n_warning - 1], "reduced by"));
    page_note_reset(&note);
    recto_image_reset(&im);
    buf_reset(&b);
    page_source_close(s);
}

/* Every kind cut at 70 % and 20 %, and with a byte turned over at many places: an answer each time,
 * and the helper lives on. */
static void cut_and_damaged(void **state)
{
    static const char *const files[] = {"still.webp", "frames.webp", "rgb.jp2",
                                        "rgb24.bmp",  "rle8.bmp",    "pages.tif",
                                        "tiled.tif",  "frames.gif",  "dispose.gif"};
    struct page_source *s = open_source(HELPER, 0, 60000);
    pid_t pid;

    assert_int_equal(page_source_start(s), 0);
    pid = page_source_helper(s);
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[512];
        struct buf b;

        snprintf(path, sizeof path, FIXTURES "%s", files[i]);
        b = load(path);
        for (size_t k = 1; k <= 40; k++) {
            size_t n = k == 1 ? b.n * 7 / 10 : k == 2 ? b.n / 5 : b.n;
            size_t at = (b.n * k / 41 + k * k) % b.n;
            char was = b.p[at];
            struct recto_image im;

            b.p[at] = (char)(k > 2 ? was ^ (int)(1u << k % 8) : was);
            if (page_decode_frame(s, NULL, b.p, n, (int)k % 3, &im, NULL) == 0)
                recto_image_reset(&im);
            b.p[at] = was;
        }
        buf_reset(&b);
    }
    assert_int_equal(page_source_helper(s), pid);
    page_source_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lossless_kinds),  cmocka_unit_test(pages_of_tiff),
        cmocka_unit_test(tiled_tiff),      cmocka_unit_test(frames_of_gif),
        cmocka_unit_test(disposed_frames), cmocka_unit_test(frames_as_pages),
        cmocka_unit_test(run_lengths),     cmocka_unit_test(netpbm),
        cmocka_unit_test(phone_picture),   cmocka_unit_test(cut_and_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
