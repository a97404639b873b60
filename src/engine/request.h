/* One page on its way through the engine.
 *
 * Belongs to whoever took it out of a queue last: a page worker fills the first part, then engine_submit hands it to the
 * engine thread, which hands it back through on_done.  Only `is_cancelled` may be set by anyone at any time. */
#ifndef RECTO_ENGINE_REQUEST_H
#define RECTO_ENGINE_REQUEST_H

#include "base/err.h"
#include "decoder/loop.h"
#include "decoder/sampler.h"
#include "engine/image_cache.h"
#include "engine/sched.h"

#include <stdatomic.h>

struct script_stream;

struct request {
    struct sched_page
        s; /* first: the scheduler's pages are requests. cls, caller, job are the owner's to fill */

    /* ---- filled before engine_submit; memory belongs to the owner ---- */
    void *owner;
    int32_t *id; /* prompt ids, with room for n_prompt + max_new; new ids are appended */
    float *logp; /* [max_new] room for the new ids' log-probabilities, or NULL */
    int n_prompt, max_new;
    int image_at, n_visual;      /* where the visual rows stand in the prompt, and how many */
    const unsigned char *tile;   /* n_tile views of 768 x 768 x 3 */
    const unsigned char *global; /* 1024 x 1024 x 3 */
    int n_tile;
    struct kv_key image; /* of the content and of how it was cut; zero: not cached, not shared */
    struct sampler sampler;
    const struct script_stream *script; /* on a scripted device: what the page says; else NULL */
    bool watches_loops;
    struct loop_opts loops;
    bool keeps_going;    /* do not stop at EOS (golden runs, benchmarks) */
    int64_t deadline_ns; /* of the device's clock; 0: none */
    /* Engine thread, each new id but EOS, before it is looked at for loops; may change sampler.guard. May be NULL. */
    void (*on_token)(struct request *q, struct pick pick);
    void (*on_done)(struct request *q); /* engine thread, last touch */
    atomic_bool is_cancelled;

    /* ---- engine thread only, then results ---- */
    struct kv_key *key;       /* of the prompt's full blocks */
    struct image_entry *seen; /* the visual rows, once all are there */
    void *visual;             /* [n_visual, hidden] fp32 on the device, or NULL */
    struct loop loop;
    bool is_done;
    int n_moved; /* devices that were lost under it */
    enum recto_finish finish;
    int n_new; /* ids to keep: all, or up to where a loop began */
    int rc;    /* 0, RECTO_ECANCELED, RECTO_EDEADLINE, or a failure with its sentence */
    char rc_text[ERR_TEXT_MAX];
    int n_intervention;
    int64_t submitted_ns, admitted_ns, prefill_ns, first_ns, done_ns; /* the device's clock */
    double vision_ms;
};

static inline struct request *request_of(struct sched_page *p)
{
    return (struct request *)p;
}

static inline int request_new(const struct request *q)
{
    return q->s.n_known - q->n_prompt;
}

#endif
