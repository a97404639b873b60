/* What of engine/ sees a tensor: encodes views, runs a step's rows, samples (runner_open.c: memory).
 * Owns the KV slab and the scratch memory, both sized by a dry run before anything is computed. Engine thread only.
 *
 * With several ranks every call is done by all of them, each on its own thread: views are dealt out, rows are everybody's, and
 * what ranks find among their parts of the logits is joined here.  After a call that failed all are ready for the next. */
#ifndef RECTO_ENGINE_RUNNER_H
#define RECTO_ENGINE_RUNNER_H

#include "backend/op.h"
#include "engine/batch.h"
#include "engine/ranks.h"

struct runner_opts {
    int max_tok, max_seq; /* rows and sequences of a step */
    int max_out;          /* rows whose logits are wanted in a step */
    int kv_tok;           /* tokens in the KV slab, rounded up to blocks */
    int kv_block_tok;     /* 0: the device's choice */
    int view_batch;       /* views encoded together; 0: the device's choice */
    tap_fn *tap;
    void *tap_ctx;
    const struct ranks *ranks; /* the model is rank 0 of these, borrowed; NULL: it is whole */
};

struct runner {
    const struct model *model;
    struct run run;
    struct kv_pool pool;
    int max_out;
    int view_batch, view_each; /* views at once, in all and on one device */
    int64_t kv_bytes;          /* on all devices */
    float *logits;             /* [max_out, vocab], host */
    struct sample_ask *ask;    /* [max_out] */
    struct choice *found;      /* [max_out] in this rank's part of the logits */
    struct pick *next;         /* [max_out] */
    struct sampler_scratch sampling;

    /* ---- several ranks: this is rank 0, and its peers are runners without pool, logits, next and sampling of their own */
    const struct ranks *ranks; /* NULL: the only one */
    struct runner *peer;       /* [ranks->n - 1] */
    float *own;                /* [max_out, part of vocab], host */
};

/* The runner of a rank, 0 .. ranks - 1. */
static inline struct runner *runner_of(struct runner *rn, int rank)
{
    return rank ? &rn->peer[rank - 1] : rn;
}
static inline int runner_ranks(const struct runner *rn)
{
    return rn->ranks ? rn->ranks->n : 1;
}

/* After any outcome runner_close is safe. RECTO_ENOMEM names what was too large. */
int runner_open(struct runner *rn, const struct model *m, const struct runner_opts *o);
void runner_close(struct runner *rn);
/* All ranks anew, after a step that failed on one. */
int runner_rejoin(struct runner *rn);

/* Encode views into the visual rows of their pages; a page's rows are taken from the device at its first view. At
 * most view_batch views. */
int runner_encode(struct runner *rn, const struct sched_view *view, int n_view);
/* Do all devices still answer?  RECTO_EDEVICE: one does not, and nothing that was on it is of use. */
int runner_probe(struct runner *rn);
/* Free visual rows. */
void runner_forget(struct runner *rn, void *visual);
/* The device's clock. */
int64_t runner_now_ns(const struct runner *rn);
/* Run the rows of bb; rn->logits then holds [n_out, vocab]. */
int runner_forward(struct runner *rn, const struct batch_builder *bb);
/* The same, then choose the next id of each bb->out: next [n_out].  bb is as before afterwards. */
int runner_step(struct runner *rn, struct batch_builder *bb, struct pick *next);

#endif
