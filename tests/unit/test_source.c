/* Reading files through the real helper: samples, cut or damaged files, absurd sizes, kinds. */
#include "page_files.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <sys/resource.h>

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

static const struct {
    const char *path;
    int w, h;
    const char *kind;
    unsigned flags;
} samples[] = {
    {SAMPLES "baiona_alpha.png", 640, 682, "PNG", PAGE_ALPHA},
    {SAMPLES "baiona_colormapped.png", 640, 682, "PNG", 0},
    {SAMPLES "baiona_cmyk.jpg", 640, 682, "JPEG", 0},
    {SAMPLES "crom.png", 400, 50, "PNG", 0},
    {SAMPLES "linn.png", 2550, 3300, "PNG", 0},
    {SAMPLES "typewriter.png", 4000, 2864, "PNG", 0},
    {FIXTURES "interlaced.png", 96, 160, "PNG", 0},
    {FIXTURES "rgb.jpg", 96, 160, "JPEG", 0},
    {FIXTURES "grey.jpg", 96, 160, "JPEG", 0},
    {FIXTURES "progressive.jpg", 96, 160, "JPEG", 0},
    {FIXTURES "restart.jpg", 96, 160, "JPEG", 0},
};

#define FIRST_JPEG_FIXTURE 7

static void every_sample(void **state)
{
    for (size_t k = 0; k < COUNT(samples); k++) {
        struct buf b = load(samples[k].path);
        struct page_note note;
        struct recto_image im = decode_ok(*state, &b, &note);

        assert_int_equal(im.width, samples[k].w);
        assert_int_equal(im.height, samples[k].h);
        assert_string_equal(note.kind, samples[k].kind);
        assert_int_equal(note.flags, samples[k].flags);
        assert_int_equal(note.rows, samples[k].h);
        assert_int_equal(note.n_warning, 0);
        page_note_reset(&note);
        free(im.rgb);
        buf_reset(&b);
    }
}

/* baiona: one map as RGBA, palette and inverted CMYK: white corner, and the same picture up to
 * JPEG's and the palette's loss. */
static void one_map_three_ways(void **state)
{
    struct recto_image im[3];

    for (int k = 0; k < 3; k++) {
        struct buf b = load(samples[k].path);

        im[k] = decode_ok(*state, &b, NULL);
        buf_reset(&b);
        for (int c = 0; c < 3; c++)
            assert_int_equal(im[k].rgb[c], 255);
    }
    for (int k = 1; k < 3; k++) {
        double sum = 0;
        size_t n = 640 * 682 * 3;

        for (size_t i = 0; i < n; i++)
            sum += abs(im[0].rgb[i] - im[k].rgb[i]);
        if (sum / (double)n > 6)
            fail_msg("%s differs by %.2f on average", samples[k].path, sum / (double)n);
    }
    for (int k = 0; k < 3; k++)
        free(im[k].rgb);
}

/* Without Adobe's marker the same samples mean ink: the white corner becomes black. */
static void cmyk_without_adobe_marker(void **state)
{
    struct buf b = load(SAMPLES "baiona_cmyk.jpg"), plain = {0};
    size_t at = str_find(buf_view(&b),
                         STR("\xFF\xEE\x00\x0E"
                             "Adobe"),
                         0);
    struct recto_image im;

    assert_true(at < b.n);
    buf_add(&plain, b.p, at);
    buf_add(&plain, b.p + at + 16, b.n - at - 16);
    im = decode_ok(*state, &plain, NULL);
    assert_int_equal(im.rgb[0] | im.rgb[1] | im.rgb[2], 0);
    free(im.rgb);
    buf_reset(&b);
    buf_reset(&plain);
}

