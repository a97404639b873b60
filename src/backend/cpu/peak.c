/* What this machine can do, measured by the kernels in use: products on operands that stay in the
 * first level cache, and a read of memory that is in none. */
#include "backend/cpu/cpu.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

enum { TIMES = 1000, SWEEP = 1 << 28, PIECES = 64, LEAST_ROUNDS = 3 };

/* Operands of the first level cache: most rows, k and panels of those below. */
enum { ROWS_MOST = 32, K_MOST = 256 };

/* A cache line: with sums of single words the processor, not the memory, would be the bound. */
typedef uint64_t line __attribute__((vector_size(64)));

struct peak {
    const struct cpu_kern *kern;
    void (*mul)(const struct mul *m);
    int rows, k, n_panel;
    bool is_quant;
    int streams; /* 1 or 4 */
    const line *memory;
    line sink[PIECES];
};

static void product_item(void *ctx, int64_t i, int worker)
{
    static _Thread_local float x[ROWS_MOST * K_MOST] __attribute__((aligned(64))),
        w[MUL_PANELS * PANEL * K_MOST] __attribute__((aligned(64))),
        y[ROWS_MOST * MUL_PANELS * PANEL] __attribute__((aligned(64)));
    const struct peak *p = ctx;
    struct mul m = {.y = y,
                    .x = x,
                    .w = w,
                    .y_stride = MUL_PANELS * PANEL,
                    .x_stride = p->is_quant ? quant_input_bytes(p->k / QUANT_GROUP8, QUANT_GROUP8)
                                            : p->k,
                    .w_stride = p->is_quant ? cpu_panel_bytes(WEIGHT_INT8, p->k) : PANEL * p->k,
                    .k = p->is_quant ? p->k / QUANT_GROUP8 : p->k,
                    .rows = p->rows,
                    .n_panel = p->n_panel};

    p->kern->begin();
    for (int n = 0; n < TIMES; n++)
        p->mul(&m);
    p->kern->end();
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

/* Products a second of operands of this shape, on all threads. */
static double products(struct device *d, struct peak *p, void (*mul)(const struct mul *m), int rows,
                       int k, int n_panel)
{
    int threads = pool_threads(d->pool);

    p->mul = mul;
    p->rows = rows;
    p->k = k;
    p->n_panel = n_panel;
    return 2.0 * rows * n_panel * PANEL * k * TIMES * threads / best(d, product_item, p, threads);
}

int cpu_measure_peak(struct device *d, struct device_peak *out)
{
    struct peak p = {.kern = &d->kern};
    void *memory = cpu_alloc(SWEEP);

    if (!memory)
        return err(RECTO_ENOMEM, "no memory for a read of %d MiB", SWEEP >> 20);
    memset(memory, 1, SWEEP);
    p.memory = memory;
    out->product_f32 = products(d, &p, d->kern.mul_ff, 6, 64, MUL_PANELS);
    if (!d->has_bb)
        out->product = products(d, &p, d->kern.mul_fb, 6, 64, MUL_PANELS);
    else if (d->kern.mul_step > 2) /* tiles */
        out->product = products(d, &p, d->kern.mul_bb, 32, 256, 2);
    else
        out->product = products(d, &p, d->kern.mul_bb, 6, 64, MUL_PANELS);
    p.is_quant = true;
    out->quantised = products(d, &p, d->kern.mul_q8, d->kern.mul_step > 2 ? 32 : 6, 256,
                              MUL_PANELS);
    p.streams = 1;
    out->read = SWEEP / best(d, read_item, &p, PIECES);
    p.streams = 4;
    out->read = MAX(out->read, SWEEP / best(d, read_item, &p, PIECES));
    cpu_free(memory);
    return 0;
}
