/* Searchable PDF, overlay and figures through the public interface, on pages made here: what poppler, MuPDF and qpdf find
 * in the files, and what is drawn. */
#include "page_files.h"
#include "programs.h"
#include "unit/written.h"

#include "base/mem.h"
#include "result/place.h"
#include "result/text_font.h"
#include "result/text_layer.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#define SIZE_BOUND(input, pages) ((size_t)(input) + 6144 * (size_t)(pages) + 24576)

/* ---- what is written ---- */

static struct recto_document *open_document(const char *path)
{
    struct recto_settings s;
    struct recto_document *d;

    if (!file_exists(HELPER))
        skip();
    recto_settings_init(&s);
    s.helper = HELPER;
    if (recto_document_open(&d, &(struct recto_input){.path = path}, &s) < 0)
        fail_msg("%s", err_text());
    return d;
}

/* The words of `want`, separated by spaces, in order and not broken, in what a reader of PDF says. */
static void expect_words(const char *reader, const char *path, const char *want)
{
    struct buf got = shell(reader, path, NULL), flat = {0};

    for (size_t i = 0; i < got.n; i++) { /* every run of white space is one space */
        bool is_space = (unsigned char)got.p[i] <= ' ';

        if (!is_space || (flat.n && flat.p[flat.n - 1] != ' '))
            buf_char(&flat, is_space ? ' ' : got.p[i]);
    }
    buf_add(&flat, "", 0);
    if (!strstr(flat.p, want))
        fail_msg("%s: no '%s' in '%s'", reader, want, flat.p);
    buf_reset(&got);
    buf_reset(&flat);
}

/* ---- pages ---- */

/* A page of the document with `n` blocks of these texts, one below the other over the middle half of the page. */
static struct recto_page page_of(struct recto_document *d, int number, const char *const *text,
                                 int n)
{
    struct recto_page p;

    if (recto_document_look(d, number, &p) < 0)
        fail_msg("%s", err_text());
    p.status = RECTO_PAGE_OK;
    p.n_block = n;
    p.block = mem_zero((size_t)n, sizeof *p.block);
    for (int i = 0; i < n; i++) {
        struct recto_block *b = &p.block[i];

        b->order = i;
        b->label = mem_strdup("text");
        b->text = mem_strdup(text[i]);
        b->n_text = strlen(text[i]);
        b->raw = mem_strdup("");
        b->n_box = 1;
        b->box = mem_alloc(sizeof *b->box);
        *b->box = (struct recto_box){100, 100 + 800 * i / n, 600, 100 + 800 * i / n + 40};
    }
    return p;
}

static const char *const scripts[] = {"Alice was beginning", "Съешь же ещё", "中文字符测试",
                                      "smile \xF0\x9F\x98\x80 here"};

/* Latin, Cyrillic, Chinese and an emoji over an image, found by two readers, in order. */
static void test_scripts(void **state)
{
    struct recto_document *d = open_document(SAMPLES "linn.png");
    struct recto_write_options o;
    struct written m = {0};
    struct recto_page p = page_of(d, 1, scripts, 4);
    char *path;
    struct stat st;

    recto_write_options_init(&o);
    o.doc = d;
    written(&m, "pdf", &o, NULL, &p, 1);
    path = keep_file(&m.main, "scripts.pdf");
    expect_sound_pdf(path);
    for (int i = 0; i < 4; i++) {
        expect_words("pdftotext %s -", path, scripts[i]);
        if (access("/usr/bin/mutool", X_OK) == 0)
            expect_words("mutool draw -q -F txt %s 2>&1", path, scripts[i]);
    }
    assert_int_equal(stat(SAMPLES "linn.png", &st), 0);
    assert_true(m.main.n <= SIZE_BOUND(st.st_size, 1));
    unlink(path);
    written_reset(&m);
    recto_page_reset(&p);
    recto_document_close(d);
}

