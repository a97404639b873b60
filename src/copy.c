/* The searchable copy of a document: of a PDF its own file, of an image a page that shows it. */
#include "copy.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/picture_head.h"
#include "page/pdf_out.h"
#include "result/place.h"
#include "result/picture.h"

#include <stdlib.h>

#define A4_W 595.28
#define A4_H 841.89

struct copy {
    const struct copy_source *source;
    struct pdf_out *out;
};

static int copy_open(void *ctx, void **copy, unsigned flags)
{
    struct copy *c = mem_zero(1, sizeof *c);
    const struct page_doc *d;
    struct pdf_tool tool;

    *copy = c; /* closed by the writer, also after a failure */
    c->source = ctx;
    d = c->source->doc;
    tool = page_source_pdf_tool(c->source->source);
    return pdf_out_open(&c->out, d->is_pdf ? &d->pdf : NULL, &tool, flags);
}

static void copy_close(void *copy)
{
    struct copy *c = copy;

    if (c)
        pdf_out_close(c->out);
    free(c);
}

/* ---- pages that are pictures ------------------------------------------------------------------- */

static bool take_jpeg(struct pdf_picture *p, const struct page_note *note, str file)
{
    struct jpeg_head h;

    if (strcmp(note->kind, "JPEG") != 0 || !jpeg_head(&h, file) || h.precision != 8 ||
        !h.is_huffman || (h.components != 1 && h.components != 3 && h.components != 4))
        return false;
    p->kind = PDF_JPEG;
    p->width = h.width, p->height = h.height;
    p->components = h.components;
    p->is_inverted = h.components == 4 && h.is_adobe;
    p->orientation = note->orientation;
    return true;
}

static bool take_png(struct pdf_picture *p, const struct page_note *note, str file)
{
    struct png_head h;

    if (strcmp(note->kind, "PNG") != 0 || !png_head(&h, file))
        return false;
    p->kind = PDF_PNG;
    p->width = h.width, p->height = h.height;
    p->orientation = note->orientation;
    return true;
}

/* Rows of bits, 1 is black; false when some pixel is neither black nor white. */
static bool take_bits(struct pdf_picture *p, const struct recto_image *im, struct buf *bits)
{
    const unsigned char *at = im->rgb;

    for (int y = 0; y < im->height; y++) {
        unsigned byte = 0;

        for (int x = 0; x < im->width; x++, at += 3) {
            if ((at[0] && at[0] != 255) || at[1] != at[0] || at[2] != at[0])
                return false;
            byte = byte << 1 | (at[0] == 0);
            if (x % 8 == 7 || x == im->width - 1)
                buf_char(bits, (char)(byte << (7 - x % 8)));
        }
    }
    p->kind = PDF_BITMAP;
    return true;
}

/* The file's own data where they can be shown as they are; else the pixels. What the decoder had to mend is not passed
 * on. */
static int choose(struct pdf_picture *p, const struct copy_source *s, int number,
                  const struct recto_image *im, struct buf *made, str *bytes)
{
    const unsigned mended = PAGE_TRUNCATED | PAGE_CORRUPT | PAGE_BACKDROP | PAGE_ALPHA;
    bool is_sound = s->n_note == number && s->note.n_frame <= 1 && !(s->note.flags & mended);
    str file = buf_view(&s->doc->bytes);

    *bytes = file;
    if (is_sound && take_jpeg(p, &s->note, file))
        return 0;
    if (take_bits(p, im, made)) {
        *bytes = buf_view(made);
        return 0;
    }
    if (is_sound && take_png(p, &s->note, file))
        return 0;
    p->kind = PDF_PNG;
    buf_clear(made);
    TRY(picture_png(made, im->rgb, (size_t)im->width * 3, im->width, im->height));
    *bytes = buf_view(made);
    return 0;
}

/* A page that cannot be drawn is an empty one. */
static int add_empty(struct copy *c)
{
    struct pdf_picture p = {
        .kind = PDF_BITMAP, .width = 1, .height = 1, .orientation = 1, .w_pt = A4_W, .h_pt = A4_H};

    return pdf_out_picture(c->out, &p, (str){"", 1});
}

static int copy_page(void *copy, const struct recto_page *page, const struct recto_image *im)
{
    struct copy *c = copy;
    struct pdf_picture p;
    struct buf made = {0};
    struct place f;
    str bytes;
    int rc;

    if (c->source->doc->is_pdf)
        return 0;
    if (!im || !place_of_page(&f, page))
        return add_empty(c);
    p = (struct pdf_picture){
        .width = im->width, .height = im->height, .orientation = 1, .w_pt = f.w, .h_pt = f.h};
    rc = choose(&p, c->source, page->number, im, &made, &bytes);
    if (rc == 0)
        rc = pdf_out_picture(c->out, &p, bytes);
    buf_reset(&made);
    return rc;
}

/* ---- the rest goes through ----------------------------------------------------------------------- */

static int copy_text(void *copy, int number, str content)
{
    return pdf_out_text(((struct copy *)copy)->out, number, content);
}

static int copy_font(void *copy, enum pdf_record what, str bytes)
{
    return pdf_out_font(((struct copy *)copy)->out, what, bytes);
}

static int copy_finish(void *copy, int (*put)(void *to, const void *bytes, size_t n), void *to)
{
    return pdf_out_finish(((struct copy *)copy)->out, put, to);
}

struct searchable copy_of(struct copy_source *s)
{
    return (struct searchable){
        .ctx = s,
        .open = copy_open,
        .page = copy_page,
        .text = copy_text,
        .font = copy_font,
        .finish = copy_finish,
        .close = copy_close,
    };
}
