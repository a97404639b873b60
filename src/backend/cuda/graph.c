/* Steps of decoding rows as recorded graphs: one launch instead of a hundred.
 *
 * A step is known by its number of rows and the stride of its block tables; whatever else varies is
 * read from d->step's arrays, which lie at the same place for the same counts.  The first such step
 * runs op by op, which lets every workspace grow; the second is recorded and then launched; later
 * ones are launched at once.  When something moved in between (d->epoch), it is recorded again.
 * The kernels, their sizes and so the bits are those of the step op by op. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

enum { MAX_GRAPHS = 64 }; /* some hundred kilobytes each on the device */

struct graph {
    const struct kv *kv;
    int n_row, stride;
    unsigned epoch; /* when it was seen or recorded */
    int64_t used;   /* the recorder's clock */
    cudaGraphExec_t exec;
};

struct recorder {
    struct graph graph[MAX_GRAPHS];
    struct graph *current; /* being recorded, or NULL */
    int64_t clock;
};

struct recorder *recorder_open(void)
{
    return getenv("RECTO_CUDA_NO_GRAPH") ? NULL : mem_zero(1, sizeof(struct recorder));
}

static void drop(struct graph *g)
{
    if (g->exec)
        cudaGraphExecDestroy(g->exec);
    *g = (struct graph){0};
}

void recorder_close(struct recorder *r)
{
    for (int i = 0; r && i < MAX_GRAPHS; i++)
        drop(&r->graph[i]);
    free(r);
}

void recorder_forget(struct device *d, const struct kv *kv)
{
    for (int i = 0; d->recorder && i < MAX_GRAPHS; i++)
        if (!kv || d->recorder->graph[i].kv == kv)
            drop(&d->recorder->graph[i]);
}

/* The step's graph, or the place of the one that was not used for longest. */
static struct graph *find(struct recorder *r, const struct kv *kv, int n_row, int stride)
{
    struct graph *oldest = r->graph;

    for (int i = 0; i < MAX_GRAPHS; i++) {
        struct graph *g = &r->graph[i];

        if (g->kv == kv && g->n_row == n_row && g->stride == stride)
            return g;
        if (g->used < oldest->used)
            oldest = g;
    }
    drop(oldest);
    return oldest;
}

int recorder_begin(struct device *d, const struct kv *kv, int n_row)
{
    struct recorder *r = d->recorder;
    struct graph *g;

    if (!r)
        return 0;
    recorder_abandon(d);
    g = find(r, kv, n_row, d->step.block_stride);
    g->used = ++r->clock;
    if (g->kv && g->exec && g->epoch == d->epoch) {
        TRY(cuda_check(cudaGraphLaunch(g->exec, d->stream), "a recorded step"));
        return 1;
    }
    if (!g->kv || g->epoch != d->epoch) { /* run it once before */
        drop(g);
        *g = (struct graph){
            .kv = kv, .n_row = n_row, .stride = d->step.block_stride, .used = r->clock};
        g->epoch = d->epoch;
        return 0;
    }
    TRY(cuda_check(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal),
                   "recording a step"));
    r->current = g;
    return 0;
}

int recorder_end(struct device *d)
{
    struct graph *g = d->recorder ? d->recorder->current : NULL;
    cudaGraph_t graph;
    int rc;

    if (!g)
        return 0;
    d->recorder->current = NULL;
    TRY(cuda_check(cudaStreamEndCapture(d->stream, &graph), "recording a step"));
    rc = cuda_check(cudaGraphInstantiate(&g->exec, graph, 0), "recording a step");
    cudaGraphDestroy(graph);
    TRY(rc);
    return cuda_check(cudaGraphLaunch(g->exec, d->stream), "a recorded step");
}

void recorder_abandon(struct device *d)
{
    cudaGraph_t graph = NULL;

    if (!d->recorder || !d->recorder->current)
        return;
    d->recorder->current = NULL;
    cudaStreamEndCapture(d->stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError(); /* the capture's own fault, if any, was reported by the op */
}