/* The same bytes again; and an unread page is there, with its picture, without text. */
static void test_same_bytes(void **state)
{
    struct recto_document *d = open_document(SAMPLES "crom.png");
    struct recto_write_options o;
    struct written a = {0}, b = {0};
    struct recto_page p = page_of(d, 1, scripts, 4);

    recto_write_options_init(&o);
    o.doc = d;
    written(&a, "pdf", &o, NULL, &p, 1);
    written(&b, "pdf", &o, NULL, &p, 1);
    assert_int_equal(a.main.n, b.main.n);
    assert_memory_equal(a.main.p, b.main.p, a.main.n);
    written_reset(&b);
    p.status = RECTO_PAGE_ERROR;
    p.n_block = 0;
    written(&b, "pdf", &o, NULL, &p, 1);
    written_reset(&a);
    written_reset(&b);
    p.n_block = 4;
    recto_page_reset(&p);
    recto_document_close(d);
}

/* ---- where ---- */

/* The place of a word by poppler, in points of the page as displayed. */
static bool word_box(const char *path, const char *word, double box[4])
{
    struct buf b = shell("pdftotext -cropbox -bbox %s -", path, NULL);
    char *line = b.p;
    bool is_found = false;

    while ((line = strstr(line, "<word "))) {
        char *end = strchr(line, '\n'), *at;

        at = strstr(line, word);
        if (at && at < end &&
            sscanf(line, "<word xMin=\"%lf\" yMin=\"%lf\" xMax=\"%lf\" yMax=\"%lf\"", &box[0],
                   &box[1], &box[2], &box[3]) == 4)
            is_found = true;
        line = end;
    }
    buf_reset(&b);
    return is_found;
}

/* Each of the four turns of a page, also cropped: the word lies where its box is, and the picture is unchanged. */
static void test_turned_pages(void **state)
{
    static const char *const word[] = {"Upright"};
    static const char *const make[] = {
        "qpdf " SAMPLES "skew.pdf --rotate=0 %s", "qpdf " SAMPLES "skew.pdf --rotate=90 %s",
        "qpdf " SAMPLES "skew.pdf --rotate=180 %s", "qpdf " SAMPLES "skew.pdf --rotate=270 %s",
        "qpdf --qdf --object-streams=disable " SAMPLES "skew.pdf - | sed "
        "'s,/Rotate 0,/Rotate 90 /CropBox [50 100 500 700],' >%s"};

    for (size_t i = 0; i < COUNT(make); i++) {
        char source[64];
        struct buf done;
        struct recto_document *d, *copy;
        struct recto_write_options o;
        struct recto_page p;
        struct recto_image before, after;
        struct written m = {0};
        double box[4], left, top;
        char *path;

        snprintf(source, sizeof source, "/tmp/recto-test-turn-%d.pdf", (int)getpid());
        done = shell(make[i], source, NULL);
        buf_reset(&done);
        d = open_document(source);
        p = page_of(d, 1, word, 1);
        recto_write_options_init(&o);
        o.doc = d;
        written(&m, "pdf", &o, NULL, &p, 1);
        path = keep_file(&m.main, "turned.pdf");
        expect_sound_pdf(path);
        assert_true(word_box(path, "Upright", box));
        left = 100 / 999.0 * p.width_pt, top = 100 / 999.0 * p.height_pt;
        /* Within the box: where in it tells the ink. */
        assert_true(box[0] > left - 2 && box[2] < 600 / 999.0 * p.width_pt);
        assert_true(box[1] > top - 4 && box[3] < 140 / 999.0 * p.height_pt + 4);
        copy = open_document(path);
        assert_int_equal(recto_document_render(d, 1, &before), 0);
        assert_int_equal(recto_document_render(copy, 1, &after), 0);
        assert_int_equal(before.width, after.width);
        assert_memory_equal(before.rgb, after.rgb,
                            (size_t)before.width * (size_t)before.height * 3);
        recto_image_reset(&before);
        recto_image_reset(&after);
        recto_document_close(copy);
        recto_document_close(d);
        recto_page_reset(&p);
        written_reset(&m);
        unlink(path);
        unlink(source);
    }
}

