/* A quick look at the ink of a page: is it empty (on its raster), and is its print so small or so
 * dense that a small model will not read it (on its 1024 x 1024 global view)?
 *
 * A raster is halved by means of 2 x 2 while its longer side is over 3000. The page is trimmed by
 * 2 % on each side.  What ink is: base/ink.h.  8-connected components of ink with at least 6
 * pixels and a side of at least 4 are kept: letters and larger; not dust. */
#ifndef RECTO_PAGE_INKCHECK_H
#define RECTO_PAGE_INKCHECK_H

#include "page/view.h"

struct ink {
    int n_kept;         /* components */
    int median_height;  /* of them, in pixels of the view; 0 when there is none */
    int threshold;      /* T */
    int n_ink, n_pixel; /* pixels of ink, and of what was looked at */
    /* How much more the ink changes from row to row than from column to column: with a(i) the ink of row or column i,
     * [sum (a(i) - a(i-1))^2 / sum a(i)^2 over rows] / [the same over columns]; 1 without ink. Lines of text that run across
     * give 2 to 13, lines that run upwards 0.3; skewed or short pages lie between. */
    double line_ratio;
};

/* global [1024][1024][3]; frame is where the page lies in it (view_global_frame of the page's
 * size). RECTO_ENOMEM. */
int ink_measure(struct ink *ink, const unsigned char *global, struct view_frame frame);
/* The same on a whole page as it was drawn. */
int ink_of_raster(struct ink *ink, const struct recto_image *im);
/* Pixels of ink in each row [height] and column [width] of the whole page, at its own size, untrimmed; either may be NULL.
 * RECTO_ENOMEM. */
int ink_profile(const struct recto_image *im, int *row, int *column);
/* So little that a long text cannot stand there: under 12 kept or 0.05 % ink. */
bool ink_is_scarce(const struct ink *ink);
/* Nothing is on the page. Only true for really empty paper: a page number is enough to make it
 * false. */
bool ink_is_blank(const struct ink *ink);
/* Probably beyond the mini model: letters under INK_MIN_HEIGHT pixels, or more than INK_MAX_KEPT of
 * them. */
bool ink_is_dense(const struct ink *ink);

#define INK_MIN_HEIGHT 12
#define INK_MAX_KEPT   800

#define INK_FEW_KEPT    12
#define INK_LEAST_SHARE 0.0005

#endif
