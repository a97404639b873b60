/* Row kernels, included once by the file of each instruction set and compiled with its flags.
 *
 * Everything is loops over 16 lanes, which compilers turn into vectors; sums keep 16 partial
 * sums and add them in a fixed tree, so the order does not depend on the set.  MAD is a fused
 * multiply-add where the set has one. */
#ifndef RECTO_BACKEND_CPU_KERN_ROWS_H
#define RECTO_BACKEND_CPU_KERN_ROWS_H

#include "backend/cpu/kern.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#ifdef __FMA__
#define MAD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MAD(a, b, c) ((a) * (b) + (c))
#endif

#define LANES      16
#define ROW_INLINE static inline __attribute__((always_inline))

union lane_bits {
    float f;
    uint32_t u;
};

/* e^x to 2 ulp; 0 below -87.3 (results that would be subnormal), 2^127 above 88.03. x = n ln 2 +
 * r with |r| <= ln 2 / 2; e^r by a polynomial fitted for least relative error (3.1e-9), ln 2 in
 * two parts (Cody and Waite).  n + 127 is taken from the low bits of x / ln 2 + 1.5 * 2^23 +
 * 127, so no conversion can overflow, and those bits, shifted, are 2^n. */
ROW_INLINE float exp_lane(float x)
{
    union lane_bits t, scale;
    float c = x > 88.0296919f ? 88.0296919f : x, n, r, p;

    c = c < -87.3365448f ? -87.3365448f : c;
    t.f = MAD(c, 1.44269504f, 12583039.0f);
    n = t.f - 12583039.0f;
    r = MAD(n, -0.693359375f, c);
    r = MAD(n, 2.12194440e-4f, r);
    p = MAD(1.3814484e-3f, r, 8.3687804e-3f);
    p = MAD(p, r, 4.1668394e-2f);
    p = MAD(p, r, 0.16666520f);
    p = MAD(p, r, 0.49999993f);
    p = MAD(p, r, 1.0f);
    p = MAD(p, r, 1.0f);
    scale.u = t.u << 23;
    return x < -87.3365448f ? 0.0f : p * scale.f;
}

/* Phi(x) for x <= 0, half the complementary error function of |x| / sqrt 2, as e^(-x^2 / 2)
 * f(t), t = 1 / (1 + 0.3 |x| / sqrt 2); f fitted for least relative error (2.0e-8) over |x| <=
 * 14, where Phi has long left the fp32 range. */
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

/* 16 lanes as one value: compilers put it into one, two or four registers.  It is only passed to
 * functions that are always inlined, so the warning that its calling convention depends on the
 * instruction set (-Wpsabi) does not apply. */
typedef float v16 __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t v16i __attribute__((vector_size(LANES * sizeof(int32_t))));

ROW_INLINE v16 v16_load(const float *p)
{
    v16 v;

    memcpy(&v, p, sizeof v);
    return v;
}

ROW_INLINE void v16_store(float *p, v16 v)
{
    memcpy(p, &v, sizeof v);
}

/* The larger of each lane; b where they do not compare. */
ROW_INLINE v16 v16_max(v16 a, v16 b)
{
    v16i m = a > b;

    return (v16)(((v16i)a & m) | ((v16i)b & ~m));
}

/* Lanes moved down by half of them, a quarter, .. for reductions. */
#define V16_DOWN8(v) \
    __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define V16_DOWN4(v) \
    __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define V16_DOWN2(v) \
    __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define V16_DOWN1(v) \
    __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

/* Sum of 16 lanes: 8 + 8, 4 + 4, 2 + 2, 1 + 1. */
ROW_INLINE float v16_sum(v16 v)
{
    v += V16_DOWN8(v);
    v += V16_DOWN4(v);
    v += V16_DOWN2(v);
    v += V16_DOWN1(v);
    return v[0];
}

ROW_INLINE float v16_top(v16 v)
{
    v = v16_max(v, V16_DOWN8(v));
    v = v16_max(v, V16_DOWN4(v));
    v = v16_max(v, V16_DOWN2(v));
    v = v16_max(v, V16_DOWN1(v));
    return v[0];
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

static void rows_round_bf16(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    int64_t i = 0;

#ifdef __AVX512BF16__
    /* One instruction; it takes subnormals as zero, as the products that read them do. */
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_si256((__m256i *)(y + i),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(x + i)));
#endif
    for (; i < n; i++)
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
    return v16_sum(v16_load(s));
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
    return v16_sum(v16_load(s));
}

