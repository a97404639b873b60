/* Speed of the CPU's ops at the model's shapes, beside the peaks of the same machine in the same
 * run.
 *
 *     bench_ops [KERNELS [PRECISION [THREADS [WEIGHTS]]]]      "auto" "auto" 0 "bf16"
 *
 * Every line: warm-up, then runs for about half a second: best, median and how far the median is
 * above the best, and GFLOP/s or GB/s at the best, since other programs can only slow a run down.
 * Peaks: backend/cpu/peak.c.  Weights that fit into the last level cache are read faster than that: of the
 * decode lines only lm_head (331 MB in bf16) is surely from memory. WEIGHTS (bf16, int8, int4) are
 * those of the decoder's lines; their shares are of the peak of bf16, or of int8. */
#include "backend/backend.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "tensor/quant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct backend *const be = &backend_cpu;
static struct device *dev;
static double peak_gflops, peak_quant, peak_gbs;
static enum weight_kind kind; /* of the decoder's matrices */

/* ---- timing ---------------------------------------------------------------------------------- */
typedef void run_fn(void *ctx);

struct timing {
    double best, median; /* seconds */
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct timing timed(run_fn *fn, void *ctx)
{
    enum { MOST = 2000 };
    double t[MOST];
    int n = 0;
    int64_t begin = clock_ns(), start;

    fn(ctx);
    do {
        start = clock_ns();
        fn(ctx);
        t[n++] = (double)(clock_ns() - start) / 1e9;
    } while (n < MOST && (n < 5 || clock_ms_since(begin) < 500));
    qsort(t, (size_t)n, sizeof *t, by_value);
    return (struct timing){t[0], t[n / 2]};
}

static void report(const char *name, run_fn *fn, void *ctx, double flop, double bytes)
{
    struct timing t = timed(fn, ctx);

    printf("%-44s %9.3f ms  median %9.3f  +%4.0f %%", name, t.best * 1e3, t.median * 1e3,
           100 * (t.median / t.best - 1));
    if (flop > 0)
        printf("  %6.1f GFLOP/s (%3.0f %% of peak)", flop / t.best / 1e9,
               100 * flop / t.best / 1e9 / peak_gflops);
    if (bytes > 0)
        printf("  %5.1f GB/s (%3.0f %%)", bytes / t.best / 1e9,
               100 * bytes / t.best / 1e9 / peak_gbs);
    printf("\n");
    fflush(stdout);
}

/* ---- peaks ----------------------------------------------------------------------------------- */
static void measure_peaks(void)
{
    struct device_peak p;

    if (be->measure_peak(dev, &p) < 0)
        exit(1);
    peak_gflops = p.product / 1e9;
    peak_quant = p.quantised / 1e9;
    peak_gbs = p.read / 1e9;
    printf("peak: %.0f GFLOP/s by bf16 weights, %.0f fp32, %.0f G/s int8; %.1f GB/s read\n",
           peak_gflops, p.product_f32 / 1e9, peak_quant, peak_gbs);
}

/* ---- data ------------------------------------------------------------------------------------ */
static float *numbers(int64_t n)
{
    void *p;
    float *f;

    if (be->alloc(dev, (size_t)n * sizeof *f, &p) < 0)
        exit(1);
    f = p;
    for (int64_t i = 0; i < n; i++)
        f[i] = (float)((i * 2654435761u >> 8) % 2048) / 1024.0f - 1.0f;
    return f;
}

static tensor rows_of(int64_t rows, int64_t width)
{
    return tensor_view(numbers(rows * width), DT_F32, 2, rows, width, 1, 1);
}

static void drop(tensor t)
{
    be->free(dev, t.data);
}

static struct weight weight_of(int64_t n_out, int64_t n_in, enum weight_kind as)
{
    uint16_t *h = malloc((size_t)(n_out * n_in) * sizeof *h);
    struct weight w = {0};

    for (int64_t i = 0; i < n_out * n_in; i++)
        h[i] = f32_to_bf16((float)((i * 2654435761u >> 8) % 2048) / 1024.0f - 1.0f);
    if (quant_is(as)
            ? be->pack_quant(dev, &w, &(struct quant_source){h, DT_BF16, NULL}, n_out, n_in, as) < 0
            : be->pack(dev, &w, h, DT_BF16, n_out, n_in, false) < 0)
        exit(1);
    free(h);
    return w;
}

/* ---- products -------------------------------------------------------------------------------- */
struct linear_run {
    tensor x, y;
    struct weight w, up;
    enum linear_mode mode;
};

static void run_linear(void *ctx)
{
    struct linear_run *r = ctx;

    if (r->up.data)
        be->linear_swiglu(dev, r->y, r->x, &r->w, &r->up);
    else
        be->linear(dev, r->y, r->x, &r->w, r->mode);
}

/* Those of the decoder are of the kind asked for. */
static void bench_linear(const char *what, int64_t rows, int64_t n_in, int64_t n_out,
                         enum linear_mode mode, bool is_swiglu)
{
    bool is_decoder = strncmp(what, "decoder", 7) == 0;
    enum weight_kind as = is_decoder ? kind : WEIGHT_BF16;
    struct linear_run r = {
        rows_of(rows, n_in), rows_of(rows, n_out), weight_of(n_out, n_in, as), {0}, mode};
    double flop = 2.0 * (double)rows * (double)n_in * (double)n_out * (is_swiglu ? 2 : 1);
    char name[64];

