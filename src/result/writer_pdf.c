/* The searchable copy: the source's own pages, with the text that was read laid over them, invisible. */
#include "base/err.h"
#include "base/mem.h"
#include "result/searchable.h"
#include "result/text_layer.h"
#include "result/writer.h"

struct pdf_state {
    struct text_layer layer;
    void *copy; /* NULL: not begun */
};

static unsigned flags_of(const struct recto_write_options *o)
{
    return (strcmp(o->old_text, "keep") == 0        ? PDF_OLD_KEEP
            : strcmp(o->old_text, "skip-page") == 0 ? PDF_OLD_SKIP
                                                    : 0) |
           (o->break_signature ? PDF_BREAK_SIGNATURE : 0);
}

/* With the first page, since what it is made of is only known after writer_open. */
static int begin(struct recto_writer *w)
{
    struct pdf_state *s = w->state;

    if (s->copy)
        return 0;
    if (!w->searchable)
        return err(RECTO_EUSAGE,
                   "a searchable pdf is a copy of the document, which is not at hand");
    s->layer.skips_math = strcmp(w->opts.pdf_math, "skip") == 0;
    return w->searchable->open(w->searchable->ctx, &s->copy, flags_of(&w->opts));
}

static int pdf_page(struct recto_writer *w, const struct recto_page *p)
{
    struct pdf_state *s = w->state;
    const struct recto_image *im;
    struct buf content = {0};
    struct place f;
    int rc;

    TRY(begin(w));
    im = writer_pixels(w, p);
    TRY(w->searchable->page(s->copy, p, im));
    if (p->is_layer) /* the copy has this text already */
        return 0;
    if (place_of_page(&f, p))
        text_layer_page(&s->layer, &content, &f, p, im);
    else if (p->n_block)
        writer_warn(w, "page %d gets no text in pdf: its size in points is unknown", p->number);
    rc = content.n ? w->searchable->text(s->copy, p->number, buf_view(&content)) : 0;
    buf_reset(&content);
    return rc;
}

static int send_font(struct recto_writer *w)
{
    static const struct {
        enum pdf_record what;
        void (*put)(struct buf *out, const struct text_font *f);
    } parts[] = {
        {PDF_MAP, text_font_map}, {PDF_UNICODE, text_font_unicode}, {PDF_WIDTHS, text_font_widths}};
    struct pdf_state *s = w->state;
    struct buf b = {0};
    int rc;

    text_font_file(&b);
    rc = w->searchable->font(s->copy, PDF_GLYPHS, buf_view(&b));
    for (size_t i = 0; i < COUNT(parts) && rc == 0; i++) {
        buf_clear(&b);
        parts[i].put(&b, &s->layer.font);
        rc = w->searchable->font(s->copy, parts[i].what, buf_view(&b));
    }
    buf_reset(&b);
    return rc;
}

static int put(void *to, const void *bytes, size_t n)
{
    const struct recto_writer *w = to;

    return w->sink(w->sink_ctx, NULL, bytes, n);
}

static int pdf_close(struct recto_writer *w)
{
    struct pdf_state *s = w->state;

    TRY(begin(w));
    TRY(send_font(w));
    return w->searchable->finish(s->copy, put, w);
}

static void pdf_reset(struct recto_writer *w)
{
    struct pdf_state *s = w->state;

    if (w->searchable)
        w->searchable->close(s->copy);
    text_font_reset(&s->layer.font);
}

const struct writer writer_pdf = {
    .format = {.name = "pdf", .extension = ".ocr.pdf", .uses_pixels = true},
    .state_size = sizeof(struct pdf_state),
    .page = pdf_page,
    .close = pdf_close,
    .reset = pdf_reset,
};
