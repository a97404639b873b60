/* Row kernels, included once by the file of each instruction set and compiled with its flags.
 *
 * Everything is loops over 16 lanes, which compilers turn into vectors; sums keep 16 partial sums and add them in a fixed
 * tree, so the order does not depend on the set.  MAD is a fused multiply-add where the set has one. */
#ifndef RECTO_BACKEND_CPU_KERN_ROWS_H
#define RECTO_BACKEND_CPU_KERN_ROWS_H

#include "backend/cpu/kern.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

#ifdef __FMA__
#define MAD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MAD(a, b, c) ((a) * (b) + (c))
#endif

#define LANES 16
#define ROW_INLINE static inline __attribute__((always_inline))

union lane_bits {
    float f;
    uint32_t u;
};

/* e^x to 2 ulp; 0 below -87.3 (results that would be subnormal), 2^127 above 88.03.
 * x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial fitted for least relative error (3.1e-9), ln 2 in two parts
 * (Cody and Waite).  n is taken from the low bits of x / ln 2 + 1.5 * 2^23, so no conversion can overflow. */
ROW_INLINE float exp_lane(float x)
{
    union lane_bits t, scale;
    float c = x > 88.0296919f ? 88.0296919f : x, n, r, p;

    c = c < -87.3365448f ? -87.3365448f : c;
    t.f = MAD(c, 1.44269504f, 12582912.0f);
    n = t.f - 12582912.0f;
    r = MAD(n, -0.693359375f, c);
    r = MAD(n, 2.12194440e-4f, r);
    p = MAD(1.3814484e-3f, r, 8.3687804e-3f);
    p = MAD(p, r, 4.1668394e-2f);
    p = MAD(p, r, 0.16666520f);
    p = MAD(p, r, 0.49999993f);
    p = MAD(p * r, r, r) + 1.0f;
    scale.u = (t.u << 23) + (127u << 23);
    return x < -87.3365448f ? 0.0f : p * scale.f;
}

/* Phi(x) for x <= 0, half the complementary error function of |x| / sqrt 2, as e^(-x^2 / 2) f(t), t = 1 / (1 + 0.3 |x| /
 * sqrt 2); f fitted for least relative error (2.0e-8) over |x| <= 14, where Phi has long left the fp32 range. */
ROW_INLINE float phi_tail_lane(float x)
{
    float t = 1.0f / MAD(fabsf(x), 0.212132034f, 1.0f), p;

    p = MAD(t, -6.4762513e-2f, 0.24278695f);
    p = MAD(p, t, -0.25615052f);
    p = MAD(p, t, 0.27387372f);
    p = MAD(p, t, -4.7335300e-2f);
    p = MAD(p, t, 0.10746750f);
    p = MAD(p, t, 7.4168370e-2f);
    p = MAD(p, t, 8.5357794e-2f);
    p = MAD(p, t, 8.4593991e-2f);
    return p * t * exp_lane(x * x * -0.5f);
}

ROW_INLINE float gelu_lane(float x)
{
    float q = phi_tail_lane(x);

    return x * (x > 0.0f ? 1.0f - q : q);
}

ROW_INLINE float silu_lane(float x)
{
    return x / (1.0f + exp_lane(-x));
}

/* Sum of 16 lanes: 8 + 8, 4 + 4, 2 + 2, 1 + 1. */
ROW_INLINE float lane_sum(float *s)
{
    for (int half = LANES / 2; half; half /= 2)
        for (int j = 0; j < half; j++)
            s[j] += s[j + half];
    return s[0];
}

ROW_INLINE float lane_max(float *s)
{
    for (int half = LANES / 2; half; half /= 2)
        for (int j = 0; j < half; j++)
            s[j] = s[j] > s[j + half] ? s[j] : s[j + half];
    return s[0];
}

static void rows_exp(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = exp_lane(x[i]);
}

static void rows_gelu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = gelu_lane(x[i]);
}

static void rows_swiglu(float *y, const float *gate, const float *up, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = silu_lane(gate[i]) * up[i];
}

static void rows_round_bf16(uint16_t *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = f32_to_bf16(x[i]);
}

