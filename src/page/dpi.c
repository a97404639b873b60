#include "page/dpi.h"

#include "base/decode_proto.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/view.h"

#include <math.h>

#define PT_PER_INCH 72.0
#define PT_MAX      1e6
#define SHAPE_SIDE  1e6 /* only the shape of a page counts for its grid, not its size */

static double auto_dpi(double w, double h)
{
    double unit = SHAPE_SIDE / fmax(w, h), dpi;
    int i, j;

    view_grid((int)fmax(w * unit, 1), (int)fmax(h * unit, 1), true, &i, &j);
    dpi = PT_PER_INCH * fmax(VIEW_TILE * i / w, VIEW_TILE * j / h);
    dpi = fmin(dpi, DPI_AUTO_MAX);
    return fmin(dpi, PT_PER_INCH * sqrt(DPI_AUTO_PIXELS / (w * h)));
}

int raster_size_of(struct raster_size *out, double w_pt, double h_pt, int dpi, int64_t max_pixels)
{
    double w, h;

    *out = (struct raster_size){0};
    if (!(w_pt >= 1 && h_pt >= 1 && w_pt <= PT_MAX && h_pt <= PT_MAX))
        return err(RECTO_EDAMAGED, "damaged: the page claims a size of %g x %g points", w_pt, h_pt);
    out->dpi = dpi ? dpi : auto_dpi(w_pt, h_pt);
    w = fmax(round(w_pt * out->dpi / PT_PER_INCH), 1);
    h = fmax(round(h_pt * out->dpi / PT_PER_INCH), 1);
    if (w > DECODE_SIDE_MAX || h > DECODE_SIDE_MAX || w * h > (double)max_pixels)
        return err(RECTO_ETOOLARGE, "%.0f x %.0f is over the limit (--max-pixels)", w, h);
    out->w = (int)w;
    out->h = (int)h;
    return 0;
}
