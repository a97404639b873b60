/* The raster a decoder fills, row by row from the top: RGB, or RGB with alpha that is laid on its
 * background at the end. A picture with more pixels than may be kept is reduced on the way by a
 * whole factor f in both directions (each output pixel is the mean of f x f, fewer at the right and
 * lower edge), so that the full raster never exists. */
#ifndef RECTO_HELPER_RASTER_H
#define RECTO_HELPER_RASTER_H

#include <stdbool.h>
#include <stdint.h>

struct raster {
    int in_w, in_h;     /* rows that come in */
    int f;              /* reduction */
    int w, h;           /* of the raster: in_w / f, in_h / f, rounded up */
    int channels;       /* 3 or 4 */
    int n_row;          /* rows that came in */
    unsigned char *px;  /* [h][w][channels]; may be taken over by setting it to NULL here */
    unsigned char *row; /* f > 1: the row being filled [in_w][channels] */
    uint32_t *sum;      /* f > 1: [w][channels], colours times alpha when there are 4 */
    uint64_t sum_luma;  /* of 4 channels: sum of alpha times luminance, */
    uint64_t sum_alpha; /* of alpha, */
    uint64_t n_clear;   /* and how many pixels are less than half opaque */
};

/* The smallest f with which a w x h picture has at most keep pixels. */
int raster_factor(int w, int h, int64_t keep);
/* Room for a picture of w x h reduced by f. RECTO_ETOOLARGE: there is not enough memory for it. */
int raster_open(struct raster *r, int w, int h, int f, int channels);
/* Where the next row of in_w pixels is to be written, n_row < in_h; then raster_put_row. */
unsigned char *raster_next_row(struct raster *r);
void raster_put_row(struct raster *r);
/* What is missing becomes grey 127, opaque; n_row stays as it is. A half-filled mean counts as
 * missing. */
void raster_fill_rest(struct raster *r);
/* Lay 4 channels on white; or on grey 64 (then true is returned) when what can be seen is light and
 * most of the page is clear, since white lettering would vanish on white. 3 channels remain, in
 * place. */
bool raster_flatten(struct raster *r);
/* 4 channels to their first 3, whatever they hold. */
void raster_drop_alpha(struct raster *r);
void raster_reset(struct raster *r);

#endif
