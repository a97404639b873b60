/* Decoding through the real helper: what the pixels must be, for each trap of the two formats. */
#include "page_files.h"

#include "base/mem.h"
#include "page/orient.h"

static int open_shared(void **state)
{
    *state = open_source(HELPER, 0, 0);
    return 0;
}

static int close_shared(void **state)
{
    page_source_close(*state);
    return 0;
}

static void interlaced(void **state)
{
    struct buf b = load(FIXTURES "interlaced.png");
    struct recto_image im = decode_ok(*state, &b, NULL);

    for (int y = 0; y < 160; y++) {
        for (int x = 0; x < 96; x++) {
            unsigned char want[3] = {(unsigned char)(2 * x), (unsigned char)y,
                                     ((x / 16) ^ (y / 16)) & 1 ? 200 : 40};

            assert_memory_equal(pixel(&im, x, y), want, 3);
        }
    }
    free(im.rgb);
    buf_reset(&b);
}

static void sixteen_bits(void **state)
{
    static const unsigned char grey[] = {0,    0,    0,    128,  0,    129,  0x9C,
                                         0x40, 0xFF, 0x7E, 0xFF, 0x7F, 0xFF, 0xFF};
    static const unsigned char want[] = {0, 0, 1, 156, 254, 255, 255}; /* round(v / 257) */
    static const unsigned char rgb[] = {0,    255,  0x9C,
                                        0x40, 0xFE, 0xFF}; /* high bytes: 0, 156, 254 */
    struct buf b = png_make(7, 1, 16, 0, grey, 14);
    struct recto_image im = decode_ok(*state, &b, NULL);

    for (int x = 0; x < 7; x++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(pixel(&im, x, 0)[c], want[x]);
    free(im.rgb);
    buf_reset(&b);
    b = png_make(1, 1, 16, 2, rgb, 6);
    im = decode_ok(*state, &b, NULL);
    assert_memory_equal(im.rgb, ((unsigned char[]){0, 156, 254}), 3);
    free(im.rgb);
    buf_reset(&b);
}

static void few_bits(void **state)
{
    static const struct {
        int depth;
        unsigned char byte, want[4];
    } cases[] = {
        {1, 0xA0, {255, 0, 255, 0}}, {2, 0x1B, {0, 85, 170, 255}}, {4, 0x1F, {17, 255, 0, 0}}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        unsigned char row[2] = {cases[k].byte, 0};
        struct buf b = png_make(4, 1, cases[k].depth, 0, row, cases[k].depth == 4 ? 2 : 1);
        struct recto_image im = decode_ok(*state, &b, NULL);

        for (int x = 0; x < 4; x++)
            assert_int_equal(pixel(&im, x, 0)[1], cases[k].want[x]);
        free(im.rgb);
        buf_reset(&b);
    }
}

/* Black lettering on clear black is laid on white; light lettering on a mostly clear page on
 * grey 64. */
static void alpha(void **state)
{
    static const unsigned char dark[] = {0, 0, 0, 255, 0, 0, 0, 0, 10, 20, 30, 128};
    static const unsigned char light[] = {255, 255, 255, 255, 9,   9,   9,   0,
                                          9,   9,   9,   0,   255, 255, 255, 128};
    struct buf b = png_make(3, 1, 8, 6, dark, 12);
    struct page_note note;
    struct recto_image im = decode_ok(*state, &b, &note);

    assert_memory_equal(im.rgb, ((unsigned char[]){0, 0, 0, 255, 255, 255, 132, 137, 142}), 9);
    assert_int_equal(note.flags, PAGE_ALPHA);
    page_note_reset(&note);
    free(im.rgb);
    buf_reset(&b);

    b = png_make(4, 1, 8, 6, light, 16); /* two of four clear is not more than half */
    im = decode_ok(*state, &b, &note);
    assert_int_equal(note.flags, PAGE_ALPHA);
    assert_int_equal(pixel(&im, 1, 0)[0], 255);
    page_note_reset(&note);
    free(im.rgb);
    buf_reset(&b);

    b = png_make(3, 1, 8, 6, light, 12);
    im = decode_ok(*state, &b, &note);
    assert_int_equal(note.flags, PAGE_ALPHA | PAGE_BACKDROP);
    assert_memory_equal(im.rgb, ((unsigned char[]){255, 255, 255, 64, 64, 64, 64, 64, 64}), 9);
    assert_int_equal(note.n_warning, 1);
    page_note_reset(&note);
    free(im.rgb);
    buf_reset(&b);
}

static void palette_with_transparency(void **state)
{
    static const unsigned char index[3] = {0, 1, 2}, colours[9] = {0, 0, 0, 200, 100, 50, 1, 2, 3};
    struct buf b = {0};
    struct recto_image im;

    png_start(&b, 3, 1, 8, 3);
    png_chunk(&b, "PLTE", colours, 9);
    png_chunk(&b, "tRNS", "\xFF\x80", 2);
    png_rows(&b, index, 3, 1);
    png_chunk(&b, "IEND", "", 0);
    im = decode_ok(*state, &b, NULL);
    assert_memory_equal(im.rgb, ((unsigned char[]){0, 0, 0, 227, 177, 152, 1, 2, 3}), 9);
    free(im.rgb);
    buf_reset(&b);
}

/* Each orientation, in both byte orders and both formats, gives what orient_apply makes of the
 * upright picture. */
static void orientations(void **state)
{
    struct buf jpeg = load(FIXTURES "rgb.jpg"), upright = jpeg_with_exif(&jpeg, 1, false);
    struct recto_image want = decode_ok(*state, &upright, NULL), stored = want;

    for (int o = 1; o <= 8; o++) {
        for (int is_big = 0; is_big < 2; is_big++) {
            struct buf b = jpeg_with_exif(&jpeg, o, is_big);
            struct page_note note;
            struct recto_image im = decode_ok(*state, &b, &note);
            size_t n = (size_t)stored.width * (size_t)stored.height * 3;

            want = (struct recto_image){stored.width, stored.height, mem_alloc(n)};
            memcpy(want.rgb, stored.rgb, n);
            assert_int_equal(orient_apply(&want, o), 0);
            assert_int_equal(note.orientation, o);
            assert_int_equal(im.width, want.width);
            assert_memory_equal(im.rgb, want.rgb, n);
            page_note_reset(&note);
            free(im.rgb);
            free(want.rgb);
            buf_reset(&b);
        }
    }
    free(stored.rgb);
    buf_reset(&jpeg);
    buf_reset(&upright);
}

static void orientation_of_png(void **state)
{
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        unsigned char exif[32];
        size_t n = exif_make(exif, 6, true);
        struct buf b = {0};
        struct recto_image im;

        png_start(&b, 2, 1, 8, 0);
        if (!is_behind)
            png_chunk(&b, "eXIf", exif, n);
        png_rows(&b, "\x0A\x14", 2, 1);
        if (is_behind)
            png_chunk(&b, "eXIf", exif, n);
        png_chunk(&b, "IEND", "", 0);
        im = decode_ok(*state, &b, NULL);
        assert_int_equal(im.width, 1);
        assert_int_equal(im.height, 2);
        assert_int_equal(im.rgb[0], 10);
        assert_int_equal(im.rgb[3], 20);
        free(im.rgb);
        buf_reset(&b);
    }
}

