#include "page/source.h"

#include "base/decode_proto.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "page/helper.h"
#include "page/orient.h"
#include "page/ppm.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_DECLARED   ((int64_t)1500000000)
#define DEFAULT_KEPT       ((int64_t)64 << 20)
#define DEFAULT_CPU_S      60
#define DEFAULT_TIMEOUT_MS 600000

struct page_source {
    struct page_source_options opts;
    char *path; /* of the helper, owned */
    struct helper helper;
    enum recto_official official;
};

void page_source_imitate(struct page_source *s, enum recto_official how)
{
    s->official = how;
}

static int64_t keep_pixels(const struct page_source *s)
{
    return s->official ? s->opts.max_pixels : s->opts.keep_pixels;
}

/* Which of the orientations in files the way of decoding honours. */
static int honoured(const struct page_source *s, int orientation)
{
    bool is_turn = orientation == 3 || orientation == 6 || orientation == 8;

    if (s->official == RECTO_OFFICIAL_PDF || (s->official == RECTO_OFFICIAL_EVAL && !is_turn))
        return 1;
    return orientation;
}

int page_source_open(struct page_source **out, const struct recto_settings *set)
{
    return page_source_open_with(out,
                                 &(struct page_source_options){.helper = set->helper,
                                                               .max_pixels = set->max_pixels,
                                                               .is_strict = set->sandbox_strict});
}

static int64_t pixels_or(int64_t n, int64_t fallback)
{
    return n <= 0 ? fallback : MIN(n, DECODE_PIXELS_MAX);
}

int page_source_open_with(struct page_source **out, const struct page_source_options *o)
{
    char *dir = o->helper ? NULL : file_program_dir();
    struct page_source *s;

    *out = NULL;
    if (!o->helper && !dir)
        return err(RECTO_ERENDER,
                   "the running program's folder is unknown (is /proc mounted?); name "
                   "recto-decode with --helper");
    s = mem_zero(1, sizeof *s);
    s->opts = *o;
    s->opts.helper = NULL;
    s->opts.max_pixels = pixels_or(o->max_pixels, DEFAULT_DECLARED);
    s->opts.keep_pixels = pixels_or(o->keep_pixels, DEFAULT_KEPT);
    s->opts.cpu_s = o->cpu_s > 0 ? o->cpu_s : DEFAULT_CPU_S;
    s->opts.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : DEFAULT_TIMEOUT_MS;
    s->path = o->helper ? mem_strdup(o->helper) : file_join(dir, "recto-decode");
    s->helper = HELPER_NONE;
    free(dir);
    *out = s;
    return 0;
}

void page_source_close(struct page_source *s)
{
    if (!s)
        return;
    helper_stop(&s->helper);
    free(s->path);
    free(s);
}

pid_t page_source_helper(const struct page_source *s)
{
    return s->helper.pid;
}

struct pdf_tool page_source_pdf_tool(const struct page_source *s)
{
    return (struct pdf_tool){.helper = s->path,
                             .is_strict = s->opts.is_strict,
                             .cpu_s = s->opts.cpu_s,
                             .timeout_ms = s->opts.timeout_ms,
                             .max_pixels = MIN(s->opts.max_pixels, keep_pixels(s))};
}

void page_source_warn_missing(unsigned missing)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;

    if (missing && !atomic_flag_test_and_set(&is_said))
        log_warn("sandbox=partial missing=%s%s%s hint=\"images are decoded with less protection; "
                 "allow them in this container, or use the strict sandbox to refuse\"",
                 missing & DECODE_NO_LANDLOCK ? "landlock" : "", missing == 3 ? "," : "",
                 missing & DECODE_NO_SECCOMP ? "seccomp" : "");
}

