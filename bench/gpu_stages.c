/* The stages of a page on one device, timed apart: vision, prefill, decode; and where the time
 * goes, op by op.
 *
 *   bench_gpu_stages MODEL_DIR [DEVICE [PRECISION [REPEATS [STAGE]]]]
 *
 * Every figure is the wall clock around calls that end with the device idle, the median of REPEATS
 * after two warm-ups, with the spread (largest - smallest) behind it; "device" is the same between
 * two moments of the device.  Op by op, a call's time is that from the end of the call before to its
 * own end on the device, in one pass.  Pages are random pixels, 6
 * tiles and the global view; prompts are 1130 random ids, whose experts differ as much as a text's
 * would; decoding is at a context of 1430.  The floors beside the figures are those of an H200 at
 * 776 TFLOP/s and 4.23 TB/s (bench/results/h200.md derives them). */
#include "base/clock.h"
#include "base/err.h"
#include "engine/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_TILE = 6,
    PROMPT = 1130,
    CONTEXT = 1430,
    MAX_PAGES = 8,
    MOST_TOGETHER = 4, /* pages whose views are encoded together */
    MAX_BATCH = 512,
    BLOCK = 64,
    MAX_REPEATS = 200
};

static struct model model;
static struct runner rn;
static int repeats = 20;
static const char *only = ""; /* stages whose names begin so */

/* ---- op by op: a record that marks the end of each call --------------------------------------- */
struct op_time {
    const char *name;
    double ms;
    int n;
};

enum {
    OP_LINEAR,
    OP_GATED,
    OP_MOE,
    OP_RELPOS,
    OP_WINDOW,
    OP_PREFIX,
    OP_ATTEND,
    OP_STORE,
    OP_NORM,
    OP_ROPE,
    OP_COPY,
    OP_ADD,
    OP_LOOK_UP,
    OP_PATCHES,
    OP_IM2COL,
    OP_UPLOAD,
    OP_SAMPLE,
    N_OP
};
static struct op_time op_time[N_OP] = {{"linear", 0, 0},
                                       {"linear_swiglu", 0, 0},
                                       {"moe_add", 0, 0},
                                       {"attend_relpos global", 0, 0},
                                       {"attend_relpos window", 0, 0},
                                       {"attend_prefix", 0, 0},
                                       {"attend", 0, 0},
                                       {"kv_store", 0, 0},
                                       {"norms", 0, 0},
                                       {"rope", 0, 0},
                                       {"copies", 0, 0},
                                       {"add_cyclic", 0, 0},
                                       {"look-ups", 0, 0},
                                       {"patches", 0, 0},
                                       {"im2col", 0, 0},
                                       {"uploads", 0, 0},
                                       {"sample", 0, 0}};

/* Products apart by shape. */
static struct shape_time {
    int64_t rows, n, k;
    double ms;
    int n_call;
} shape_time[64];

/* Calls of a stage in their order: call i ends at mark i + 1 and begins where the one before ended. */
static struct call {
    int op;
    struct shape_time *shape; /* products only */
} call[BACKEND_MARKS];
static int n_call;

static void die(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, err_text());
        exit(1);
    }
}

static int timed(int op, int rc)
{
    if (n_call + 1 < BACKEND_MARKS) {
        call[n_call] = (struct call){op, NULL};
        die(model.be->mark(model.dev, ++n_call), "mark");
    }
    return rc;
}

#define TIMED(name, op, params, args)          \
    static int timed_##name params             \
    {                                          \
        return timed(op, model.be->name args); \
    }

static struct shape_time *shape_of(int64_t rows, int64_t n, int64_t k)
{
    struct shape_time *s = shape_time;

    while (s->n_call && (s->rows != rows || s->n != n || s->k != k))
        if (++s == shape_time + 64)
            return NULL;
    *s = (struct shape_time){rows, n, k, s->ms, s->n_call + 1};
    return s;
}

