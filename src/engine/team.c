#include "engine/team.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* How often a thread looks for work before it sleeps: about 200 us where every rank has cores of its own, longer than what
 * the engine does between two steps, and waking up would cost a tenth of a short step; else 20 us. */
#define SPIN_ALONE  40000
#define SPIN_SHARED 4000

struct member {
    struct team *team;
    pthread_t thread;
    int rank, rc;
    char text[ERR_TEXT_MAX];
};

struct team {
    int n, spin;
    struct member *member; /* [n]; 0 has no thread */
    team_fn *fn;
    void *ctx;
    atomic_uint round; /* rises for each team_run */
    atomic_int n_busy;
    atomic_bool is_stopping;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void await_round(struct team *t, unsigned seen)
{
    for (int i = 0; i < t->spin; i++) {
        if (atomic_load_explicit(&t->round, memory_order_acquire) != seen)
            return;
        relax();
    }
    pthread_mutex_lock(&t->lock);
    while (atomic_load_explicit(&t->round, memory_order_acquire) == seen)
        pthread_cond_wait(&t->wake, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static void do_part(struct member *m)
{
    m->rc = m->team->fn(m->team->ctx, m->rank);
    if (m->rc < 0)
        memcpy(m->text, err_text(), sizeof m->text);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;

    for (unsigned seen = 0;; seen++) {
        await_round(t, seen);
        if (atomic_load(&t->is_stopping))
            return NULL;
        do_part(m);
        atomic_fetch_sub_explicit(&t->n_busy, 1, memory_order_release);
    }
}

static void start_round(struct team *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add_explicit(&t->round, 1, memory_order_release);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

int team_open(struct team **out, int n)
{
    struct team *t = mem_zero(1, sizeof *t);

    *out = t;
    t->spin = pool_usable_cores() >= 2 * n ? SPIN_ALONE : SPIN_SHARED;
    t->member = mem_zero((size_t)n, sizeof *t->member);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    for (t->n = 1, t->member[0].team = t; t->n < n; t->n++) {
        struct member *m = &t->member[t->n];

        m->team = t;
        m->rank = t->n;
        if (pthread_create(&m->thread, NULL, member_main, m) != 0)
            return err(RECTO_EINTERNAL, "internal: no thread for rank %d of the model", t->n);
    }
    return 0;
}

void team_close(struct team *t)
{
    if (!t)
        return;
    atomic_store(&t->is_stopping, true);
    start_round(t);
    for (int r = 1; r < t->n; r++)
        pthread_join(t->member[r].thread, NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
    free(t->member);
    free(t);
}

/* A rank that was only waiting for another says RECTO_EDEVICE; a cause of another kind, or the first, says more. */
static int first_failure(struct team *t)
{
    const struct member *m = NULL;

    for (int r = 0; r < t->n; r++) {
        const struct member *o = &t->member[r];

        if (o->rc < 0 &&
            (!m || (strstr(m->text, "another rank") && !strstr(o->text, "another rank"))))
            m = o;
    }
    return m ? err(m->rc, "%s", m->text) : 0;
}

int team_run(struct team *t, team_fn *fn, void *ctx)
{
    t->fn = fn;
    t->ctx = ctx;
    atomic_store_explicit(&t->n_busy, t->n - 1, memory_order_relaxed);
    start_round(t);
    do_part(&t->member[0]);
    for (int i = 0; atomic_load_explicit(&t->n_busy, memory_order_acquire) != 0; i++) {
        if (i < t->spin)
            relax();
        else
            sched_yield();
    }
    return first_failure(t);
}
