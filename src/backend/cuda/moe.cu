// Experts: who picks whom, and the sum of what they say.  The products between are launch_product's
// (linear.cu).
//
// Places of rows within an expert are handed out by an atomic counter and so differ from run to
// run; no result depends on them, since every place is a row of its own and the sum at the end goes
// over picks in their order. Source of the rule: MoEGate.forward, DeepseekV2MoE.forward of
// deepseek-ai/DeepSeek-OCR-2 (softmax, greedy, not renormalised).
#include "backend/cuda/kern.cuh"

#include <math_constants.h>

enum {
    LOGIT_WARPS = 8,
    LINE = 32, // floats that memory brings at once
    ROUTE_THREADS = 1024,
    ROUTE_WARPS = ROUTE_THREADS / 32,
    PER_LANE = LAUNCH_MAX_EXPERT / 32
};

__device__ __forceinline__ float round_to_bf16(float x, bool yes)
{
    return yes ? __bfloat162float(__float2bfloat16(x)) : x;
}

// Softmax of a token's logits and its n_pick largest, by one warp; the lowest id wins among equals.
__device__ void pick(const struct route &r, int token, const float *logit)
{
    int lane = threadIdx.x & 31;
    float p[PER_LANE], top = -CUDART_INF_F, sum = 0;

#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        p[i] = lane + i * 32 < r.n_expert ? logit[lane + i * 32] : -CUDART_INF_F;
        top = fmaxf(top, p[i]);
    }
    top = warp_max(top);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        p[i] = expf(p[i] - top);
        sum += p[i];
    }
    sum = warp_sum(sum);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
        p[i] = lane + i * 32 < r.n_expert ? p[i] / sum : -1.0f;
    for (int k = 0; k < r.n_pick; k++) {
        float best = -2.0f;
        int id = LAUNCH_MAX_EXPERT;

#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            if (p[i] > best) {
                best = p[i];
                id = lane + i * 32;
            }
        for (int i = 16; i > 0; i >>= 1) {
            float other = __shfl_xor_sync(0xFFFFFFFFu, best, i);
            int other_id = __shfl_xor_sync(0xFFFFFFFFu, id, i);

            if (other > best || (other == best && other_id < id)) {
                best = other;
                id = other_id;
            }
        }
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            if (lane + i * 32 == id)
                p[i] = -1.0f;
        if (lane == 0) {
            r.pick[(int64_t)token * r.n_pick + k] = id;
            r.share[(int64_t)token * r.n_pick + k] = best;
        }
    }
}

// Logits: a warp has EXPERTS experts and TOKENS rows, so that with many rows the router's matrix is
// read once for eight of them, and a row once for four experts.  A dot product is 32 sums of every
// 32nd term, then a tree, whatever TOKENS and EXPERTS.
template <class T, int TOKENS, int EXPERTS>
__global__ void __launch_bounds__(LOGIT_WARPS * 32) logit_kernel(const struct route r)
{
    constexpr int AT_ONCE = TOKENS * EXPERTS > 8 ? 2 : 20; // loads on their way
    extern __shared__ float row[];                         // [TOKENS][width]
    int lane = threadIdx.x & 31, e = (blockIdx.x * LOGIT_WARPS + threadIdx.x / 32) * EXPERTS;
    int first = blockIdx.y * TOKENS, n = min(TOKENS, r.rows - first);
    float sum[EXPERTS][TOKENS] = {};

    grid_release();
    for (int i = lane * LINE; EXPERTS == 1 && e < r.n_expert && i < r.width; i += 32 * LINE)
        fetch_line(r.router + (int64_t)e * r.width + i);
    grid_wait();
    for (int i = threadIdx.x; i < TOKENS * r.width; i += LOGIT_WARPS * 32)
        row[i] = i < n * r.width ? to_f32(((const T *)r.h)[(int64_t)first * r.width + i]) : 0.0f;
    __syncthreads();
    if (e >= r.n_expert)
        return;
#pragma unroll AT_ONCE
    for (int i = lane; i < r.width; i += 32) {
        float x[TOKENS];

#pragma unroll
        for (int t = 0; t < TOKENS; t++)
            x[t] = row[t * r.width + i];
#pragma unroll
        for (int c = 0; c < EXPERTS; c++) {
            float one = round_to_bf16(r.router[(int64_t)min(e + c, r.n_expert - 1) * r.width + i],
                                      r.router_bf16);

#pragma unroll
            for (int t = 0; t < TOKENS; t++)
                sum[c][t] = fmaf(x[t], one, sum[c][t]);
        }
    }
#pragma unroll
    for (int c = 0; c < EXPERTS; c++)
#pragma unroll
        for (int t = 0; t < TOKENS; t++) {
            float all = warp_sum(sum[c][t]);

            if (lane == 0 && t < n && e + c < r.n_expert)
                r.logit[(int64_t)(first + t) * r.n_expert + e + c] = round_to_bf16(all,
                                                                                   r.router_bf16);
        }
}

