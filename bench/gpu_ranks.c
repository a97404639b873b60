/* One model cut over GPUs against the same model on one.
 *
 *   bench_gpu_ranks MODEL_DIR [RANKS [PART]]
 *
 * On cuda:0 .. cuda:RANKS-1 (two without it).  PART is the first letters of what to run, everything without it:
 *   parity   sequences of random prompts, decoded together: the model on one device, cut, and on one in fp32 are all fed the ids
 *            that the first of them chose, and their logits are compared.  The choice of a step that is recorded and replayed
 *            must be the arg-max of the same step's logits, op by op; and a cut model must choose as fp32 does wherever fp32's
 *            two best ids are further apart than SIGMAS times the error that one device's bf16 makes.  Ends with 1 otherwise.
 *   decode   a step at a context of 1430, as the engine runs it, threads of the ranks included; "alone" is rank 0's part of the
 *            model without any sums over ranks, so what the others cost is the difference
 *   prefill, vision    a page of 1130 prompt ids; six tiles and the global view
 *   sums     the sums over ranks by themselves, one behind the other
 * Times are medians of REPEATS after WARM_UPS, with the 10th and 90th percentile. */
#include "base/clock.h"
#include "base/err.h"
#include "engine/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROMPT = 1130,
    CONTEXT = 1430,
    MAX_SEQ = 128,
    MAX_TOK = 6 * CONTEXT,
    BLOCK = 64,
    PARITY_SEQ = 32,
    PARITY_STEPS = 64,
    PARITY_PROMPT = 300,
    REPEATS = 100,
    WARM_UPS = 10,
    SUMS = 240,
    SIGMAS = 6
};

/* One way to run the model. */
struct side {
    const char *name;
    struct ranks ranks;
    struct model model;
    struct runner rn;
    struct batch_builder bb;
    struct request seq[MAX_SEQ];
};

static const char *dir, *only = "";
static char device_name[COMM_RANKS][16];
static int n_rank = 2;
static struct side one = {.name = "one"}, cut = {.name = "cut"}, alone = {.name = "alone"},
                   fp32 = {.name = "fp32"};

static void die(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, err_text());
        exit(2);
    }
}

static bool is_wanted(const char *part)
{
    return strncmp(part, only, strlen(only)) == 0;
}

/* ---- open ------------------------------------------------------------------------------------ */

static void make_requests(struct side *s)
{
    uint32_t x = 1;

    for (int i = 0; i < MAX_SEQ; i++) {
        struct request *q = &s->seq[i];

        q->n_prompt = CONTEXT;
        q->max_new = PARITY_STEPS;
        q->image_at = q->n_prompt;
        q->sampler = (struct sampler){.guard = {0, 0, {-1, -1}}, .top_p = 1};
        q->id = calloc(CONTEXT + PARITY_STEPS, sizeof *q->id);
        for (int k = 0; k < CONTEXT; k++) {
            x = x * 1664525 + 1013904223;
            q->id[k] = (int32_t)(x >> 8) % s->model.cfg.decoder.vocab;
        }
    }
}

static void open_runner(struct side *s)
{
    int per_seq = (int)div_up(CONTEXT + PARITY_STEPS, BLOCK);
    struct runner_opts o = {.max_tok = MAX_TOK,
                            .max_seq = MAX_SEQ,
                            .max_out = MAX_SEQ,
                            .kv_tok = per_seq * BLOCK * MAX_SEQ,
                            .kv_block_tok = BLOCK,
                            .ranks = s->ranks.n > 1 ? &s->ranks : NULL};

    die(runner_open(&s->rn, &s->model, &o), "runner");
    batch_init(&s->bb, MAX_TOK, MAX_SEQ, per_seq, MAX_SEQ);
    make_requests(s);
    printf("%s: %s %s, loaded in %.1f s, %.2f GB of weights\n", s->name, s->model.info.kernels,
           s->model.info.precision, s->model.load_ms / 1000,
           (double)ranks_weight_bytes(&s->ranks, &s->model) / 1e9);
    fflush(stdout);
}

static void open_side(struct side *s, int n, const char *precision)
{
    struct device_opts dev[COMM_RANKS];

    for (int i = 0; i < n; i++)
        dev[i] = (struct device_opts){
            .name = device_name[i], .precision = precision, .kernels = "auto"};
    die(ranks_open(&s->ranks, &s->model, dir, "cuda", dev, n), s->name);
    open_runner(s);
}

