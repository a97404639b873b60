#include "backend/comm.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Ranks come to a sum within microseconds of each other, unless there are fewer cores than ranks; then
 * they sleep. */
#define SPIN 2000

struct comm {
    int n;
    atomic_int n_here;
    atomic_uint turn; /* rises when all have come */
    atomic_bool is_aborted;
    pthread_mutex_t lock;
    pthread_cond_t moved; /* turn or is_aborted */
    void *brought[COMM_RANKS];
    int32_t *watching[COMM_RANKS]; /* under lock */
};

struct comm *comm_open(int n_rank)
{
    struct comm *c = mem_zero(1, sizeof *c);

    assert(n_rank >= 1 && n_rank <= COMM_RANKS);
    c->n = n_rank;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->moved, NULL);
    return c;
}

void comm_close(struct comm *c)
{
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->moved);
    free(c);
}

int comm_ranks(const struct comm *c)
{
    return c->n;
}

static void set_watching(struct comm *c, int32_t value)
{
    for (int r = 0; r < c->n; r++)
        if (c->watching[r])
            __atomic_store_n(c->watching[r], value, __ATOMIC_RELEASE);
}

void comm_abort(struct comm *c)
{
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->is_aborted, true);
    set_watching(c, 1);
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->lock);
}

void comm_watch(struct comm *c, int rank, int32_t *flag)
{
    pthread_mutex_lock(&c->lock);
    c->watching[rank] = flag;
    pthread_mutex_unlock(&c->lock);
}

bool comm_is_aborted(const struct comm *c)
{
    return atomic_load(&c->is_aborted);
}

void comm_reset(struct comm *c)
{
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->n_here, 0);
    atomic_store(&c->is_aborted, false);
    set_watching(c, 0);
    pthread_mutex_unlock(&c->lock);
}

/* ---- barrier --------------------------------------------------------------------------------- */
static bool has_moved(const struct comm *c, unsigned turn)
{
    return atomic_load_explicit(&c->turn, memory_order_acquire) != turn ||
           atomic_load_explicit(&c->is_aborted, memory_order_acquire);
}

static void await(struct comm *c, unsigned turn)
{
    for (int i = 0; i < SPIN; i++) {
        if (has_moved(c, turn))
            return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&c->lock);
    while (!has_moved(c, turn))
        pthread_cond_wait(&c->moved, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

int comm_barrier(struct comm *c)
{
    unsigned turn = atomic_load(&c->turn);

    if (!comm_is_aborted(c)) {
        if (atomic_fetch_add(&c->n_here, 1) + 1 == c->n) {
            atomic_store(&c->n_here, 0);
            pthread_mutex_lock(&c->lock);
            atomic_fetch_add(&c->turn, 1);
            pthread_cond_broadcast(&c->moved);
            pthread_mutex_unlock(&c->lock);
            return 0;
        }
        await(c, turn);
        if (atomic_load(&c->turn) != turn)
            return 0;
    }
    return err(RECTO_EDEVICE, "device: another rank of this model failed, and the step with it");
}

/* ---- exchange -------------------------------------------------------------------------------- */
int comm_gather(struct comm *c, int rank, void *mine, void **all)
{
    c->brought[rank] = mine;
    TRY(comm_barrier(c));
    memcpy(all, c->brought, (size_t)c->n * sizeof *all);
    return comm_barrier(c); /* nobody brings the next thing before all have looked */
}

int comm_broadcast(struct comm *c, int rank, int root, void *data, size_t bytes)
{
    if (rank == root)
        c->brought[root] = data;
    TRY(comm_barrier(c));
    if (rank != root)
        memcpy(data, c->brought[root], bytes);
    return comm_barrier(c);
}

int comm_sum(struct comm *c, int rank, float *y, float *part, int64_t n)
{
    const float *of[COMM_RANKS];

    c->brought[rank] = part;
    TRY(comm_barrier(c));
    for (int r = 0; r < c->n; r++)
        of[r] = c->brought[r];
    for (int64_t i = 0; i < n; i++) {
        float sum = of[0][i];

        for (int r = 1; r < c->n; r++)
            sum += of[r][i];
        y[i] += sum;
    }
    TRY(comm_barrier(c)); /* all have read it */
    memset(part, 0, (size_t)n * sizeof *part);
    return 0;
}
