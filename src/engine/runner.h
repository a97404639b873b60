/* The one file of engine/ that sees a tensor: encodes views, runs a step's rows, samples.
 * Owns the KV slab and the scratch memory, both sized by a dry run before anything is computed. Engine thread only. */
#ifndef RECTO_ENGINE_RUNNER_H
#define RECTO_ENGINE_RUNNER_H

#include "backend/op.h"
#include "engine/batch.h"
#include "engine/model.h"

struct runner_opts {
    int max_tok, max_seq; /* rows and sequences of a step */
    int max_out;          /* rows whose logits are wanted in a step */
    int kv_tok;           /* tokens in the KV slab, rounded up to blocks */
    int kv_block_tok;     /* 0: the device's choice */
    int view_batch;       /* views encoded together; 0: the device's choice */
    tap_fn *tap;
    void *tap_ctx;
};

struct runner {
    const struct model *model;
    struct run run;
    struct kv_pool pool;
    int max_out, view_batch;
    int64_t kv_bytes;
    float *logits;          /* [max_out, vocab], host */
    struct sample_ask *ask; /* [max_out] */
    struct pick *next;      /* [max_out] */
    struct sampler_scratch sampling;
};

/* After any outcome runner_close is safe. RECTO_ENOMEM names what was too large. */
int runner_open(struct runner *rn, const struct model *m, const struct runner_opts *o);
void runner_close(struct runner *rn);

/* Encode views of one size into the visual rows of their pages; a page's rows are taken from the device at its first view. At
 * most view_batch views. */
int runner_encode(struct runner *rn, const struct sched_view *view, int n_view);
/* Free visual rows. */
void runner_forget(struct runner *rn, void *visual);
/* The device's clock. */
int64_t runner_now_ns(const struct runner *rn);
/* Run the rows of bb; rn->logits then holds [n_out, vocab]. */
int runner_forward(struct runner *rn, const struct batch_builder *bb);
/* The same, then choose the next id of each bb->out: next [n_out].  bb is as before afterwards. */
int runner_step(struct runner *rn, struct batch_builder *bb, struct pick *next);

#endif
