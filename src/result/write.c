/* The formats, and what all of them need: options checked, bytes handed on, pixels fetched. */
#include "result/writer.h"

#include "base/err.h"
#include "base/mem.h"
#include "result/hyphen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct writer *const writers[] = {
    &writer_md,   &writer_txt,  &writer_html,    &writer_json,    &writer_jsonl,
    &writer_hocr, &writer_alto, &writer_csv,     &writer_mmd,     &writer_raw,
    &writer_pdf,  &writer_docx, &writer_overlay, &writer_figures,
};

/* ---- formats --------------------------------------------------------------------------------- */

static const struct writer *find(const char *name)
{
    for (size_t i = 0; name && i < COUNT(writers); i++)
        if (strcmp(writers[i]->format.name, name) == 0)
            return writers[i];
    return NULL;
}

const struct recto_format *recto_format_at(int i)
{
    return i >= 0 && i < (int)COUNT(writers) ? &writers[i]->format : NULL;
}

const struct recto_format *recto_format_find(const char *name)
{
    const struct writer *w = find(name);

    return w ? &w->format : NULL;
}

static int no_such_format(const char *name)
{
    struct buf all = {0};

    for (size_t i = 0; i < COUNT(writers); i++)
        buf_fmt(&all, "%s%s", i ? ", " : "", writers[i]->format.name);
    err_record("unknown format '%s': use one of %s", name ? name : "", all.p);
    buf_reset(&all);
    return RECTO_EUSAGE;
}

/* ---- options --------------------------------------------------------------------------------- */

void recto_write_options_init(struct recto_write_options *o)
{
    *o = (struct recto_write_options){
        .size = sizeof *o,
        .n_pages = -1,
        .max_tokens = -1,
        .retries = -1,
        .math = "dollar",
        .tables = "html",
        .official = "image",
        .old_text = "replace",
        .pdf_math = "tex",
        .json_as = "recto",
    };
}

static int check_choice(const char *option, const char *value, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++)
        if (strcmp(value, choices[i]) == 0)
            return 0;
    return err(RECTO_EUSAGE, "%s is '%s': use %s or %s%s%s", option, value, choices[0], choices[1],
               choices[2] ? " or " : "", choices[2] ? choices[2] : "");
}

/* The caller's struct may be of an older header: what it lacks keeps its default. */
static int take_options(struct recto_write_options *to, const struct recto_write_options *from)
{
    struct recto_write_options defaults;

    recto_write_options_init(&defaults);
    *to = defaults;
    memcpy(to, from, MIN(from->size, sizeof *to));
    to->math = to->math ? to->math : defaults.math;
    to->tables = to->tables ? to->tables : defaults.tables;
    to->official = to->official ? to->official : defaults.official;
    to->old_text = to->old_text ? to->old_text : defaults.old_text;
    to->pdf_math = to->pdf_math ? to->pdf_math : defaults.pdf_math;
    to->json_as = to->json_as ? to->json_as : defaults.json_as;
    TRY(check_choice("math", to->math, (const char *const[]){"dollar", "tex", NULL}));
    TRY(check_choice("old-text", to->old_text,
                     (const char *const[]){"replace", "keep", "skip-page", NULL}));
    TRY(check_choice("pdf-math", to->pdf_math, (const char *const[]){"tex", "skip", NULL}));
    TRY(check_choice("json-as", to->json_as,
                     (const char *const[]){"recto", "mineru", "docling", NULL}));
    TRY(check_choice("tables", to->tables, (const char *const[]){"html", "pipe", NULL}));
    return check_choice("official", to->official,
                        (const char *const[]){"image", "pdf", "eval", NULL});
}

/* ---- what writers call ----------------------------------------------------------------------- */

void writer_warn(struct recto_writer *w, const char *fmt, ...)
{
    char line[ERR_TEXT_MAX + 64];
    va_list args;

    if (!w->opts.warn)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    w->opts.warn(w->opts.warn_ctx, line);
}

static const struct recto_image *no_pixels(struct recto_writer *w)
{
    if (!w->has_warned_pixels)
        writer_warn(w,
                    "%s: without the pages' pixels there are no figures, and lines are placed by "
                    "guess",
                    w->kind->format.name);
    w->has_warned_pixels = true;
    return NULL;
}

const struct recto_image *writer_pixels(struct recto_writer *w, const struct recto_page *p)
{
    const struct recto_image *im;
    int rc;

    if (p->status == RECTO_PAGE_ERROR)
        return NULL;
    if (!w->pixels)
        return no_pixels(w);
    rc = pixels_get(w->pixels, p->number, &im);
    if (rc == 0 && (im->width != p->width || im->height != p->height))
        rc = err(RECTO_ESHAPE,
                 "it is %d x %d now and was %d x %d: open the document as it was read", im->width,
                 im->height, p->width, p->height);
    if (rc < 0 && w->warned_page != p->number)
        writer_warn(w, "page %d could not be drawn again for %s: %s", p->number,
                    w->kind->format.name, err_text());
    w->warned_page = rc < 0 ? p->number : w->warned_page;
    return rc < 0 ? NULL : im;
}