/* More pixels than are to be kept: means over whole squares, exact where the picture is flat. */
static void reduction(void **state)
{
    unsigned char rows[10 * 10];
    struct page_source *s = open_source(HELPER, 12, 0);
    struct page_note note;
    struct recto_image im;
    struct buf b;

    for (int i = 0; i < 100; i++)
        rows[i] = (unsigned char)(i / 10 < 4 ? 10 * (i % 10 / 4) : 200);
    b = png_make(10, 10, 8, 0, rows,
                 10); /* 100 px, 12 wanted: by 3 gives 4 x 4, by 4 gives 3 x 3 */
    im = decode_ok(s, &b, &note);
    assert_int_equal(im.width, 3);
    assert_int_equal(im.height, 3);
    assert_int_equal(note.reduce, 4);
    assert_int_equal(note.declared_width, 10);
    assert_int_equal(note.flags, PAGE_REDUCED);
    assert_string_equal(note.warning[0], "reduced by 4 while decoding");
    assert_int_equal(pixel(&im, 0, 0)[0], 0);
    assert_int_equal(pixel(&im, 1, 0)[0], 10);
    assert_int_equal(pixel(&im, 2, 0)[0], 20);
    assert_int_equal(pixel(&im, 2, 2)[0], 200);
    page_note_reset(&note);
    free(im.rgb);
    buf_reset(&b);
    page_source_close(s);

    s = open_source(HELPER, 1000, 0);
    b = load(FIXTURES "rgb.jpg"); /* 96 x 160: by 4 in the decoder */
    im = decode_ok(s, &b, &note);
    assert_int_equal(note.reduce, 4);
    assert_int_equal(im.width, 24);
    assert_int_equal(im.height, 40);
    assert_in_range(pixel(&im, 6, 2)[2], 180, 220);
    page_note_reset(&note);
    free(im.rgb);
    buf_reset(&b);
    page_source_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interlaced),
        cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(few_bits),
        cmocka_unit_test(alpha),
        cmocka_unit_test(palette_with_transparency),
        cmocka_unit_test(orientations),
        cmocka_unit_test(orientation_of_png),
        cmocka_unit_test(reduction),
    };

    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