/* sum (x - mean)^2, or sum x^2 with mean = 0 */
ROW_INLINE float row_squares(const float *x, int64_t n, float mean)
{
    float s[LANES] = {0};
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++)
            s[j] = MAD(x[i + j] - mean, x[i + j] - mean, s[j]);
    for (int j = 0; i + j < n; j++)
        s[j] = MAD(x[i + j] - mean, x[i + j] - mean, s[j]);
    return lane_sum(s);
}

ROW_INLINE float row_sum(const float *x, int64_t n)
{
    float s[LANES] = {0};
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++)
            s[j] += x[i + j];
    for (int j = 0; i + j < n; j++)
        s[j] += x[i + j];
    return lane_sum(s);
}

static void rows_rmsnorm(float *y, const float *x, const float *w, int64_t n, float eps)
{
    float inv = 1.0f / sqrtf(row_squares(x, n, 0.0f) / (float)n + eps);

    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * inv * w[i];
}

/* Mean first, then the variance around it: one pass with E[x^2] - mean^2 would cancel. */
static void rows_layernorm(float *y, const float *x, const float *w, const float *b, int64_t n, float eps)
{
    float mean = row_sum(x, n) / (float)n;
    float inv = 1.0f / sqrtf(row_squares(x, n, mean) / (float)n + eps);

    for (int64_t i = 0; i < n; i++)
        y[i] = MAD((x[i] - mean) * inv, w[i], b[i]);
}

ROW_INLINE void softmax_bias(const struct softmax *a, int r, float *s)
{
    const float *by = a->bias_y + (int64_t)r * a->bias_y_stride;
    const float *bx = a->bias_x + (int64_t)r * a->bias_x_stride;

    for (int p = 0; p < a->n_panel; p++) {
        float y = by[a->panel_y[p]];
        const float *x = bx + a->panel_x[p];

        for (int j = 0; j < LANES; j++)
            s[p * LANES + j] += y + x[j];
    }
}

ROW_INLINE float softmax_max(const float *s, int n)
{
    float m[LANES];

    memcpy(m, s, sizeof m);
    for (int i = LANES; i < n; i += LANES)
        for (int j = 0; j < LANES; j++)
            m[j] = m[j] > s[i + j] ? m[j] : s[i + j];
    return lane_max(m);
}

/* s = e^(s - max); returns the sum of the new s. */
ROW_INLINE float softmax_exp(float *s, int n, float max)
{
    float sum[LANES] = {0};

    for (int i = 0; i < n; i++)
        s[i] = exp_lane(s[i] - max);
    for (int i = 0; i < n; i += LANES)
        for (int j = 0; j < LANES; j++)
            sum[j] += s[i + j];
    return lane_sum(sum);
}

static void rows_softmax(const struct softmax *a)
{
    int n = a->n_panel * LANES;

    for (int r = 0; r < a->rows; r++) {
        float *s = a->s + (int64_t)r * STEP_KEYS, *o = a->o + (int64_t)r * a->o_width, max, keep;

        if (a->bias_y)
            softmax_bias(a, r, s);
        max = softmax_max(s, n);
        max = max > a->max[r] ? max : a->max[r];
        keep = exp_lane(a->max[r] - max);
        a->sum[r] = a->sum[r] * keep + softmax_exp(s, n, max);
        a->max[r] = max;
        if (keep != 1.0f)
            for (int j = 0; j < a->o_width; j++)
                o[j] *= keep;
        if (a->p_is_bf16)
            rows_round_bf16((uint16_t *)a->p + (int64_t)r * STEP_KEYS, s, n);
        else if (a->p != a->s)
            memcpy((float *)a->p + (int64_t)r * STEP_KEYS, s, (size_t)n * sizeof *s);
    }
}

static inline void rows_fill(struct cpu_kern *k)
{
    k->round_bf16 = rows_round_bf16;
    k->rmsnorm = rows_rmsnorm;
    k->layernorm = rows_layernorm;
    k->gelu = rows_gelu;
    k->swiglu = rows_swiglu;
    k->softmax = rows_softmax;
    k->exp = rows_exp;
}

#endif
