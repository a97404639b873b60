/* Matrix products: every mode, kind of weight and ragged size against double precision, and the
 * equalities that let batch, chunk and thread count not matter. */
#include "ops.h"

static const char *const precisions[] = {"fp32", "bf16"};

#define EACH_DEVICE(isa, prec) EACH_ISA(isa) for (int prec = 0; prec < 2; prec++)

/* Input as the products of this device and weight see it. */
static double seen(float x, int isa, int prec, enum dtype t)
{
    return t == DT_BF16 && rounds_inputs(isa, precisions[prec]) ? to_bf16(x) : x;
}

/* sum_k x w + bias and the sum of absolute terms */
static double ref_dot(const float *x, const float *w, int64_t k, int isa, int prec, enum dtype t,
                      double bias, double *scale)
{
    double sum = bias;

    *scale = fabs(bias);
    for (int64_t i = 0; i < k; i++) {
        double p = seen(x[i], isa, prec, t) * w[i];

        sum += p;
        *scale += fabs(p);
    }
    return sum;
}

static double gelu_erf(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

struct size {
    int64_t rows, n_in, n_out;
};

/* The last: few rows and many panels, so several groups are one item. */
static const struct size sizes[] = {
    {1, 80, 320},  {2, 320, 80},  {3, 896, 100}, {5, 37, 17},   {17, 80, 1},
    {29, 64, 240}, {200, 33, 65}, {1, 1, 1},     {2, 1280, 16}, {3, 70, 1500},
};

static void check_linear(struct device *d, int isa, int prec, enum dtype t, struct size s,
                         enum linear_mode mode, bool has_bias)
{
    float *wf, *x = rand_f32(s.rows * s.n_in, 1), *y0 = rand_f32(s.rows * s.n_out, 1),
               *y = same_f32(y0, s.rows * s.n_out);
    struct weight w = rand_weight(d, t, s.n_out, s.n_in, &wf);
    float *bias = rand_f32(s.n_out, 1);
    double tol = (double)(s.n_in + 2) * ULP_F32 / 2;

    w.bias = has_bias ? bias : NULL;
    assert_int_equal(
        backend_cpu.linear(d, matrix(y, s.rows, s.n_out), matrix(x, s.rows, s.n_in), &w, mode), 0);
    for (int64_t i = 0; i < s.rows * s.n_out; i++) {
        double scale, want = ref_dot(x + i / s.n_out * s.n_in, wf + i % s.n_out * s.n_in, s.n_in,
                                     isa, prec, t, has_bias ? bias[i % s.n_out] : 0, &scale);

        if (mode == LINEAR_GELU)
            close_to(y[i], gelu_erf(want), 1.13 * tol + 8 * ULP_F32, scale, "linear gelu",
                     i); /* gelu' <= 1.13 */
        else if (mode == LINEAR_ADD)
            close_to(y[i], y0[i] + want, tol, scale + fabs(y0[i]), "linear add", i);
        else
            close_to(y[i], want, tol, scale, "linear", i);
    }
    backend_cpu.free(d, w.data);
    free(wf), free(x), free(y0), free(y), free(bias);
}

static void test_linear(void **state)
{
    static const enum dtype dtypes[] = {DT_F32, DT_BF16};

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);

        for (size_t i = 0; i < COUNT(sizes) * 12; i++)
            check_linear(d, isa, prec, dtypes[i % 2], sizes[i / 12], (enum linear_mode)(i / 2 % 3),
                         i / 6 % 2);
        backend_cpu.close(d);
    }
}