    if (is_swiglu)
        r.up = weight_of(n_out, n_in, as);
    snprintf(name, sizeof name, "%s [%lld, %lld] -> %lld", what, (long long)rows, (long long)n_in,
             (long long)n_out);
    report(name, run_linear, &r, rows > 8 ? flop : 0,
           rows > 8 ? 0 : (double)(r.w.bytes + r.up.bytes));
    drop(r.x), drop(r.y);
    be->free(dev, r.w.data), be->free(dev, r.up.data);
}

enum { EXPERTS = 64, PICKS = 6, HIDDEN = 1280, WIDE = 896 };

struct moe_run {
    tensor y, h;
    struct moe m;
};

static void run_moe(void *ctx)
{
    struct moe_run *r = ctx;

    be->moe_add(dev, r->y, r->h, &r->m);
}

/* The experts' router is random, so rows spread over all of them. */
static struct moe moe_of(void)
{
    static struct weight gate[EXPERTS], up[EXPERTS], down[EXPERTS];
    struct moe m = {.n_expert = EXPERTS, .n_pick = PICKS, .gate = gate, .up = up, .down = down};
    float *router = numbers(EXPERTS * HIDDEN);

    for (int e = 0; e < EXPERTS; e++) {
        gate[e] = weight_of(WIDE, HIDDEN, kind);
        up[e] = weight_of(WIDE, HIDDEN, kind);
        down[e] = weight_of(HIDDEN, WIDE, kind);
    }
    m.shared_gate = weight_of(2 * WIDE, HIDDEN, kind);
    m.shared_up = weight_of(2 * WIDE, HIDDEN, kind);
    m.shared_down = weight_of(HIDDEN, 2 * WIDE, kind);
    be->pack(dev, &m.router, router, DT_F32, EXPERTS, HIDDEN, true);
    be->free(dev, router);
    return m;
}

static void bench_moe(const struct moe *m, int64_t rows)
{
    struct moe_run r = {rows_of(rows, HIDDEN), rows_of(rows, HIDDEN), *m};
    double weights = 3.0 * WIDE * HIDDEN * (PICKS + 2),
           bytes = (double)m->gate->bytes * 3 * (PICKS + 2);
    char name[64];

    for (int64_t i = 0; i < rows * HIDDEN; i++)
        ((float *)r.h.data)[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    snprintf(name, sizeof name, "experts [%lld, 1280], 6 of 64", (long long)rows);
    report(name, run_moe, &r, rows > 1 ? 2 * weights * (double)rows : 0, rows > 1 ? 0 : bytes);
    drop(r.y), drop(r.h);
}

/* ---- attention ------------------------------------------------------------------------------- */
struct relpos_run {
    tensor out, qkv, h, w;
    float *bias;
    int grid, window;
};

static void run_relpos(void *ctx)
{
    struct relpos_run *r = ctx;

    be->attend_relpos(dev, r->out, r->qkv, r->bias, r->h, r->w, r->grid, r->window, 12);
}

static void bench_relpos(int grid, int window)
{
    int side = window ? window : grid, n = grid * grid, across = (grid + side - 1) / side;
    struct relpos_run r = {rows_of(n, 768),
                           rows_of(n, 2304),
                           rows_of(2 * side - 1, 64),
                           rows_of(2 * side - 1, 64),
                           numbers(2304),
                           grid,
                           window};
    double keys = (double)side * side, queries = window ? (double)n : keys;
    char name[64];

    snprintf(name, sizeof name, "attend_relpos grid %d window %d (%d windows)", grid, window,
             across * across);
    report(name, run_relpos, &r, 4.0 * 768 * queries * keys, 0);
    drop(r.out), drop(r.qkv), drop(r.h), drop(r.w);
    be->free(dev, r.bias);
}

struct prefix_run {
    tensor out, q, k, v;
    int len;
};

static void run_prefix(void *ctx)
{
    struct prefix_run *r = ctx;

    be->attend_prefix(dev, r->out, r->q, r->k, r->v, r->len, r->len / 2, 14, 2);
}

static void bench_prefix(int len)
{
    struct prefix_run r = {rows_of(len, 896), rows_of(len, 896), rows_of(len, 128),
                           rows_of(len, 128), len};
    char name[64];

    snprintf(name, sizeof name, "attend_prefix %d, 14 heads", len);
    report(name, run_prefix, &r, 4.0 * 896 * len * len * 0.625, 0);
    drop(r.out), drop(r.q), drop(r.k), drop(r.v);
}

struct attend_run {
    tensor out, q, k, v;
    struct kv *kv;
    struct batch b;
};

static void run_attend(void *ctx)
{
    struct attend_run *r = ctx;

    be->attend(dev, r->out, r->q, r->kv, 0, &r->b);
}

/* The last `rows` tokens of a context. */
static void bench_attend(int context, int rows, int block_tok)
{
    int n_block = context / block_tok + 1;
    struct kv_shape s = {1, 10, 128, n_block, block_tok};
    int32_t *pos = malloc((size_t)context * 4), *block = malloc((size_t)n_block * 4),
            seq_row[] = {0, context};
    struct attend_run r = {rows_of(context, 1280),
                           rows_of(context, 1280),
                           rows_of(context, 1280),
                           rows_of(context, 1280),
                           NULL,
                           {.n_tok = context,
                            .n_seq = 1,
                            .pos = pos,
                            .slot = pos,
                            .seq_row = seq_row,
                            .seq_len = &context,
                            .block = block,
                            .block_stride = n_block}};
    char name[64];

    for (int i = 0; i < context; i++)
        pos[i] = i;
    for (int i = 0; i < n_block; i++)
        block[i] = i;
    if (be->kv_open(dev, &r.kv, &s) < 0)
        exit(1);
    be->kv_store(dev, r.kv, 0, r.k, r.v, &r.b);
    r.b.pos += context - rows;
    r.b.n_tok = seq_row[1] = rows;
    snprintf(name, sizeof name, "attend %d rows, context %d, blocks of %d", rows, context,
             block_tok);
    report(name, run_attend, &r, rows > 1 ? 4.0 * 1280 * rows * (context - rows / 2.0) : 0,
           rows > 1 ? 0 : (double)be->kv_bytes(dev, &s));
    be->kv_close(dev, r.kv);
    drop(r.out), drop(r.q), drop(r.k), drop(r.v);
    free(pos), free(block);
}

/* ---- rows ------------------------------------------------------------------------------------ */
struct norm_run {
    tensor x, y, w, b;
};

static void run_layernorm(void *ctx)
{
    struct norm_run *r = ctx;

    be->layernorm(dev, r->y, r->x, r->w, r->b, 1e-6f);
}

static void bench_layernorm(void)
{
    struct norm_run r = {rows_of(4096, 768), rows_of(4096, 768), rows_of(1, 768), rows_of(1, 768)};

    report("layernorm [4096, 768]", run_layernorm, &r, 0, 2.0 * 4096 * 768 * 4);
    drop(r.x), drop(r.y), drop(r.w), drop(r.b);
}

int main(int argc, char **argv)
{
    struct device_opts o = {.kernels = argc > 1 ? argv[1] : "auto",
                            .precision = argc > 2 ? argv[2] : "auto",
                            .threads = argc > 3 ? atoi(argv[3]) : 0};
    struct device_info info;
    struct moe m;

    if (quant_kind_parse(argc > 4 ? argv[4] : "bf16", &kind) < 0 || be->open(&dev, &o) < 0) {
        fprintf(stderr, "%s\n", err_text());
        return 2;
    }
    be->info(dev, &info);
    printf("kernels %s, precision %s, %d threads, decoder %s\n", info.kernels, info.precision,
           info.threads, quant_kind_text(kind));
    measure_peaks();

    bench_linear("SAM lin1 + gelu", 4096, 768, 3072, LINEAR_GELU, false);
    bench_linear("SAM lin1, no gelu", 4096, 768, 3072, LINEAR_SET, false);
    bench_linear("SAM lin2, add", 4096, 3072, 768, LINEAR_ADD, false);
    bench_linear("SAM qkv", 4096, 768, 2304, LINEAR_SET, false);
    bench_linear("SAM qkv, tile", 2304, 768, 2304, LINEAR_SET, false);
    bench_linear("flow gate and up", 512, 896, 4864, LINEAR_SET, true);
    bench_linear("flow down", 512, 4864, 896, LINEAR_ADD, false);
    bench_linear("net_3", 256, 4608, 896, LINEAR_SET, false);
    bench_relpos(64, 0);
    bench_relpos(64, 14);
    bench_relpos(48, 0);
    bench_relpos(48, 14);
    bench_prefix(512);
    bench_prefix(288);
    bench_attend(512, 512, 64);
    bench_attend(1130, 1, 64);
    bench_attend(1130, 1, 16);
    bench_layernorm();
    if (quant_is(kind))
        peak_gflops = peak_quant;
    bench_linear("decoder wq", 512, 1280, 1280, LINEAR_SET, false);
    m = moe_of();
    bench_moe(&m, 512);
    bench_moe(&m, 8);
    bench_moe(&m, 1);
    bench_linear("decoder wq", 1, 1280, 1280, LINEAR_SET, false);
    bench_linear("decoder dense", 1, 1280, 6848, LINEAR_SET, true);
    bench_linear("decoder lm_head", 1, 1280, 129280, LINEAR_SET, false);
    bench_linear("decoder lm_head", 8, 1280, 129280, LINEAR_SET, false);
    be->close(dev);
    return 0;
}
