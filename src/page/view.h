/* From a page's pixels to the views the model sees: a 1024 x 1024 global view, and 2 to 6 tiles of
 * 768 x 768.
 *
 * A page of at most 768 x 768 has the global view alone (its grid is recorded as 1 x 1).  A larger
 * one is also squeezed, whatever its aspect, into a frame of 768 i x 768 j pixels and cut into
 * tiles, row by row from the left.  The grid i x j (columns x rows) is the one whose ratio i/j is
 * nearest to W/H in absolute difference; of two at exactly the same distance the larger wins only
 * if the page has more than half its pixels.
 * Source: deepseek-ai/DeepSeek-OCR-2 DeepSeek-OCR2-vllm/process/image_process.py
 * (find_closest_aspect_ratio, dynamic_preprocess), config.py (2 to 6 tiles);
 * python-pillow/Pillow src/PIL/ImageOps.py (pad, contain). */
#ifndef RECTO_PAGE_VIEW_H
#define RECTO_PAGE_VIEW_H

#include "recto.h"

#define VIEW_GLOBAL       1024
#define VIEW_TILE         768
#define VIEW_MAX_TILES    6
#define VIEW_TILE_BYTES   ((size_t)VIEW_TILE * VIEW_TILE * 3)
#define VIEW_GLOBAL_BYTES ((size_t)VIEW_GLOBAL * VIEW_GLOBAL * 3)

struct page_views {
    int tiles_w, tiles_h; /* the grid; 1 x 1: no tiles */
    int n_tile;           /* 0, or tiles_w * tiles_h */
    unsigned char
        *tile; /* [n_tile][768][768][3], owned; tile t is column t % tiles_w, row t / tiles_w */
    unsigned char *global; /* [1024][1024][3], owned */
};

/* Where the page lies in the global view; the rest is grey 127. */
struct view_frame {
    int x, y, w, h;
};

/* The grid of a w x h page (sides >= 1). Without crop_mode always 1 x 1: no tiles at any size. */
void view_grid(int w, int h, bool crop_mode, int *tiles_w, int *tiles_h);

/* Sides round half to even as Python does, and a side that would round to 0 becomes 1 (Pillow fails
 * there). */
struct view_frame view_global_frame(int w, int h);

/* Visual rows of one square view: (size / 16 / 4)^2, patches of 16 pixels, then a 4 x 4 compressor:
 * 144 and 256. */
int view_rows(int size_px);
/* Visual rows of a page: the tiles', the global view's, and one separator: 257 + 144 n_tile. */
int view_n_visual(int n_tile);

/* Make the views of im. views_reset frees them (also after a failure). RECTO_ENOMEM. */
int views_make(struct page_views *v, const struct recto_image *im, bool crop_mode);
void views_reset(struct page_views *v);

#endif
