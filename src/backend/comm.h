/* Ranks: one model cut over several devices of one process, a thread each.
 *
 * All ranks do the same calls in the same order; each holds a part of every matrix that is cut (tensor/weight.h), and what
 * they must agree on goes through here.  Sums are taken in the order of the ranks, so all ranks get the same bits, and get
 * them again in the next run.
 *
 * Contract with a backend whose devices can be ranks: an address of one rank's device is good in copies on every other's
 * (host memory; or device memory with peer access), so visual rows are kept once and read by all.
 *
 * A rank that fails must not let the others wait: comm_abort wakes them, and every call from then on is RECTO_EDEVICE until
 * comm_reset. */
#ifndef RECTO_BACKEND_COMM_H
#define RECTO_BACKEND_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMM_RANKS = 16 }; /* at most */

struct comm;

/* 1 .. COMM_RANKS ranks. */
struct comm *comm_open(int n_rank);
void comm_close(struct comm *c); /* NULL is fine */
int comm_ranks(const struct comm *c);

/* Any thread, at any time. */
void comm_abort(struct comm *c);
bool comm_is_aborted(const struct comm *c);
/* For devices, which cannot ask: *flag, which lives as long as c, is 1 after comm_abort and 0 after comm_reset. */
void comm_watch(struct comm *c, int rank, int32_t *flag);
/* When no rank is in a call. */
void comm_reset(struct comm *c);

/* ---- by every rank, in the same order ---- */
/* Nobody returns before all have come.  What a rank wrote before it, all others see after it. */
int comm_barrier(struct comm *c);
/* What each rank brought, in all [n_rank]. */
int comm_gather(struct comm *c, int rank, void *mine, void **all);
/* root's `bytes` bytes of host memory to everybody's. */
int comm_broadcast(struct comm *c, int rank, int root, void *data, size_t bytes);
/* Host memory: y [n] += part of rank 0, + part of rank 1, ...; then part [n] is zero. */
int comm_sum(struct comm *c, int rank, float *y, float *part, int64_t n);

#endif
