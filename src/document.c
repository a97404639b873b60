/* A document without a model: open, count, draw a page. An image is a document of one page. */
#include "recto.h"

#include "base/err.h"
#include "base/mem.h"
#include "copy.h"
#include "page/document.h"
#include "page/inkcheck.h"
#include "page/range.h"
#include "result/writer.h"
#include "settings.h"
#include "tensor/config.h"

#include <stdlib.h>

struct recto_document {
    struct recto_settings set;
    struct page_source *source;
    struct page_doc doc;
    bool has_told;             /* warnings about the document as a whole go with its first look */
    struct copy_source copied; /* for a searchable copy: what was found while drawing */
    struct searchable searchable; /* over it */
    struct pixels pixels;         /* of its writers, which draw each page once */
};

/* ---- the pixels of its writers ---------------------------------------------------------------- */

static int draw(void *doc, int page, struct recto_image *image)
{
    struct recto_document *d = doc;

    page_note_reset(&d->copied.note);
    d->copied.n_note = page;
    return page_doc_draw(&d->doc, d->source, page, image, &d->copied.note);
}

int recto_document_open(struct recto_document **out, const struct recto_input *in,
                        const struct recto_settings *s)
{
    struct recto_document *d = mem_zero(1, sizeof *d);
    int rc = 0;

    *out = NULL;
    d->doc.pdf.fd = -1;
    settings_copy(&d->set, s);
    TRY_OUT(page_source_open(&d->source, &d->set));
    TRY_OUT(page_doc_open(&d->doc, d->source, in));
    d->copied = (struct copy_source){.doc = &d->doc, .source = d->source};
    d->searchable = copy_of(&d->copied);
    d->pixels = (struct pixels){.draw = draw, .ctx = d};
    *out = d;
    return 0;
out:
    recto_document_close(d);
    return rc;
}

int recto_document_pages(const struct recto_document *d)
{
    return d->doc.n_page;
}

int recto_document_render(struct recto_document *d, int page, struct recto_image *image)
{
    struct page_note note = {0};
    int rc = page_doc_draw(&d->doc, d->source, page, image, &note);

    page_note_reset(&note);
    return rc;
}

int recto_document_select(const struct recto_document *d, const char *pages, int **page, int *n)
{
    int is_past;

    return page_doc_select(&d->doc, pages, page, n, &is_past);
}

static bool uses_tiles(const struct recto_document *d)
{
    struct model_config c;
    char *dir = NULL;
    bool is_default;
    bool is_known = settings_model_dir(&d->set, &dir, &is_default) == 0 &&
                    config_load(&c, dir) == 0;

    free(dir);
    return !is_known || c.crop_mode;
}

static int fill_look(const struct recto_document *d, const struct recto_image *im,
                     struct recto_page *p)
{
    struct ink ink;
    int w, h;

    view_grid(im->width, im->height, uses_tiles(d), &w, &h);
    p->width = im->width;
    p->height = im->height;
    p->tiles_w = w;
    p->tiles_h = h;
    p->n_visual = view_n_visual(w * h > 1 ? w * h : 0);
    TRY(ink_of_raster(&ink, im));
    p->status = ink_is_blank(&ink) ? RECTO_PAGE_BLANK : RECTO_PAGE_OK;
    return 0;
}

static void add_warnings(struct recto_page *p, const char *const *text, int n)
{
    if (n > 0)
        p->warning = mem_grow(p->warning, (size_t)(p->n_warning + n), sizeof *p->warning);
    for (int i = 0; i < n; i++)
        p->warning[p->n_warning++] = mem_strdup(text[i]);
}

int recto_document_look(struct recto_document *d, int page, struct recto_page *look)
{
    struct page_note note = {0};
    struct recto_image im;
    int rc = page_doc_draw(&d->doc, d->source, page, &im, &note);

    *look = (struct recto_page){
        .number = page, .dpi = note.dpi, .width_pt = note.width_pt, .height_pt = note.height_pt};
    memcpy(look->crop_pt, note.crop_pt, sizeof note.crop_pt);
    look->turn_pt = note.turn_pt;
    if (!d->has_told)
        add_warnings(look, d->doc.warning, d->doc.n_warning);
    d->has_told = true;
    add_warnings(look, (const char *const *)note.warning, note.n_warning);
    if (rc == 0)
        rc = fill_look(d, &im, look);
    recto_image_reset(&im);
    page_note_reset(&note);
    if (rc < 0)
        recto_page_reset(look);
    return rc;
}

void recto_document_close(struct recto_document *d)
{
    if (!d)
        return;
    page_doc_close(&d->doc);
    pixels_reset(&d->pixels);
    page_note_reset(&d->copied.note);
    page_source_close(d->source);
    settings_reset(&d->set);
    free(d);
}

void recto_image_reset(struct recto_image *image)
{
    free(image->rgb);
    *image = (struct recto_image){0};
}

/* ---- writing it -------------------------------------------------------------------------------- */

int recto_writer_open(struct recto_writer **out, const char *format,
                      const struct recto_write_options *o, recto_sink_fn *sink, void *ctx)
{
    TRY(writer_open(out, format, o, sink, ctx, o->doc ? &o->doc->pixels : NULL));
    if (o->doc)
        (*out)->searchable = &o->doc->searchable;
    return 0;
}
