/* The inner kernels of each instruction set: accuracy against double precision, agreement
 * between sets, and sums whose order does not depend on how many rows there are. */
#include "ops.h"

static void each_kern(void (*check)(const struct cpu_kern *k, int isa))
{
    EACH_ISA(isa)
    {
        struct cpu_kern k;

        cpu_kern_init(&k, (enum cpu_isa)isa);
        assert_string_equal(k.name, cpu_isa_name((enum cpu_isa)isa));
        check(&k, isa);
    }
}

/* ---- e^x, gelu, silu ------------------------------------------------------------------------- */
static void check_exp(const struct cpu_kern *k, int isa)
{
    float x[1024], y[1024];
    double worst = 0;

    for (int pass = 0; pass < 200; pass++) {
        for (int i = 0; i < 1024; i++)
            x[i] = -87.0f + 175.0f * (float)rand_u32() / 4294967296.0f;
        k->exp(y, x, 1024);
        for (int i = 0; i < 1024; i++)
            worst = fmax(worst, ulps(y[i], exp((double)x[i])));
    }
    assert_true(worst <= 2.0);
    memcpy(x, (float[]){0, -INFINITY, -88, -1e30f, 100, INFINITY, NAN, -0.0f}, 8 * sizeof *x);
    k->exp(y, x, 8);
    assert_true(y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 0 && y[7] == 1 && isnan(y[6]));
    assert_true(y[4] > 1e38f && y[4] == y[5] && isfinite(y[5])); /* saturates */
}

static void test_exp(void **state)
{
    each_kern(check_exp);
}

