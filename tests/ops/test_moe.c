/* Mixture of experts against a loop over picked experts in double precision, and rows alone =
 * among others. */
#include "ops.h"

enum { HIDDEN = 80, WIDE = 48, SHARED_WIDE = 96, N_EXPERT = 9, N_PICK = 3, ROWS = 37 };

static const char *const precisions[] = {"fp32", "bf16"};

struct layer {
    struct moe m;
    struct weight gate[N_EXPERT], up[N_EXPERT], down[N_EXPERT];
    float *router, *gate_f[N_EXPERT + 1], *up_f[N_EXPERT + 1],
        *down_f[N_EXPERT + 1]; /* last: shared */
};

static void layer_open(struct device *d, struct layer *l, enum dtype t)
{
    *l = (struct layer){
        .m = {
            .n_expert = N_EXPERT, .n_pick = N_PICK, .gate = l->gate, .up = l->up, .down = l->down}};
    l->m.router = rand_weight(d, DT_F32, N_EXPERT, HIDDEN, &l->router);
    for (int e = 0; e < N_EXPERT; e++) {
        l->gate[e] = rand_weight(d, t, WIDE, HIDDEN, &l->gate_f[e]);
        l->up[e] = rand_weight(d, t, WIDE, HIDDEN, &l->up_f[e]);
        l->down[e] = rand_weight(d, t, HIDDEN, WIDE, &l->down_f[e]);
    }
    l->m.shared_gate = rand_weight(d, t, SHARED_WIDE, HIDDEN, &l->gate_f[N_EXPERT]);
    l->m.shared_up = rand_weight(d, t, SHARED_WIDE, HIDDEN, &l->up_f[N_EXPERT]);
    l->m.shared_down = rand_weight(d, t, HIDDEN, SHARED_WIDE, &l->down_f[N_EXPERT]);
}

static void layer_close(struct device *d, struct layer *l)
{
    for (int e = 0; e < N_EXPERT; e++) {
        backend_cpu.free(d, l->gate[e].data);
        backend_cpu.free(d, l->up[e].data);
        backend_cpu.free(d, l->down[e].data);
    }
    backend_cpu.free(d, l->m.router.data);
    backend_cpu.free(d, l->m.shared_gate.data);
    backend_cpu.free(d, l->m.shared_up.data);
    backend_cpu.free(d, l->m.shared_down.data);
    for (int e = 0; e <= N_EXPERT; e++)
        free(l->gate_f[e]), free(l->up_f[e]), free(l->down_f[e]);
    free(l->router);
}

static double dot(const float *w, const double *x, int n)
{
    double s = 0;

    for (int i = 0; i < n; i++)
        s += w[i] * x[i];
    return s;
}

/* y += share * down(silu(gate h) * (up h)) */
static void ref_expert(double *y, const struct layer *l, int e, const double *h, double share)
{
    double mid[SHARED_WIDE];
    int wide = e == N_EXPERT ? SHARED_WIDE : WIDE;

    for (int i = 0; i < wide; i++) {
        double g = dot(l->gate_f[e] + i * HIDDEN, h, HIDDEN);

        mid[i] = g / (1 + exp(-g)) * dot(l->up_f[e] + i * HIDDEN, h, HIDDEN);
    }
    for (int i = 0; i < HIDDEN; i++)
        y[i] += share * dot(l->down_f[e] + i * wide, mid, wide);
}

static void ref_moe(double *y, const struct layer *l, const float *row, bool is_router_bf16)
{
    double h[HIDDEN], p[N_EXPERT], max = -INFINITY, sum = 0;

    for (int i = 0; i < HIDDEN; i++)
        h[i] = is_router_bf16 ? to_bf16(row[i]) : row[i];
    for (int e = 0; e < N_EXPERT; e++) {
        p[e] = 0;
        for (int i = 0; i < HIDDEN; i++)
            p[e] += h[i] * (is_router_bf16 ? to_bf16(l->router[e * HIDDEN + i])
                                           : l->router[e * HIDDEN + i]);
        p[e] = is_router_bf16 ? to_bf16((float)p[e]) : p[e];
        max = fmax(max, p[e]);
    }
    for (int e = 0; e < N_EXPERT; e++)
        sum += p[e] = exp(p[e] - max);
    for (int i = 0; i < HIDDEN; i++)
        h[i] = row[i];
    for (int n = 0; n < N_PICK; n++) {
        int at = 0;

        for (int e = 1; e < N_EXPERT; e++)
            at = p[e] > p[at] ? e : at;
        ref_expert(y, l, at, h, p[at] / sum);
        p[at] = -1;
    }
    ref_expert(y, l, N_EXPERT, h, 1);
}

