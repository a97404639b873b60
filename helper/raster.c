#include "helper/raster.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MISSING_GREY   127
#define LIGHT_LUMA     180 /* alpha-weighted mean luminance above which lettering counts as white */
#define WHITE_BACKDROP 255
#define GREY_BACKDROP  64
#define FACTOR_MAX     256 /* 255 * 255 * 256 * 256 still fits the 32 bits of a sum */

int raster_factor(int w, int h, int64_t keep)
{
    int f = 1;

    while (div_up(w, f) * div_up(h, f) > keep)
        f++;
    return f;
}

int raster_open(struct raster *r, int w, int h, int f, int channels)
{
    *r = (struct raster){.in_w = w, .in_h = h, .f = f, .channels = channels};
    if (f > FACTOR_MAX)
        return err(RECTO_ETOOLARGE, "%d x %d would have to be reduced by %d (--max-pixels)", w, h,
                   f);
    r->w = (int)div_up(w, f);
    r->h = (int)div_up(h, f);
    r->px = mem_big((size_t)r->w * (size_t)r->h * (size_t)channels);
    if (f > 1) {
        r->row = malloc((size_t)w * (size_t)channels);
        r->sum = calloc((size_t)r->w * (size_t)channels, sizeof *r->sum);
    }
    if (!r->px || (f > 1 && (!r->row || !r->sum)))
        return err(RECTO_ETOOLARGE,
                   "%d x %d needs more memory than the decoder may use "
                   "(--max-pixels)",
                   w, h);
    return 0;
}

void raster_reset(struct raster *r)
{
    free(r->px);
    free(r->row);
    free(r->sum);
    *r = (struct raster){0};
}

static unsigned char *place(struct raster *r, int y)
{
    return r->px + (size_t)y * (size_t)r->w * (size_t)r->channels;
}

unsigned char *raster_next_row(struct raster *r)
{
    return r->f == 1 ? place(r, r->n_row) : r->row;
}

/* (299 R + 587 G + 114 B) / 1000, Rec. 601. */
static unsigned luma(const unsigned char *p)
{
    return (299u * p[0] + 587u * p[1] + 114u * p[2] + 500u) / 1000u;
}

static void count_alpha(struct raster *r, const unsigned char *row)
{
    uint64_t sum_luma = 0, sum_alpha = 0, n_clear = 0;

    for (int x = 0; x < r->in_w; x++, row += 4) {
        sum_luma += (uint64_t)row[3] * luma(row);
        sum_alpha += row[3];
        n_clear += row[3] < 128;
    }
    r->sum_luma += sum_luma;
    r->sum_alpha += sum_alpha;
    r->n_clear += n_clear;
}

static void add_row(struct raster *r)
{
    const unsigned char *p = r->row;

    for (int x = 0; x < r->in_w; x++, p += r->channels) {
        uint32_t *s = r->sum + (size_t)(x / r->f) * (size_t)r->channels;
        uint32_t a = r->channels == 4 ? p[3] : 1;

        s[0] += a * p[0];
        s[1] += a * p[1];
        s[2] += a * p[2];
        if (r->channels == 4)
            s[3] += a;
    }
}

/* Means of the sums over n_row rows into raster row y; the sums become 0. */
static void put_means(struct raster *r, int y, int n_row)
{
    unsigned char *out = place(r, y);
    uint32_t *s = r->sum;

    for (int x = 0; x < r->w; x++, out += r->channels, s += r->channels) {
        uint32_t n = (uint32_t)(MIN(r->f, r->in_w - x * r->f) * n_row);
        uint32_t d = r->channels == 4 ? s[3] : n;

        for (int c = 0; c < 3; c++)
            out[c] = (unsigned char)(d ? ((uint64_t)s[c] + d / 2) / d : 0);
        if (r->channels == 4)
            out[3] = (unsigned char)((s[3] + n / 2) / n);
    }
    memset(r->sum, 0, (size_t)r->w * (size_t)r->channels * sizeof *r->sum);
}

void raster_put_row(struct raster *r)
{
    if (r->channels == 4)
        count_alpha(r, raster_next_row(r));
    if (r->f > 1)
        add_row(r);
    r->n_row++;
    if (r->f > 1 && (r->n_row % r->f == 0 || r->n_row == r->in_h)) {
        int y = (r->n_row - 1) / r->f;

        put_means(r, y, r->n_row - y * r->f);
    }
}

void raster_fill_rest(struct raster *r)
{
    int y = r->n_row == r->in_h ? r->h : r->n_row / r->f;
    unsigned char *p = place(r, y), *end = place(r, r->h);

    if (r->channels == 3) {
        memset(p, MISSING_GREY, (size_t)(end - p));
        return;
    }
    for (; p < end; p += 4) {
        memset(p, MISSING_GREY, 3);
        p[3] = 255;
    }
}

static void give_back(struct raster *r, size_t n)
{
    unsigned char *fit = n ? realloc(r->px, n * 3) : NULL;

    r->channels = 3;
    r->px = fit ? fit : r->px;
}

void raster_drop_alpha(struct raster *r)
{
    size_t n = (size_t)r->w * (size_t)r->h;

    for (size_t i = 0; i < n; i++)
        memmove(r->px + 3 * i, r->px + 4 * i, 3);
    give_back(r, n);
}

bool raster_flatten(struct raster *r)
{
    size_t n = (size_t)r->w * (size_t)r->h;
    bool is_light = r->sum_luma > LIGHT_LUMA * r->sum_alpha &&
                    2 * r->n_clear > (uint64_t)r->in_w * (uint64_t)r->n_row;
    unsigned back = is_light ? GREY_BACKDROP : WHITE_BACKDROP;
    unsigned char *out = r->px, *in = r->px;

    for (size_t i = 0; i < n; i++, in += 4, out += 3) {
        unsigned a = in[3];

        for (int c = 0; c < 3; c++)
            out[c] = (unsigned char)((in[c] * a + back * (255 - a) + 127) / 255);
    }
    give_back(r, n);
    return is_light;
}