/* Pixels to points, by hand. */
static void test_frame(void **state)
{
    static const struct {
        int turn;
        double x, y;
    } cases[] = {{0, 10 + 20, 220 - 30},
                 {90, 10 + 30, 20 + 20},
                 {180, 110 - 20, 20 + 30},
                 {270, 110 - 30, 220 - 20}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        bool is_side = cases[i].turn % 180;
        struct recto_page p = {.width = is_side ? 400 : 200,
                               .height = is_side ? 200 : 400,
                               .crop_pt = {10, 20, 110, 220},
                               .turn_pt = cases[i].turn};
        struct point at;
        struct place f;

        assert_true(place_of_page(&f, &p));
        at = place_at(&f, 40, 60);
        assert_true(fabs(at.x - cases[i].x) < 1e-9 && fabs(at.y - cases[i].y) < 1e-9);
    }
    assert_false(
        place_of_page(&(struct place){0}, &(struct recto_page){.width = 10, .height = 10}));
}

/* The line of the format's description: 24 points, stretched no more than to 150 %. */
static void test_line(void **state)
{
    struct text_layer t = {0};
    struct buf b = {0};
    struct place f = {0, 0, 666, 999, 0, 666, 999, 1998, 2997};

    text_layer_line(&t, &b, &f, STR("Report"), (struct recto_box){200, 150, 1000, 240}, false);
    assert_string_equal(b.p, "BT 3 Tr /Rct 24 Tf 150 Tz 1 0 0 1 66.67 925 Tm "
                             "<0001000200030004000500060007> Tj ET\n");
    buf_clear(&b);
    text_layer_line(&t, &b, &f, STR("Report Report"), (struct recto_box){200, 150, 260, 240},
                    false);
    assert_non_null(strstr(b.p, "5.71 Tf 50 Tz")); /* 20 / (7 * 0.5) */
    buf_clear(&b);
    text_layer_line(&t, &b, &f, STR("\n\x01"), (struct recto_box){200, 150, 260, 240}, false);
    assert_int_equal(b.n, 0);
    text_font_reset(&t.font);
    buf_reset(&b);
}

static void test_font(void **state)
{
    struct text_font f = {0};
    struct buf b = {0};

    assert_int_equal(text_font_cid(&f, 'a'), 1);
    assert_int_equal(text_font_cid(&f, 0x4E2D), 2);
    assert_int_equal(text_font_cid(&f, 0x1F600), 3);
    assert_int_equal(text_font_cid(&f, 'a'), 1);
    text_font_widths(&b, &f);
    assert_string_equal(b.p, "[2 3 1000]");
    buf_clear(&b);
    text_font_map(&b, &f);
    assert_int_equal(b.n, 8);
    assert_memory_equal(b.p, "\0\0\0\1\0\2\0\2", 8);
    buf_clear(&b);
    text_font_unicode(&b, &f);
    assert_non_null(strstr(b.p, "<0003> <D83DDE00>\n"));
    buf_clear(&b);
    text_font_file(&b);
    assert_true(b.n > 300 && b.n < 1100);
    for (uint32_t c = 0x10000; c < 0x30000; c++)
        text_font_cid(&f, c);
    assert_int_equal(f.n, 65534); /* and the rest is one character */
    assert_int_equal(text_font_cid(&f, 0x2FFFF), text_font_cid(&f, 0xFFFD));
    text_font_reset(&f);
    buf_reset(&b);
}

/* ---- one box in four formats ---- */