static int timed_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                        enum linear_mode m)
{
    int rc = timed(OP_LINEAR, model.be->linear(d, y, x, w, m));

    call[n_call - 1].shape = shape_of(x.n[0], w->n_out, w->n_in);
    return rc;
}

static int timed_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *g,
                               const struct weight *u)
{
    int rc = timed(OP_GATED, model.be->linear_swiglu(d, y, x, g, u));

    call[n_call - 1].shape = shape_of(x.n[0], 2 * g->n_out, g->n_in);
    return rc;
}

TIMED(moe_add, OP_MOE, (struct device * d, tensor y, tensor h, const struct moe *m), (d, y, h, m))
TIMED(moe_add_norm, OP_MOE,
      (struct device * d, tensor y, tensor h, const struct moe *m, tensor w, float eps),
      (d, y, h, m, w, eps))
TIMED(attend_relpos, window ? OP_WINDOW : OP_RELPOS,
      (struct device * d, tensor o, tensor qkv, const float *b, tensor rh, tensor rw, int grid,
       int window, int n),
      (d, o, qkv, b, rh, rw, grid, window, n))
TIMED(attend_prefix, OP_PREFIX,
      (struct device * d, tensor o, tensor q, tensor k, tensor v, int len, int n_prefix, int n_head,
       int n_kv),
      (d, o, q, k, v, len, n_prefix, n_head, n_kv))
TIMED(attend, OP_ATTEND,
      (struct device * d, tensor o, tensor q, struct kv *kv, int layer, const struct batch *b),
      (d, o, q, kv, layer, b))
TIMED(kv_store, OP_STORE,
      (struct device * d, struct kv *kv, int layer, tensor k, tensor v, const struct batch *b),
      (d, kv, layer, k, v, b))
TIMED(rmsnorm, OP_NORM, (struct device * d, tensor y, tensor x, tensor w, float e), (d, y, x, w, e))
TIMED(layernorm, OP_NORM, (struct device * d, tensor y, tensor x, tensor w, tensor b, float e),
      (d, y, x, w, b, e))
TIMED(rope, OP_ROPE, (struct device * d, tensor x, tensor pos, tensor t), (d, x, pos, t))
TIMED(copy, OP_COPY, (struct device * d, tensor y, tensor x), (d, y, x))
TIMED(add_cyclic, OP_ADD, (struct device * d, tensor x, tensor p), (d, x, p))
TIMED(embed, OP_LOOK_UP, (struct device * d, tensor x, tensor t, tensor id), (d, x, t, id))
TIMED(gather_rows, OP_LOOK_UP, (struct device * d, tensor y, tensor x, tensor r), (d, y, x, r))
TIMED(patches, OP_PATCHES, (struct device * d, tensor o, tensor p, int n), (d, o, p, n))
TIMED(im2col, OP_IM2COL, (struct device * d, tensor o, tensor x, int s), (d, o, x, s))
TIMED(upload, OP_UPLOAD, (struct device * d, void *to, const void *from, size_t n),
      (d, to, from, n))
TIMED(sample, OP_SAMPLE,
      (struct device * d, tensor l, const struct sample_ask *a, struct choice *p), (d, l, a, p))

static struct backend timing_backend(void)
{
    struct backend b = *model.be;

    b.linear = timed_linear;
    b.linear_swiglu = b.linear_swiglu ? timed_linear_swiglu : NULL;
    b.moe_add = timed_moe_add;
    b.moe_add_norm = b.moe_add_norm ? timed_moe_add_norm : NULL;
    b.attend_relpos = timed_attend_relpos;
    b.attend_prefix = timed_attend_prefix;
    b.attend = timed_attend;
    b.kv_store = timed_kv_store;
    b.rmsnorm = timed_rmsnorm;
    b.layernorm = timed_layernorm;
    b.rope = timed_rope;
    b.copy = timed_copy;
    b.add_cyclic = timed_add_cyclic;
    b.embed = timed_embed;
    b.gather_rows = timed_gather_rows;
    b.patches = timed_patches;
    b.im2col = timed_im2col;
    b.upload = timed_upload;
    b.sample = b.sample ? timed_sample : NULL;
    return b;
}

