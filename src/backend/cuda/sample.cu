// The next id of each row without taking its logits to the host: the best one, the best one that is
// not banned, and the sum that turns logits into log-probabilities.  Equal logits: the lowest id.
// Each row is cut into the same parts whatever the batch, and parts are joined in order, so a row's
// numbers are its own.
#include "backend/cuda/kern.cuh"

#include <math_constants.h>

enum { PARTS = 32, CHOOSE_THREADS = 256, AT_ONCE = 16 };

struct found {
    float top, best; // largest logit; largest that is not banned
    int top_id, best_id;
    float sum; // of exp(x - top)
};

#define NOTHING                                                    \
    {                                                              \
        -CUDART_INF_F, -CUDART_INF_F, 0x7FFFFFFF, 0x7FFFFFFF, 0.0f \
    }

__device__ __forceinline__ bool beats(float x, int id, float than, int than_id)
{
    return x > than || (x == than && id < than_id);
}

__device__ __forceinline__ struct found join(struct found a, const struct found &b)
{
    float top = fmaxf(a.top, b.top);

    a.sum = top == -CUDART_INF_F ? 0.0f : a.sum * expf(a.top - top) + b.sum * expf(b.top - top);
    if (beats(b.top, b.top_id, a.top, a.top_id)) {
        a.top = b.top;
        a.top_id = b.top_id;
    }
    if (beats(b.best, b.best_id, a.best, a.best_id)) {
        a.best = b.best;
        a.best_id = b.best_id;
    }
    return a;
}

__device__ __forceinline__ bool is_banned(const int32_t *ban, int n, int id)
{
    for (int i = 0; i < n; i++)
        if (ban[i] == id)
            return true;
    return false;
}

// Logits i, i + CHOOSE_THREADS, ..., AT_ONCE of them.
__device__ __forceinline__ struct found look_at(const float *x, int i, int to, const int32_t *ban,
                                                int n_ban)
{
    struct found f = NOTHING;
    float v[AT_ONCE];

#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
        v[j] = i + j * CHOOSE_THREADS < to ? x[i + j * CHOOSE_THREADS] : -CUDART_INF_F;
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
        int id = i + j * CHOOSE_THREADS;

        if (v[j] > f.top) {
            f.top = v[j];
            f.top_id = id;
        }
        if (v[j] > f.best && !is_banned(ban, n_ban, id)) {
            f.best = v[j];
            f.best_id = id;
        }
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++)
        f.sum += v[j] == -CUDART_INF_F ? 0.0f : expf(v[j] - f.top);
    return f;
}

__global__ void __launch_bounds__(CHOOSE_THREADS)
    search_kernel(struct found *out, const float *logits, int vocab, const int32_t *ban_from,
                  const int32_t *ban_id)
{
    __shared__ struct found all[CHOOSE_THREADS];
    int row = blockIdx.y, part = blockIdx.x, per = (vocab + PARTS - 1) / PARTS,
        to = min(vocab, (part + 1) * per);
    const float *x = logits + (int64_t)row * vocab;
    const int32_t *ban = ban_id + ban_from[row];
    int n_ban = ban_from[row + 1] - ban_from[row], tid = threadIdx.x;
    struct found f = NOTHING;

    grid_release();
    grid_wait();
    for (int i = part * per + tid; i < to; i += CHOOSE_THREADS * AT_ONCE)
        f = join(f, look_at(x, i, to, ban, n_ban));
    all[tid] = f;
    for (int n = CHOOSE_THREADS / 2; n > 0; n /= 2) {
        __syncthreads();
        if (tid < n)
            all[tid] = join(all[tid], all[tid + n]);
    }
    if (tid == 0)
        out[row * PARTS + part] = all[0];
}

__device__ __forceinline__ struct found from_lane(const struct found &f, int away)
{
    return {__shfl_down_sync(0xFFFFFFFFu, f.top, away), __shfl_down_sync(0xFFFFFFFFu, f.best, away),
            __shfl_down_sync(0xFFFFFFFFu, f.top_id, away),
            __shfl_down_sync(0xFFFFFFFFu, f.best_id, away),
            __shfl_down_sync(0xFFFFFFFFu, f.sum, away)};
}

// A warp a row: as many lanes as parts.
__global__ void __launch_bounds__(PARTS) choose_kernel(struct choice *out, const struct found *part)
{
    struct found f;

    grid_release();
    grid_wait();
    f = part[blockIdx.x * PARTS + threadIdx.x];
    for (int i = PARTS / 2; i > 0; i /= 2)
        f = join(f, from_lane(f, i));
    if (threadIdx.x > 0)
        return;
    out[blockIdx.x].id = f.best_id;
    out[blockIdx.x].best = f.top_id;
    out[blockIdx.x].logit = f.best;
    out[blockIdx.x].max = f.top;
    out[blockIdx.x].sum = f.sum;
}

int64_t launch_choose_work(int n)
{
    return (int64_t)n * PARTS * (int64_t)sizeof(struct found);
}

void launch_choose(launch_stream s, struct choice *out, const float *logits, int n, int vocab,
                   const int32_t *ban_from, const int32_t *ban_id, void *work, bool early)
{
    launch(search_kernel, dim3(PARTS, (unsigned)n), CHOOSE_THREADS, 0, s, early,
           (struct found *)work, logits, vocab, ban_from, ban_id);
    launch(choose_kernel, dim3((unsigned)n), PARTS, 0, s, early, out, (const struct found *)work);
}