str writer_text(const struct recto_writer *w, const struct recto_block *b, struct buf *joined)
{
    str text = {b->text, b->n_text};

    if (!w->opts.dehyphenate)
        return text;
    hyphen_join(joined, text);
    return buf_view(joined);
}

int writer_side(struct recto_writer *w, const char *name, str content)
{
    return w->sink(w->sink_ctx, name, content.p, content.n);
}

const char *writer_problem(const struct recto_page *p)
{
    switch (p->status) {
    case RECTO_PAGE_SUSPECT:
        return "suspect, text may be wrong";
    case RECTO_PAGE_LOOP:
        return "loop, text incomplete";
    case RECTO_PAGE_LENGTH:
        return "length, text incomplete";
    case RECTO_PAGE_SKIPPED:
        return "skipped, not read";
    case RECTO_PAGE_ERROR:
        return "error";
    case RECTO_PAGE_CANCELLED:
        return "cancelled, not read";
    default:
        return NULL;
    }
}

/* ---- a document ------------------------------------------------------------------------------ */

/* What a call of the format left in `out` goes on; the first failure stays. */
static int hand_over(struct recto_writer *w, int rc)
{
    if (rc == 0 && w->out.n)
        rc = w->sink(w->sink_ctx, NULL, w->out.p, w->out.n);
    buf_clear(&w->out);
    w->error = rc < 0 ? rc : 0;
    return w->error;
}

static const struct writer *json_writer(const char *as)
{
    return strcmp(as, "mineru") == 0    ? &writer_mineru
           : strcmp(as, "docling") == 0 ? &writer_docling
                                        : &writer_json;
}

static void writer_free(struct recto_writer *w)
{
    if (w->kind->reset)
        w->kind->reset(w);
    buf_reset(&w->out);
    free(w->state);
    free(w);
}

int writer_open(struct recto_writer **out, const char *format, const struct recto_write_options *o,
                recto_sink_fn *sink, void *ctx, struct pixels *pixels)
{
    const struct writer *kind = find(format);
    struct recto_write_options opts;
    struct recto_writer *w;
    int rc;

    *out = NULL;
    if (!kind)
        return no_such_format(format);
    TRY(take_options(&opts, o));
    kind = kind == &writer_json ? json_writer(opts.json_as) : kind;
    w = mem_zero(1, sizeof *w);
    w->kind = kind;
    w->opts = opts;
    w->sink = sink, w->sink_ctx = ctx;
    w->pixels = pixels;
    w->state = kind->state_size ? mem_zero(1, kind->state_size) : NULL;
    rc = hand_over(w, kind->open ? kind->open(w) : 0);
    if (rc < 0) {
        writer_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

int recto_writer_page(struct recto_writer *w, const struct recto_page *page)
{
    if (w->error)
        return w->error;
    TRY(hand_over(w, w->kind->page ? w->kind->page(w, page) : 0));
    w->n_page++;
    return 0;
}

int recto_writer_close(struct recto_writer *w)
{
    int rc;

    if (!w)
        return 0;
    rc = w->error ? w->error : hand_over(w, w->kind->close ? w->kind->close(w) : 0);
    writer_free(w);
    return rc;
}

void recto_writer_abort(struct recto_writer *w)
{
    if (w)
        writer_free(w);
}

/* ---- without files --------------------------------------------------------------------------- */

static int into_buf(void *ctx, const char *side, const void *bytes, size_t n)
{
    if (!side)
        buf_add(ctx, bytes, n);
    return 0;
}

int recto_write(const char *format, const struct recto_page *const *page, int n_page, char **out,
                size_t *n_out)
{
    struct recto_write_options opts;
    struct recto_writer *w;
    struct buf b = {0};
    int rc = 0;

    *out = NULL;
    *n_out = 0;
    recto_write_options_init(&opts);
    rc = writer_open(&w, format, &opts, into_buf, &b, NULL);
    if (!w)
        return rc;
    for (int i = 0; i < n_page && rc == 0; i++)
        rc = recto_writer_page(w, page[i]);
    if (rc == 0)
        rc = recto_writer_close(w);
    else
        recto_writer_abort(w);
    if (rc < 0) {
        buf_reset(&b);
        return rc;
    }
    buf_add(&b, "", 0); /* so that an empty document is a string too */
    *out = b.p;
    *n_out = b.n;
    return 0;
}

int recto_page_to_json(const struct recto_page *page, char **out, size_t *n_out)
{
    struct buf b = {0};

    writer_json_page(&b, page);
    *out = b.p;
    *n_out = b.n;
    return 0;
}
