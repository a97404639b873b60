#include "page/view.h"

#include "base/err.h"
#include "base/mem.h"
#include "page/resize.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAD_GREY 127 /* int(0.5 * 255), the mean the model subtracts */

/* Candidates by growing area; the order within one area never decides. */
static const struct {
    int w, h;
} grids[] = {
    {1, 2}, {2, 1}, {1, 3}, {3, 1}, {1, 4}, {2, 2}, {4, 1},
    {1, 5}, {5, 1}, {1, 6}, {2, 3}, {3, 2}, {6, 1},
};

void view_grid(int w, int h, bool crop_mode, int *tiles_w, int *tiles_h)
{
    double aspect = (double)w / h, pixels = (double)w * h, best = INFINITY;

    *tiles_w = *tiles_h = 1;
    if (!crop_mode || (w <= VIEW_TILE && h <= VIEW_TILE))
        return;
    for (size_t k = 0; k < sizeof grids / sizeof grids[0]; k++) {
        double diff = fabs(aspect - (double)grids[k].w / grids[k].h);
        double half = 0.5 * VIEW_TILE * VIEW_TILE * grids[k].w * grids[k].h;

        /* Exact equality is meant: it is how the official code breaks a tie. */
        if (diff < best || (diff == best && pixels > half)) {
            best = diff;
            *tiles_w = grids[k].w;
            *tiles_h = grids[k].h;
        }
    }
}

/* Python's round(): half to even, which is how rint rounds in the default mode. */
static int round_even(double v)
{
    return (int)rint(v);
}

struct view_frame view_global_frame(int w, int h)
{
    struct view_frame f = {0, 0, VIEW_GLOBAL, VIEW_GLOBAL};

    if (w > h)
        f.h = round_even((double)h / w * VIEW_GLOBAL);
    else if (w < h)
        f.w = round_even((double)w / h * VIEW_GLOBAL);
    f.w = f.w < 1 ? 1 : f.w;
    f.h = f.h < 1 ? 1 : f.h;
    f.x = round_even((VIEW_GLOBAL - f.w) * 0.5);
    f.y = round_even((VIEW_GLOBAL - f.h) * 0.5);
    return f;
}

int view_rows(int size_px)
{
    int side = size_px / 16 / 4;

    return side * side;
}

int view_n_visual(int n_tile)
{
    return view_rows(VIEW_TILE) * n_tile + view_rows(VIEW_GLOBAL) + 1;
}

static int make_global(unsigned char *out, const struct recto_image *im)
{
    struct view_frame f = view_global_frame(im->width, im->height);
    size_t row = (size_t)f.w * 3;
    unsigned char *fit;
    int rc;

    if (f.w == VIEW_GLOBAL && f.h == VIEW_GLOBAL)
        return resize_bicubic(out, f.w, f.h, im->rgb, im->width, im->height);
    fit = mem_big(row * (size_t)f.h);
    if (!fit)
        return err(RECTO_ENOMEM, "no memory for the global view");
    rc = resize_bicubic(fit, f.w, f.h, im->rgb, im->width, im->height);
    memset(out, PAD_GREY, VIEW_GLOBAL_BYTES);
    for (int y = 0; rc == 0 && y < f.h; y++)
        memcpy(out + ((size_t)(f.y + y) * VIEW_GLOBAL + (size_t)f.x) * 3, fit + (size_t)y * row,
               row);
    free(fit);
    return rc;
}

static void cut_tile(unsigned char *out, const unsigned char *frame, int column, int row,
                     int tiles_w)
{
    size_t stride = (size_t)tiles_w * VIEW_TILE * 3;
    const unsigned char *in = frame + (size_t)row * VIEW_TILE * stride +
                              (size_t)column * VIEW_TILE * 3;

    for (int y = 0; y < VIEW_TILE; y++)
        memcpy(out + (size_t)y * VIEW_TILE * 3, in + (size_t)y * stride, VIEW_TILE * 3);
}

static int make_tiles(struct page_views *v, const struct recto_image *im)
{
    size_t bytes = (size_t)v->n_tile * VIEW_TILE_BYTES;
    unsigned char *frame = mem_big(bytes);
    int rc;

    v->tile = mem_big(bytes);
    if (!frame || !v->tile) {
        free(frame);
        return err(RECTO_ENOMEM, "no memory for %d tiles", v->n_tile);
    }
    rc = resize_bicubic(frame, v->tiles_w * VIEW_TILE, v->tiles_h * VIEW_TILE, im->rgb, im->width,
                        im->height);
    for (int t = 0; rc == 0 && t < v->n_tile; t++)
        cut_tile(v->tile + (size_t)t * VIEW_TILE_BYTES, frame, t % v->tiles_w, t / v->tiles_w,
                 v->tiles_w);
    free(frame);
    return rc;
}

int views_make(struct page_views *v, const struct recto_image *im, bool crop_mode)
{
    *v = (struct page_views){0};
    assert(im->rgb && im->width > 0 && im->height > 0);
    view_grid(im->width, im->height, crop_mode, &v->tiles_w, &v->tiles_h);
    v->n_tile = v->tiles_w * v->tiles_h > 1 ? v->tiles_w * v->tiles_h : 0;
    v->global = malloc(VIEW_GLOBAL_BYTES);
    if (!v->global)
        return err(RECTO_ENOMEM, "no memory for the global view");
    TRY(make_global(v->global, im));
    return v->n_tile ? make_tiles(v, im) : 0;
}

void views_reset(struct page_views *v)
{
    free(v->tile);
    free(v->global);
    *v = (struct page_views){0};
}
