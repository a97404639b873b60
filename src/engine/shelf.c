#include "engine/shelf.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define SWEEP_NS 10000000 /* how often cancelled and late pages are looked for */

struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t has_page, has_room;
    struct waiting waiting;
    struct request **item; /* [n] the same pages, in no order */
    int n, room, cap;
    int n_engine, n_left;
    int *load; /* [n_engine] pages of each; -1: it has left */
    int64_t swept_ns;
    bool is_stopped;
};

struct shelf *shelf_open(int cap, int n_engine)
{
    struct shelf *s = mem_zero(1, sizeof *s);
    pthread_condattr_t attr;

    s->cap = cap;
    s->n_engine = s->n_left = n_engine;
    s->load = mem_zero((size_t)n_engine, sizeof *s->load);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->has_page, &attr);
    pthread_cond_init(&s->has_room, &attr);
    pthread_condattr_destroy(&attr);
    return s;
}

void shelf_close(struct shelf *s)
{
    if (!s)
        return;
    waiting_reset(&s->waiting);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->has_page);
    pthread_cond_destroy(&s->has_room);
    free(s->item);
    free(s->load);
    free(s);
}

/* ---- under lock ------------------------------------------------------------------------------------------------------ */

static void add(struct shelf *s, struct request *q, bool at_front)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->item = mem_grow(s->item, (size_t)s->room, sizeof(struct request *));
    }
    s->item[s->n++] = q;
    waiting_add(&s->waiting, &q->s, at_front);
    pthread_cond_broadcast(&s->has_page);
}

static struct request *remove_item(struct shelf *s, struct request *q)
{
    int i = 0;

    while (s->item[i] != q)
        i++;
    s->item[i] = s->item[--s->n];
    pthread_cond_signal(&s->has_room);
    return q;
}

static bool is_over(const struct request *q, int64_t now_ns)
{
    return atomic_load_explicit(&q->is_cancelled, memory_order_relaxed) ||
           (q->deadline_ns && now_ns > q->deadline_ns);
}

static struct request *take_over(struct shelf *s, int64_t now_ns)
{
    if (now_ns - s->swept_ns < SWEEP_NS)
        return NULL;
    for (int i = 0; i < s->n; i++)
        if (is_over(s->item[i], now_ns)) {
            waiting_drop(&s->waiting, &s->item[i]->s);
            return remove_item(s, s->item[i]);
        }
    s->swept_ns = now_ns;
    return NULL;
}

/* Retries only where no other page waits. */
static struct sched_page *choose(const struct shelf *s, struct shelf_room room)
{
    struct sched_page *p = room.others        ? waiting_peek(&s->waiting, CLASS_RETRY)
                           : room.interactive ? waiting_peek(&s->waiting, CLASS_INTERACTIVE + 1)
                                              : NULL;

    return p || !room.retries || waiting_peek(&s->waiting, CLASS_RETRY)
               ? p
               : waiting_peek(&s->waiting, CLASSES);
}

static bool is_its_turn(const struct shelf *s, int engine)
{
    for (int i = 0; i < s->n_engine; i++)
        if (s->load[i] >= 0 && s->load[i] + 1 < s->load[engine])
            return false;
    return true;
}

static struct request *take(struct shelf *s, int engine, struct shelf_room room, int64_t now_ns)
{
    struct request *q = take_over(s, now_ns);
    struct sched_page *p;

    if (q)
        return q;
    p = is_its_turn(s, engine) ? choose(s, room) : NULL;
    if (!p)
        return NULL;
    waiting_take(&s->waiting, p);
    s->load[engine]++;
    return remove_item(s, request_of(p));
}

/* ---- any thread ------------------------------------------------------------------------------------------------------ */

int shelf_put(struct shelf *s, struct request *q)
{
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (s->is_stopped)
        rc = RECTO_ECANCELED;
    else if (s->n >= s->cap)
        rc = RECTO_EAGAIN;
    else
        add(s, q, false);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int shelf_put_wait(struct shelf *s, struct request *q)
{
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    while (s->n >= s->cap && !s->is_stopped)
        pthread_cond_wait(&s->has_room, &s->lock);
    if (s->is_stopped)
        rc = RECTO_ECANCELED;
    else
        add(s, q, false);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void shelf_return(struct shelf *s, struct request *q)
{
    pthread_mutex_lock(&s->lock);
    add(s, q, true);
    pthread_mutex_unlock(&s->lock);
}

void shelf_stop(struct shelf *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_stopped = true;
    pthread_cond_broadcast(&s->has_page);
    pthread_cond_broadcast(&s->has_room);
    pthread_mutex_unlock(&s->lock);
}

struct request *shelf_left(struct shelf *s)
{
    struct request *q = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->n) {
        q = s->item[0];
        waiting_drop(&s->waiting, &q->s);
        remove_item(s, q);
    }
    pthread_mutex_unlock(&s->lock);
    return q;
}

int shelf_count(struct shelf *s)
{
    int n;

    pthread_mutex_lock(&s->lock);
    n = s->n;
    pthread_mutex_unlock(&s->lock);
    return n;
}

struct request *shelf_take(struct shelf *s, int engine, struct shelf_room room, int64_t now_ns,
                           int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms);
    struct request *q;

    pthread_mutex_lock(&s->lock);
    s->load[engine] = room.n_in;
    while (!(q = s->is_stopped ? NULL : take(s, engine, room, now_ns)) && wait_ms > 0 &&
           !s->is_stopped)
        if (pthread_cond_timedwait(&s->has_page, &s->lock, &until) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&s->lock);
    return q;
}

int shelf_leave(struct shelf *s, int engine)
{
    int n;

    pthread_mutex_lock(&s->lock);
    s->n_left -= s->load[engine] >= 0;
    s->load[engine] = -1;
    n = s->n_left;
    pthread_cond_broadcast(&s->has_page); /* the others may come first now */
    pthread_mutex_unlock(&s->lock);
    return n;
}

int shelf_engines(struct shelf *s)
{
    int n;

    pthread_mutex_lock(&s->lock);
    n = s->n_left;
    pthread_mutex_unlock(&s->lock);
    return n;
}