/* fp32: 200 roundings of sums of order 1; with bf16 inputs 2^-8 of each of two products' terms,
 * added at random; with quantised ones 2^-16 of a group's largest, about 3. */
static void check_moe(int isa, const char *precision, enum dtype t, bool is_router_bf16)
{
    struct device_opts o = {.precision = precision,
                            .kernels = cpu_isa_name((enum cpu_isa)isa),
                            .threads = 2,
                            .router_bf16 = is_router_bf16};
    struct device *d;
    struct layer l;
    float *h = rand_f32(ROWS * HIDDEN, 1), *y0 = rand_f32(ROWS * HIDDEN, 1),
          *y = same_f32(y0, ROWS * HIDDEN), *one = same_f32(y0, ROWS * HIDDEN);
    bool is_quant = t == DT_I8 || t == DT_U8;
    double tol = t == DT_BF16 && rounds_inputs(isa, precision) ? 0x1p-6 : is_quant ? 0x1p-12 : 1e-5;

    assert_int_equal(backend_cpu.open(&d, &o), 0);
    layer_open(d, &l, t);
    assert_int_equal(backend_cpu.moe_add(d, matrix(y, ROWS, HIDDEN), matrix(h, ROWS, HIDDEN), &l.m),
                     0);
    for (int r = 0; r < ROWS; r++) {
        double want[HIDDEN];

        for (int i = 0; i < HIDDEN; i++)
            want[i] = y0[r * HIDDEN + i];
        ref_moe(want, &l, h + r * HIDDEN, is_router_bf16);
        for (int i = 0; i < HIDDEN; i++)
            close_to(y[r * HIDDEN + i], want[i], tol, 1 + fabs(want[i]), "moe", r * HIDDEN + i);
        backend_cpu.moe_add(d, matrix(one + r * HIDDEN, 1, HIDDEN),
                            matrix(h + r * HIDDEN, 1, HIDDEN), &l.m);
    }
    same_bits(one, y, ROWS * HIDDEN, "rows alone and together");
    layer_close(d, &l);
    backend_cpu.close(d);
    free(h), free(y0), free(y), free(one);
}

static void test_moe(void **state)
{
    EACH_ISA(isa)
    {
        for (int i = 0; i < 4; i++)
            check_moe(isa, precisions[i % 2], i / 2 ? DT_BF16 : DT_F32, false);
        check_moe(isa, "bf16", DT_F32, true);
        check_moe(isa, "bf16", DT_I8, false);
        check_moe(isa, "bf16", DT_U8, false);
    }
}

/* Equal logits: the lowest ids, in order.  Every expert adds a vector of its own. */
static void test_ties(void **state)
{
    struct device *d = device_of((int)cpu_isa_present(), "fp32", 2);
    struct layer l;
    float h[HIDDEN], y[HIDDEN] = {0}, *zero = rand_f32(N_EXPERT * HIDDEN, 0);
    double want[HIDDEN] = {0};

    layer_open(d, &l, DT_F32);
    backend_cpu.free(d, l.m.router.data);
    assert_int_equal(backend_cpu.pack(d, &l.m.router, zero, DT_F32, N_EXPERT, HIDDEN, true), 0);
    memset(l.router, 0, N_EXPERT * HIDDEN * sizeof *l.router);
    for (int i = 0; i < HIDDEN; i++)
        h[i] = rand_normal();
    backend_cpu.moe_add(d, matrix(y, 1, HIDDEN), matrix(h, 1, HIDDEN), &l.m);
    ref_moe(want, &l, h, false);
    for (int i = 0; i < HIDDEN; i++)
        close_to(y[i], want[i], 1e-5, 1, "ties", i);
    layer_close(d, &l);
    backend_cpu.close(d);
    free(zero);
}

static void test_refusals(void **state)
{
    struct device *d = device_of(0, "fp32", 1);
    struct layer l;
    float x[HIDDEN] = {0}, y[HIDDEN] = {0};

    layer_open(d, &l, DT_F32);
    l.up[3].kind = WEIGHT_BF16;
    assert_int_equal(backend_cpu.moe_add(d, matrix(y, 1, HIDDEN), matrix(x, 1, HIDDEN), &l.m),
                     RECTO_EMODEL);
    l.up[3].kind = WEIGHT_F32;
    l.m.n_pick = N_EXPERT + 1;
    assert_int_equal(backend_cpu.moe_add(d, matrix(y, 1, HIDDEN), matrix(x, 1, HIDDEN), &l.m),
                     RECTO_ESHAPE);
    layer_close(d, &l);
    backend_cpu.close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moe),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
