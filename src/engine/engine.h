/* One engine per device: it owns the scheduler, the KV pool and the device.  Everything but engine_submit belongs to one
 * thread, so there is no lock in its loop; requests come in by a bounded queue and leave through their on_done.
 *
 * A turn: take what came in, drop what was cancelled or is too late, let the scheduler choose, encode views, run rows, append
 * ids.  engine_start runs turns on a thread of its own; a simulation calls engine_turn itself. */
#ifndef RECTO_ENGINE_ENGINE_H
#define RECTO_ENGINE_ENGINE_H

#include "base/queue.h"
#include "engine/runner.h"

#include <pthread.h>

struct shelf;

struct engine_opts {
    int max_running; /* pages that run at once */
    int max_waiting; /* pages that wait inside, beyond those that run; and as many again in the inbox */
    int reserve;     /* places of max_running that only interactive pages may take */
    int chunk_tok;                     /* prompt rows a step */
    int kv_block_tok;                  /* 0: the device's choice */
    int64_t kv_tok;                    /* 0: max_running pages of full length */
    size_t image_bytes;                /* of visual rows kept for images seen before */
    int view_batch, view_batch_shared; /* 0: the device's choice; see sched_opts */
    struct shelf *
        shelf; /* where pages come from, shared with other engines (fleet.h); NULL: an inbox of its own */
    int number;     /* on the shelf */
    int n_rank;     /* devices that the model is cut over (ranks.h); 0, 1: one */
    bool is_static; /* static batches, for comparison */
    int64_t static_wait_us;
};

struct engine_stats {
    int64_t n_step, n_row, n_out, n_view, n_done, n_failed, n_cancelled, n_late, n_loop,
        n_intervention;
    int64_t n_preempted, n_image_hit, n_image_miss, n_shared_tok;
    int64_t n_moved,
        n_lost;       /* pages given to other engines because the device was lost; devices lost */
    int64_t busy_ns;  /* device time of steps */
    int64_t sched_ns; /* host time of planning and bookkeeping */
    int n_running, n_waiting, n_block_free, n_block;
};

struct engine {
    struct model model; /* of rank 0 */
    struct ranks ranks;
    struct runner runner;
    struct queue inbox;
    struct shelf *shelf; /* NULL: the inbox */
    int number;
    char name[40]; /* of its first device */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;
    pthread_mutex_t stats_lock;
    struct engine_stats stats_out; /* under stats_lock: what others read */

    /* ---- engine thread only ---- */
    int max_live;
    struct sched sched;
    struct image_cache images;
    struct batch_builder batch;
    struct pick *next, *alone; /* by out row; by part of the step */
    struct request **live;     /* all that are inside, in no order */
    int n_live;
    bool is_lost; /* the device is; lost_text is what it said */
    char lost_text[ERR_TEXT_MAX];
    int64_t waiting_since_ns; /* static batches */
    struct engine_stats stats;
};

/* Open the model, without a thread, on the device of dev, or cut over those of dev [o->n_rank]. After any outcome engine_close
 * is safe. */
int engine_open(struct engine *e, const char *model_dir, const char *backend,
                const struct device_opts *dev, const struct engine_opts *o);
int engine_start(struct engine *e);
/* Stop: what runs or waits ends as cancelled (on_done is called for each), then free. */
void engine_close(struct engine *e);

/* Hand q over, from any thread.  RECTO_EAGAIN: the inbox is full.  A page that can never fit the pool ends with RECTO_EDEVICE
 * through on_done. */
int engine_submit(struct engine *e, struct request *q);
/* As engine_submit, but waits for room. */
int engine_submit_wait(struct engine *e, struct request *q);
void engine_get_stats(struct engine *e, struct engine_stats *s);

/* ---- engine thread, or a simulation ---- */
/* Take q in at once. */
void engine_add(struct engine *e, struct request *q);
/* One turn; false when there was nothing to do. */
bool engine_turn(struct engine *e);

#endif
