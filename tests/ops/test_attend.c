/* Attention against a direct softmax in double precision, for every kernel set and precision,
 * and its equalities: block of 16 = block of 64, chunked = whole, alone = among others, one
 * thread = two.
 *
 * Tolerances.  fp32: scores of up to 64 terms and sums over up to 300 keys, 3e-5 of the largest
 * value.  bf16 cache: the reference sees the rounded keys and values, so the same holds where
 * queries stay fp32.  Where products take bf16 inputs, queries and weights are rounded too: 2^-9
 * of a weight, and 2^-9 of each term of a score, together under 2^-6. */
#include "ops.h"

static const char *const precisions[] = {"fp32", "bf16"};

#define EACH_DEVICE(isa, prec) EACH_ISA(isa) for (int prec = 0; prec < 2; prec++)

static double tolerance(int isa, int prec)
{
    return rounds_inputs(isa, precisions[prec]) ? 0x1p-6 : 3e-5;
}

static double cached(float x, int prec)
{
    return prec ? to_bf16(x) : x;
}

/* One query: keys i of n with bias[i] (NULL: 0), k and v rows at stride; out [hd] */
static void ref_attend(double *out, const float *q, const float *const *k, const float *const *v,
                       const double *bias, int n, int hd, int prec)
{
    double *p = malloc((size_t)n * sizeof *p), max = -INFINITY, sum = 0;

    for (int i = 0; i < n; i++) {
        p[i] = bias ? bias[i] : 0;
        for (int c = 0; c < hd; c++)
            p[i] += q[c] * cached(k[i][c], prec) / sqrt(hd);
        max = fmax(max, p[i]);
    }
    for (int i = 0; i < n; i++)
        sum += p[i] = exp(p[i] - max);
    for (int c = 0; c < hd; c++) {
        out[c] = 0;
        for (int i = 0; i < n; i++)
            out[c] += p[i] / sum * cached(v[i][c], prec);
    }
    free(p);
}

/* Values are of rms 1: the tolerance is relative to 3. */
static void check_row(const float *got, const double *want, int hd, double tol, const char *what,
                      int64_t at)
{
    for (int c = 0; c < hd; c++)
        close_to(got[c], want[c], tol, 3, what, at * hd + c);
}

/* ---- SAM ------------------------------------------------------------------------------------- */
struct sam {
    int views, grid, window, heads, hd;
};

static double ref_bias(const float *q, const float *rel, int at, int hd)
{
    double s = 0;

    for (int c = 0; c < hd; c++)
        s += (double)q[c] * rel[at * hd + c];
    return s;
}

/* The bias rows of padded tokens: k and v parts of qkv_bias. */
static void ref_relpos(double *out, const struct sam *s, const float *qkv, const float *bias,
                       const float *rel_h, const float *rel_w, int view, int head, int token,
                       int prec)
{
    int g = s->grid, K = s->window ? s->window : g, C = s->heads * s->hd, y = token / g,
        x = token % g;
    int y0 = y / K * K, x0 = x / K * K, n = K * K;
    const float **k = malloc((size_t)n * sizeof *k), **v = malloc((size_t)n * sizeof *v);
    double *b = malloc((size_t)n * sizeof *b);
    const float *q = qkv + ((int64_t)view * g * g + token) * 3 * C + head * s->hd;

    for (int i = 0; i < n; i++) {
        int ky = y0 + i / K, kx = x0 + i % K;
        bool is_inside = ky < g && kx < g;

        k[i] = is_inside ? qkv + ((int64_t)view * g * g + ky * g + kx) * 3 * C + C + head * s->hd
                         : bias + C + head * s->hd;
        v[i] = k[i] + C;
        b[i] = ref_bias(q, rel_h, y - ky + K - 1, s->hd) +
               ref_bias(q, rel_w, x - kx + K - 1, s->hd);
    }
    ref_attend(out, q, k, v, b, n, s->hd, prec);
    free(k), free(v), free(b);
}

static void check_relpos(struct device *d, int isa, int prec, struct sam s, bool is_whole)
{
    int g2 = s.grid * s.grid, C = s.heads * s.hd, K = s.window ? s.window : s.grid,
        rows = s.views * g2;
    float *qkv = rand_f32((int64_t)rows * 3 * C, 1), *bias = rand_f32(3 * C, 1),
          *out = rand_f32((int64_t)rows * C, 0);
    float *rh = rand_f32((2 * K - 1) * s.hd, 0.2), *rw = rand_f32((2 * K - 1) * s.hd, 0.2),
          *again = same_f32(out, (int64_t)rows * C);
    double want[MAX(256, 1)];
    int step = is_whole ? 1 : 97;

    assert_int_equal(backend_cpu.attend_relpos(d, matrix(out, rows, C), matrix(qkv, rows, 3 * C),
                                               bias, matrix(rh, 2 * K - 1, s.hd),
                                               matrix(rw, 2 * K - 1, s.hd), s.grid, s.window,
                                               s.heads),
                     0);
    for (int i = 0; i < rows * s.heads; i += step) {
        int row = i / s.heads, head = i % s.heads;

        ref_relpos(want, &s, qkv, bias, rh, rw, row / g2, head, row % g2, prec);
        check_row(out + (int64_t)row * C + head * s.hd, want, s.hd, tolerance(isa, prec), "relpos",
                  i);
    }
    for (int v = 0; v < s.views; v++) /* each view alone: the same bits */
        backend_cpu.attend_relpos(d, matrix(again + (int64_t)v * g2 * C, g2, C),
                                  matrix(qkv + (int64_t)v * g2 * 3 * C, g2, 3 * C), bias,
                                  matrix(rh, 2 * K - 1, s.hd), matrix(rw, 2 * K - 1, s.hd), s.grid,
                                  s.window, s.heads);
    same_bits(again, out, (int64_t)rows * C, "views alone and together");
    free(qkv), free(bias), free(out), free(rh), free(rw), free(again);
}

