#include "base/pool.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A worker that finds no work looks again this often before it sleeps: about 20 us, longer than the gap between two ops
 * of a decode step and far shorter than a scheduler tick. */
#define SPIN 4000

struct pool {
    int n_thread;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int n_asleep; /* under lock */
    bool is_stopping;

    pool_fn *fn;
    void *ctx;
    int64_t n;
    atomic_uint_fast64_t round; /* rises by one for each pool_run */
    atomic_int_fast64_t next;
    atomic_int n_busy; /* workers that have not finished this round */
};

struct start {
    struct pool *pool;
    int worker;
};

static void work(struct pool *p, int worker)
{
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);

        if (i >= p->n)
            return;
        p->fn(p->ctx, i, worker);
    }
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Wait until round differs from seen. */
static void await_round(struct pool *p, uint64_t seen)
{
    for (int i = 0; i < SPIN; i++) {
        if (atomic_load_explicit(&p->round, memory_order_acquire) != seen)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    p->n_asleep++;
    while (atomic_load_explicit(&p->round, memory_order_acquire) == seen)
        pthread_cond_wait(&p->wake, &p->lock);
    p->n_asleep--;
    pthread_mutex_unlock(&p->lock);
}

static void *worker_main(void *arg)
{
    struct start s = *(struct start *)arg;
    uint64_t seen = 0;

    free(arg);
    for (;;) {
        await_round(s.pool, seen);
        seen = atomic_load_explicit(&s.pool->round, memory_order_acquire);
        if (s.pool->is_stopping)
            return NULL;
        work(s.pool, s.worker);
        atomic_fetch_sub_explicit(&s.pool->n_busy, 1, memory_order_release);
    }
}

static void start_round(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
    if (p->n_asleep)
        pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void pool_run(struct pool *p, pool_fn *fn, void *ctx, int64_t n)
{
    if (n <= 1 || p->n_thread == 1) {
        for (int64_t i = 0; i < n; i++)
            fn(ctx, i, 0);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    p->n = n;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    atomic_store_explicit(&p->n_busy, p->n_thread - 1, memory_order_relaxed);
    start_round(p);
    work(p, 0);
    for (int i = 0; atomic_load_explicit(&p->n_busy, memory_order_acquire) != 0; i++) {
        if (i < SPIN)
            relax();
        else
            sched_yield();
    }
}

struct pool *pool_open(int n_thread)
{
    struct pool *p = mem_zero(1, sizeof *p);

    p->n_thread = n_thread > 0 ? n_thread : pool_usable_cores();
    p->thread = mem_zero((size_t)p->n_thread, sizeof *p->thread);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    for (int i = 1; i < p->n_thread; i++) {
        struct start *s = mem_alloc(sizeof *s);

        *s = (struct start){p, i};
        if (pthread_create(&p->thread[i], NULL, worker_main, s) != 0) {
            free(s); /* a machine that refuses a thread still reads pages, with fewer */
            p->n_thread = i;
        }
    }
    return p;
}

void pool_close(struct pool *p)
{
    if (!p)
        return;
    p->is_stopping = true;
    start_round(p);
    for (int i = 1; i < p->n_thread; i++)
        pthread_join(p->thread[i], NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    free(p->thread);
    free(p);
}

int pool_threads(const struct pool *p)
{
    return p->n_thread;
}

static int cgroup_cores(void)
{
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    long quota = 0, period = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%ld %ld", &quota, &period) != 2)
        quota = 0;
    fclose(f);
    return quota > 0 && period > 0 ? (int)div_up(quota, period) : 0;
}

int pool_usable_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1,
        limit = cgroup_cores();

    if (limit && limit < n)
        n = limit;
    return n > 0 ? n : 1;
}
