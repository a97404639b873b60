/* Are decoding steps the same numbers whichever way they run?  On a device with a model folder:
 *
 *   bench_gpu_steps MODEL_DIR [DEVICE [SEQUENCES [STEPS]]]
 *
 * Sequences of different random prompts decode greedily, with the n-gram ban: all together with
 * steps recorded and replayed; together, op by op; and each alone.  Ids and log-probabilities are
 * compared bit for bit; the program ends with 1 when one differs.  With many steps it is the long
 * proof of replay, with few a quick one. */
#include "base/clock.h"
#include "base/err.h"
#include "engine/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEQ = 512, MIN_PROMPT = 40, MAX_PROMPT = 340, BLOCK = 64 };

static struct model model;
static struct runner rn;
static struct batch_builder bb;
static struct request seq[MAX_SEQ];
static int n_seq = 64, n_step = 200;
static struct backend op_by_op;

static void die(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", what, err_text());
        exit(2);
    }
}

/* Without what ends the step the device cannot replay it. */
static int step_op_by_op(struct device *d, struct kv *kv, const struct batch *b,
                         const struct sample_ask *ask, struct choice *next, struct step_rows *rows)
{
    return model.be->step(d, kv, b, NULL, NULL, rows);
}

static void make_prompts(void)
{
    uint32_t x = 1;

    for (int s = 0; s < n_seq; s++) {
        struct request *q = &seq[s];

        q->n_prompt = MIN_PROMPT +
                      (int)((uint32_t)s * 2654435761u >> 8) % (MAX_PROMPT - MIN_PROMPT);
        q->max_new = n_step;
        q->image_at = q->n_prompt;
        q->sampler = (struct sampler){.guard = {3, 60, {-1, -1}}, .top_p = 1};
        q->id = calloc((size_t)(q->n_prompt + n_step), sizeof *q->id);
        q->logp = calloc((size_t)n_step, sizeof *q->logp);
        for (int i = 0; i < q->n_prompt; i++) {
            x = x * 1664525 + 1013904223;
            q->id[i] = (int32_t)(x >> 8) % model.cfg.decoder.vocab;
        }
    }
}

static void take(struct request *q, const struct pick *p)
{
    q->s.n_cached = q->s.n_known;
    q->logp[request_new(q)] = p->logp;
    q->id[q->s.n_known++] = p->id;
}

static void prefill(struct request *q)
{
    struct pick next;

    q->s.n_known = q->n_prompt;
    q->s.n_cached = 0;
    die(kv_reserve(&rn.pool, &q->s.kv, q->n_prompt + n_step), "cache");
    batch_clear(&bb);
    batch_add(&bb, &rn.pool, q, q->n_prompt, true);
    die(runner_step(&rn, &bb, &next), "prefill");
    take(q, &next);
}

/* Sequences [from, to) side by side; milliseconds of the decoding steps. */
static double decode(int from, int to)
{
    static struct pick next[MAX_SEQ];
    int64_t start;
    double ms;

    for (int s = from; s < to; s++)
        prefill(&seq[s]);
    start = clock_ns();
    for (int i = 1; i < n_step; i++) {
        batch_clear(&bb);
        for (int s = from; s < to; s++)
            batch_add(&bb, &rn.pool, &seq[s], 1, true);
        die(runner_step(&rn, &bb, next), "step");
        for (int s = from; s < to; s++)
            take(&seq[s], &next[s - from]);
    }
    ms = clock_ms_since(start);
    for (int s = from; s < to; s++)
        kv_release(&rn.pool, &seq[s].s.kv);
    return ms;
}

struct result {
    int32_t *id;
    float *logp;
};

static struct result keep(int s)
{
    struct result r = {malloc((size_t)n_step * sizeof *r.id),
                       malloc((size_t)n_step * sizeof *r.logp)};

    memcpy(r.id, seq[s].id + seq[s].n_prompt, (size_t)n_step * sizeof *r.id);
    memcpy(r.logp, seq[s].logp, (size_t)n_step * sizeof *r.logp);
    return r;
}

/* 1 when sequence s came out otherwise. */
static int differs(int s, const struct result *r, const char *what)
{
    const struct request *q = &seq[s];

    for (int i = 0; i < n_step; i++)
        if (q->id[q->n_prompt + i] != r->id[i] ||
            memcmp(&q->logp[i], &r->logp[i], sizeof *r->logp) != 0) {
            printf("%s: sequence %d differs at step %d: id %d, %d; log-probability %.9g, %.9g\n",
                   what, s, i, (int)r->id[i], (int)q->id[q->n_prompt + i], (double)r->logp[i],
                   (double)q->logp[i]);
            return 1;
        }
    return 0;
}

static int compare(void)
{
    static struct result recorded[MAX_SEQ];
    int n_off = 0, n_alone = 0;
    double ms = decode(0, n_seq), plain_ms, alone_ms = 0;

    for (int s = 0; s < n_seq; s++)
        recorded[s] = keep(s);
    rn.run.be = &op_by_op;
    plain_ms = decode(0, n_seq);
    rn.run.be = model.be;
    for (int s = 0; s < n_seq; s++)
        n_off += differs(s, &recorded[s], "op by op");
    for (int s = 0; s < n_seq; s++) {
        alone_ms += decode(s, s + 1);
        n_alone += differs(s, &recorded[s], "alone");
    }
    printf("%d sequences, %d steps: recorded %.3f ms a step, op by op %.3f, alone %.3f; "
           "%d differ op by op, %d alone\n",
           n_seq, n_step, ms / (n_step - 1), plain_ms / (n_step - 1),
           alone_ms / (n_step - 1) / n_seq, n_off, n_alone);
    return n_off + n_alone > 0;
}

int main(int argc, char **argv)
{
    const char *device = argc > 2 ? argv[2] : "cuda";
    struct device_opts dev = {.name = device, .precision = "auto", .kernels = "auto"};

    if (argc < 2) {
        fprintf(stderr, "usage: bench_gpu_steps MODEL_DIR [DEVICE [SEQUENCES [STEPS]]]\n");
        return 2;
    }
    if (argc > 3)
        n_seq = MIN(MAX(atoi(argv[3]), 1), MAX_SEQ);
    if (argc > 4)
        n_step = MAX(atoi(argv[4]), 2);
    die(model_open(&model, argv[1], device, &dev), "model");
    struct runner_opts o = {.max_tok = MAX_PROMPT + MAX_SEQ,
                            .max_seq = n_seq,
                            .max_out = n_seq,
                            .kv_tok = (MAX_PROMPT + n_step + BLOCK) / BLOCK * BLOCK * n_seq,
                            .kv_block_tok = BLOCK};
    die(runner_open(&rn, &model, &o), "runner");
    op_by_op = *model.be;
    if (op_by_op.step)
        op_by_op.step = step_op_by_op;
    batch_init(&bb, o.max_tok, n_seq, (MAX_PROMPT + n_step) / BLOCK + 1, n_seq);
    make_prompts();
    return compare();
}