static void test_relpos(void **state)
{
    static const struct sam shape[] = {
        {2, 6, 0, 2, 16},   {1, 17, 0, 1, 16}, {2, 6, 4, 2, 16},   {1, 8, 4, 3, 32},
        {1, 20, 14, 2, 64}, {1, 5, 14, 1, 16}, {1, 16, 16, 1, 64}, {1, 18, 17, 1, 16},
    };

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);

        for (size_t i = 0; i < COUNT(shape); i++)
            check_relpos(d, isa, prec, shape[i], true);
        if (isa == (int)cpu_isa_present()) {
            check_relpos(d, isa, prec, (struct sam){1, 48, 0, 1, 64}, false);
            check_relpos(d, isa, prec, (struct sam){1, 48, 14, 2, 64}, false);
        }
        backend_cpu.close(d);
    }
}

/* ---- flow encoder ---------------------------------------------------------------------------- */
struct flow {
    int views, len, prefix, heads, kv, hd;
};

/* Queries, keys and values as columns of one matrix, as the model has them. */
static float *columns_of(int rows, int q_width, const float *q, int width, const float *k,
                         const float *v)
{
    int all = q_width + 2 * width;
    float *qkv = rand_f32((int64_t)rows * all, 0);

    for (int r = 0; r < rows; r++) {
        memcpy(qkv + r * all, q + r * q_width, (size_t)q_width * sizeof *q);
        memcpy(qkv + r * all + q_width, k + r * width, (size_t)width * sizeof *k);
        memcpy(qkv + r * all + q_width + width, v + r * width, (size_t)width * sizeof *v);
    }
    return qkv;
}

static void check_prefix(struct device *d, int isa, int prec, struct flow f)
{
    int rows = f.views * f.len, QW = f.heads * f.hd, KW = f.kv * f.hd;
    float *q = rand_f32(rows * QW, 2), *k = rand_f32(rows * KW, 2), *v = rand_f32(rows * KW, 1),
          *out = rand_f32(rows * QW, 0);
    float *qkv = columns_of(rows, QW, q, KW, k, v);
    tensor all = matrix(qkv, rows, QW + 2 * KW);
    const float **kr = malloc((size_t)f.len * sizeof *kr),
                **vr = malloc((size_t)f.len * sizeof *vr);
    double want[256];

    assert_int_equal(backend_cpu.attend_prefix(d, matrix(out, rows, QW), tensor_cols(all, 0, QW),
                                               tensor_cols(all, QW, KW),
                                               tensor_cols(all, QW + KW, KW), f.len, f.prefix,
                                               f.heads, f.kv),
                     0);
    for (int i = 0; i < rows * f.heads; i++) {
        int row = i / f.heads, head = i % f.heads, at = row % f.len,
            n = at < f.prefix ? f.prefix : at + 1;

        for (int j = 0; j < n; j++) {
            kr[j] = k + (row - at + j) * KW + head / (f.heads / f.kv) * f.hd;
            vr[j] = v + (row - at + j) * KW + head / (f.heads / f.kv) * f.hd;
        }
        ref_attend(want, q + row * QW + head * f.hd, kr, vr, NULL, n, f.hd, prec);
        check_row(out + row * QW + head * f.hd, want, f.hd, 2 * tolerance(isa, prec), "prefix", i);
    }
    free(q), free(k), free(v), free(qkv), free(out), free(kr), free(vr);
}

static void test_prefix(void **state)
{
    static const struct flow shape[] = {
        {2, 8, 4, 4, 2, 16},  {1, 288, 144, 2, 1, 64}, {1, 100, 50, 7, 1, 16},
        {3, 17, 9, 2, 2, 32}, {1, 1, 0, 1, 1, 16},     {1, 70, 70, 1, 1, 80},
    };

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);

        for (size_t i = 0; i < COUNT(shape); i++)
            check_prefix(d, isa, prec, shape[i]);
        backend_cpu.close(d);
    }
}

static void test_head_dim(void **state)
{
    struct device *d = device_of(0, "fp32", 1);
    float x[64] = {0};

    assert_int_equal(backend_cpu.attend_prefix(d, matrix(x, 1, 24), matrix(x, 1, 24),
                                               matrix(x, 1, 24), matrix(x, 1, 24), 1, 1, 1, 1),
                     RECTO_ESHAPE);
    backend_cpu.close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relpos),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_head_dim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
