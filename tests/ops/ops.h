/* What the tests of the backend's slots share: a device of each kernel set present, random
 * matrices, and comparisons.
 *
 * References are naive loops in double precision inside the tests.  A product of K terms may be
 * off by K roundings of its running sum, so it is compared within K ulp of the sum of absolute
 * products (sum_close), never by a loose percentage. */
#ifndef RECTO_TESTS_OPS_H
#define RECTO_TESTS_OPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "backend/cpu/kern.h"
#include "base/err.h"
#include "base/mem.h"
#include "tensor/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ULP_F32  0x1p-23
#define ULP_BF16 0x1p-7

/* ---- numbers --------------------------------------------------------------------------------- */
static uint64_t rand_state = 88172645463325252u;

static inline uint32_t rand_u32(void)
{
    rand_state ^= rand_state << 13;
    rand_state ^= rand_state >> 7;
    rand_state ^= rand_state << 17;
    return (uint32_t)(rand_state >> 32);
}

/* Near enough to a normal distribution: the sum of four uniform numbers, of variance 1. */
static inline float rand_normal(void)
{
    double s = 0;

    for (int i = 0; i < 4; i++)
        s += rand_u32() / 4294967296.0 - 0.5;
    return (float)(s * 1.7320508);
}

/* n numbers of the given root mean square in 64-byte aligned memory; free() */
static inline float *rand_f32(int64_t n, double rms)
{
    float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 63) / 64 * 64);

    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(rand_normal() * rms);
    return p;
}

static inline uint16_t *rand_bf16(int64_t n, double rms)
{
    uint16_t *p = aligned_alloc(64, ((size_t)n * sizeof *p + 63) / 64 * 64);

    for (int64_t i = 0; i < n; i++)
        p[i] = f32_to_bf16((float)(rand_normal() * rms));
    return p;
}

static inline float *same_f32(const float *src, int64_t n)
{
    float *p = rand_f32(n, 0);

    memcpy(p, src, (size_t)n * sizeof *p);
    return p;
}

static inline float to_bf16(float x)
{
    return bf16_to_f32(f32_to_bf16(x));
}

static inline tensor matrix(void *p, int64_t rows, int64_t width)
{
    return tensor_view(p, DT_F32, 2, rows, width, 1, 1);
}

static inline tensor vector(void *p, enum dtype t, int64_t n)
{
    return tensor_view(p, t, 1, n, 1, 1, 1);
}

/* ---- devices --------------------------------------------------------------------------------- */
static inline struct device *device_of(int isa, const char *precision, int threads)
{
    struct device *d = NULL;
    struct device_opts o = {
        .precision = precision, .kernels = cpu_isa_name((enum cpu_isa)isa), .threads = threads};

    assert_int_equal(backend_cpu.open(&d, &o), 0);
    return d;
}

/* Products of bf16 weights round their inputs in this device. */
static inline bool rounds_inputs(int isa, const char *precision)
{
    return isa >= ISA_AVX512BF16 && strcmp(precision, "fp32") != 0;
}

#define EACH_ISA(isa) for (int isa = 0; isa <= (int)cpu_isa_present(); isa++)

/* x [n_out][n_in] becomes the values of its whole numbers and scales. */
static inline void to_quant(enum weight_kind k, float *x, int64_t n_out, int64_t n_in)
{
    uint8_t *q = mem_alloc((size_t)n_in);
    uint16_t *scale = mem_alloc((size_t)quant_groups(k, n_in) * 2);

    for (int64_t r = 0; r < n_out; r++, x += n_in) {
        quant_row(k, x, n_in, q, scale);
        for (int64_t i = 0; i < n_in; i++)
            x[i] = bf16_to_f32(scale[i / quant_group(k)]) * (float)quant_at(k, q, i);
    }
    free(q);
    free(scale);
}

/* A random weight packed for d, int8 or int4 for DT_I8 and DT_U8; *w_f32 are its values,
 * [n_out][n_in], free() */
static inline struct weight rand_weight(struct device *d, enum dtype t, int64_t n_out, int64_t n_in,
                                        float **w_f32)
{
    struct weight w = {0};
    double rms = 1.0 / sqrt((double)n_in);

    *w_f32 = rand_f32(n_out * n_in, rms);
    if (t == DT_BF16) {
        uint16_t *h = rand_bf16(n_out * n_in, rms);

        for (int64_t i = 0; i < n_out * n_in; i++)
            (*w_f32)[i] = bf16_to_f32(h[i]);
        assert_int_equal(backend_cpu.pack(d, &w, h, t, n_out, n_in, false), 0);
        free(h);
    } else if (t == DT_I8 || t == DT_U8) {
        enum weight_kind k = t == DT_I8 ? WEIGHT_INT8 : WEIGHT_INT4;
        struct quant_source src = {.data = *w_f32, .dtype = DT_F32};

        assert_int_equal(backend_cpu.pack_quant(d, &w, &src, n_out, n_in, k), 0);
        to_quant(k, *w_f32, n_out, n_in);
    } else {
        assert_int_equal(backend_cpu.pack(d, &w, *w_f32, t, n_out, n_in, false), 0);
    }
    return w;
}

/* ---- comparisons ----------------------------------------------------------------------------- */
/* |got - want| <= tol * scale + 1e-35 */
static inline void close_to(double got, double want, double tol, double scale, const char *what,
                            int64_t at)
{
    double off = fabs(got - want);

    if (!(off <= tol * scale + 1e-35))
        fail_msg("%s [%lld]: got %.9g, want %.9g, off by %.3g, allowed %.3g", what, (long long)at,
                 got, want, off, tol * scale);
}

/* All bits of n floats. */
static inline void same_bits(const float *a, const float *b, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0)
            fail_msg("%s [%lld]: %.9g and %.9g differ", what, (long long)i, a[i], b[i]);
}

/* Distance of two finite floats in units of the larger one's last place. */
static inline double ulps(float a, double b)
{
    double m = fmax(fabs((double)a), fabs(b));

    return m == 0 ? 0 : fabs((double)a - b) / ldexp(1.0, (int)floor(log2(m)) - 23);
}

#endif