/* A helper serves many pages: it retires after a third of its time, so that each of them has cpu_s. */
int page_source_start(struct page_source *s)
{
    struct patience w = patience_of(s->opts.timeout_ms);

    if (helper_is_alive(&s->helper))
        return 0;
    helper_stop(&s->helper);
    TRY(helper_start(&s->helper, s->path, s->opts.is_strict, (s->opts.cpu_s * 3 + 1) / 2, &w));
    page_source_warn_missing(s->helper.missing);
    return 0;
}

static unsigned note_flags(const struct decode_answer *a)
{
    return (a->flags & DECODE_TRUNCATED ? PAGE_TRUNCATED : 0u) |
           (a->flags & DECODE_CORRUPT ? PAGE_CORRUPT : 0u) |
           (a->flags & DECODE_BACKDROP ? PAGE_BACKDROP : 0u) |
           (a->flags & DECODE_ICC ? PAGE_ICC : 0u) | (a->flags & DECODE_ALPHA ? PAGE_ALPHA : 0u) |
           (a->reduce > 1 ? PAGE_REDUCED : 0u);
}

void page_note_reset(struct page_note *note)
{
    for (int i = 0; i < note->n_warning; i++)
        free(note->warning[i]);
    *note = (struct page_note){.reduce = 1, .orientation = 1};
}

