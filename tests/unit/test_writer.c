/* The writer interface: formats, options, sinks, failures, pixels. */
#include "unit/result_pages.h"

#include "base/err.h"
#include "result/writer.h"

#include <string.h>

struct sink {
    int n_call, fail_at; /* fail_at: the call that fails, from 1; 0: none does */
    struct buf text;
};

static int take(void *ctx, const char *side, const void *bytes, size_t n)
{
    struct sink *s = ctx;

    if (++s->n_call == s->fail_at)
        return err(RECTO_EOUTPUT, "disk full");
    buf_add(&s->text, bytes, n);
    return 0;
}

static void test_formats(void **state)
{
    const struct recto_format *f;
    int n = 0;

    for (; (f = recto_format_at(n)); n++) {
        assert_ptr_equal(recto_format_find(f->name), f);
        assert_true(!f->extension || f->extension[0] == '.');
        assert_true(f->extension || f->has_side_files);
    }
    assert_true(n >= 4);
    assert_string_equal(recto_format_at(0)->name, "md");
    assert_null(recto_format_at(-1));
    assert_null(recto_format_find("doc"));
    assert_null(recto_format_find(NULL));
    assert_string_equal(recto_format_find("raw")->extension, ".raw.txt");
}

static void expect_refused(const struct recto_write_options *o, const char *format,
                           const char *sentence)
{
    struct recto_writer *w = (struct recto_writer *)1;
    struct sink s = {0};

    assert_int_equal(recto_writer_open(&w, format, o, take, &s), RECTO_EUSAGE);
    assert_null(w);
    assert_int_equal(s.n_call, 0);
    assert_non_null(strstr(err_text(), sentence));
}

static void test_options(void **state)
{
    struct recto_write_options o;

    recto_write_options_init(&o);
    expect_refused(&o, "doc", "unknown format 'doc': use one of md, txt, ");
    o.math = "latex";
    expect_refused(&o, "md", "math is 'latex': use dollar or tex");
    o.math = NULL;
    o.tables = "csv";
    expect_refused(&o, "md", "tables is 'csv': use html or pipe");
    o.tables = NULL;
    o.official = "x";
    expect_refused(&o, "md", "official is 'x': use image or pdf or eval");
}

/* Fields beyond the size that the caller knows keep their defaults. */
static void test_older_caller(void **state)
{
    struct recto_write_options o;
    struct recto_writer *w;
    struct sink s = {0};

    memset(&o, 0xFF, sizeof o);
    o.size = offsetof(struct recto_write_options, name);
    o.doc = NULL;
    assert_int_equal(recto_writer_open(&w, "json", &o, take, &s), 0);
    assert_int_equal(recto_writer_close(w), 0);
    assert_non_null(strstr(s.text.p, "\"source\":{\"name\":null,"));
    assert_non_null(strstr(s.text.p, "\"retries\":null"));
    buf_reset(&s.text);
}