/* Rank 0's part of the model; its sums have one part. */
static void open_alone(void)
{
    struct device_opts dev = {.name = device_name[0], .precision = "auto", .kernels = "auto"};
    int64_t hidden;
    float *zero;
    void *p;

    alone.ranks.n = 1;
    die(model_open_part(&alone.model, dir, "cuda", &dev, (struct cut_rank){0, n_rank}), alone.name);
    open_runner(&alone);
    hidden = alone.model.cfg.decoder.hidden;
    zero = calloc((size_t)(MAX_TOK * hidden), sizeof *zero);
    die(alone.model.be->alloc(alone.model.dev, (size_t)(MAX_TOK * hidden) * sizeof *zero, &p),
        "part");
    alone.rn.run.part = tensor_view(p, DT_F32, 2, MAX_TOK, hidden, 1, 1);
    op_upload(&alone.rn.run, alone.rn.run.part, zero);
    die(run_finish(&alone.rn.run), "part");
    free(zero);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Sequence i is its first n ids, none of them in the cache. */
static void start(struct side *s, int i, int n)
{
    struct request *q = &s->seq[i];

    kv_release(&s->rn.pool, &q->s.kv);
    q->s.n_known = n;
    q->s.n_cached = 0;
    die(kv_reserve(&s->rn.pool, &q->s.kv, n), "cache");
}

/* All but the last id of n sequences into the cache. */
static void prefill(struct side *s, int n, int len)
{
    static struct pick next[MAX_SEQ];
    int at_once = MAX_TOK / len;

    for (int i = 0; i < n; i += at_once) {
        batch_clear(&s->bb);
        for (int k = i; k < MIN(i + at_once, n); k++) {
            start(s, k, len);
            batch_add(&s->bb, &s->rn.pool, &s->seq[k], len - 1, false);
        }
        die(runner_step(&s->rn, &s->bb, next), "prefill");
        for (int k = i; k < MIN(i + at_once, n); k++)
            s->seq[k].s.n_cached = len - 1;
    }
}

/* A row of each of n sequences, at the position where they are. */
static void decode_batch(struct side *s, int n)
{
    batch_clear(&s->bb);
    for (int i = 0; i < n; i++)
        batch_add(&s->bb, &s->rn.pool, &s->seq[i], 1, true);
}

/* ---- parity ---------------------------------------------------------------------------------- */

struct top {
    int32_t id;
    double gap; /* to the second */
};

static struct top top_of(const float *x, int n)
{
    int best = 0;
    float second = -INFINITY;

    for (int i = 1; i < n; i++)
        if (x[i] > x[best]) {
            second = x[best];
            best = i;
        } else if (x[i] > second)
            second = x[i];
    return (struct top){best, (double)x[best] - (double)second};
}

static double squares_of(const float *a, const float *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum;
}

/* What a row's logits said. */
struct row {
    struct top one, cut, fp32;
    double error_one, error_cut, apart, size; /* sums of squares */
};

static struct row row[PARITY_SEQ * PARITY_STEPS];
static int n_row, n_unlike; /* choices that are not the arg-max */

/* Chooses with the steps as they are recorded, then leaves the logits of the same rows, op by op. */
static void choose(struct side *s, struct pick *next)
{
    int vocab = s->model.cfg.decoder.vocab;

    decode_batch(s, PARITY_SEQ);
    die(runner_step(&s->rn, &s->bb, next), "step");
    die(runner_forward(&s->rn, &s->bb), "forward");
    for (int i = 0; i < PARITY_SEQ; i++)
        n_unlike += top_of(s->rn.logits + (size_t)i * (size_t)vocab, vocab).id != next[i].id;
}

static void note_rows(void)
{
    int vocab = one.model.cfg.decoder.vocab;
    static float zero[1 << 18];

    for (int i = 0; i < PARITY_SEQ; i++) {
        size_t at = (size_t)i * (size_t)vocab;
        const float *a = one.rn.logits + at, *b = cut.rn.logits + at, *f = fp32.rn.logits + at;

        row[n_row++] = (struct row){top_of(a, vocab),          top_of(b, vocab),
                                    top_of(f, vocab),          squares_of(a, f, vocab),
                                    squares_of(b, f, vocab),   squares_of(a, b, vocab),
                                    squares_of(f, zero, vocab)};
    }
}

static void advance(struct side *s, const struct pick *next)
{
    for (int i = 0; i < PARITY_SEQ; i++) {
        struct request *q = &s->seq[i];

        q->id[q->s.n_known] = next[i].id;
        q->s.n_cached = q->s.n_known++;
        die(kv_reserve(&s->rn.pool, &q->s.kv, q->s.n_known), "cache");
    }
}

static int report_parity(void)
{
    double error_one = 0, error_cut = 0, apart = 0, size = 0, sigma, gap = 0;
    int n_same = 0, n_one = 0, n_cut = 0, n_clear = 0, n_wrong = 0;
    double n = (double)n_row * one.model.cfg.decoder.vocab;

    for (int i = 0; i < n_row; i++) {
        error_one += row[i].error_one;
        error_cut += row[i].error_cut;
        apart += row[i].apart;
        size += row[i].size;
    }
    sigma = sqrt(error_one / n);
    for (int i = 0; i < n_row; i++) {
        bool is_clear = row[i].fp32.gap > SIGMAS * sigma,
             is_right = row[i].cut.id == row[i].fp32.id;

        n_same += row[i].one.id == row[i].cut.id;
        n_one += row[i].one.id == row[i].fp32.id;
        n_cut += is_right;
        n_clear += is_clear;
        n_wrong += is_clear && !is_right;
        if (row[i].one.id != row[i].cut.id)
            gap = fmax(gap, row[i].fp32.gap);
    }
    printf(
        "parity: %d rows of %d sequences; rms error of logits against fp32, of their rms %.3g: one %.3e, "
        "cut %.3e; one and cut apart by %.3e\n",
        n_row, PARITY_SEQ, sqrt(size / n), sqrt(error_one / size), sqrt(error_cut / size),
        sqrt(apart / size));
    printf(
        "   ids: cut = one %d, one = fp32 %d, cut = fp32 %d; where cut and one differ fp32's best two are at "
        "most %.4g apart\n",
        n_same, n_one, n_cut, gap);
    printf(
        "   fp32's best two further apart than %d sigma = %.4g: %d rows, of these cut differs in %d\n",
        SIGMAS, SIGMAS * sigma, n_clear, n_wrong);
    printf("   recorded choice is not the arg-max op by op: %d of %d\n", n_unlike, 3 * n_row);
    fflush(stdout);
    return n_wrong > 0 || n_unlike > 0;
}

static int parity(void)
{
    static struct pick next[MAX_SEQ], other[MAX_SEQ];
    struct side *all[] = {&one, &cut, &fp32};

    for (int i = 0; i < 3; i++)
        prefill(all[i], PARITY_SEQ, PARITY_PROMPT);
    for (int step = 0; step < PARITY_STEPS; step++) {
        choose(&one, next);
        choose(&cut, other);
        choose(&fp32, other);
        note_rows();
        for (int i = 0; i < 3; i++)
            advance(all[i], next);
    }
    return report_parity();
}

/* ---- times ----------------------------------------------------------------------------------- */

struct took {
    double median, low, high; /* ms */
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct took time_of(void (*work)(struct side *s, int n), struct side *s, int n)
{
    double ms[REPEATS];

    for (int i = -WARM_UPS; i < REPEATS; i++) {
        int64_t start = clock_ns();

        work(s, n);
        if (i >= 0)
            ms[i] = clock_ms_since(start);
    }
    qsort(ms, REPEATS, sizeof *ms, by_size);
    return (struct took){ms[REPEATS / 2], ms[REPEATS / 10], ms[REPEATS * 9 / 10]};
}

static void print_took(const char *what, int n, const struct side *s, struct took t,
                       struct took base)
{
    printf("%-8s %4d  %-6s %8.1f us  [%.1f .. %.1f]  one / this %.2f\n", what, n, s->name,
           1000 * t.median, 1000 * t.low, 1000 * t.high, base.median / t.median);
    fflush(stdout);
}

static void decode_step(struct side *s, int n)
{
    static struct pick next[MAX_SEQ];

    decode_batch(s, n);
    die(runner_step(&s->rn, &s->bb, next), "step");
}

static void prefill_step(struct side *s, int n)
{
    static struct pick next[MAX_SEQ];

    batch_clear(&s->bb);
    for (int i = 0; i < n; i++) {
        start(s, i, PROMPT);
        batch_add(&s->bb, &s->rn.pool, &s->seq[i], PROMPT, true);
    }
    die(runner_step(&s->rn, &s->bb, next), "prefill");
}

/* n pages, as many views at once as the side takes. */
static void vision_step(struct side *s, int n)
{
    struct sched_view view[7 * 4];

    for (int i = 0; i < 7 * n; i++)
        view[i] = (struct sched_view){&s->seq[i / 7].s, i % 7};
    for (int i = 0; i < 7 * n; i += s->rn.view_batch)
        die(runner_encode(&s->rn, view + i, MIN(s->rn.view_batch, 7 * n - i)), "vision");
}

static void give_pictures(struct side *s)
{
    static unsigned char *tile, *global;

    if (!tile) {
        tile = malloc((size_t)6 * 768 * 768 * 3);
        global = malloc((size_t)1024 * 1024 * 3);
        for (size_t i = 0; i < (size_t)6 * 768 * 768 * 3; i++)
            tile[i] = (unsigned char)((i / 7 * 2654435761u) >> 19);
        memcpy(global, tile, (size_t)1024 * 1024 * 3);
    }
    for (int i = 0; i < 4; i++) {
        s->seq[i].n_tile = s->seq[i].s.n_tile = 6;
        s->seq[i].n_visual = vision_page_rows(&s->model.vision, 6);
        s->seq[i].tile = tile;
        s->seq[i].global = global;
    }
}

static void decode_part(void)
{
    static const int batch[] = {1, 2, 4, 8, 16, 32, 64, 128};
    struct side *all[] = {&one, &cut, &alone};

    for (int i = 0; i < 3; i++)
        prefill(all[i], MAX_SEQ, CONTEXT);
    for (size_t b = 0; b < sizeof batch / sizeof *batch; b++) {
        struct took base = {0};

        for (int i = 0; i < 3; i++) {
            struct took t = time_of(decode_step, all[i], batch[b]);

            base = i ? base : t;
            print_took("decode", batch[b], all[i], t, base);
        }
    }
}

static void pages_part(const char *what, void (*work)(struct side *s, int n))
{
    static const int pages[] = {1, 4};

    for (int p = 0; p < 2; p++) {
        struct took base = time_of(work, &one, pages[p]);

        print_took(what, pages[p], &one, base, base);
        print_took(what, pages[p], &cut, time_of(work, &cut, pages[p]), base);
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct sums {
    int rows;
    void *y[COMM_RANKS], *h[COMM_RANKS];
};

static int sum_mine(void *ctx, int rank)
{
    const struct sums *u = ctx;
    struct runner *rn = runner_of(&cut.rn, rank);
    struct run *r = &rn->run;
    int64_t width = r->part.n[1];
    tensor y = tensor_view(u->y[rank], DT_F32, 2, u->rows, width, 1, 1),
           h = tensor_view(u->h[rank], r->act, 2, u->rows, width, 1, 1),
           part = tensor_view(r->part.data, DT_F32, 2, u->rows, width, 1, 1);

    for (int i = 0; i < SUMS; i++)
        TRY(r->be->sum_ranks_norm(r->dev, y, part, h, rn->model->decoder.norm, 1e-6f));
    return run_finish(r);
}

static void sum_all(struct side *s, int rows)
{
    static struct sums u;

    for (int i = 0; i < n_rank && !u.y[i]; i++) {
        struct run *r = &runner_of(&s->rn, i)->run;
        size_t n = (size_t)tensor_count(r->part);

        die(r->be->alloc(r->dev, n * sizeof(float), &u.y[i]), "sums");
        die(r->be->alloc(r->dev, n * sizeof(float), &u.h[i]), "sums");
    }
    u.rows = rows;
    die(team_run(s->ranks.team, sum_mine, &u), "sums");
}

static void sums_part(void)
{
    static const int rows[] = {1, 8, 32, 64, 128, 1130, 4520};
    int n_sum = 2 * cut.model.cfg.decoder.layers;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct took t = time_of(sum_all, &cut, rows[i]);

        printf(
            "sums     %4d rows  %7.2f us each [%.2f .. %.2f]; %d a step are %.1f us; numbers sent by a rank in a "
            "step: %.3f MB of 4 bytes\n",
            rows[i], 1000 * t.median / SUMS, 1000 * t.low / SUMS, 1000 * t.high / SUMS, n_sum,
            1000 * t.median / SUMS * n_sum,
            4e-6 * (double)n_sum * rows[i] * (double)cut.rn.run.part.n[1] * (n_rank - 1));
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int rc = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: bench_gpu_ranks MODEL_DIR [RANKS [PART]]\n");
        return 2;
    }
    dir = argv[1];
    n_rank = argc > 2 ? MIN(MAX(atoi(argv[2]), 2), COMM_RANKS) : 2;
    only = argc > 3 ? argv[3] : "";
    for (int i = 0; i < n_rank; i++)
        snprintf(device_name[i], sizeof device_name[i], "cuda:%d", i);
    open_side(&cut, n_rank, "auto");
    if (is_wanted("sums"))
        sums_part();
    if (strcmp(only, "sums") != 0)
        open_side(&one, 1, "auto");
    if (is_wanted("decode")) {
        open_alone();
        decode_part();
    }
    if (is_wanted("prefill"))
        pages_part("prefill", prefill_step);
    if (is_wanted("vision")) {
        give_pictures(&one);
        give_pictures(&cut);
        pages_part("vision", vision_step);
    }
    if (is_wanted("parity")) {
        open_side(&fp32, 1, "fp32");
        rc = parity();
    }
    return rc;
}