/* The fixtures' formula, within what JPEG loses at quality 95; grey is the blue of the others. */
static void jpeg_pixels(void **state)
{
    for (size_t k = FIRST_JPEG_FIXTURE; k < COUNT(samples); k++) {
        struct buf b = load(samples[k].path);
        struct page_note note;
        struct recto_image im = decode_ok(*state, &b, &note);
        bool is_grey = strstr(samples[k].path, "grey") != NULL;

        assert_int_equal(note.dpi_x, 200);
        assert_int_equal(note.dpi_y, 200);
        for (int y = 4; y < 160; y += 8) {
            for (int x = 4; x < 96; x += 8) {
                const unsigned char *p = pixel(&im, x, y);
                int blue = ((x / 16) ^ (y / 16)) & 1 ? 200 : 40;

                assert_in_range(p[2], blue - 14, blue + 14);
                assert_in_range(p[0] + 14, is_grey ? p[2] + 14 : 2 * x,
                                is_grey ? p[2] + 14 : 2 * x + 28);
                assert_in_range(p[1] + 14, is_grey ? p[2] + 14 : y, is_grey ? p[2] + 14 : y + 28);
            }
        }
        page_note_reset(&note);
        free(im.rgb);
        buf_reset(&b);
    }
}

/* Cut at 70 %: the rows that are there equal those of the whole file, the rest is grey.
 * Cut at 20 %: refused. */
static void cut_files(void **state)
{
    for (size_t k = 0; k < COUNT(samples); k++) {
        struct buf b = load(samples[k].path);
        struct recto_image whole = decode_ok(*state, &b, NULL), im;
        struct page_note note;
        size_t row = (size_t)whole.width * 3, n = b.n;
        bool is_coarse = strstr(samples[k].path, "progressive") != NULL;
        /* Small files lose much by a block, and half of an interlaced one's bytes are in its last
         * pass. */
        bool is_tiny = strstr(samples[k].path, "fixtures") != NULL;

        b.n = is_tiny && !is_coarse ? n * 9 / 10 : n * 7 / 10;
        im = decode_ok(*state, &b, &note);
        assert_int_equal(im.height, whole.height);
        assert_true(note.flags & PAGE_TRUNCATED);
        assert_int_equal(note.n_warning, 1);
        assert_string_equal(note.warning[0], "truncated");
        assert_in_range(note.rows, whole.height / 2, is_coarse ? whole.height : whole.height - 1);
        if (!is_coarse)
            assert_memory_equal(im.rgb, whole.rgb, row * (size_t)note.rows);
        for (size_t i = row * (size_t)note.rows; i < row * (size_t)whole.height; i++)
            assert_int_equal(im.rgb[i], 127);
        page_note_reset(&note);
        decode_fails(*state, (str){b.p, n / 5}, RECTO_ETRUNCATED, "cut short: ");
        free(im.rgb);
        free(whole.rgb);
        buf_reset(&b);
    }
}

/* A wrong byte in the middle of the picture data: either what came before it is kept, or the page
 * is refused; no crash. */
static void flipped_bytes(void **state)
{
    for (size_t k = 0; k < COUNT(samples); k++) {
        struct buf b = load(samples[k].path);

        for (size_t at = b.n / 20; at < b.n; at += b.n / 7) {
            struct recto_image im;
            int rc;

            b.p[at] ^= 0x5A;
            rc = page_decode(*state, NULL, b.p, b.n, &im, NULL);
            b.p[at] ^= 0x5A;
            if (rc == 0)
                assert_int_equal(im.width, samples[k].w);
            else
                assert_true(rc == RECTO_EDAMAGED || rc == RECTO_ETRUNCATED);
            free(im.rgb);
        }
        buf_reset(&b);
    }
}

