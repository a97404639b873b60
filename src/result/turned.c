#include "result/turned.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define GRID 999

static struct recto_box turn_box(struct recto_box b, int degrees)
{
    switch (degrees) {
    case 90:
        return (struct recto_box){GRID - b.y2, b.x1, GRID - b.y1, b.x2};
    case 180:
        return (struct recto_box){GRID - b.x2, GRID - b.y2, GRID - b.x1, GRID - b.y1};
    case 270:
        return (struct recto_box){b.y1, GRID - b.x2, b.y2, GRID - b.x1};
    default:
        return b;
    }
}

static void turn_boxes(struct turned *v, const struct recto_page *p)
{
    size_t n = 0, at = 0;

    for (int i = 0; i < p->n_block; i++)
        n += (size_t)p->block[i].n_box;
    v->page.block = mem_alloc(MAX((size_t)p->n_block, 1) * sizeof *p->block);
    v->box = mem_alloc(MAX(n, 1) * sizeof *v->box);
    for (int i = 0; i < p->n_block; i++) {
        struct recto_block *b = &v->page.block[i];

        *b = p->block[i];
        b->box = v->box + at;
        for (int k = 0; k < b->n_box; k++)
            v->box[at++] = turn_box(p->block[i].box[k], p->rotate);
    }
}

/* Pixel (x, y) of the turned picture is this one of im. */
static const unsigned char *source(const struct recto_image *im, int degrees, int x, int y)
{
    int sx = degrees == 90 ? y : degrees == 180 ? im->width - 1 - x : im->width - 1 - y;
    int sy = degrees == 90 ? im->height - 1 - x : degrees == 180 ? im->height - 1 - y : x;

    return im->rgb + ((size_t)sy * (size_t)im->width + (size_t)sx) * 3;
}

static void turn_pixels(struct turned *v, const struct recto_image *im, int degrees)
{
    bool is_swapped = degrees != 180;
    int w = is_swapped ? im->height : im->width, h = is_swapped ? im->width : im->height;
    unsigned char *to = mem_big((size_t)w * (size_t)h * 3);

    v->own = (struct recto_image){w, h, to};
    v->image = to ? &v->own : NULL;
    for (int y = 0; to && y < h; y++)
        for (int x = 0; x < w; x++, to += 3)
            memcpy(to, source(im, degrees, x, y), 3);
}

void turned_open(struct turned *v, const struct recto_page *p, const struct recto_image *im)
{
    *v = (struct turned){.page = *p, .image = im};
    if (!p->rotate)
        return;
    if (p->rotate != 180) {
        v->page.width = p->height;
        v->page.height = p->width;
    }
    turn_boxes(v, p);
    if (im)
        turn_pixels(v, im, p->rotate);
}

void turned_close(struct turned *v)
{
    if (v->box) {
        free(v->box);
        free(v->page.block);
    }
    free(v->own.rgb);
    *v = (struct turned){0};
}
