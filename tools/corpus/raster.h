/* Pictures in memory, what time and machines do to them, and their files. */
#ifndef CORPUS_RASTER_H
#define CORPUS_RASTER_H

#include "base/str.h"
#include "rng.h"

struct raster { /* RGB, 3 bytes a pixel, rows without gaps */
    int width, height;
    unsigned char *px;
};

struct raster raster_new(int width, int height); /* white */
void raster_reset(struct raster *r);

/* A bit each; raster_spoil applies them in this order. SKEW is not a matter of pixels: the page is drawn turned. */
#define SPOILS(X)           \
    X(SHOW, "show-through") \
    X(BLUR07, "blur0.7")    \
    X(BLUR15, "blur1.5")    \
    X(DPI100, "dpi100")     \
    X(NOISE8, "noise8")     \
    X(NOISE16, "noise16")   \
    X(BITS1, "threshold")   \
    X(JPEG30, "jpeg30")     \
    X(SKEW_1, "skew-1")     \
    X(SKEW1, "skew1")       \
    X(SKEW_3, "skew-3")     \
    X(SKEW3, "skew3")
enum {
#define X(id, name) SPOIL_AT_##id,
    SPOILS(X)
#undef X
        N_SPOIL
};
enum {
#define X(id, name) SPOIL_##id = 1 << SPOIL_AT_##id,
    SPOILS(X)
#undef X
};
const char *spoil_name(int bit);     /* 0 ... N_SPOIL-1 */
double spoil_angle(unsigned spoils); /* degrees, clockwise; 0 without a skew */

/* Paper instead of white: shade, grain, and a tint when is_tinted. */
void raster_paper(struct raster *r, struct rng *rng, bool is_tinted);
/* back: the other side of the sheet, for SHOW (NULL without it); it is used up. dpi: of the raster. */
void raster_spoil(struct raster *r, unsigned spoils, struct rng *rng, double dpi,
                  struct raster *back);

/* Files: grey or 1-bit PNG where nothing is lost by it; JPEG of a quality. RECTO_EOUTPUT. */
int raster_png(const struct raster *r, struct buf *out);
int raster_jpeg(const struct raster *r, int quality, struct buf *out);

#endif