/* The first failure of a sink is every later answer, and nothing is written any more. */
static void test_failing_sink(void **state)
{
    for (int at = 1; at <= 3; at++) {
        struct recto_page p = PAGE("A");
        struct recto_write_options o;
        struct recto_writer *w;
        struct sink s = {.fail_at = at};
        int rc;

        recto_write_options_init(&o);
        rc = recto_writer_open(&w, "json", &o, take, &s);
        assert_int_equal(rc, at == 1 ? RECTO_EOUTPUT : 0);
        if (at == 1)
            assert_null(w);
        if (w) {
            assert_int_equal(recto_writer_page(w, &p), at == 2 ? RECTO_EOUTPUT : 0);
            assert_int_equal(recto_writer_close(w), RECTO_EOUTPUT);
        }
        assert_int_equal(s.n_call, at);
        buf_reset(&s.text);
        recto_page_reset(&p);
    }
    assert_int_equal(recto_writer_close(NULL), 0);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static int n_drawn;

static int draw(void *ctx, int page, struct recto_image *im)
{
    n_drawn++;
    if (page == 3)
        return err(RECTO_ERENDER, "the helper died");
    *im = (struct recto_image){16, 16, mem_zero(16 * 16, 3)};
    return 0;
}

static void warned(void *ctx, const char *line)
{
    buf_fmt(ctx, "%s\n", line);
}

/* Drawn once however often they are asked for, and not at all when nobody asks. */
static void test_pixels(void **state)
{
    static const char two[] = REF("image") DET("[[0, 0, 999, 999], [0, 0, 600, 600]]") "\n";
    struct pixels pixels = {.draw = draw};
    struct recto_write_options o;
    struct recto_writer *w;
    struct sink s = {0};
    struct buf warnings = {0};
    struct recto_page p[4] = {PAGE(two), PAGE("text"), PAGE(two), PAGE(two)};

    recto_write_options_init(&o);
    o.stem = "x";
    o.warn = warned;
    o.warn_ctx = &warnings;
    n_drawn = 0;
    assert_int_equal(writer_open(&w, "md", &o, take, &s, &pixels), 0);
    p[3].status = RECTO_PAGE_ERROR;
    for (int i = 0; i < 4; i++) {
        p[i].number = i + 1;
        p[i].width = p[i].height = 16;
        assert_int_equal(recto_writer_page(w, &p[i]), 0);
    }
    assert_int_equal(n_drawn, 2);
    assert_string_equal(warnings.p, "page 3 could not be drawn again for md: the helper died\n");
    buf_clear(&warnings);
    p[0].width++;
    p[0].number = 5;
    assert_int_equal(recto_writer_page(w, &p[0]), 0);
    assert_non_null(strstr(warnings.p, "page 5 could not be drawn again for md: it is 16 x 16 now "
                                       "and was 17 x 16"));
    assert_int_equal(recto_writer_close(w), 0);
    buf_clear(&warnings);
    assert_int_equal(recto_writer_open(&w, "md", &o, take, &s), 0);
    assert_int_equal(recto_writer_page(w, &p[0]), 0);
    assert_int_equal(recto_writer_page(w, &p[2]), 0);
    assert_int_equal(recto_writer_close(w), 0);
    assert_string_equal(warnings.p, "md: without the pages' pixels there are no figures, and lines "
                                    "are placed by guess\n");
    pixels_reset(&pixels);
    for (int i = 0; i < 4; i++)
        recto_page_reset(&p[i]);
    buf_reset(&warnings);
    buf_reset(&s.text);
}

/* Three writers at the same page share its drawing, and each says so when there is none. */
static void test_shared_pixels(void **state)
{
    static const char *const formats[] = {"html", "overlay", "figures"};
    struct pixels pixels = {.draw = draw};
    struct recto_page p = PAGE(REF("image") DET("[[0, 0, 999, 999]]") "\n");
    struct recto_writer *w[COUNT(formats)];
    struct recto_write_options o;
    struct buf warnings = {0};
    struct sink s = {0};

    recto_write_options_init(&o);
    o.stem = "x";
    o.warn = warned, o.warn_ctx = &warnings;
    p.width = p.height = 16;
    n_drawn = 0;
    for (size_t i = 0; i < COUNT(formats); i++)
        assert_int_equal(writer_open(&w[i], formats[i], &o, take, &s, &pixels), 0);
    for (p.number = 1; p.number <= 3; p.number++) /* the third cannot be drawn */
        for (size_t i = 0; i < COUNT(formats); i++)
            assert_int_equal(recto_writer_page(w[i], &p), 0);
    assert_int_equal(n_drawn, 3);
    assert_string_equal(warnings.p,
                        "page 3 could not be drawn again for html: the helper died\n"
                        "page 3 could not be drawn again for overlay: the helper died\n"
                        "page 3 could not be drawn again for figures: the helper died\n");
    for (size_t i = 0; i < COUNT(formats); i++)
        recto_writer_abort(w[i]);
    pixels_reset(&pixels);
    recto_page_reset(&p);
    buf_reset(&warnings);
    buf_reset(&s.text);
}

/* What is not kept gets no end. */
static void test_abort(void **state)
{
    struct recto_page p = PAGE("A");
    struct recto_write_options o;
    struct recto_writer *w;
    struct sink s = {0};
    int n_call;

    recto_write_options_init(&o);
    assert_int_equal(recto_writer_open(&w, "json", &o, take, &s), 0);
    assert_int_equal(recto_writer_page(w, &p), 0);
    n_call = s.n_call;
    recto_writer_abort(w);
    assert_int_equal(s.n_call, n_call);
    recto_writer_abort(NULL);
    recto_page_reset(&p);
    buf_reset(&s.text);
}

/* ---- through a document ---------------------------------------------------------------------- */

static int n_side;

static int count_sides(void *ctx, const char *side, const void *bytes, size_t n)
{
    n_side += side && strcmp(side, "p0001-f1.jpg") == 0 && n > 2 &&
              memcmp(bytes, "\xFF\xD8", 2) == 0;
    return 0;
}

static void test_document(void **state)
{
    struct recto_page p = PAGE(REF("image") DET("[[0, 0, 999, 999]]") "\n"), look;
    struct recto_input in = {.path = SOURCE_DIR "/models/mini/pages/page00.png"};
    struct recto_settings set;
    struct recto_write_options o;
    struct recto_document *doc;
    struct recto_writer *w;

    recto_settings_init(&set);
    set.helper = BIN_DIR "/recto-decode";
    assert_int_equal(recto_document_open(&doc, &in, &set), 0);
    recto_write_options_init(&o);
    o.doc = doc;
    o.stem = "page00";
    assert_int_equal(recto_document_look(doc, 1, &look), 0);
    p.width = look.width, p.height = look.height;
    recto_page_reset(&look);
    assert_int_equal(recto_writer_open(&w, "md", &o, count_sides, NULL), 0);
    assert_int_equal(recto_writer_page(w, &p), 0);
    assert_int_equal(recto_writer_close(w), 0);
    assert_int_equal(n_side, 1);
    recto_document_close(doc);
    recto_page_reset(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),      cmocka_unit_test(test_options),
        cmocka_unit_test(test_older_caller), cmocka_unit_test(test_failing_sink),
        cmocka_unit_test(test_pixels),       cmocka_unit_test(test_shared_pixels),
        cmocka_unit_test(test_abort),        cmocka_unit_test(test_document),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