static void print_ops(void)
{
    double all = 0;

    for (int i = 0; i < N_OP; i++)
        all += op_time[i].ms;
    for (int i = 0; i < N_OP; i++)
        if (op_time[i].n)
            printf("      %-22s %9.3f ms %5.1f %%  in %d calls\n", op_time[i].name, op_time[i].ms,
                   100 * op_time[i].ms / all, op_time[i].n);
    for (const struct shape_time *s = shape_time; s < shape_time + 64 && s->n_call; s++)
        printf("      product of %5d rows, %6d x %4d: %8.1f us each, %6.1f TFLOP/s, %d calls\n",
               (int)s->rows, (int)s->n, (int)s->k, s->ms * 1000 / s->n_call,
               2e-9 * (double)s->rows * (double)(s->n * s->k) * s->n_call / s->ms, s->n_call);
    printf("      %-22s %9.3f ms\n", "together", all);
}

/* ---- the stages ------------------------------------------------------------------------------ */
struct stage {
    void (*run)(int n);
    int n; /* pages or sequences */
};

static unsigned char *pixels[VIEW_SIZES];
static tensor visual;
static struct batch batch;
static int32_t *id, *pos, *slot, *seq_row, *seq_len, *block, *out_row;
static struct choice *next;
static struct sample_ask *ask;

/* All views of n pages together; the same page n times. */
static void vision_stage(int n)
{
    static const unsigned char *tile[N_TILE * MOST_TOGETHER], *global[MOST_TOGETHER];
    struct views views = {.n = {[TILE_VIEW] = N_TILE * n, [GLOBAL_VIEW] = n},
                          .pixels = {[TILE_VIEW] = tile, [GLOBAL_VIEW] = global}};

    for (int i = 0; i < n; i++)
        global[i] = pixels[GLOBAL_VIEW];
    for (int i = 0; i < N_TILE * n; i++)
        tile[i] = pixels[TILE_VIEW] + (size_t)(i % N_TILE) * 768 * 768 * 3;
    vision_encode(&rn.run, &model.vision,
                  tensor_rows(visual, 0, vision_rows(&model.vision, &views)), &views);
    scratch_reset(&rn.run, 0);
    die(run_finish(&rn.run), "vision");
}

/* Rows [from, to) of each of the sequences [first, first + n). */
static void make_batch(int first, int n, int from, int to)
{
    int stride = (CONTEXT + 64 + BLOCK - 1) / BLOCK, row = 0;

    for (int s = 0; s < n; s++) {
        seq_row[s] = row;
        seq_len[s] = to;
        for (int b = 0; b < stride; b++)
            block[s * stride + b] = (first + s) * stride + b;
        for (int p = from; p < to; p++, row++) {
            id[row] =
                (int32_t)(((unsigned)row * 2654435761u + (unsigned)(first + s + p) * 40503u) >> 8) %
                model.cfg.decoder.vocab;
            pos[row] = p;
            slot[row] = block[s * stride + p / BLOCK] * BLOCK + p % BLOCK;
        }
        out_row[s] = row - 1;
    }
    seq_row[n] = row;
    batch = (struct batch){row, n, id, pos, slot, seq_row, seq_len, block, stride, out_row, n};
}

static void forward(void)
{
    struct run *r = &rn.run;
    const struct decoder *d = &model.decoder;

    if (op_step(r, &batch, r->be == model.be && r->be->sample ? ask : NULL, next)) {
        die(run_finish(r), "decoder");
        return;
    }
    tensor x = scratch(r, DT_F32, batch.n_tok, d->cfg->hidden),
           logits = scratch(r, DT_F32, batch.n_out, d->cfg->vocab);

    decoder_embed(r, d, x);
    decoder_forward(r, d, logits, x);
    if (r->be->sample)
        op_sample(r, logits, ask, next);
    scratch_reset(r, 0);
    r->batch = NULL;
    die(run_finish(r), "decoder");
}

