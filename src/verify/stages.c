#include "verify/stages.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/runner.h"
#include "verify/op_clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A page of six tiles has 1121 visual rows; its prompt about that many tokens more than a prompt
 * of a chunk. */
enum { PREFILL = 512, DEPTH = 1121, MOST_SEQ = 8, TILES = 6, MOST_ROUNDS = 100 };

struct stages {
    struct model model;
    struct runner rn;
    struct device_peak peak;
    struct op_sum sums[N_OPS];
    int rounds;
    recto_line_fn *print;
    recto_stage_fn *took;
    void *ctx;
    unsigned char *pixels; /* of one view of 1024 */
    tensor visual;
    struct batch batch;
    int32_t *room; /* of the batch's arrays */
};

static void say(struct stages *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct stages *s, const char *fmt, ...)
{
    char line[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    s->print(s->ctx, line);
}

/* ---- what is run ----------------------------------------------------------------------------- */
/* n: 0 one view of 1024; else that many tiles, and the view. */
static int run_vision(struct stages *s, int n)
{
    struct run *r = &s->rn.run;
    const unsigned char *pixels = s->pixels;

    for (int i = 0; i <= n; i++) {
        enum view_size size = i < n ? TILE_VIEW : GLOBAL_VIEW;
        struct views one = {0};

        one.n[size] = 1;
        one.pixels[size] = &pixels;
        vision_encode(r, &s->model.vision,
                      tensor_rows(s->visual, 0, vision_view_rows(&s->model.vision, size)), &one);
        scratch_reset(r, 0);
    }
    return run_finish(r);
}

static int32_t *take(int32_t **room, int n)
{
    int32_t *p = *room;

    *room += n;
    return p;
}

/* Rows [from, to) of each of n sequences, of ids that differ as a text's would. */
static void make_batch(struct stages *s, int n, int from, int to)
{
    int tok = s->rn.pool.block_tok, stride = (DEPTH + 1) / tok + 1, rows = n * (to - from), row = 0;
    int32_t *room = s->room, *id = take(&room, rows), *pos = take(&room, rows),
            *slot = take(&room, rows), *seq_row = take(&room, n + 1), *seq_len = take(&room, n),
            *block = take(&room, n * stride), *out_row = take(&room, n);

    for (int q = 0; q < n; q++) {
        seq_row[q] = row;
        seq_len[q] = to;
        for (int b = 0; b < stride; b++)
            block[q * stride + b] = q * stride + b;
        for (int p = from; p < to; p++, row++) {
            id[row] = (int32_t)(((unsigned)(p + q * 977) * 2654435761u >> 8) %
                                (unsigned)s->model.cfg.decoder.vocab);
            pos[row] = p;
            slot[row] = block[q * stride + p / tok] * tok + p % tok;
        }
        out_row[q] = row - 1;
    }
    seq_row[n] = row;
    s->batch = (struct batch){rows, n, id, pos, slot, seq_row, seq_len, block, stride, out_row, n};
}

/* The rows of the batch, and of each sequence the likeliest next id. */
static int run_rows(struct stages *s)
{
    struct run *r = &s->rn.run;
    const struct decoder *d = &s->model.decoder;

    op_step(r, &s->batch, NULL, NULL);
    tensor x = scratch(r, DT_F32, s->batch.n_tok, d->cfg->hidden),
           logits = scratch(r, DT_F32, s->batch.n_out, d->cfg->vocab);

    decoder_embed(r, d, x);
    decoder_forward(r, d, logits, x);
    scratch_reset(r, 0);
    r->batch = NULL;
    return run_finish(r);
}

static int run_prefill(struct stages *s, int n)
{
    make_batch(s, 1, 0, n);
    return run_rows(s);
}

/* n counts sequences, times 10000 plus the depth of each. */
static int run_decode(struct stages *s, int n)
{
    make_batch(s, n / 10000, n % 10000, n % 10000 + 1);
    return run_rows(s);
}

static int fill_cache(struct stages *s)
{
    for (int at = 0; at < DEPTH; at += PREFILL / MOST_SEQ) {
        make_batch(s, MOST_SEQ, at, MIN(at + PREFILL / MOST_SEQ, DEPTH));
        TRY(run_rows(s));
    }
    return 0;
}

/* ---- how it is measured ---------------------------------------------------------------------- */
struct stage {
    const char *part, *name, *unit;
    int (*run)(struct stages *s, int n);
    int n;
    double units;  /* done in a run */
    bool by_bytes; /* the memory is the bound: the share is of the read sweep */
};

static const struct stage all[] = {
    {"vision", "one view of 1024", "views/s", run_vision, 0, 1, false},
    {"vision", "page, 6 tiles and global", "pages/s", run_vision, TILES, 1, false},
    {"prefill", "512 tokens", "tok/s", run_prefill, PREFILL, PREFILL, false},
    {"decode", "1 page, empty cache", "tok/s", run_decode, 10000, 1, true},
    {"decode", "1 page at depth 1121", "tok/s", run_decode, 10000 + DEPTH, 1, true},
    {"decode", "8 pages at depth 1121", "tok/s", run_decode, 80000 + DEPTH, 8, true},
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double peak_of(const struct stages *s, bool by_bytes, bool is_quantised)
{
    return by_bytes ? s->peak.read : is_quantised ? s->peak.quantised : s->peak.product;
}

static void print_sum(struct stages *s, const struct stage *g, const char *name,
                      const struct op_sum *o, double ms)
{
    bool is_quantised = strcmp(g->part, "prefill") == 0 && quant_is(s->model.weights.quantised);
    double rate = (g->by_bytes ? o->bytes : o->flop) / ms * 1e3,
           peak = peak_of(s, g->by_bytes, is_quantised);

    say(s, "    %-28s %9.2f ms  %8.1f %s  %5.1f %% of peak", name, ms, rate / 1e9,
        g->by_bytes ? "GB/s" : "GFLOP/s", 100 * rate / peak);
}

/* Milliseconds of `n` runs after one to warm up, sorted. */
static int time_runs(struct stages *s, const struct stage *g, double *ms, int n)
{
    for (int i = -1; i < n; i++) {
        int64_t start = clock_ns();

        TRY(g->run(s, g->n));
        if (i >= 0)
            ms[i] = clock_ms_since(start);
    }
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    return 0;
}

/* One run with a clock around each op, and their sum. */
static int time_ops(struct stages *s, const struct stage *g, struct op_sum *total)
{
    const struct backend *real = s->rn.run.be;
    struct backend clocked = op_clock_start(real, s->sums);
    int rc;

    s->rn.run.be = &clocked;
    rc = g->run(s, g->n);
    s->rn.run.be = real;
    *total = (struct op_sum){0};
    for (int i = 0; i < N_OPS; i++) {
        total->flop += s->sums[i].flop;
        total->bytes += s->sums[i].bytes;
    }
    return rc;
}

static void tell(const struct stages *s, const struct stage *g, const double *ms, int n,
                 const struct op_sum *total)
{
    bool is_quantised = strcmp(g->part, "prefill") == 0 && quant_is(s->model.weights.quantised);
    double done = (g->by_bytes ? total->bytes : total->flop) / ms[n / 2] * 1e3;

    if (s->took)
        s->took(s->ctx, &(struct recto_stage){g->part, g->name, g->unit, ms[n / 2], ms[0],
                                              ms[n - 1], g->units / ms[n / 2] * 1e3,
                                              done / peak_of(s, g->by_bytes, is_quantised)});
}

static int measure(struct stages *s, const struct stage *g)
{
    double ms[MOST_ROUNDS];
    int n = MIN(g->by_bytes ? 5 * s->rounds : s->rounds, MOST_ROUNDS);
    struct op_sum total;

    TRY(time_runs(s, g, ms, n));
    TRY(time_ops(s, g, &total));
    say(s, "%-8s %-25s median %9.2f ms  [%.2f .. %.2f]  %8.2f %s", g->part, g->name, ms[n / 2],
        ms[0], ms[n - 1], g->units / ms[n / 2] * 1e3, g->unit);
    tell(s, g, ms, n, &total);
    print_sum(s, g, "the whole stage", &total, ms[n / 2]);
    for (int i = 0; i < N_OPS; i++)
        if (s->sums[i].n)
            print_sum(s, g, op_kind_name[i], &s->sums[i], s->sums[i].ms);
    return 0;
}

static bool is_asked(const char *part, const struct stage *g)
{
    return !part || strcmp(part, g->part) == 0;
}

static int measure_all(struct stages *s, const char *part)
{
    bool is_filled = false;

    for (size_t i = 0; i < COUNT(all); i++) {
        if (!is_asked(part, &all[i]))
            continue;
        if (all[i].by_bytes && !is_filled)
            TRY(fill_cache(s));
        is_filled = is_filled || all[i].by_bytes;
        TRY(measure(s, &all[i]));
    }
    return 0;
}

static int check_part(const char *part)
{
    for (size_t i = 0; i < COUNT(all); i++)
        if (is_asked(part, &all[i]))
            return 0;
    return err(RECTO_EUSAGE, "no stage '%s': there are vision, prefill and decode", part);
}

/* ---- the machine and the model ---------------------------------------------------------------- */
static int open_stages(struct stages *s, const struct stages_ask *ask)
{
    struct runner_opts o = {.max_tok = PREFILL,
                            .max_seq = MOST_SEQ,
                            .max_out = MOST_SEQ,
                            .kv_tok = (DEPTH + 129) * MOST_SEQ,
                            .kv_block_tok = ask->kv_block_tok};
    size_t n = (size_t)view_px(GLOBAL_VIEW) * (size_t)view_px(GLOBAL_VIEW) * 3;
    void *p;

    TRY(model_open(&s->model, ask->dir, ask->dev->name, ask->dev));
    TRY(runner_open(&s->rn, &s->model, &o));
    s->pixels = mem_alloc(n);
    for (size_t i = 0; i < n; i++)
        s->pixels[i] = (unsigned char)((i / 7 * 2654435761u) >> 19);
    s->room = mem_zero((size_t)(PREFILL * 3 + MOST_SEQ * (4 + DEPTH / 16 + 2) + 8),
                       sizeof *s->room);
    s->visual = tensor_view(NULL, DT_F32, 2, vision_view_rows(&s->model.vision, GLOBAL_VIEW),
                            s->model.cfg.decoder.hidden, 1, 1);
    TRY(s->model.be->alloc(s->model.dev, (size_t)tensor_count(s->visual) * sizeof(float), &p));
    s->visual.data = p;
    return 0;
}

static int measure_peaks(struct stages *s)
{
    const struct backend *be = s->model.be;

    if (!be->measure_peak)
        return err(RECTO_EUSAGE, "device %s does not measure its peaks; stages are for the CPU",
                   be->name);
    TRY(be->measure_peak(s->model.dev, &s->peak));
    say(s, "model    %s, weights %s, %.2f GB held; kernels %s, precision %s, %d threads",
        s->model.cfg.decoder.hidden == 1280 ? "released size" : "small",
        quant_kind_text(s->model.weights.quantised), (double)s->model.weights.bytes / 1e9,
        s->model.info.kernels, s->model.info.precision, s->model.info.threads);
    say(s,
        "peak     %.1f GFLOP/s in products, %.1f G/s by int8 weights, %.2f GB/s read, by all threads",
        s->peak.product / 1e9, s->peak.quantised / 1e9, s->peak.read / 1e9);
    return 0;
}

int stages_measure(const struct stages_ask *ask)
{
    struct stages s = {.rounds = MAX(1, MIN(ask->rounds, MOST_ROUNDS)),
                       .print = ask->print,
                       .took = ask->took,
                       .ctx = ask->ctx};
    int rc;

    TRY(check_part(ask->part));
    TRY_OUT(open_stages(&s, ask));
    TRY_OUT(measure_peaks(&s));
    rc = measure_all(&s, ask->part);
out:
    free(s.pixels);
    free(s.room);
    if (s.visual.data)
        s.model.be->free(s.model.dev, s.visual.data);
    runner_close(&s.rn);
    model_close(&s.model);
    return rc;
}
