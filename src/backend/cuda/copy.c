/* Memory of the device, copies, and weights on their way in.
 *
 * The calling thread may be another than the one that opened the device, and a thread has a current
 * device: allocations and copies set it, and every pass begins with a copy (a step's ids, a view's
 * pixels). */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20 }; /* a view's pixels, but not a step's numbers */

int cuda_alloc(struct device *d, size_t bytes, void **out)
{
    int rc;

    cudaSetDevice(d->id);
    rc = cudaMalloc(out, MAX(bytes, 1));

    if (rc == cudaErrorMemoryAllocation) {
        cudaGetLastError(); /* it is no fault of the device */
        return err(
            RECTO_ENOMEM,
            "device: no memory for %zu MiB of weights or cache; lower --kv-tokens or close other programs",
            bytes >> 20);
    }
    return cuda_check(rc, "alloc");
}

void cuda_free(struct device *d, void *p)
{
    cudaFree(p);
}

int cuda_work(struct device *d, enum work_slot slot, size_t bytes, void **out)
{
    if (bytes > d->work[slot].cap) {
        cudaFree(d->work[slot].p); /* waits for what still uses it */
        d->work[slot].p = NULL;
        d->work[slot].cap = 0;
        d->epoch++;
        TRY(cuda_alloc(d, bytes, &d->work[slot].p));
        d->work[slot].cap = bytes;
    }
    *out = d->work[slot].p;
    return 0;
}

/* Room in the ring. When it turns, what was queued from it must have been read. */
int cuda_staging(struct device *d, size_t bytes, char **out)
{
    struct staging *s = &d->staging;

    if (bytes > s->cap)
        return err(RECTO_EINTERNAL, "internal: %zu bytes for the device at once", bytes);
    if (s->at + bytes > s->cap) {
        TRY(cuda_check(cudaStreamSynchronize(d->stream), "upload"));
        s->at = 0;
    }
    *out = s->base + s->at;
    s->at += (bytes + 255) / 256 * 256;
    return 0;
}

/* By a stream of their own into the ring's mirror on the device, so that large pieces travel beside the kernels in front, which
 * may still use dst.  The ring turns when the stream has been waited for, so the mirror is free then, too. */
static int upload_beside(struct device *d, void *dst, const char *from, size_t bytes)
{
    char *there;

    if (!d->staging.mirror)
        TRY(cuda_alloc(d, d->staging.cap, &d->staging.mirror));
    there = (char *)d->staging.mirror + (from - d->staging.base);
    TRY(cuda_check(cudaMemcpyAsync(there, from, bytes, cudaMemcpyHostToDevice, d->copies),
                   "upload"));
    TRY(cuda_check(cudaEventRecord(d->copied, d->copies), "upload"));
    TRY(cuda_check(cudaStreamWaitEvent(d->stream, d->copied, 0), "upload"));
    return cuda_check(cudaMemcpyAsync(dst, there, bytes, cudaMemcpyDeviceToDevice, d->stream),
                      "upload");
}

int cuda_upload(struct device *d, void *dst, const void *src, size_t bytes)
{
    char *from = (char *)dst; /* not used when there is nothing */

    cudaSetDevice(d->id);
    if (bytes == 0)
        return 0;
    if (bytes > d->staging.cap) { /* pageable memory: the call returns once it is read */
        TRY(cuda_check(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, d->stream),
                       "upload"));
        return cuda_check(cudaStreamSynchronize(d->stream), "upload");
    }
    TRY(cuda_staging(d, bytes, &from));
    memcpy(from, src, bytes);
    if (bytes >= LARGE)
        return upload_beside(d, dst, from, bytes);
    return cuda_check(cudaMemcpyAsync(dst, from, bytes, cudaMemcpyHostToDevice, d->stream),
                      "upload");
}

int cuda_download(struct device *d, void *dst, const void *src, size_t bytes)
{
    if (bytes)
        TRY(cuda_check(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, d->stream),
                       "download"));
    return cuda_check(cudaStreamSynchronize(d->stream), "download");
}

/* Rows stay as they are, [n_out, n_in]. */
static float *widen(const void *src, enum dtype dtype, size_t n)
{
    float *f = malloc(n * sizeof *f);
    uint16_t h;

    for (size_t i = 0; f && i < n; i++)
        if (dtype == DT_F32) {
            memcpy(f + i, (const char *)src + i * sizeof *f, sizeof *f);
        } else {
            memcpy(&h, (const char *)src + i * sizeof h, sizeof h);
            f[i] = dtype == DT_BF16 ? bf16_to_f32(h) : f16_to_f32(h);
        }
    return f;
}

static int pack_f32(struct device *d, struct weight *w, const void *src, enum dtype dtype, size_t n)
{
    float *host = widen(src, dtype, n);
    int rc = 0;

    if (!host)
        return err(RECTO_ENOMEM, "no memory for %zu MiB of weights", n * sizeof *host >> 20);
    rc = cuda_upload(d, w->data, host, n * sizeof *host);
    free(host);
    return rc;
}

int cuda_pack(struct device *d, struct weight *w, const void *src, enum dtype dtype, int64_t n_out,
              int64_t n_in, bool force_f32)
{
    size_t n, bytes;
    int rc;

    if (dtype != DT_F32 && dtype != DT_BF16 && dtype != DT_F16)
        return err(RECTO_EMODEL,
                   "a weight is neither F32, BF16 nor F16: convert the model to one of these");
    if (n_out < 1 || n_in < 1 || n_out > INT32_MAX || n_in > INT32_MAX)
        return err(RECTO_ESHAPE, "a weight of %lld x %lld cannot be packed", (long long)n_out,
                   (long long)n_in);
    w->kind = dtype == DT_BF16 && !force_f32 ? WEIGHT_BF16 : WEIGHT_F32;
    w->n_out = n_out;
    w->n_in = n_in;
    if (mem_mul((size_t)n_out, (size_t)n_in, &n) ||
        mem_mul(n, w->kind == WEIGHT_F32 ? 4 : 2, &bytes))
        return err(RECTO_ENOMEM, "a weight of %lld x %lld is too large", (long long)n_out,
                   (long long)n_in);
    w->bytes = (int64_t)bytes;
    TRY(cuda_alloc(d, bytes, &w->data));
    rc = w->kind == WEIGHT_F32 ? pack_f32(d, w, src, dtype, n)
                               : cuda_upload(d, w->data, src, bytes);
    if (rc < 0) {
        cuda_free(d, w->data);
        w->data = NULL;
    }
    return rc;
}
