/* The pages with their boxes drawn on them, in a colour for each kind: STEM.files/p0001-overlay.jpg. */
#include "base/err.h"
#include "base/mem.h"
#include "result/canvas.h"
#include "result/model.h"
#include "result/picture.h"
#include "result/writer.h"

#include <stdio.h>
#include <stdlib.h>

#define QUALITY     90
#define FILL        0.08
#define THICK       2
#define THICK_TITLE 4
#define LABEL_MAX_  24  /* characters */
#define PX_A_SCALE  500 /* the label's letters grow with the page */

/* Far from each other, and dark enough for white letters. */
static const struct colour colours[] = {
    [RECTO_BLOCK_TEXT] = {{31, 119, 180}},         [RECTO_BLOCK_TITLE] = {{214, 39, 40}},
    [RECTO_BLOCK_HEADING] = {{227, 88, 16}},       [RECTO_BLOCK_LIST] = {{23, 140, 160}},
    [RECTO_BLOCK_EQUATION] = {{148, 62, 200}},     [RECTO_BLOCK_TABLE] = {{34, 139, 34}},
    [RECTO_BLOCK_FIGURE] = {{200, 30, 140}},       [RECTO_BLOCK_CAPTION] = {{140, 86, 75}},
    [RECTO_BLOCK_TABLE_CAPTION] = {{85, 107, 47}}, [RECTO_BLOCK_FOOTNOTE] = {{110, 110, 150}},
    [RECTO_BLOCK_HEADER] = {{90, 90, 90}},         [RECTO_BLOCK_FOOTER] = {{120, 120, 120}},
    [RECTO_BLOCK_PAGE_NUMBER] = {{60, 60, 60}},    [RECTO_BLOCK_CODE] = {{0, 90, 90}},
    [RECTO_BLOCK_OTHER] = {{160, 120, 0}},
};

/* "3 TITLE" above the box, or inside it at the upper edge of the page. */
static void draw_label(struct recto_image *im, const struct recto_block *b, struct recto_box px)
{
    int scale = MAX(1, MAX(im->width, im->height) / PX_A_SCALE), h = CANVAS_CELL_H * scale;
    char text[LABEL_MAX_ + 16];

    if (b->order >= 0)
        snprintf(text, sizeof text, "%d %.*s", b->order, LABEL_MAX_, b->label ? b->label : "");
    else
        snprintf(text, sizeof text, "%.*s", LABEL_MAX_, b->label ? b->label : "");
    canvas_text(im, px.x1, px.y1 >= h ? px.y1 - h : px.y1, scale, text, colours[b->kind]);
}

static void draw_block(struct recto_image *im, const struct recto_block *b)
{
    for (int i = 0; i < b->n_box; i++) {
        struct recto_box px = box_px(b->box[i], im->width, im->height);

        canvas_fill(im, px, colours[b->kind], FILL);
        canvas_outline(im, px, colours[b->kind],
                       b->kind == RECTO_BLOCK_TITLE ? THICK_TITLE : THICK);
        draw_label(im, b, px);
    }
}

static int overlay_page(struct recto_writer *w, const struct recto_page *p)
{
    const struct recto_image *page = writer_pixels(w, p);
    struct recto_image im;
    struct buf jpeg = {0};
    char name[40];
    size_t n;
    int rc;

    if (!page)
        return 0;
    n = (size_t)page->width * (size_t)page->height * 3;
    im = (struct recto_image){page->width, page->height, mem_big(n)};
    if (!im.rgb)
        return err(RECTO_ENOMEM, "no memory for a picture of %d x %d", page->width, page->height);
    memcpy(im.rgb, page->rgb, n);
    for (int i = 0; i < p->n_block; i++)
        draw_block(&im, &p->block[i]);
    rc = picture_jpeg(&jpeg, im.rgb, (size_t)im.width * 3, im.width, im.height, QUALITY);
    snprintf(name, sizeof name, "p%04d-overlay.jpg", p->number);
    if (rc == 0)
        rc = writer_side(w, name, buf_view(&jpeg));
    buf_reset(&jpeg);
    recto_image_reset(&im);
    return rc;
}

const struct writer writer_overlay = {
    .format = {.name = "overlay", .has_side_files = true, .uses_pixels = true},
    .page = overlay_page,
};
