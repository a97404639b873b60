/* Where a page is: from pixels of its raster, as displayed, to points of PDF user space.
 *
 * A page of a PDF shows its CropBox [x0 y0 x1 y1] turned clockwise by /Rotate, w x h points then. With u = x w / width and
 * v = y h / height (x, y in pixels, from the upper left corner) the place in user space is
 *     0    (x0 + u, y1 - v)        90    (x0 + v, y0 + u)
 *     180  (x1 - u, y0 + v)        270   (x1 - v, y1 - u)
 * which follows from ISO 32000-1, 7.7.3.3 (Rotate) and 8.3.2.3. */
#ifndef RECTO_RESULT_PLACE_H
#define RECTO_RESULT_PLACE_H

#include "recto.h"

#include <stdbool.h>

struct place {
    double x0, y0, x1, y1;
    int turn;          /* clockwise: 0, 90, 180, 270 */
    double w, h;       /* points, as displayed */
    int width, height; /* pixels, as displayed */
};

struct point {
    double x, y;
};

/* False: the page says nothing of its size in points. */
bool place_of_page(struct place *f, const struct recto_page *p);
/* A place on the raster, whose pixels may be cut. */
struct point place_at(const struct place *f, double x_px, double y_px);
/* The same page turned once more, by 90 degrees times n clockwise: what stood upright on it before runs down. */
struct place place_turned(const struct place *f, int degrees);

/* Corners in order: left, lower, right, upper. */
struct box_pt {
    double x1, y1, x2, y2;
};
struct box_pt place_box(const struct place *f, struct recto_box px);

#endif
