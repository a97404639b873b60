/* A model whose decoder is cut over several devices of one process (--parallel tp=N): one model, one thread for each.  Vision,
 * embeddings, norms and router are whole on every rank; tensor/weight.h says how the rest is cut, backend/comm.h how sums
 * come together. */
#ifndef RECTO_ENGINE_RANKS_H
#define RECTO_ENGINE_RANKS_H

#include "engine/model.h"
#include "engine/team.h"

struct ranks {
    int n; /* 1: nothing below is there */
    struct team *team;
    struct comm *comm;
    struct model *more; /* [n - 1] of ranks 1 .. */
};

/* Open dir on each of opts [n], rank 0 into *first.  After any outcome model_close(first) and ranks_close are safe.
 * RECTO_EUSAGE: it cannot be cut into so many; RECTO_EDEVICE: devices of this kind cannot be ranks. */
int ranks_open(struct ranks *k, struct model *first, const char *dir, const char *backend,
               const struct device_opts *opts, int n);
void ranks_close(struct ranks *k); /* after model_close(first) */
/* Bytes of weights on all devices. */
int64_t ranks_weight_bytes(const struct ranks *k, const struct model *first);

#endif
