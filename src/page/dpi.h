/* How large to draw a page of so many points.
 *
 * auto: the smallest resolution at which the frame of tiles of the page's shape (view.h) is filled
 * without enlarging, dpi = 72 max(768 i / w, 768 j / h) for the grid i x j of w : h, at most
 * 300 dpi and 16 million pixels. So A4 gives 197 dpi, 1629 x 2304; a slide of 16:9 115 dpi; a wall
 * chart costs no more than a letter; and a page of 3 inches is still large enough for tiles. */
#ifndef RECTO_PAGE_DPI_H
#define RECTO_PAGE_DPI_H

#include <stdint.h>

#define DPI_MIN         36
#define DPI_MAX         600
#define DPI_AUTO_MAX    300
#define DPI_AUTO_PIXELS 16000000

struct raster_size {
    int w, h;   /* pixels, 1 or more */
    double dpi; /* 72 pixels / points, before rounding to whole pixels */
};

/* w_pt x h_pt points as displayed; dpi 0 is auto, else DPI_MIN..DPI_MAX.
 *     RECTO_EDAMAGED   a side of less than a point, or more than a million
 *     RECTO_ETOOLARGE  more than max_pixels at the given dpi, or a side over 100000 */
int raster_size_of(struct raster_size *out, double w_pt, double h_pt, int dpi, int64_t max_pixels);

#endif