static void prefill_stage(int n)
{
    make_batch(0, n, 0, PROMPT);
    forward();
}

static void decode_stage(int n)
{
    make_batch(0, n, CONTEXT - 1, CONTEXT);
    forward();
}

/* Real keys and values for MAX_BATCH sequences: other bytes would cost other power. */
static void fill_cache(void)
{
    for (int s = 0; s < MAX_BATCH; s += MAX_PAGES)
        for (int at = 0; at < CONTEXT; at += PROMPT) {
            make_batch(s, MIN(MAX_PAGES, MAX_BATCH - s), at, MIN(at + PROMPT, CONTEXT));
            forward();
        }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool is_wanted(const char *name)
{
    return strncmp(name, only, strlen(only)) == 0;
}

static double median_of(double *ms, double *spread)
{
    qsort(ms, (size_t)repeats, sizeof *ms, by_size);
    *spread = ms[repeats - 1] - ms[0];
    return ms[repeats / 2];
}

static void time_stage(const char *name, void (*stage)(int), int n, double floor_ms, double units,
                       const char *unit)
{
    double wall[MAX_REPEATS], device[MAX_REPEATS], ms, spread, device_ms, device_spread;

    if (!is_wanted(name))
        return;
    for (int i = -3; i < repeats; i++) { /* a step is recorded when it comes again */
        int64_t start = clock_ns();

        die(model.be->mark(model.dev, 0), "mark");
        stage(n);
        die(model.be->mark(model.dev, 1), "mark");
        if (i < 0)
            continue;
        wall[i] = clock_ms_since(start);
        die(model.be->between(model.dev, 0, 1, &device[i]), "mark");
    }
    ms = median_of(wall, &spread);
    device_ms = median_of(device, &device_spread);
    printf(
        "%-18s %9.3f ms  spread %7.3f  device %9.3f  spread %7.3f  floor %8.3f  x %5.2f   %9.0f %s\n",
        name, ms, spread, device_ms, device_spread, floor_ms, ms / floor_ms, units / ms * 1000,
        unit);
    fflush(stdout);
}

/* What the marks of the calls say. */
static void add_up(void)
{
    for (int i = 0; i < n_call; i++) {
        double ms;

        die(model.be->between(model.dev, i, i + 1, &ms), "mark");
        op_time[call[i].op].ms += ms;
        op_time[call[i].op].n++;
        if (call[i].shape)
            call[i].shape->ms += ms;
    }
}

static void break_down(const char *name, void (*stage)(int), int n)
{
    const struct backend *real = rn.run.be;
    struct backend timing = timing_backend();

    if (!is_wanted(name))
        return;
    for (int i = 0; i < N_OP; i++)
        op_time[i].ms = op_time[i].n = 0;
    memset(shape_time, 0, sizeof shape_time);
    n_call = 0;
    die(model.be->mark(model.dev, 0), "mark");
    rn.run.be = &timing;
    stage(n);
    rn.run.be = real;
    add_up();
    printf("   %s, op by op:\n", name);
    print_ops();
}

static void make_inputs(void)
{
    static struct sampler greedy = {.guard = {20, 90, {-1, -1}}, .top_p = 1};
    size_t rows = (size_t)MAX_PAGES * PROMPT, stride = (CONTEXT + 64 + BLOCK - 1) / BLOCK;
    void *p;

    for (int v = 0; v < VIEW_SIZES; v++) {
        size_t n = (size_t)(v == TILE_VIEW ? N_TILE : 1) * (size_t)(view_px(v) * view_px(v) * 3);

        pixels[v] = malloc(n);
        for (size_t i = 0; i < n; i++)
            pixels[v][i] = (unsigned char)((i / 7 * 2654435761u) >> 19);
    }
    id = calloc(rows, sizeof *id);
    pos = calloc(rows, sizeof *pos);
    slot = calloc(rows, sizeof *slot);
    seq_row = calloc(MAX_BATCH + 1, sizeof *seq_row);
    seq_len = calloc(MAX_BATCH, sizeof *seq_len);
    out_row = calloc(MAX_BATCH, sizeof *out_row);
    block = calloc(MAX_BATCH * stride, sizeof *block);
    next = calloc(MAX_BATCH, sizeof *next);
    ask = calloc(MAX_BATCH, sizeof *ask);
    for (int i = 0; i < MAX_BATCH; i++)
        ask[i] = (struct sample_ask){.sampler = &greedy, .id = id, .n_id = 1000, .n_prompt = 400};
    visual = tensor_view(NULL, DT_F32, 2, MOST_TOGETHER * vision_page_rows(&model.vision, N_TILE),
                         model.cfg.decoder.hidden, 1, 1);
    die(model.be->alloc(model.dev, (size_t)tensor_count(visual) * sizeof(float), &p),
        "visual rows");
    visual.data = p;
}

int main(int argc, char **argv)
{
    const char *device = argc > 2 ? argv[2] : "cuda";
    struct device_opts dev = {
        .name = device, .precision = argc > 3 ? argv[3] : "auto", .kernels = "auto"};
    struct runner_opts o = {.max_tok = MAX_PAGES * PROMPT,
                            .max_seq = MAX_BATCH,
                            .max_out = MAX_BATCH,
                            .kv_tok = (CONTEXT + 128) / BLOCK * BLOCK * MAX_BATCH,
                            .kv_block_tok = BLOCK};

    if (argc < 2) {
        fprintf(stderr,
                "usage: bench_gpu_stages MODEL_DIR [DEVICE [PRECISION [REPEATS [STAGE]]]]\n");
        return 2;
    }
    if (argc > 4)
        repeats = MIN(MAX(atoi(argv[4]), 1), MAX_REPEATS);
    if (argc > 5)
        only = argv[5];
    die(model_open(&model, argv[1], device, &dev), "model");
    if (!model.be->mark) {
        fprintf(stderr, "device: %s has no clock of its own; this measures GPUs\n", device);
        return 2;
    }
    die(runner_open(&rn, &model, &o), "runner");
    make_inputs();
    printf(
        "%s, %s %s, %d views together, scratch %.0f MiB, cache %.0f MiB, loaded in %.1f s; median of %d\n",
        argv[1], model.info.kernels, model.info.precision, rn.view_batch,
        (double)rn.run.scratch.cap / (1 << 20), (double)rn.kv_bytes / (1 << 20),
        model.load_ms / 1000, repeats);
    time_stage("vision, 1 page", vision_stage, 1, 7.087, 1, "pages/s");
    time_stage("vision, 4 pages", vision_stage, MOST_TOGETHER, 28.348, MOST_TOGETHER, "pages/s");
    time_stage("prefill, 1 page", prefill_stage, 1, 1.809, PROMPT, "tokens/s");
    time_stage("prefill, 8 pages", prefill_stage, 8, 9.285, 8 * PROMPT, "tokens/s");
    if (strncmp(only, "decode", 6) == 0 || !*only)
        fill_cache();
    time_stage("decode, 1", decode_stage, 1, 0.293, 1, "tokens/s");
    time_stage("decode, 8", decode_stage, 8, 0.956, 8, "tokens/s");
    time_stage("decode, 32", decode_stage, 32, 1.932, 32, "tokens/s");
    time_stage("decode, 100", decode_stage, 100, 3.407, 100, "tokens/s");
    time_stage("decode, 256", decode_stage, 256, 6.728, 256, "tokens/s");
    time_stage("decode, 512", decode_stage, 512, 12.307, 512, "tokens/s");
    break_down("vision, 1 page", vision_stage, 1);
    break_down("prefill, 1 page", prefill_stage, 1);
    break_down("prefill, 8 pages", prefill_stage, 8);
    break_down("decode, 1", decode_stage, 1);
    break_down("decode, 100", decode_stage, 100);
    model.be->free(model.dev, visual.data);
    runner_close(&rn);
    model_close(&model);
    return 0;
}
