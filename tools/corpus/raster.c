#include "raster.h"

#include "base/mem.h"
#include "page/resize.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[] = {
#define X(id, name) name,
    SPOILS(X)
#undef X
};

const char *spoil_name(int bit)
{
    return names[bit];
}

double spoil_angle(unsigned spoils)
{
    return spoils & SPOIL_SKEW_1   ? -1
           : spoils & SPOIL_SKEW1  ? 1
           : spoils & SPOIL_SKEW_3 ? -3
           : spoils & SPOIL_SKEW3  ? 3
                                   : 0;
}

static size_t n_byte(const struct raster *r)
{
    return (size_t)r->width * (size_t)r->height * 3;
}

struct raster raster_new(int width, int height)
{
    struct raster r = {width, height, NULL};

    r.px = mem_alloc(n_byte(&r));
    memset(r.px, 255, n_byte(&r));
    return r;
}

void raster_reset(struct raster *r)
{
    free(r->px);
    *r = (struct raster){0};
}

static unsigned char clamp(double v)
{
    return (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

/* ---- paper ----------------------------------------------------------------------------------- */

/* Grain runs along and across the sheet, as fibres do. */
static double *fibres(struct rng *rng, int n)
{
    double *grain = mem_alloc((size_t)n * sizeof *grain);

    for (int i = 0; i < n; i++)
        grain[i] = 1.5 * rng_normal(rng);
    return grain;
}

void raster_paper(struct raster *r, struct rng *rng, bool is_tinted)
{
    const double tint[3] = {1, is_tinted ? 0.97 : 1, is_tinted ? 0.88 : 1};
    double base = rng_in(rng, 228, 246), slope_x = rng_wobble(rng) * 7;
    double *across = fibres(rng, r->width), *along = fibres(rng, r->height);

    for (int y = 0; y < r->height; y++)
        for (int x = 0; x < r->width; x++) {
            unsigned char *p = r->px + ((size_t)y * (size_t)r->width + (size_t)x) * 3;
            double shade = base + slope_x * x / r->width + across[x] + along[y];

            for (int c = 0; c < 3; c++)
                p[c] = clamp((20 + p[c] * 235.0 / 255) / 255 * shade * tint[c]);
        }
    free(across);
    free(along);
}

/* ---- blur ------------------------------------------------------------------------------------ */

#define REACH 8

/* One pass of a separable Gaussian along lines of n pixels that are `step` bytes apart. */
static void blur_line(unsigned char *p, int n, size_t step, const double *weight, int reach,
                      unsigned char *copy)
{
    for (int i = 0; i < n; i++)
        copy[i] = p[(size_t)i * step];
    for (int i = 0; i < n; i++) {
        double sum = 0;

        for (int k = -reach; k <= reach; k++)
            sum += weight[abs(k)] * copy[MIN(MAX(i + k, 0), n - 1)];
        p[(size_t)i * step] = clamp(sum);
    }
}

static void blur(struct raster *r, double sigma)
{
    double weight[REACH], sum = 0;
    int reach = MIN((int)ceil(3 * sigma), REACH - 1);
    unsigned char *copy = mem_alloc((size_t)MAX(r->width, r->height));
    size_t row = (size_t)r->width * 3;

    for (int k = 0; k <= reach; k++) {
        weight[k] = exp(-k * k / (2 * sigma * sigma));
        sum += k ? 2 * weight[k] : weight[k];
    }
    for (int k = 0; k <= reach; k++)
        weight[k] /= sum;
    for (int c = 0; c < 3; c++) {
        for (int y = 0; y < r->height; y++)
            blur_line(r->px + (size_t)y * row + c, r->width, 3, weight, reach, copy);
        for (int x = 0; x < r->width; x++)
            blur_line(r->px + (size_t)x * 3 + c, r->height, row, weight, reach, copy);
    }
    free(copy);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void noise(struct raster *r, struct rng *rng, double sigma)
{
    for (size_t i = 0; i < n_byte(r); i += 3) {
        double add = sigma * rng_normal(rng);

        for (int c = 0; c < 3; c++)
            r->px[i + c] = clamp(r->px[i + c] + add);
    }
}

static void threshold(struct raster *r)
{
    for (size_t i = 0; i < n_byte(r); i += 3) {
        int grey = (r->px[i] * 299 + r->px[i + 1] * 587 + r->px[i + 2] * 114) / 1000;

        memset(r->px + i, grey < 150 ? 0 : 255, 3);
    }
}

static void coarsen(struct raster *r, double dpi)
{
    struct raster small = raster_new(MAX(1, (int)lround(r->width * 100 / dpi)),
                                     MAX(1, (int)lround(r->height * 100 / dpi)));

    if (dpi > 100 &&
        resize_bicubic(small.px, small.width, small.height, r->px, r->width, r->height) == 0)
        resize_bicubic(r->px, r->width, r->height, small.px, small.width, small.height);
    raster_reset(&small);
}

/* The print of the other side, mirrored, blurred and faint. */
static void show_through(struct raster *r, struct raster *back)
{
    blur(back, 1.5);
    for (int y = 0; y < r->height; y++)
        for (int x = 0; x < r->width; x++) {
            size_t row = (size_t)y * (size_t)r->width;
            unsigned char *p = r->px + (row + (size_t)x) * 3;
            const unsigned char *q = back->px + (row + (size_t)(r->width - 1 - x)) * 3;

            for (int c = 0; c < 3; c++)
                p[c] = clamp(p[c] * (1 - 0.18 * (255 - q[c]) / 255));
        }
}

void raster_spoil(struct raster *r, unsigned spoils, struct rng *rng, double dpi,
                  struct raster *back)
{
    if (spoils & SPOIL_SHOW && back)
        show_through(r, back);
    if (spoils & SPOIL_BLUR07)
        blur(r, 0.7);
    if (spoils & SPOIL_BLUR15)
        blur(r, 1.5);
    if (spoils & SPOIL_DPI100)
        coarsen(r, dpi);
    if (spoils & SPOIL_NOISE8)
        noise(r, rng, 8);
    if (spoils & SPOIL_NOISE16)
        noise(r, rng, 16);
    if (spoils & SPOIL_BITS1)
        threshold(r);
}