static double gelu_erf(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* Relative: the fit's 2e-8, five ulp of the polynomial, e^x and their product, and x^2 / 2
 * rounded in the exponent, which counts x^2 / 2 ulp.  Absolute: 3e-7 of x. */
static void check_gelu(const struct cpu_kern *k, int isa)
{
    static float x[40001], y[40001];
    double worst_tanh = 0;

    for (int i = 0; i <= 40000; i++)
        x[i] = (float)(i - 20000) / 2000.0f; /* -10 .. 10 */
    k->gelu(y, x, 40001);
    for (int i = 0; i <= 40000; i++) {
        double want = gelu_erf(x[i]);

        close_to(y[i], want, ULP_F32, fabs(want) * (5 + 0.5 * (double)x[i] * x[i]), "gelu", i);
        close_to(y[i], want, 3e-7, fabs((double)x[i]), "gelu", i);
        worst_tanh = fmax(worst_tanh, fabs(y[i] - gelu_tanh(x[i])));
    }
    assert_true(worst_tanh > 2e-4); /* the tanh form is that far away: it would not pass above */
}

static void check_gelu_small(const struct cpu_kern *k, int isa)
{
    float *x = rand_f32(1003, 1e-3), *y = rand_f32(1003, 0);

    k->gelu(y, x, 1003);
    for (int i = 0; i < 1003; i++)
        assert_true(ulps(y[i], gelu_erf(x[i])) <= 8);
    memcpy(x, (float[]){0, 1e30f, -1e30f, 1e-30f, NAN}, 5 * sizeof *x);
    k->gelu(y, x, 5);
    assert_true(y[0] == 0 && y[1] == 1e30f && y[2] == 0 && y[3] == 0.5e-30f && isnan(y[4]));
    free(x);
    free(y);
}

static void test_gelu(void **state)
{
    each_kern(check_gelu);
    each_kern(check_gelu_small);
}

static void check_swiglu(const struct cpu_kern *k, int isa)
{
    enum { N = 5000 };
    float *g = rand_f32(N, 4), *u = rand_f32(N, 1), *y = rand_f32(N, 0);

    memcpy(g, (float[]){0, 50, -50, 200, -200, 1e4f, -1e4f}, 7 * sizeof *g);
    k->swiglu(y, g, u, N);
    for (int i = 0; i < N; i++)
        close_to(y[i], g[i] / (1 + exp(-(double)g[i])) * u[i], 4 * ULP_F32, fabs(y[i]) + 1e-27,
                 "swiglu", i);
    k->swiglu(g, g, u, N); /* in place */
    same_bits(g, y, N, "swiglu in place");
    free(g);
    free(u);
    free(y);
}

static void test_swiglu(void **state)
{
    each_kern(check_swiglu);
}

/* ---- norms ----------------------------------------------------------------------------------- */
static void ref_norm(double *y, const float *x, const float *w, const float *b, int n, double eps,
                     bool has_mean)
{
    double mean = 0, sq = 0;

    for (int i = 0; i < n && has_mean; i++)
        mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        sq += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (x[i] - mean) / sqrt(sq + eps) * w[i] + (b ? b[i] : 0);
}

/* Relative to the largest output: the mean's rounding is shared by the row. 8 ulp: five
 * roundings an output and the sum's. */
static void norm_close(const float *got, const double *want, int n, const char *what)
{
    double top = 0;

    for (int i = 0; i < n; i++)
        top = fmax(top, fabs(want[i]));
    for (int i = 0; i < n; i++)
        close_to(got[i], want[i], 8 * ULP_F32, top, what, i);
}

static void check_norms(const struct cpu_kern *k, int isa)
{
    static const int width[] = {1, 3, 16, 64, 80, 320, 768, 896, 1280};
    static const double rms[] = {1e-3, 1, 1e4, 1e-12};
    double want[1280];

    for (size_t i = 0; i < COUNT(width) * COUNT(rms); i++) {
        int n = width[i / COUNT(rms)];
        float *x = rand_f32(n, rms[i % COUNT(rms)]), *w = rand_f32(n, 1), *b = rand_f32(n, 1),
              *y = rand_f32(n, 0);

        ref_norm(want, x, w, NULL, n, 1e-6f, false);
        k->rmsnorm(y, x, w, n, 1e-6f);
        norm_close(y, want, n, "rmsnorm");
        ref_norm(want, x, w, b, n, 1e-6f, true);
        k->layernorm(y, x, w, b, n, 1e-6f);
        norm_close(y, want, n, "layernorm");
        free(x), free(w), free(b), free(y);
    }
}

static void test_norms(void **state)
{
    each_kern(check_norms);
}

/* At rms 1e-3, mean x^2 is 1e-6: the epsilon decides the result, and a wrong one is no rounding
 * matter. */
static void check_eps(const struct cpu_kern *k, int isa)
{
    float *x = rand_f32(896, 1e-3), *one = rand_f32(896, 0), *a = rand_f32(896, 0),
          *b = rand_f32(896, 0);
    double want[896];

    for (int i = 0; i < 896; i++)
        one[i] = 1;
    k->rmsnorm(a, x, one, 896, 1e-6f);
    k->rmsnorm(b, x, one, 896, 1e-5f);
    ref_norm(want, x, one, NULL, 896, 1e-6f, false);
    for (int i = 0; i < 896; i++)
        if (fabs(want[i]) > 0.1)
            assert_true(fabs(b[i] - want[i]) > 1e5 * 8 * ULP_F32 * fabs(want[i]) &&
                        fabs(a[i] - want[i]) < 1e-5);
    free(x), free(one), free(a), free(b);
}

static void test_eps(void **state)
{
    each_kern(check_eps);
}

/* ---- rounding -------------------------------------------------------------------------------- */
static void check_round(const struct cpu_kern *k, int isa)
{
    enum { N = 4099 };
    float *x = rand_f32(N, 1);
    uint16_t y[N];

    memcpy(
        x,
        (float[]){0, -0.0f, INFINITY, -INFINITY, 1.00390625f, 1.01171875f, 3.4e38f, NAN, 65280.0f},
        9 * sizeof *x);
    for (int i = 9; i < N / 2; i++) { /* any bits, exponents from 1 up */
        uint32_t u = rand_u32();

        u = (u & 0x7F800000) ? u : u | 0x00800000;
        memcpy(x + i, &u, sizeof u);
    }
    k->round_bf16(y, x, N);
    for (int i = 0; i < N; i++)
        if (isnan(x[i]))
            assert_true(isnan(bf16_to_f32(y[i])));
        else
            assert_int_equal(y[i], f32_to_bf16(x[i]));
    free(x);
}

static void test_round(void **state)
{
    each_kern(check_round);
}

/* ---- products -------------------------------------------------------------------------------- */
enum { K_MAX = 321, ROWS_MAX = 41, COLS = MUL_PANELS * PANEL };

struct mul_case {
    float *x, *w, *y0;         /* exact values: [rows][k], [k][COLS], [rows][COLS] */
    float *w_f32;              /* panels */
    uint16_t *w_bf16, *x_bf16; /* panels; rows of k rounded up to even */
    int k, k_even;
};

static struct mul_case mul_case_make(int k, double rms)
{
    struct mul_case c = {.k = k, .k_even = (k + 1) / 2 * 2};

    c.x = rand_f32(ROWS_MAX * k, rms);
    c.w = rand_f32(k * COLS, rms);
    c.y0 = rand_f32(ROWS_MAX * COLS, rms * rms);
    c.w_f32 = rand_f32(k * COLS, 0);
    c.w_bf16 = rand_bf16(c.k_even * COLS, 0);
    c.x_bf16 = rand_bf16(ROWS_MAX * c.k_even, 0);
    for (int i = 0; i < ROWS_MAX * k; i++) {
        c.x[i] = to_bf16(c.x[i]);
        c.x_bf16[i / k * c.k_even + i % k] = f32_to_bf16(c.x[i]);
    }
    for (int i = 0; i < k * COLS; i++) {
        int row = i / COLS, panel = i % COLS / PANEL, col = i % PANEL;

        c.w[i] = to_bf16(c.w[i]);
        c.w_f32[(panel * k + row) * PANEL + col] = c.w[i];
        c.w_bf16[panel * c.k_even * PANEL + row / 2 * 2 * PANEL + 2 * col + row % 2] = f32_to_bf16(
            c.w[i]);
    }
    return c;
}

static void mul_case_free(struct mul_case *c)
{
    free(c->x), free(c->w), free(c->y0), free(c->w_f32), free(c->w_bf16), free(c->x_bf16);
}

/* kind 0: ff, 1: fb, 2: bb */
static void mul_run(const struct cpu_kern *k, const struct mul_case *c, int kind, float *y, int row,
                    int rows, int n_panel, bool add)
{
    int stride = kind == 2 ? c->k_even : c->k;
    struct mul m = {.y = y,
                    .x = kind == 2 ? (void *)(c->x_bf16 + row * stride)
                                   : (void *)(c->x + row * stride),
                    .w = kind ? (void *)c->w_bf16 : (void *)c->w_f32,
                    .y_stride = COLS,
                    .x_stride = stride,
                    .w_stride = (kind ? c->k_even : c->k) * PANEL,
                    .k = stride,
                    .rows = rows,
                    .n_panel = n_panel,
                    .add = add};

    (kind == 0 ? k->mul_ff : kind == 1 ? k->mul_fb : k->mul_bb)(&m);
}

static void mul_check(const struct mul_case *c, const float *y, int row, int n_panel, bool add)
{
    for (int j = 0; j < n_panel * PANEL; j++) {
        double want = add ? c->y0[row * COLS + j] : 0, scale = fabs(want);

        for (int k = 0; k < c->k; k++) {
            want += (double)c->x[row * c->k + k] * c->w[k * COLS + j];
            scale += fabs((double)c->x[row * c->k + k] * c->w[k * COLS + j]);
        }
        close_to(y[j], want, (c->k + 1) * ULP_F32 / 2, scale, "mul", j);
    }
}

static void check_mul(const struct cpu_kern *k, int isa)
{
    static const int sizes[] = {1, 2, 7, 16, 64, K_MAX};
    static const double rms[] = {1, 1e-8, 1e8};

    for (size_t i = 0; i < COUNT(sizes) * COUNT(rms); i++) {
        struct mul_case c = mul_case_make(sizes[i / COUNT(rms)], rms[i % COUNT(rms)]);
        float all[ROWS_MAX * COLS], part[ROWS_MAX * COLS];

        for (int v = 0; v < 6; v++) {
            int kind = v / 2;
            bool add = v % 2;

            memcpy(all, c.y0, sizeof all);
            mul_run(k, &c, kind, all, 0, ROWS_MAX, MUL_PANELS, add);
            for (int rows = 1; rows <= 8; rows++)
                for (int n_panel = 1; n_panel <= MUL_PANELS; n_panel++) {
                    int row = ROWS_MAX - rows;

                    memcpy(part, c.y0 + row * COLS, (size_t)(rows * COLS) * sizeof *part);
                    mul_run(k, &c, kind, part, row, rows, n_panel, add);
                    for (int r = 0; r < rows; r++) {
                        same_bits(part + r * COLS, all + (row + r) * COLS, n_panel * PANEL,
                                  "mul, fewer rows");
                        for (int j = n_panel * PANEL; j < COLS;
                             j++) /* and nothing beyond its panels */
                            assert_true(part[r * COLS + j] == c.y0[(row + r) * COLS + j]);
                    }
                }
            for (int row = 0; row < ROWS_MAX; row++)
                mul_check(&c, all + row * COLS, row, MUL_PANELS, add);
        }
        mul_case_free(&c);
    }
}

static void test_mul(void **state)
{
    each_kern(check_mul);
}

/* Splitting the sum in two calls, the second adding, gives the bits of one call: attention over
 * pages relies on it.  Sums of mul_bb are split where the set allows it. */
static void check_mul_split(const struct cpu_kern *k, int isa)
{
    struct mul_case c = mul_case_make(64, 1);

    for (int kind = 0; kind < 3; kind++) {
        float whole[ROWS_MAX * COLS], split[ROWS_MAX * COLS];

        mul_run(k, &c, kind, whole, 0, 5, 4, false);
        int part = kind == 2 ? MAX(16, k->mul_step) : 16;

        for (int at = 0; at < 64; at += part) {
            struct mul m = {.y = split,
                            .x = kind == 2 ? (void *)(c.x_bf16 + at) : (void *)(c.x + at),
                            .w = kind ? (void *)(c.w_bf16 + at * PANEL)
                                      : (void *)(c.w_f32 + at * PANEL),
                            .y_stride = COLS,
                            .x_stride = 64,
                            .w_stride = 64 * PANEL,
                            .k = part,
                            .rows = 5,
                            .n_panel = 4,
                            .add = at > 0};

            (kind == 0 ? k->mul_ff : kind == 1 ? k->mul_fb : k->mul_bb)(&m);
        }
        same_bits(split, whole, 5 * COLS, "mul in four parts");
    }
    mul_case_free(&c);
}

static void test_mul_split(void **state)
{
    each_kern(check_mul_split);
}

/* ---- between sets ---------------------------------------------------------------------------- */
/* The row kernels are one source: AVX2 and AVX-512 must agree in every bit, portable C within
 * the roundings that FMA saves. */
static void check_same_as_c(const struct cpu_kern *k, int isa)
{
    enum { N = 896 };
    static struct cpu_kern avx2;
    float *x = rand_f32(N, 2), *w = rand_f32(N, 1), *c = rand_f32(N, 0), *y = rand_f32(N, 0),
          *z = rand_f32(N, 0);
    uint64_t seed = rand_state;

    if (isa >= ISA_AVX2)
        cpu_kern_init(&avx2, ISA_AVX2);
    for (int op = 0; op < 5; op++) {
        const struct cpu_kern *set[] = {&cpu_kern_c, k, &avx2};
        float *out[] = {c, y, z};

        for (int i = 0; i < (isa >= ISA_AVX2 ? 3 : 2); i++)
            if (op == 0)
                set[i]->exp(out[i], x, N);
            else if (op == 1)
                set[i]->gelu(out[i], x, N);
            else if (op == 2)
                set[i]->swiglu(out[i], x, w, N);
            else if (op == 3)
                set[i]->rmsnorm(out[i], x, w, N, 1e-6f);
            else
                set[i]->layernorm(out[i], x, w, w, N, 1e-6f);
        if (isa >= ISA_AVX2)
            same_bits(y, z, N, "set and avx2");
        for (int i = 0; i < N; i++)
            close_to(y[i], c[i], 8 * ULP_F32, fmax(fabs(c[i]), op == 4 ? 4 : 0), "set and c", i);
    }
    assert_true(rand_state == seed);
    free(x), free(w), free(c), free(y), free(z);
}

static void test_sets_agree(void **state)
{
    each_kern(check_same_as_c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_swiglu),     cmocka_unit_test(test_norms),
        cmocka_unit_test(test_eps),        cmocka_unit_test(test_round),
        cmocka_unit_test(test_mul),        cmocka_unit_test(test_mul_split),
        cmocka_unit_test(test_sets_agree),
    };

    printf("kernel sets: c to %s\n", cpu_isa_name(cpu_isa_present()));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
