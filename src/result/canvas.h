/* Drawing on the pixels of a page: filled rectangles, outlines, small capital letters. What lies outside is cut. */
#ifndef RECTO_RESULT_CANVAS_H
#define RECTO_RESULT_CANVAS_H

#include "recto.h"

struct colour {
    unsigned char rgb[3];
};

/* opacity 0..1; the box's right and lower edges are exclusive. */
void canvas_fill(struct recto_image *im, struct recto_box px, struct colour c, double opacity);
/* A frame of `thick` pixels inside the box. */
void canvas_outline(struct recto_image *im, struct recto_box px, struct colour c, int thick);
/* Capital letters, digits and - _ in cells of 6 x 9 times `scale` pixels, white on c, the upper left corner at x, y; other
 * characters are ?. */
#define CANVAS_CELL_W 6
#define CANVAS_CELL_H 9
void canvas_text(struct recto_image *im, int x, int y, int scale, const char *text,
                 struct colour c);

#endif
