/* Fork-join: pool_run calls fn(ctx, i, worker) once for every i in [0, n), spread over the pool's threads and the caller,
 * and returns when all are done. Items are handed out one at a time, so uneven ones balance; which thread takes which
 * item is not fixed, so an item must not depend on another. Only one thread may run a pool at a time; no nesting. */
#ifndef RECTO_BASE_POOL_H
#define RECTO_BASE_POOL_H

#include <stdint.h>

struct pool;
typedef void pool_fn(void *ctx, int64_t i, int worker);

/* n_thread counts the caller; 0 = as many as this process may use (affinity and cgroup quota). */
struct pool *pool_open(int n_thread);
void pool_close(struct pool *p);
int pool_threads(const struct pool *p); /* worker is in [0, pool_threads) */
void pool_run(struct pool *p, pool_fn *fn, void *ctx, int64_t n);
/* Cores this process may use: affinity mask, cut by the cgroup's CPU quota; at least 1. */
int pool_usable_cores(void);

#endif
