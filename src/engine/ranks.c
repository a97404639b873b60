#include "engine/ranks.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

struct opening {
    struct ranks *ranks;
    struct model *first;
    const char *dir, *backend;
    const struct device_opts *opts;
};

static int open_rank(void *ctx, int rank)
{
    const struct opening *o = ctx;
    struct model *m = rank ? &o->ranks->more[rank - 1] : o->first;

    return model_open_part(m, o->dir, o->backend, &o->opts[rank],
                           (struct cut_rank){rank, o->ranks->n});
}

static int check(const char *backend, int n)
{
    const struct backend *be = backend_find(backend);

    if (!be)
        return RECTO_EDEVICE;
    if (n > COMM_RANKS)
        return err(RECTO_EUSAGE, "--parallel: %d ranks, at most %d", n, COMM_RANKS);
    if (!be->join)
        return err(
            RECTO_EDEVICE,
            "device: %s holds whole models only; use --parallel replicas=%d instead of tp=%d",
            be->name, n, n);
    return 0;
}

int ranks_open(struct ranks *k, struct model *first, const char *dir, const char *backend,
               const struct device_opts *opts, int n)
{
    struct opening o = {k, first, dir, backend, opts};

    *k = (struct ranks){.n = 1};
    if (n == 1)
        return model_open(first, dir, backend, opts);
    *first = (struct model){0};
    TRY(check(backend, n));
    k->n = n;
    k->comm = comm_open(n);
    k->more = mem_zero((size_t)(n - 1), sizeof *k->more);
    TRY(team_open(&k->team, n));
    return team_run(k->team, open_rank, &o);
}

void ranks_close(struct ranks *k)
{
    for (int r = 1; k->more && r < k->n; r++)
        model_close(&k->more[r - 1]);
    team_close(k->team);
    free(k->more);
    comm_close(k->comm);
    *k = (struct ranks){0};
}

int64_t ranks_weight_bytes(const struct ranks *k, const struct model *first)
{
    int64_t bytes = first->weights.bytes;

    for (int r = 1; r < k->n; r++)
        bytes += k->more[r - 1].weights.bytes;
    return bytes;
}