// A warp a token, where there are too many for one block.
__global__ void __launch_bounds__(ROUTE_THREADS) pick_kernel(const struct route r)
{
    int token = blockIdx.x * ROUTE_WARPS + threadIdx.x / 32;

    grid_release();
    grid_wait();
    if (token < r.rows)
        pick(r, token, r.logit + (int64_t)token * r.n_expert);
}

// First places and first tiles of all experts, by one warp.
__device__ void sum_up(const int *count, int *from, int *tile, int n_expert, int tile_rows)
{
    int lane = threadIdx.x & 31, place = 0, number = 0;

    for (int e = lane; e - lane < n_expert; e += 32) {
        int n = e < n_expert ? count[e] : 0, t = (n + tile_rows - 1) / tile_rows;

        for (int i = 1; i < 32; i <<= 1) {
            int n_left = __shfl_up_sync(0xFFFFFFFFu, n, i),
                t_left = __shfl_up_sync(0xFFFFFFFFu, t, i);

            n += lane >= i ? n_left : 0;
            t += lane >= i ? t_left : 0;
        }
        if (e < n_expert) {
            from[e + 1] = place + n;
            tile[e + 1] = number + t;
        }
        place += __shfl_sync(0xFFFFFFFFu, n, 31);
        number += __shfl_sync(0xFFFFFFFFu, t, 31);
    }
    if (lane == 0)
        from[0] = tile[0] = 0;
}

// A counting sort of all picks by expert, and the list of tiles.  Few picks: one block does all of
// it, which also picks. Many: a first kernel counts, block by block, and a second one, whose blocks each add up the
// counts for themselves, gives out the places.
__device__ __forceinline__ void give_place(const struct route &r, const int *from, int i)
{
    int at = from[r.pick[i]] + r.slot[i];

    r.slot[i] = at;
    r.row[at] = i / r.n_pick;
}

__device__ __forceinline__ void list_tiles(const struct route &r, const int *from, const int *tile)
{
    int tid = threadIdx.x;

    if (tid <= r.n_expert)
        r.from[tid] = from[tid];
    if (tid < r.n_expert)
        for (int t = tile[tid]; t < tile[tid + 1]; t++)
            r.tile[t] = tid << 16 | (t - tile[tid]);
    for (int t = tile[r.n_expert] + tid; t < r.tile_cap; t += ROUTE_THREADS)
        r.tile[t] = -1;
}

__global__ void __launch_bounds__(ROUTE_THREADS) sort_kernel(const struct route r, bool picks)
{
    __shared__ int count[LAUNCH_MAX_EXPERT], from[LAUNCH_MAX_EXPERT + 1],
        tile[LAUNCH_MAX_EXPERT + 1];
    int n = r.rows * r.n_pick, tid = threadIdx.x;

    grid_release();
    grid_wait();
    for (int t = tid / 32; picks && t < r.rows; t += ROUTE_WARPS)
        pick(r, t, r.logit + (int64_t)t * r.n_expert);
    if (tid < LAUNCH_MAX_EXPERT)
        count[tid] = 0;
    __syncthreads();
    for (int i = tid; i < n; i += ROUTE_THREADS)
        r.slot[i] = atomicAdd(&count[r.pick[i]], 1);
    __syncthreads();
    if (tid < 32)
        sum_up(count, from, tile, r.n_expert, r.tile_rows);
    __syncthreads();
    for (int i = tid; i < n; i += ROUTE_THREADS)
        give_place(r, from, i);
    list_tiles(r, from, tile);
}