/* F16, forced fp32 and sources at odd addresses. */
static void test_pack(void **state)
{
    static const uint16_t f16[] = {0x3C00, 0xC000, 0x3555,
                                   0x0001, 0x7BFF, 0x8000}; /* 1 -2 0.333 2^-24 65504 -0 */
    static const float x[] = {1, 0.5f, 3, 1024};
    struct device *d = device_of((int)cpu_isa_present(), "bf16", 1);
    char odd[64];
    struct weight w = {0};
    float y[3];

    memcpy(odd + 1, f16, sizeof f16);
    assert_int_equal(backend_cpu.pack(d, &w, odd + 1, DT_F16, 3, 2, false), 0);
    assert_true(w.kind == WEIGHT_F32 && w.n_out == 3 && w.n_in == 2);
    assert_int_equal(
        backend_cpu.linear(d, matrix(y, 1, 3), matrix((void *)x, 1, 2), &w, LINEAR_SET), 0);
    assert_true(y[0] == 0 && fabsf(y[1] - (0.33325195f + 0x1p-25f)) < 1e-7f && y[2] == 65504);
    backend_cpu.free(d, w.data);

    for (int i = 0; i < 6; i++) {
        uint16_t h = f32_to_bf16((float)i - 2.5f);

        memcpy(odd + 1 + 2 * i, &h, 2);
    }
    for (int force = 0; force < 2; force++) {
        assert_int_equal(backend_cpu.pack(d, &w, odd + 1, DT_BF16, 2, 3, force), 0);
        assert_int_equal(w.kind, force ? WEIGHT_F32 : WEIGHT_BF16);
        assert_int_equal(
            backend_cpu.linear(d, matrix(y, 1, 2), matrix((void *)x, 1, 3), &w, LINEAR_SET), 0);
        assert_true(y[0] == -2.5f - 0.75f - 1.5f && y[1] == 0.5f + 0.75f + 7.5f);
        backend_cpu.free(d, w.data);
    }
    assert_int_equal(backend_cpu.pack(d, &w, odd, DT_I32, 1, 1, false), RECTO_EMODEL);
    assert_int_equal(backend_cpu.pack(d, &w, odd, DT_F32, 0, 1, false), RECTO_ESHAPE);
    backend_cpu.close(d);
}

static void check_swiglu(struct device *d, int isa, int prec, enum dtype t, struct size s)
{
    float *gf, *uf, *x = rand_f32(s.rows * s.n_in, 1), *y = rand_f32(s.rows * s.n_out, 0);
    struct weight g = rand_weight(d, t, s.n_out, s.n_in, &gf),
                  u = rand_weight(d, t, s.n_out, s.n_in, &uf);
    double tol = (double)(s.n_in + 8) * ULP_F32 / 2;

    assert_int_equal(
        backend_cpu.linear_swiglu(d, matrix(y, s.rows, s.n_out), matrix(x, s.rows, s.n_in), &g, &u),
        0);
    for (int64_t i = 0; i < s.rows * s.n_out; i++) {
        const float *row = x + i / s.n_out * s.n_in;
        double sg, su, a = ref_dot(row, gf + i % s.n_out * s.n_in, s.n_in, isa, prec, t, 0, &sg);
        double b = ref_dot(row, uf + i % s.n_out * s.n_in, s.n_in, isa, prec, t, 0, &su);

        close_to(y[i], a / (1 + exp(-a)) * b, tol, 1.1 * sg * fabs(b) + fabs(a) * su + 1e-9,
                 "linear swiglu", i);
    }
    backend_cpu.free(d, g.data), backend_cpu.free(d, u.data);
    free(gf), free(uf), free(x), free(y);
}

static void test_swiglu(void **state)
{
    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);

        for (size_t i = 0; i < COUNT(sizes); i++) {
            check_swiglu(d, isa, prec, DT_BF16, sizes[i]);
            check_swiglu(d, isa, prec, DT_F32, sizes[i]);
        }
        backend_cpu.close(d);
    }
}

