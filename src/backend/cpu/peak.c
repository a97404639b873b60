/* What this machine can do, measured by the kernels in use: products on operands that stay in the
 * first level cache, and a read of memory that is in none. */
#include "backend/cpu/cpu.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

enum {
    ROWS = 6,
    K = 64,
    K_QUANT = 256,
    TIMES = 2000,
    SWEEP = 1 << 28,
    PIECES = 64,
    LEAST_ROUNDS = 3
};

/* A cache line: with sums of single words the processor, not the memory, would be the bound. */
typedef uint64_t line __attribute__((vector_size(64)));

struct peak {
    const struct cpu_kern *kern;
    void (*mul)(const struct mul *m);
    bool is_quant;
    int streams; /* 1 or 4 */
    const line *memory;
    line sink[PIECES];
};

static void product_item(void *ctx, int64_t i, int worker)
{
    static _Thread_local float x[ROWS * K * 4], w[MUL_PANELS * PANEL * K * 2],
        y[ROWS * MUL_PANELS * PANEL];
    const struct peak *p = ctx;
    struct mul m = {
        .y = y,
        .x = x,
        .w = w,
        .y_stride = MUL_PANELS * PANEL,
        .x_stride = p->is_quant ? quant_input_bytes(K_QUANT / QUANT_GROUP8, QUANT_GROUP8) : K,
        .w_stride = p->is_quant ? cpu_panel_bytes(WEIGHT_INT8, K_QUANT) : PANEL * K,
        .k = p->is_quant ? K_QUANT / QUANT_GROUP8 : K,
        .rows = ROWS,
        .n_panel = MUL_PANELS};

    for (int n = 0; n < TIMES; n++)
        p->mul(&m);
}

/* One stream, or four as the kernels read panels: some processors fetch ahead further so. */
static void read_item(void *ctx, int64_t i, int worker)
{
    enum { PART = SWEEP / PIECES / (int)sizeof(line) };
    struct peak *p = ctx;
    const line *from = p->memory + i * PART;
    int64_t apart = p->streams == 4 ? PART / 4 : 1;
    line a = {0}, b = {0}, c = {0}, d = {0};

    for (int64_t n = 0; n < PART / 4; n++, from += 4 / p->streams) {
        a += from[0];
        b += from[apart];
        c += from[2 * apart];
        d += from[3 * apart];
    }
    p->sink[i] = a + b + c + d;
}

/* Seconds of the best of the rounds that a third of a second holds: other programs only slow one
 * down. */
static double best(struct device *d, pool_fn *fn, struct peak *p, int64_t n)
{
    int64_t begin = clock_ns(), least = INT64_MAX;

    for (int i = 0; i < LEAST_ROUNDS || clock_ms_since(begin) < 333; i++) {
        int64_t start = clock_ns();

        pool_run(d->pool, fn, p, n);
        least = MIN(least, clock_ns() - start);
    }
    return (double)least / 1e9;
}

int cpu_measure_peak(struct device *d, struct device_peak *out)
{
    int threads = pool_threads(d->pool);
    double flop = 2.0 * ROWS * MUL_PANELS * PANEL * K * TIMES * threads;
    struct peak p = {.kern = &d->kern, .mul = d->has_bb ? d->kern.mul_bb : d->kern.mul_fb};
    void *memory = cpu_alloc(SWEEP);

    if (!memory)
        return err(RECTO_ENOMEM, "no memory for a read of %d MiB", SWEEP >> 20);
    memset(memory, 1, SWEEP);
    p.memory = memory;
    out->product = flop / best(d, product_item, &p, threads);
    p.mul = d->kern.mul_ff;
    out->product_f32 = flop / best(d, product_item, &p, threads);
    p.mul = d->kern.mul_q8;
    p.is_quant = true;
    out->quantised = flop * K_QUANT / K / best(d, product_item, &p, threads);
    p.streams = 1;
    out->read = SWEEP / best(d, read_item, &p, PIECES);
    p.streams = 4;
    out->read = MAX(out->read, SWEEP / best(d, read_item, &p, PIECES));
    cpu_free(memory);
    return 0;
}
