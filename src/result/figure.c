#include "result/figure.h"

#include "result/model.h"
#include "result/picture.h"

#include <stdio.h>

bool figure_is_there(const struct recto_page *p, struct recto_box box)
{
    struct recto_box px = box_px(box, p->width, p->height);

    return px.x2 - px.x1 >= FIGURE_MIN_PX && px.y2 - px.y1 >= FIGURE_MIN_PX;
}

static int encode(struct figure *f, const struct recto_image *im, struct recto_box px)
{
    size_t stride = (size_t)im->width * 3;
    const unsigned char *rgb = im->rgb + (size_t)px.y1 * stride + (size_t)px.x1 * 3;
    int w = px.x2 - px.x1, h = px.y2 - px.y1;

    buf_clear(&f->bytes);
    f->is_png = picture_has_few_colours(rgb, stride, w, h, FIGURE_COLOURS);
    return f->is_png ? picture_png(&f->bytes, rgb, stride, w, h)
                     : picture_jpeg(&f->bytes, rgb, stride, w, h, FIGURE_QUALITY);
}

int figure_cut(struct recto_writer *w, const struct recto_page *p, struct recto_box box,
               int *n_figure, struct figure *f)
{
    const struct recto_image *im = figure_is_there(p, box) ? writer_pixels(w, p) : NULL;
    int rc;

    if (!im)
        return 0;
    rc = encode(f, im, box_px(box, p->width, p->height));
    if (rc < 0)
        return rc;
    f->number = ++*n_figure;
    snprintf(f->name, sizeof f->name, "p%04d-f%d.%s", p->number, f->number,
             f->is_png ? "png" : "jpg");
    return 1;
}

void figure_reset(struct figure *f)
{
    buf_reset(&f->bytes);
}

void figure_put_address(struct buf *out, const char *stem, const char *name)
{
    for (; *stem; stem++) {
        unsigned char c = (unsigned char)*stem;

        if (c <= ' ' || c == 0x7F || strchr("()<>[]\\\"`%?#$:&'", c))
            buf_fmt(out, "%%%02X", c);
        else
            buf_char(out, *stem);
    }
    buf_fmt(out, ".files/%s", name);
}

static str text_of(const struct recto_block *b)
{
    return (str){b->text, b->n_text};
}

str figure_caption(const struct recto_page *p, int i)
{
    if (i + 1 < p->n_block && p->block[i + 1].kind == RECTO_BLOCK_CAPTION)
        return text_of(&p->block[i + 1]);
    if (i > 0 && p->block[i - 1].kind == RECTO_BLOCK_CAPTION)
        return text_of(&p->block[i - 1]);
    return STR("");
}
