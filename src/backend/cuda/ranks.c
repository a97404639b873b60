/* A device as a rank: who the others are, the room into which they write, and the sums (ranks.cu). */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

/* Sums of up to so many rows are sent number by number with their epoch, larger ones in bulk: see bench/results/h200.md. */
enum { MAIL_ROWS = 64 };

struct peers {
    struct comm *comm;
    int rank, n;
    int64_t mail_rows, rows;
    size_t bytes; /* of a room */
    void *room;   /* this device's */
    int32_t *words;
    struct rank_sum sum; /* what is the same in every call */
};

static int64_t mail_rows(void)
{
    const char *text = getenv("RECTO_CUDA_MAIL_ROWS"); /* for comparisons */

    return text ? MAX(atoi(text), 0) : MAIL_ROWS;
}

/* Everybody's memory, as an address. */
static int reach(struct device *d, struct device *const *all, int n)
{
    for (int r = 0; r < n; r++) {
        int can = 0, rc;

        if (all[r]->id == d->id)
            continue;
        TRY(cuda_check(cudaDeviceCanAccessPeer(&can, d->id, all[r]->id), "join"));
        if (!can)
            return err(
                RECTO_EDEVICE,
                "device: cuda:%d does not reach the memory of cuda:%d (no peer access); use --parallel "
                "replicas=%d",
                d->id, all[r]->id, n);
        rc = cudaDeviceEnablePeerAccess(all[r]->id, 0);
        if (rc == cudaErrorPeerAccessAlreadyEnabled)
            cudaGetLastError();
        else
            TRY(cuda_check(rc, "join"));
    }
    return 0;
}

static void lay_out(struct peers *p, int64_t rows, int64_t width)
{
    size_t flags = (size_t)(1 + p->n) * RANK_BLOCKS * sizeof(uint32_t);

    p->rows = rows;
    p->mail_rows = MIN(mail_rows(), rows);
    p->sum.mail_at = (int64_t)flags;
    p->sum.mail_bytes = p->mail_rows * width * 8;
    p->sum.bulk_at = p->sum.mail_at + 2 * p->n * p->sum.mail_bytes;
    p->sum.bulk_bytes = rows * width * 4;
    p->bytes = (size_t)(p->sum.bulk_at + 2 * p->n * p->sum.bulk_bytes);
}

static int take_words(struct peers *p)
{
    void *host, *device;

    TRY(cuda_check(cudaHostAlloc(&host, 2 * sizeof *p->words, cudaHostAllocMapped), "join"));
    p->words = host;
    TRY(cuda_check(cudaHostGetDevicePointer(&device, host, 0), "join"));
    p->sum.words = device;
    p->words[0] = p->words[1] = 0;
    comm_watch(p->comm, p->rank, p->words);
    return 0;
}

static int first_join(struct device *d, struct comm *c, int rank, int64_t rows, int64_t width)
{
    struct peers *p = mem_zero(1, sizeof *p);
    void *all[COMM_RANKS];

    d->peers = p;
    p->comm = c;
    p->rank = p->sum.rank = rank;
    p->n = p->sum.n = comm_ranks(c);
    if (width % 4)
        return err(RECTO_ESHAPE, "device: a model of width %lld cannot be cut over GPUs",
                   (long long)width);
    lay_out(p, rows, width);
    TRY(take_words(p));
    TRY(comm_gather(c, rank, d, all));
    TRY(reach(d, (struct device *const *)all, p->n));
    TRY(cuda_alloc(d, p->bytes, &p->room));
    TRY(comm_gather(c, rank, p->room, all));
    for (int r = 0; r < p->n; r++)
        p->sum.room[r] = all[r];
    return 0;
}

static int join(struct device *d, struct comm *c, int rank, int64_t rows, int64_t width)
{
    if (!d->peers) {
        TRY(first_join(d, c, rank, rows, width));
        d->epoch++; /* steps recorded alone sum nothing */
    }
    TRY(cuda_check(cudaStreamSynchronize(d->stream), "join"));
    d->peers->words[1] = 0;
    TRY(cuda_check(cudaMemsetAsync(d->peers->room, 0, d->peers->bytes, d->stream), "join"));
    return cuda_check(cudaStreamSynchronize(d->stream), "join");
}

int cuda_join(struct device *d, struct comm *c, int rank, int64_t rows, int64_t width)
{
    int rc;

    cudaSetDevice(d->id);
    rc = join(d, c, rank, rows, width);
    if (rc < 0) {
        comm_abort(c);
        return rc;
    }
    return comm_barrier(c); /* nobody writes into a room that is still to be cleared */
}

void cuda_leave(struct device *d)
{
    struct peers *p = d->peers;

    if (!p)
        return;
    comm_watch(p->comm, p->rank, NULL);
    cudaFreeHost(p->words);
    cuda_free(d, p->room);
    free(p);
    d->peers = NULL;
}

int cuda_check_peers(struct device *d)
{
    if (!d->peers || !__atomic_load_n(&d->peers->words[1], __ATOMIC_ACQUIRE))
        return 0;
    return err(RECTO_EDEVICE,
               "device: another rank of this model failed, or did not answer for 20 s");
}

static int sum(struct device *d, tensor y, tensor part, struct rank_sum s)
{
    const struct peers *p = d->peers;

    s.y = y.data;
    s.part = part.data;
    s.rows = (int)y.n[0];
    s.width = (int)y.n[1];
    s.h_is_f32 = d->is_f32;
    s.overlaps = d->overlaps;
    if (s.width % 4)
        return err(RECTO_ESHAPE, "device: sums of width %d; it must be a multiple of 4", s.width);
    if (p && s.rows > p->rows)
        return err(RECTO_EINTERNAL, "internal: a sum of %d rows, room for %lld", s.rows,
                   (long long)p->rows);
    s.is_mail = p && s.rows <= p->mail_rows;
    TRY(cuda_check(launch_sum_ranks(d->stream, &s), "sum_ranks"));
    return cuda_launched("sum_ranks");
}

static struct rank_sum base(const struct device *d)
{
    return d->peers ? d->peers->sum : (struct rank_sum){.n = 1};
}

int cuda_sum_ranks(struct device *d, tensor y, tensor part)
{
    return sum(d, y, part, base(d));
}

int cuda_sum_ranks_norm(struct device *d, tensor y, tensor part, tensor h, tensor w, float eps)
{
    struct rank_sum s = base(d);

    s.h = h.data;
    s.norm = w.data;
    s.eps = eps;
    return sum(d, y, part, s);
}
