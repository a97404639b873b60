/* One engine thread per device: it owns the scheduler, the KV pool and the device; there is no lock in its loop.
 * Requests come in by a bounded queue and leave through their on_done (engine thread). */
#ifndef RECTO_ENGINE_ENGINE_H
#define RECTO_ENGINE_ENGINE_H

#include "base/queue.h"
#include "engine/runner.h"
#include "engine/sched.h"

#include <pthread.h>

struct engine_opts {
    int max_running, chunk_tok, max_waiting, kv_block_tok;
    int64_t kv_tok;
};

struct engine {
    struct model model;
    struct runner runner;
    struct queue inbox;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;

    /* ---- engine thread only ---- */
    int max_running, chunk_tok, n_running;
    struct request **running; /* by age */
    struct request *waiting;  /* taken from the inbox, not yet admitted for lack of blocks */
    struct sched_seq *seq;
    struct sched_step step;
    struct batch_builder batch;
    struct pick *next;
};

/* Open the model and start the thread. After any outcome engine_close is safe. */
int engine_open(struct engine *e, const char *model_dir, const char *backend, const struct device_opts *dev,
                const struct engine_opts *o);
/* Stop: what runs or waits ends as cancelled (on_done is called for each), then free. */
void engine_close(struct engine *e);

/* Hand q over. RECTO_EAGAIN: the inbox is full. RECTO_ENOSPC is never returned here: a page that can never fit the pool
 * ends with RECTO_EDEVICE through on_done. */
int engine_submit(struct engine *e, struct request *q);
/* As engine_submit, but waits for room. */
int engine_submit_wait(struct engine *e, struct request *q);

#endif
