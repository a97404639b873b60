/* Who runs next: integers in, integers out.  Knows nothing of tensors or devices; engine thread only.
 *
 * Policy
 *   admission   waiting.h says who; normal and batch pages leave `reserve` places and their share of blocks free for
 *               interactive ones.  A page starts when its prompt fits the pool; it grows block by block.
 *   a step      every running page that decodes gets its row; what the chunk leaves goes to prompts; and one group of views
 *               of equal size is encoded, taken from as many pages as it needs.  Interactive pages first, then by age.
 *   two speeds  while interactive pages run beside others, steps of interactive pages alone alternate with steps of all, three
 *               quarters of the device's time for the former: a lone page is about 1.4 times as slow as on an idle device,
 *               whatever the rest is.
 *   no room     when a page needs a block and none is free, the youngest page of the least class gives its blocks back and
 *               waits at the front; what it had read is kept and computed again when it returns.
 *   static      (for comparison) pages start together, `max_running` at a time or after a wait, and none joins. */
#ifndef RECTO_ENGINE_SCHED_H
#define RECTO_ENGINE_SCHED_H

#include "engine/kv_pool.h"
#include "engine/waiting.h"

enum sched_state { SCHED_NEW, SCHED_WAITING, SCHED_RUNNING };

/* One page as the scheduler sees it. */
struct sched_page {
    /* ---- set before sched_add ---- */
    enum sched_class cls;
    uint64_t caller, job;     /* who asks; 0 is one of them */
    int n_prompt, max_tok;    /* ids of the prompt; prompt and new ids at most */
    int n_tile;               /* tiles; the global view comes on top */
    int image_end;            /* position behind the last visual row */
    const struct kv_key *key; /* [n_key] of the prompt's full blocks, or NULL: nothing is shared */
    int n_key;

    /* ---- the caller counts n_known up; the rest is the scheduler's ---- */
    int n_known;  /* ids known: prompt and new */
    int n_cached; /* of these, in the cache */
    int n_encoded; /* views encoded, tiles first; n_tile + 1: all. The caller sets all when it has them */
    bool is_covered; /* the blocks taken over reach behind the image: this time no view is needed */
    int n_published; /* blocks published */
    int n_preempted;
    enum sched_state state;
    int64_t age; /* order of first admission */
    struct kv_seq kv;
    struct sched_page *next, *prev; /* waiting */
};

struct sched_part {
    struct sched_page *page;
    int n_tok;    /* rows of this step, from position page->n_cached */
    bool is_last; /* reaches the end of the known ids: its last row's logits are wanted */
};

struct sched_view {
    struct sched_page *page;
    int view; /* 0 .. n_tile - 1: tile; n_tile: the global view */
};

struct sched_step {
    int n_view; /* views to encode together, of either size */
    struct sched_view *view;
    int n_part;
    struct sched_part *part;
    bool is_interactive; /* a step of interactive pages alone */
};

struct sched_opts {
    int max_running, reserve; /* places, and how many of them only interactive pages may take */
    int chunk_tok;            /* prompt rows a step */
    int view_batch;           /* views a group */
    int view_batch_shared; /* views a group while interactive pages run, so that they wait less; 0: those of one A4 page */
    bool is_static;
    int64_t static_wait_us;
};

struct sched {
    struct sched_opts opt;
    struct kv_pool *pool; /* borrowed */
    struct waiting waiting;
    struct sched_page **running; /* [n_running] by age */
    int n_running, n_interactive, n_retry;
    int64_t n_admitted;
    int64_t used_us
        [2]; /* device time of shared steps [0], weighted, and of interactive ones [1], levelled */
    struct sched_step step;
    int n_held; /* steps for which pages have been held together (sched.c) */
    int64_t n_preempted, n_step, n_shared_step; /* counters */
};

void sched_init(struct sched *s, const struct sched_opts *o, struct kv_pool *pool);
void sched_reset(struct sched *s); /* no page may be in it */

/* A page that waits from now on; RECTO_ENOSPC when max_tok can never fit the pool (then it is not added). */
int sched_add(struct sched *s, struct sched_page *p);
/* Take p out, wherever it is, the planned step included; its blocks are free. */
void sched_drop(struct sched *s, struct sched_page *p);
/* Admit, then plan. True when s->step has something to do. since_us: how long the oldest waiting page waits (static only). */
bool sched_next(struct sched *s, int64_t since_us);
/* The step ran: what it read is in the cache. used_us: device time, for the two speeds. */
void sched_commit(struct sched *s, int64_t used_us);

static inline bool sched_is_encoded(const struct sched_page *p)
{
    return p->is_covered || p->n_encoded > p->n_tile;
}

#endif