static long peak_kib(pid_t pid)
{
    char path[64], line[128];
    long kib = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

static void absurd_sizes(void **state)
{
    static const struct {
        uint32_t w, h;
        int code;
        const char *text;
    } cases[] = {
        {100000, 100000, RECTO_ETOOLARGE, "100000 x 100000 is over the limit (--max-pixels)"},
        {40000, 40000, RECTO_ETOOLARGE, "40000 x 40000 is over the limit"},
        {100001, 1, RECTO_ETOOLARGE, "over the limit"},
        {0xFFFFFFFFu, 0xFFFFFFFFu, RECTO_ETOOLARGE, "over the limit"},
        {0, 0, RECTO_EDAMAGED, "0 x 0"},
        {10, 0, RECTO_EDAMAGED, "10 x 0"}};
    struct page_source *s = open_source(HELPER, 0, 0);
    int64_t start = clock_ns();

    for (size_t k = 0; k < COUNT(cases); k++) {
        struct buf b = {0};

        png_start(&b, cases[k].w, cases[k].h, 8, 2);
        png_rows(&b, "\0\0\0", 3, 1);
        decode_fails(s, buf_view(&b), cases[k].code, cases[k].text);
        buf_reset(&b);
    }
    assert_true(clock_ms_since(start) < 1000);
    assert_in_range(peak_kib(page_source_helper(s)), 1, 200 * 1024);
    page_source_close(s);
}

static void wrong_kinds(void **state)
{
    static const struct {
        str bytes;
        const char *text;
    } cases[] = {
        {STR("PK\x03\x04zip"), "not an image or PDF (looks like ZIP"},
        {STR("8BPS......"), "(looks like Photoshop); this build reads PDF, JPEG, PNG, TIFF"},
        {STR("AT&TFORM...."), "DjVu"},
        {STR("....ftypheic"), "HEIC"},
        {STR("junk\n%PDF-1.7"), "PDF"},
        {STR("  <!DOCTYPE HTML>"), "HTML"},
        {STR("hello"), "text"},
        {STR("\x01\x02\x03\x04\x05"), "unknown data"},
        {STR("x"), "text"},
    };

    for (size_t k = 0; k < COUNT(cases); k++)
        decode_fails(*state, cases[k].bytes, RECTO_EKIND, cases[k].text);
    decode_fails(*state, STR(""), RECTO_EEMPTY, "empty file");
    decode_fails(*state, STR("\xFF\xD8\xFF"), RECTO_ETRUNCATED, "cut short");
    decode_fails(*state, STR("\x89PNG\r\n\x1A\n"), RECTO_ETRUNCATED, "cut short");
    decode_fails(*state, STR("\x89PNG\n\x1A\n...................................."), RECTO_EDAMAGED,
                 "damaged");
}

static void ppm_without_a_helper(void **state)
{
    static const struct {
        str bytes;
        int code;
        const char *text;
    } bad[] = {
        {STR("P6\n2 2\n255\nabc"), RECTO_ETRUNCATED, "cut short: 0 of 2 rows"},
        {STR("P6\n2 1\n255\nabcdefg"), RECTO_EDAMAGED, "1 bytes after"},
        {STR("P6\n2 1\n65535\nabcdefabcdef"), RECTO_ERENDER, "cannot be started"},
        {STR("P6\n0 1\n255\n"), RECTO_EDAMAGED, "0 x 1"},
        {STR("P6\n99999 99999\n255\n"), RECTO_ETOOLARGE, "over the limit"},
        {STR("P6\n99999999999 1\n255\n"), RECTO_EDAMAGED, "header"},
        {STR("P6\n2 -1\n255\n"), RECTO_EDAMAGED, "header"},
        {STR("P6\n2 1"), RECTO_EDAMAGED, "header"},
        {STR("P6 "), RECTO_EDAMAGED, "header"},
        {STR("P6\n2 1\n255#\nabcdef"), RECTO_EDAMAGED, "white space"},
    };
    struct page_source *s = open_source("/nowhere/recto-decode", 0, 0);
    struct buf b = {0};
    struct page_note note;
    struct recto_image im;

    buf_str(&b, STR("P6 # made by hand\n2\t3 255\nabcdefghijklmnop"));
    im = decode_ok(s, &b, &note); /* 16 of 18 bytes: two whole rows of three */
    assert_int_equal(im.width, 2);
    assert_int_equal(note.rows, 2);
    assert_int_equal(note.flags, PAGE_TRUNCATED);
    assert_memory_equal(im.rgb, "abcdefghijkl\x7F\x7F\x7F\x7F\x7F\x7F", 18);
    page_note_reset(&note);
    free(im.rgb);
    buf_reset(&b);
    for (size_t k = 0; k < COUNT(bad); k++)
        decode_fails(s, bad[k].bytes, bad[k].code, bad[k].text);
    decode_fails(s, STR("\xFF\xD8\xFF\xE0"), RECTO_ERENDER, "/nowhere/recto-decode");
    page_source_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample),
        cmocka_unit_test(one_map_three_ways),
        cmocka_unit_test(cmyk_without_adobe_marker),
        cmocka_unit_test(jpeg_pixels),
        cmocka_unit_test(cut_files),
        cmocka_unit_test(flipped_bytes),
        cmocka_unit_test(absurd_sizes),
        cmocka_unit_test(wrong_kinds),
        cmocka_unit_test(ppm_without_a_helper),
    };

    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