/* Rows in any grouping, and one thread or two: the same bits. */
static void test_rows_alone(void **state)
{
    enum { ROWS = 221, IN = 320, OUT = 200 };

    EACH_DEVICE(isa, prec)
    {
        struct device *one = device_of(isa, precisions[prec], 1),
                      *two = device_of(isa, precisions[prec], 2);
        float *wf, *x = rand_f32(ROWS * IN, 1), *all = rand_f32(ROWS * OUT, 0),
                   *y = rand_f32(ROWS * OUT, 0);
        struct weight w = rand_weight(two, DT_BF16, OUT, IN, &wf);

        backend_cpu.linear(two, matrix(all, ROWS, OUT), matrix(x, ROWS, IN), &w, LINEAR_SET);
        backend_cpu.linear(one, matrix(y, ROWS, OUT), matrix(x, ROWS, IN), &w, LINEAR_SET);
        same_bits(y, all, ROWS * OUT, "one thread and two");
        for (int row = 0, n = 1; row < ROWS; row += n, n = 1 + n * 2 % 13) {
            n = MIN(n, ROWS - row);
            backend_cpu.linear(two, matrix(y, n, OUT), matrix(x + row * IN, n, IN), &w, LINEAR_SET);
            same_bits(y, all + row * OUT, n * OUT, "rows alone and among others");
        }
        backend_cpu.free(two, w.data);
        backend_cpu.close(one), backend_cpu.close(two);
        free(wf), free(x), free(all), free(y);
    }
}

/* In fp32 the sets differ only by rounding: each within the bound of a sum of K terms of the
 * portable one. */
static void test_sets_agree(void **state)
{
    enum { ROWS = 7, IN = 896, OUT = 112 };
    float *x = rand_f32(ROWS * IN, 1), *ref = rand_f32(ROWS * OUT, 0), *y = rand_f32(ROWS * OUT, 0),
          *wf;

    EACH_ISA(isa)
    {
        struct device *d = device_of(isa, "fp32", 2);
        uint64_t seed = rand_state;
        struct weight w;

        rand_state = 12345;
        w = rand_weight(d, DT_BF16, OUT, IN, &wf);
        rand_state = seed;
        backend_cpu.linear(d, matrix(isa ? y : ref, ROWS, OUT), matrix(x, ROWS, IN), &w,
                           LINEAR_SET);
        for (int i = 0; isa && i < ROWS * OUT; i++) {
            double scale;

            ref_dot(x + i / OUT * IN, wf + i % OUT * IN, IN, isa, 0, DT_BF16, 0, &scale);
            close_to(y[i], ref[i], 32 * ULP_F32, scale, "set and c", i);
        }
        backend_cpu.free(d, w.data);
        backend_cpu.close(d);
        free(wf);
    }
    free(x), free(ref), free(y);
}

static void test_options(void **state)
{
    struct device_opts o = {.precision = "fp16"};
    struct device_info info;
    struct device *d;

    assert_int_equal(backend_cpu.open(&d, &o), RECTO_EUSAGE);
    assert_null(d);
    o = (struct device_opts){.kernels = "sse9"};
    assert_int_equal(backend_cpu.open(&d, &o), RECTO_EUSAGE);
    o = (struct device_opts){.kernels = "c", .precision = "auto", .threads = 2};
    assert_int_equal(backend_cpu.open(&d, &o), 0);
    backend_cpu.info(d, &info);
    assert_string_equal(info.kernels, "c");
    assert_string_equal(info.precision, "bf16");
    assert_int_equal(info.threads, 2);
    assert_int_equal(info.act, DT_F32);
    backend_cpu.close(d);
    backend_cpu.close(NULL);
}

static void test_alloc(void **state)
{
    static const size_t sizes_of[] = {0, 1, 63, 64, 4097, (1 << 20) - 64, 1 << 20, 5 << 20};
    struct device *d = device_of(0, "fp32", 1);
    void *p;

    for (size_t i = 0; i < COUNT(sizes_of); i++) {
        assert_int_equal(backend_cpu.alloc(d, sizes_of[i], &p), 0);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, sizes_of[i]);
        backend_cpu.free(d, p);
    }
    assert_int_equal(backend_cpu.alloc(d, SIZE_MAX - 4096, &p), RECTO_ENOMEM);
    backend_cpu.free(d, NULL);
    backend_cpu.close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),     cmocka_unit_test(test_pack),
        cmocka_unit_test(test_swiglu),     cmocka_unit_test(test_rows_alone),
        cmocka_unit_test(test_sets_agree), cmocka_unit_test(test_options),
        cmocka_unit_test(test_alloc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
