// Where a query and a key are, for the three kinds of attention: shared by the tensor-core and the plain kernels.
#ifndef RECTO_BACKEND_CUDA_ATTEND_CUH
#define RECTO_BACKEND_CUDA_ATTEND_CUH

#include "backend/cuda/kern.cuh"

#include <math_constants.h>

// A group of relpos attention is a view, or one of its windows.
struct window {
    int view, y, x; // of its first token in the grid
};

__device__ __forceinline__ struct window window_of(const struct attend &a, int group)
{
    int across = (a.grid + a.side - 1) / a.side, w = group % (across * across);

    return {group / (across * across), w / across * a.side, w % across * a.side};
}

// Row of token i of a window among all tokens, -1: padding.
__device__ __forceinline__ int64_t window_token(const struct attend &a, const struct window &w, int i)
{
    int y = w.y + i / a.side, x = w.x + i % a.side;

    return y < a.grid && x < a.grid ? ((int64_t)w.view * a.grid + y) * a.grid + x : -1;
}

// Row of query i of a group among all queries, -1: none.
template <int KIND> __device__ __forceinline__ int64_t query_row(const struct attend &a, int group, int i)
{
    if (KIND == ATTEND_RELPOS)
        return window_token(a, window_of(a, group), i);
    if (KIND == ATTEND_PREFIX)
        return (int64_t)group * a.len + i;
    return a.seq_row[group] + i;
}

// Keys that query i of a group sees: those below.
template <int KIND> __device__ __forceinline__ int key_limit(const struct attend &a, int group, int i)
{
    if (KIND == ATTEND_RELPOS)
        return a.len;
    if (KIND == ATTEND_PREFIX)
        return i < a.n_prefix ? a.n_prefix : i + 1;
    return a.pos[a.seq_row[group] + i] + 1;
}

// Key j of a group and head; the value is the same with a.v (and the third part of the padding).
template <class T, int KIND>
__device__ __forceinline__ const T *key_at(const struct attend &a, int group, int head, int j, bool is_value)
{
    const T *base = (const T *)(is_value ? a.v : a.k);

    if (KIND == ATTEND_RELPOS) {
        int64_t row = window_token(a, window_of(a, group), j);

        if (row < 0)
            return (const T *)a.pad + (is_value ? 2 : 1) * a.n_head * a.head_dim + head * a.head_dim;
        return base + row * a.kv_stride + head * a.head_dim;
    }
    if (KIND == ATTEND_PREFIX)
        return base + ((int64_t)group * a.len + j) * a.kv_stride + head / (a.n_head / a.n_kv) * a.head_dim;

    int block = a.block[group * a.block_stride + j / a.block_tok];

    return base + block * a.block_elements + ((int64_t)head * a.block_tok + j % a.block_tok) * a.head_dim;
}

// Queries of a group.
template <int KIND> __device__ __forceinline__ int group_len(const struct attend &a, int group)
{
    return KIND == ATTEND_PAGED ? a.seq_row[group + 1] - a.seq_row[group] : a.len;
}

// Softmax so far: the largest score, in units of log2, and the sum.  Adding a step of 64 keys gives the factors of what was
// there and of what comes; written with explicit roundings, since two kernels must agree to the bit.
struct running {
    float max, sum;
};

__device__ __forceinline__ void run_add(struct running *r, float max, float sum, float *old_scale, float *new_scale)
{
    float top = fmaxf(r->max, max);

    *old_scale = r->max == -CUDART_INF_F ? 0.0f : exp2f(r->max - top);
    *new_scale = max == -CUDART_INF_F ? 0.0f : exp2f(max - top);
    r->max = top;
    r->sum = __fmaf_rn(r->sum, *old_scale, __fmul_rn(sum, *new_scale));
}

__device__ __forceinline__ float run_mix(float old_value, float old_scale, float new_value, float new_scale)
{
    return __fmaf_rn(old_value, old_scale, __fmul_rn(new_value, new_scale));
}

#endif
