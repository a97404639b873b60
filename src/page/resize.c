/* Both passes are one kernel, mix: a weighted sum of `count` vectors of LANES bytes that lie
 * `stride` bytes apart. Down a column that is the picture as it is.  Along a row the samples of one
 * pixel would be 3 bytes apart, which no vector unit likes; so ROWS rows are first transposed into
 * a strip in which the same pixel of all rows is adjacent, and the horizontal pass becomes a
 * vertical one over the strip. */
#include "page/resize.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FRACTION_BITS 22
#define LANES         32
#define ROWS          32         /* rows of a strip */
#define STRIP         (ROWS * 3) /* bytes of one pixel column of a strip: 3 x LANES */
#define COLUMNS       64         /* output pixels computed before they are put back into rows */

_Static_assert(STRIP % LANES == 0, "a strip's column is whole vectors");

/* The same C, compiled twice, chosen by the loader; -O3 because gcc does not vectorise these loops
 * at -O2. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WIDE_CLONE __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef WIDE_CLONE
#define WIDE_CLONE
#endif

/* The weights of one axis: output i is the sum over k < count[i] of
 * weight[i*cap + k] * in[first[i] + k]. */
struct axis {
    int cap;
    int *first, *count;
    int32_t *weight;
};

static double keys_cubic(double t)
{
    const double a = -0.5;

    if (t < 0)
        t = -t;
    if (t < 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    if (t < 2)
        return (((t - 5) * t + 8) * t - 4) * a;
    return 0;
}

static void axis_reset(struct axis *a)
{
    free(a->first);
    free(a->count);
    free(a->weight);
    *a = (struct axis){0};
}

/* Weights of output sample i; w is room for a->cap doubles. The order of operations is Pillow's. */
static void axis_fill(struct axis *a, int i, int n, double scale, double *w)
{
    double fs = scale < 1 ? 1 : scale, support = 2 * fs, inv = 1 / fs;
    double center = (i + 0.5) * scale, sum = 0;
    int x0 = (int)(center - support + 0.5), x1 = (int)(center + support + 0.5);

    x0 = MAX(x0, 0);
    x1 = MIN(x1, n);
    for (int k = 0; k < x1 - x0; k++) {
        w[k] = keys_cubic((k + x0 - center + 0.5) * inv);
        sum += w[k];
    }
    for (int k = 0; k < x1 - x0; k++) {
        double v = (sum != 0 ? w[k] / sum : w[k]) * (1 << FRACTION_BITS);

        a->weight[(size_t)i * (size_t)a->cap + (size_t)k] = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
    }
    a->first[i] = x0;
    a->count[i] = x1 - x0;
}

static int axis_make(struct axis *a, int n, int m)
{
    double scale = (double)n / m, support = 2 * MAX(scale, 1.0);
    size_t cells;
    double *w;

    *a = (struct axis){.cap = 2 * ((int)support + 1) + 1};
    if (mem_mul((size_t)a->cap, (size_t)m, &cells))
        return err(RECTO_ENOMEM, "resizing %d to %d samples needs too much memory", n, m);
    a->first = malloc((size_t)m * sizeof *a->first);
    a->count = malloc((size_t)m * sizeof *a->count);
    a->weight = calloc(cells, sizeof *a->weight);
    w = malloc((size_t)a->cap * sizeof *w);
    if (!a->first || !a->count || !a->weight || !w) {
        free(w);
        axis_reset(a);
        return err(RECTO_ENOMEM, "resizing %d to %d samples needs too much memory", n, m);
    }
    for (int i = 0; i < m; i++)
        axis_fill(a, i, n, scale, w);
    free(w);
    return 0;
}

static inline uint8_t clamp_sum(int32_t sum)
{
    sum >>= FRACTION_BITS;
    sum = sum < 0 ? 0 : sum;
    return (uint8_t)(sum > 255 ? 255 : sum);
}

static inline void add8(int32_t *restrict acc, const uint8_t *restrict in, int32_t w)
{
    for (int j = 0; j < 8; j++)
        acc[j] += in[j] * w;
}

/* out[j] = clamp((2^21 + sum_k w[k] in[k*stride + j]) >> 22) for j < LANES.  Written in eights, so
 * that the compiler sees four vectors and keeps them in registers over the loop; one loop of 32 it
 * would run through memory. */
static inline void mix(uint8_t *restrict out, const uint8_t *restrict in, size_t stride,
                       const int32_t *restrict w, int count)
{
    int32_t acc[LANES];

    for (int j = 0; j < LANES; j++)
        acc[j] = 1 << (FRACTION_BITS - 1);
    for (int k = 0; k < count; k++, in += stride) {
        add8(acc, in, w[k]);
        add8(acc + 8, in + 8, w[k]);
        add8(acc + 16, in + 16, w[k]);
        add8(acc + 24, in + 24, w[k]);
    }
    for (int j = 0; j < LANES; j++)
        out[j] = clamp_sum(acc[j]);
}

static uint8_t mix_one(const uint8_t *in, size_t stride, const int32_t *w, int count)
{
    int32_t acc = 1 << (FRACTION_BITS - 1);

    for (int k = 0; k < count; k++)
        acc += w[k] * in[(size_t)k * stride];
    return clamp_sum(acc);
}

/* One output row of n bytes from rows `stride` apart. The last vector overlaps the one before. */
WIDE_CLONE static void mix_row(uint8_t *out, const uint8_t *in, size_t stride, const int32_t *w,
                               int count, size_t n)
{
    if (n < LANES) {
        for (size_t j = 0; j < n; j++)
            out[j] = mix_one(in + j, stride, w, count);
        return;
    }
    for (size_t j = 0; j + LANES <= n; j += LANES)
        mix(out + j, in + j, stride, w, count);
    mix(out + n - LANES, in + n - LANES, stride, w, count);
}

/* Output columns [from, to) of a strip: out [to-from][STRIP]. */
WIDE_CLONE static void mix_strip(uint8_t *out, const uint8_t *strip, const struct axis *a, int from,
                                 int to)
{
    for (int x = from; x < to; x++, out += STRIP) {
        const uint8_t *in = strip + (size_t)a->first[x] * STRIP;
        const int32_t *w = a->weight + (size_t)x * (size_t)a->cap;

        for (int j = 0; j < STRIP; j += LANES)
            mix(out + j, in + j, STRIP, w, a->count[x]);
    }
}

/* Copy n pixels whose places are src_step and dst_step bytes apart.  Four bytes at a time are
 * faster than three; the fourth is overwritten by the pixel copied next into that place, so the
 * last one is copied exactly. */
static inline void copy_pixels(uint8_t *dst, size_t dst_step, const uint8_t *src, size_t src_step,
                               int n)
{
    for (; n > 1; n--, src += src_step, dst += dst_step)
        memcpy(dst, src, 4);
    memcpy(dst, src, 3);
}

/* strip [w][ROWS][3] from n_row <= ROWS rows of w pixels; missing rows are left as they are (never
 * read back). Rows go in upwards, so a fourth byte falls into the next row's place; the last row of
 * a full strip has none, hence one by one. */
static void strip_from_rows(uint8_t *strip, const uint8_t *in, int w, int n_row)
{
    for (int x0 = 0; x0 < w; x0 += COLUMNS) {
        int n = MIN(COLUMNS, w - x0);

        for (int r = 0; r < n_row; r++) {
            const uint8_t *src = in + ((size_t)r * (size_t)w + (size_t)x0) * 3;
            uint8_t *dst = strip + (size_t)x0 * STRIP + (size_t)r * 3;

            if (r < ROWS - 1) {
                copy_pixels(dst, STRIP, src, 3, n);
                continue;
            }
            for (int x = 0; x < n; x++)
                memcpy(dst + (size_t)x * STRIP, src + (size_t)x * 3, 3);
        }
    }
}

/* The inverse for n_col columns; out points at the first pixel of the first row, rows are row_bytes
 * apart. */
static void strip_to_rows(uint8_t *out, size_t row_bytes, const uint8_t *strip, int n_col,
                          int n_row)
{
    for (int r = 0; r < n_row; r++)
        copy_pixels(out + (size_t)r * row_bytes, 3, strip + (size_t)r * 3, STRIP, n_col);
}

static int pass_horizontal(uint8_t *out, int out_w, const uint8_t *in, int in_w, int h)
{
    struct axis a;
    uint8_t done[COLUMNS * STRIP], *strip;

    TRY(axis_make(&a, in_w, out_w));
    strip = calloc((size_t)in_w, STRIP);
    if (!strip) {
        axis_reset(&a);
        return err(RECTO_ENOMEM, "a picture %d pixels wide needs too much memory", in_w);
    }
    for (int y = 0; y < h; y += ROWS) {
        int n_row = MIN(ROWS, h - y);

        strip_from_rows(strip, in + (size_t)y * (size_t)in_w * 3, in_w, n_row);
        for (int x = 0; x < out_w; x += COLUMNS) {
            int to = MIN(x + COLUMNS, out_w);

            mix_strip(done, strip, &a, x, to);
            strip_to_rows(out + ((size_t)y * (size_t)out_w + (size_t)x) * 3, (size_t)out_w * 3,
                          done, to - x, n_row);
        }
    }
    free(strip);
    axis_reset(&a);
    return 0;
}

static int pass_vertical(uint8_t *out, int out_h, const uint8_t *in, int in_h, int w)
{
    size_t row = (size_t)w * 3;
    struct axis a;

    TRY(axis_make(&a, in_h, out_h));
    for (int y = 0; y < out_h; y++)
        mix_row(out + (size_t)y * row, in + (size_t)a.first[y] * row, row,
                a.weight + (size_t)y * (size_t)a.cap, a.count[y], row);
    axis_reset(&a);
    return 0;
}

int resize_bicubic(unsigned char *out, int out_w, int out_h, const unsigned char *in, int in_w,
                   int in_h)
{
    uint8_t *mid;
    size_t bytes;
    int rc;

    assert(out_w > 0 && out_h > 0 && in_w > 0 && in_h > 0);
    if (out_w == in_w && out_h == in_h) {
        memcpy(out, in, (size_t)in_w * (size_t)in_h * 3);
        return 0;
    }
    if (out_w == in_w)
        return pass_vertical(out, out_h, in, in_h, in_w);
    if (out_h == in_h)
        return pass_horizontal(out, out_w, in, in_w, in_h);
    if (mem_mul((size_t)out_w * 3, (size_t)in_h, &bytes) || !(mid = mem_big(bytes)))
        return err(RECTO_ENOMEM, "resizing a %d x %d picture needs too much memory", in_w, in_h);
    rc = pass_horizontal(mid, out_w, in, in_w, in_h);
    if (rc == 0)
        rc = pass_vertical(out, out_h, mid, in_h, out_w);
    free(mid);
    return rc;
}
