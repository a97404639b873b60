/* Moments of the device, for measurements: events in its stream, made when they are first asked for. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

int cuda_mark(struct device *d, int i)
{
    assert(i >= 0 && i < BACKEND_MARKS);
    if (!d->mark)
        d->mark = mem_zero(BACKEND_MARKS, sizeof *d->mark);
    if (!d->mark[i])
        TRY(cuda_check(cudaEventCreate(&d->mark[i]), "mark"));
    return cuda_check(cudaEventRecord(d->mark[i], d->stream), "mark");
}

int cuda_between(struct device *d, int from, int to, double *ms)
{
    float between;

    assert(d->mark && d->mark[from] && d->mark[to]);
    TRY(cuda_check(cudaEventSynchronize(d->mark[from]), "mark"));
    TRY(cuda_check(cudaEventSynchronize(d->mark[to]), "mark"));
    TRY(cuda_check(cudaEventElapsedTime(&between, d->mark[from], d->mark[to]), "mark"));
    *ms = (double)between;
    return 0;
}

void cuda_marks_close(struct device *d)
{
    for (int i = 0; d->mark && i < BACKEND_MARKS; i++)
        if (d->mark[i])
            cudaEventDestroy(d->mark[i]);
    free(d->mark);
}