/* [[51, 860, 216, 970]] on 1225 x 405 pixels is 62, 348, 264, 393. */
static void test_box_everywhere(void **state)
{
    struct buf ppm = {0}, json = {0};
    struct recto_document *d;
    struct recto_write_options o;
    struct recto_page p;
    struct written m = {0};
    struct recto_image im;
    struct page_source *s = open_source(HELPER, 0, 60000);
    const char *const text[] = {""};
    char *path;

    buf_text(&ppm, "P6 1225 405 255\n");
    for (int i = 0; i < 1225 * 405; i++) { /* many colours, so that the crop is a JPEG */
        buf_char(&ppm, (char)(i % 251));
        buf_char(&ppm, (char)(200 + i % 13));
        buf_char(&ppm, (char)(i / 1225));
    }
    path = keep_file(&ppm, "box.ppm");
    d = open_document(path);
    p = page_of(d, 1, text, 1);
    p.block->kind = RECTO_BLOCK_FIGURE;
    *p.block->box = (struct recto_box){51, 860, 216, 970};
    writer_json_page(&json, &p);
    assert_non_null(strstr(json.p, "\"boxes_px\":[[62,348,264,393]]"));
    recto_write_options_init(&o);
    o.doc = d;
    o.stem = "x";
    written(&m, "figures", &o, NULL, &p, 1);
    assert_string_equal(m.name, "p0001-f1.jpg");
    im = decode_ok(s, &m.side, NULL);
    assert_int_equal(im.width, 264 - 62);
    assert_int_equal(im.height, 393 - 348);
    recto_image_reset(&im);
    written(&m, "overlay", &o, NULL, &p, 1);
    assert_string_equal(m.name, "p0001-overlay.jpg");
    im = decode_ok(s, &m.side, NULL);
    assert_int_equal(im.width, 1225);
    for (int y = 352; y < 390;
         y += 4) { /* the left edge is drawn in the figures' colour, magenta */
        const unsigned char *at = im.rgb + ((size_t)y * 1225 + 62) * 3;

        assert_true(at[0] > 120 && at[1] < 110);
    }
    recto_image_reset(&im);
    buf_reset(&ppm);
    buf_reset(&json);
    written_reset(&m);
    recto_page_reset(&p);
    recto_document_close(d);
    page_source_close(s);
    unlink(path);
}

/* ---- images as pages ---- */

/* How an image is kept: a JPEG byte for byte, black and white as group 4, a PNG's own data. */
static void test_images(void **state)
{
    static const struct {
        const char *file, *filter;
    } cases[] = {
        {"baiona_cmyk.jpg", "jpeg"}, {"linn.png", "ccitt"}, {"baiona_colormapped.png", "image"}};
    static const char *const text[] = {"word"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[128], *out;
        struct recto_document *d;
        struct recto_write_options o;
        struct recto_page p;
        struct written m = {0};
        struct buf list;

        snprintf(path, sizeof path, SAMPLES "%s", cases[i].file);
        d = open_document(path);
        p = page_of(d, 1, text, 1);
        recto_write_options_init(&o);
        o.doc = d;
        written(&m, "pdf", &o, NULL, &p, 1);
        out = keep_file(&m.main, "image.pdf");
        expect_sound_pdf(out);
        list = shell("pdfimages -list %s", out, NULL);
        if (!strstr(list.p, cases[i].filter))
            fail_msg("%s: %s", cases[i].file, list.p);
        if (strstr(path, ".jpg")) {
            struct buf file = load(path);

            assert_non_null(memmem(m.main.p, m.main.n, file.p, file.n));
            buf_reset(&file);
        }
        buf_reset(&list);
        recto_page_reset(&p);
        recto_document_close(d);
        written_reset(&m);
        unlink(out);
    }
}

static void test_refusals(void **state)
{
    struct recto_document *d = open_document(SAMPLES "encrypted_empty_user.pdf");
    static const char *const text[] = {"word"};
    struct recto_page p = page_of(d, 1, text, 1);
    struct recto_write_options o;
    struct written m = {0};

    recto_write_options_init(&o);
    assert_int_equal(written_try(&m, "pdf", &o, NULL, &p, 1), RECTO_EUSAGE); /* no document */
    o.doc = d;
    assert_int_equal(written_try(&m, "pdf", &o, NULL, &p, 1), RECTO_EPASSWORD);
    o.old_text = "lose";
    assert_int_equal(written_try(&m, "pdf", &o, NULL, &p, 1), RECTO_EUSAGE);
    written_reset(&m);
    recto_page_reset(&p);
    recto_document_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame),      cmocka_unit_test(test_line),
        cmocka_unit_test(test_font),       cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_turned_pages),
        cmocka_unit_test(test_images),     cmocka_unit_test(test_box_everywhere),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