__global__ void __launch_bounds__(ROUTE_THREADS) count_kernel(const struct route r)
{
    __shared__ int count[LAUNCH_MAX_EXPERT], first[LAUNCH_MAX_EXPERT];
    int i = blockIdx.x * ROUTE_THREADS + threadIdx.x, tid = threadIdx.x, slot = 0;
    bool is_one = i < r.rows * r.n_pick;

    if (tid < LAUNCH_MAX_EXPERT)
        count[tid] = 0;
    __syncthreads();
    if (is_one)
        slot = atomicAdd(&count[r.pick[i]], 1);
    __syncthreads();
    if (tid < r.n_expert)
        first[tid] = atomicAdd(&r.count[tid], count[tid]);
    __syncthreads();
    if (is_one)
        r.slot[i] = first[r.pick[i]] + slot;
}

__global__ void __launch_bounds__(ROUTE_THREADS) place_kernel(const struct route r)
{
    __shared__ int from[LAUNCH_MAX_EXPERT + 1], tile[LAUNCH_MAX_EXPERT + 1];
    int i = blockIdx.x * ROUTE_THREADS + threadIdx.x;

    if (threadIdx.x < 32)
        sum_up(r.count, from, tile, r.n_expert, r.tile_rows);
    __syncthreads();
    if (i < r.rows * r.n_pick)
        give_place(r, from, i);
    if (blockIdx.x == 0)
        list_tiles(r, from, tile);
}

static void sort(launch_stream s, const struct route *r, bool picks)
{
    unsigned blocks = (unsigned)(r->rows * r->n_pick + ROUTE_THREADS - 1) / ROUTE_THREADS;

    if (picks || blocks <= 2) {
        launch(sort_kernel, dim3(1), ROUTE_THREADS, 0, s, r->overlaps, *r, picks);
        return;
    }
    cudaMemsetAsync(r->count, 0, (size_t)r->n_expert * sizeof *r->count, s);
    count_kernel<<<blocks, ROUTE_THREADS, 0, s>>>(*r);
    place_kernel<<<blocks, ROUTE_THREADS, 0, s>>>(*r);
}

constexpr int MANY = 8, EACH = 4; // rows of a block, and experts of a warp with very many rows

template <class T, int TOKENS, int EXPERTS>
static void find_logits(launch_stream s, const struct route *r)
{
    int experts = LOGIT_WARPS * EXPERTS;
    dim3 grid((unsigned)((r->n_expert + experts - 1) / experts),
              (unsigned)((r->rows + TOKENS - 1) / TOKENS));

    launch(logit_kernel<T, TOKENS, EXPERTS>, grid, LOGIT_WARPS * 32,
           TOKENS * r->width * (int)sizeof(float), s, r->overlaps, *r);
}

template <class T> static void route(launch_stream s, const struct route *r)
{
    int few = 4 * ROUTE_WARPS;

    if (r->rows >= 512)
        find_logits<T, MANY, EACH>(s, r);
    else if (r->rows >= 16)
        find_logits<T, MANY, 1>(s, r);
    else
        find_logits<T, 1, 1>(s, r);
    if (r->rows > few)
        launch(pick_kernel, dim3((unsigned)(r->rows + ROUTE_WARPS - 1) / ROUTE_WARPS),
               ROUTE_THREADS, 0, s, r->overlaps, *r);
    sort(s, r, r->rows <= few);
}

void launch_route(launch_stream s, const struct route *r)
{
    if (r->is_f32)
        route<float>(s, r);
    else
        route<bf16>(s, r);
}

int launch_prepare_moe(int shared_bytes)
{
    cudaError_t rc = cudaSuccess;

    allow_shared(logit_kernel<float, MANY, 1>, shared_bytes, &rc);
    allow_shared(logit_kernel<bf16, MANY, 1>, shared_bytes, &rc);
    allow_shared(logit_kernel<float, MANY, EACH>, shared_bytes, &rc);
    allow_shared(logit_kernel<bf16, MANY, EACH>, shared_bytes, &rc);
    return rc;
}