static void warn(struct page_note *note, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void warn(struct page_note *note, const char *fmt, ...)
{
    char text[128];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note->warning[note->n_warning++] = mem_strdup(text);
}

/* The flags that a reader should know of, in words; a colour profile or transparency is no reason
 * to warn. */
static void fill_warnings(struct page_note *note)
{
    if (note->flags & PAGE_TRUNCATED)
        warn(note, "truncated");
    if (note->flags & PAGE_CORRUPT)
        warn(note, "damaged inside");
    if (note->flags & PAGE_REDUCED)
        warn(note, "reduced by %d while decoding", note->reduce);
    if (note->flags & PAGE_BACKDROP)
        warn(note, "light lettering on transparency, laid on grey");
}

static void fill_note(struct page_note *note, const struct decode_answer *a)
{
    bool is_turned = a->orientation >= 5;

    *note = (struct page_note){.declared_width = a->declared_width,
                               .declared_height = a->declared_height,
                               .rows = a->rows,
                               .reduce = a->reduce,
                               .orientation = a->orientation,
                               .n_frame = a->n_frame,
                               .dpi_x = is_turned ? a->dpi_y : a->dpi_x,
                               .dpi_y = is_turned ? a->dpi_x : a->dpi_y,
                               .flags = note_flags(a)};
    memcpy(note->kind, a->kind, sizeof note->kind);
}

/* Send the file, receive the answer's head and check it. A helper that talks nonsense is ended. */
static int ask(struct page_source *s, const void *data, size_t n, int frame, struct patience *w,
               struct decode_answer *a)
{
    struct decode_request q = {.n_bytes = n,
                               .max_pixels = s->opts.max_pixels,
                               .keep_pixels = keep_pixels(s),
                               .how = s->official ? DECODE_AS_PILLOW : 0,
                               .frame = frame};
    unsigned char head[DECODE_REQUEST_BYTES], tail[DECODE_ANSWER_BYTES];

    decode_request_pack(head, &q);
    TRY(helper_send(&s->helper, head, sizeof head, w));
    TRY(helper_send(&s->helper, data, n, w));
    TRY(helper_receive(&s->helper, tail, sizeof tail, w));
    if (decode_answer_unpack(a, tail, &q) < 0) {
        helper_stop(&s->helper);
        return err_prefix(RECTO_ERENDER,
                          "page could not be drawn: the decoder's answer makes no sense");
    }
    if (a->code)
        return err(a->code, "%s", a->text);
    a->orientation = honoured(s, a->orientation);
    return 0;
}

static int take_picture(struct page_source *s, const struct decode_answer *a, struct patience *w,
                        struct recto_image *out)
{
    unsigned char *rgb = mem_big((size_t)a->n_rgb);
    int rc;

    if (!rgb) {
        helper_stop(&s->helper); /* its picture will not be taken off the stream */
        return err(RECTO_ENOMEM, "no memory for a picture of %d x %d", a->width, a->height);
    }
    rc = helper_receive(&s->helper, rgb, (size_t)a->n_rgb, w);
    if (rc < 0) {
        free(rgb);
        return rc;
    }
    *out = (struct recto_image){.width = a->width, .height = a->height, .rgb = rgb};
    rc = orient_apply(out, a->orientation);
    if (rc < 0) {
        free(out->rgb);
        *out = (struct recto_image){0};
    }
    return rc;
}

static int decode_by_helper(struct page_source *s, const void *data, size_t n, int frame,
                            struct recto_image *out, struct page_note *note)
{
    struct decode_answer a = {0};
    struct patience w = patience_of(s->opts.timeout_ms);
    int rc;

    TRY(page_source_start(s));
    rc = ask(s, data, n, frame, &w, &a);
    if (rc == 0)
        rc = take_picture(s, &a, &w, out);
    if (a.flags & DECODE_RETIRING)
        helper_stop(&s->helper);
    if (rc == 0)
        fill_note(note, &a);
    return rc;
}

static int decode_ppm(struct page_source *s, const void *data, size_t n, struct recto_image *out,
                      struct page_note *note)
{
    int rows;

    TRY(ppm_parse(out, &rows, data, n, MIN(s->opts.max_pixels, s->opts.keep_pixels)));
    *note = (struct page_note){.kind = "PPM",
                               .declared_width = out->width,
                               .declared_height = out->height,
                               .rows = rows,
                               .reduce = 1,
                               .orientation = 1,
                               .n_frame = 1,
                               .flags = rows < out->height ? PAGE_TRUNCATED : 0u};
    return 0;
}

int page_count(struct page_source *s, const void *data, size_t n)
{
    struct patience w = patience_of(s->opts.timeout_ms);
    struct decode_answer a = {0};
    int rc;

    TRY(page_source_start(s));
    rc = ask(s, data, n, DECODE_COUNT_ONLY, &w, &a);
    if (a.flags & DECODE_RETIRING)
        helper_stop(&s->helper);
    return rc < 0 ? rc : a.n_frame;
}

int page_decode(struct page_source *s, const char *name, const void *data, size_t n,
                struct recto_image *out, struct page_note *note)
{
    int rc = page_decode_frame(s, name, data, n, 0, out, note);

    if (rc == 0 && note && note->n_frame > 1 && strcmp(note->kind, "TIFF") != 0 &&
        strcmp(note->kind, "BigTIFF") != 0)
        warn(note, "%d more frames ignored", note->n_frame - 1);
    return rc;
}

int page_decode_frame(struct page_source *s, const char *name, const void *data, size_t n,
                      int frame, struct recto_image *out, struct page_note *note)
{
    struct page_note mine = {.reduce = 1, .orientation = 1};
    int rc;

    *out = (struct recto_image){0};
    if (n == 0)
        rc = err(RECTO_EEMPTY, "empty file");
    else if (n > DECODE_FILE_MAX)
        rc = err(RECTO_ETOOLARGE, "%zu bytes are over the limit of an image file (512 MiB)", n);
    else if (ppm_is(data, n))
        rc = decode_ppm(s, data, n, out, &mine);
    else
        rc = RECTO_EKIND;
    if (rc == RECTO_EKIND) /* also a PPM of another depth than the small reader here takes */
        rc = decode_by_helper(s, data, n, frame, out, &mine);
    if (rc == 0 && s->official && mine.flags & PAGE_TRUNCATED) {
        recto_image_reset(out);
        rc = err(RECTO_ETRUNCATED, "cut short: %d of %d rows", mine.rows, mine.declared_height);
    }
    if (note) {
        fill_warnings(&mine);
        *note = mine;
    }
    return rc < 0 && name ? err_prefix(rc, "%s", name) : rc;
}
