/* A document without a model: open, count, draw a page. An image is a document of one page. */
#include "recto.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "page/source.h"
#include "settings.h"

#include <stdlib.h>

struct recto_document {
    struct recto_settings set;
    struct page_source *source;
    char *name;
    struct buf bytes;
};

int recto_document_open(struct recto_document **out, const struct recto_input *in, const struct recto_settings *s)
{
    struct recto_document *d = mem_zero(1, sizeof *d);
    int rc = 0;

    *out = NULL;
    settings_copy(&d->set, s);
    d->name = mem_strdup(in->name ? in->name : in->path ? in->path : "bytes");
    if (in->path)
        TRY_OUT(file_read(&d->bytes, in->path, (size_t)4 << 30));
    else
        buf_add(&d->bytes, in->data, in->len);
    TRY_OUT(page_source_open(&d->source, &d->set));
    *out = d;
    return 0;
out:
    recto_document_close(d);
    return rc;
}

int recto_document_pages(const struct recto_document *d)
{
    (void)d;
    return 1;
}

int recto_document_render(struct recto_document *d, int page, struct recto_image *image)
{
    struct page_note note = {0};
    int rc;

    *image = (struct recto_image){0};
    if (page != 1)
        return err(RECTO_EPAGERANGE, "%s: no page %d (has 1)", d->name, page);
    rc = page_decode(d->source, d->name, d->bytes.p, d->bytes.n, image, &note);
    page_note_reset(&note);
    return rc;
}

void recto_document_close(struct recto_document *d)
{
    if (!d)
        return;
    page_source_close(d->source);
    settings_reset(&d->set);
    buf_reset(&d->bytes);
    free(d->name);
    free(d);
}

void recto_image_reset(struct recto_image *image)
{
    free(image->rgb);
    *image = (struct recto_image){0};
}