static void rows_rmsnorm(float *y, const float *x, const float *w, int64_t n, float eps)
{
    float inv = 1.0f / sqrtf(row_squares(x, n, 0.0f) / (float)n + eps);

    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * inv * w[i];
}

/* Mean first, then the variance around it: one pass with E[x^2] - mean^2 would cancel. */
static void rows_layernorm(float *y, const float *x, const float *w, const float *b, int64_t n,
                           float eps)
{
    float mean = row_sum(x, n) / (float)n;
    float inv = 1.0f / sqrtf(row_squares(x, n, mean) / (float)n + eps);

    for (int64_t i = 0; i < n; i++)
        y[i] = MAD((x[i] - mean) * inv, w[i], b[i]);
}

/* s += bias (if any); returns the largest. */
ROW_INLINE float softmax_scores(const struct softmax *a, int r, float *restrict s, int n_panel)
{
    const float *by = a->bias_y ? a->bias_y + (int64_t)r * a->bias_y_stride : NULL;
    const float *bx = a->bias_y ? a->bias_x + (int64_t)r * a->bias_x_stride : NULL;
    v16 top = (v16){0} - INFINITY;

    for (int p = 0; p < n_panel; p++) {
        v16 v = v16_load(s + p * LANES);

        if (by) {
            v += by[a->panel_y[p]] + v16_load(bx + a->panel_x[p]);
            v16_store(s + p * LANES, v);
        }
        top = v16_max(top, v);
    }
    return v16_top(top);
}

/* s = e^(s - max); returns the sum of the new s. */
ROW_INLINE float softmax_exp(float *restrict s, int n_panel, float max)
{
    v16 sum = {0};

    for (int i = 0; i < n_panel * LANES; i++)
        s[i] = exp_lane(s[i] - max);
    for (int p = 0; p < n_panel; p++)
        sum += v16_load(s + p * LANES);
    return v16_sum(sum);
}

ROW_INLINE void softmax_rescale(float *restrict o, int width, float keep)
{
    for (int j = 0; j < width; j += LANES)
        v16_store(o + j, v16_load(o + j) * keep);
}

/* Up to 16 rows from row r on: first their maxima, then e^(change of maximum) of all at once,
 * then the weights. */
ROW_INLINE void softmax_rows(const struct softmax *a, int r, int rows, int n_panel)
{
    float max[LANES] = {0}, keep[LANES] = {0};

    for (int i = 0; i < rows; i++) {
        float top = softmax_scores(a, r + i, a->s + (int64_t)(r + i) * STEP_KEYS, n_panel);

        max[i] = top > a->max[r + i] ? top : a->max[r + i];
        keep[i] = a->max[r + i] - max[i];
        a->max[r + i] = max[i];
    }
    for (int i = 0; i < LANES; i++)
        keep[i] = exp_lane(keep[i]);
    for (int i = 0; i < rows; i++) {
        float *s = a->s + (int64_t)(r + i) * STEP_KEYS;

        a->sum[r + i] = a->sum[r + i] * keep[i] + softmax_exp(s, n_panel, max[i]);
        if (keep[i] != 1.0f)
            softmax_rescale(a->o + (int64_t)(r + i) * a->o_width, a->o_width, keep[i]);
        if (a->p_is_bf16)
            rows_round_bf16((uint16_t *)a->p + (int64_t)(r + i) * STEP_KEYS, s, n_panel * LANES);
        else if (a->p != a->s)
            memcpy((float *)a->p + (int64_t)(r + i) * STEP_KEYS, s,
                   (size_t)(n_panel * LANES) * sizeof *s);
    }
}

static void rows_softmax(const struct softmax *a)
{
    for (int r = 0; r < a->rows; r += LANES) {
        int rows = a->rows - r < LANES ? a->rows - r : LANES;

        if (a->n_panel == MUL_PANELS)
            softmax_rows(a, r, rows, MUL_PANELS); /* the size is then a constant for the compiler */
        else
            softmax_rows(a, r, rows, a->n_panel);
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
