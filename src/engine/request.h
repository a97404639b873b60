/* One page on its way through the engine.
 *
 * Belongs to whoever took it out of a queue last: a page worker fills the first part, then engine_submit hands it to the
 * engine thread, which hands it back through on_done.  Only `is_cancelled` may be set by anyone at any time. */
#ifndef RECTO_ENGINE_REQUEST_H
#define RECTO_ENGINE_REQUEST_H

#include "base/err.h"
#include "decoder/sampler.h"
#include "engine/kv_pool.h"

#include <stdatomic.h>

struct request {
    /* ---- filled before engine_submit; memory belongs to the owner ---- */
    void *owner;
    int32_t *id;                  /* prompt ids, with room for n_prompt + max_new; new ids are appended */
    int n_prompt, max_new;
    int image_at, n_visual;       /* where the visual rows stand in the prompt, and how many */
    const unsigned char *tile;    /* n_tile views of 768 x 768 x 3 */
    const unsigned char *global;  /* 1024 x 1024 x 3 */
    int n_tile;
    struct sampler sampler;
    bool keeps_going;             /* do not stop at EOS (golden runs) */
    void (*on_token)(struct request *q, int32_t id); /* engine thread, each new id but EOS; may be NULL */
    void (*on_done)(struct request *q);              /* engine thread, last touch */
    atomic_bool is_cancelled;

    /* ---- engine thread only, then results ---- */
    struct kv_seq kv;
    void *visual;                 /* [n_visual, hidden] fp32 on the device, or NULL */
    int n_encoded;                /* views done: tiles first, then the global one */
    int n_cached, n_id;           /* ids whose K and V are stored; ids known (prompt and new) */
    bool is_done;
    enum recto_finish finish;
    int rc;                       /* 0, RECTO_ECANCELED, or a failure with its sentence */
    char rc_text[ERR_TEXT_MAX];
    double logp_sum;
    int n_intervention;
    int64_t submitted_ns, admitted_ns, prefill_ns, first_ns, done_ns; /* clock_ns */
    double vision_ms;
};

static inline int request_views(const struct request *q)
{
    return q->n_tile + 1;
}

static inline int request_new(const struct request *q)
{
    return q->n_id - q->n_prompt;
}

#endif
