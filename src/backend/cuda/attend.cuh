// Where a query and a key are, for the three kinds of attention: shared by the tensor-core and the
// plain kernels.
#ifndef RECTO_BACKEND_CUDA_ATTEND_CUH
#define RECTO_BACKEND_CUDA_ATTEND_CUH

#include "backend/cuda/kern.cuh"

#include <math_constants.h>

// A group of relpos attention is a view, or one of its windows.  SIDE: its side when known at
// compile time, so that divisions by it are cheap; 0: a.side.
struct window {
    int view, y, x; // of its first token in the grid
};

template <int SIDE> __device__ __forceinline__ int side_of(const struct attend &a)
{
    return SIDE ? SIDE : a.side;
}

__device__ __forceinline__ struct window window_of(const struct attend &a, int group)
{
    int across = (a.grid + a.side - 1) / a.side, w = group % (across * across);

    return {group / (across * across), w / across * a.side, w % across * a.side};
}

// Row of token i of a window among all tokens, -1: padding.
template <int SIDE>
__device__ __forceinline__ int64_t window_token(const struct attend &a, const struct window &w,
                                                int i)
{
    int y = w.y + i / side_of<SIDE>(a), x = w.x + i % side_of<SIDE>(a);

    return y < a.grid && x < a.grid ? ((int64_t)w.view * a.grid + y) * a.grid + x : -1;
}

// What a block works on.
struct work {
    int group, head;
    struct window window; // relpos only
};

template <int KIND>
__device__ __forceinline__ struct work work_of(const struct attend &a, int group, int head)
{
    struct work w = {group, head, {0, 0, 0}};

    if (KIND == ATTEND_RELPOS)
        w.window = window_of(a, group);
    return w;
}

// Row of query i of a group among all queries, -1: none.
template <int KIND, int SIDE>
__device__ __forceinline__ int64_t query_row(const struct attend &a, const struct work &w, int i)
{
    if (KIND == ATTEND_RELPOS)
        return window_token<SIDE>(a, w.window, i);
    if (KIND == ATTEND_PREFIX)
        return (int64_t)w.group * a.len + i;
    return a.seq_row[w.group] + i;
}

// Keys that query i of a group sees: those below.
template <int KIND>
__device__ __forceinline__ int key_limit(const struct attend &a, int group, int i)
{
    if (KIND == ATTEND_RELPOS)
        return a.len;
    if (KIND == ATTEND_PREFIX)
        return i < a.n_prefix ? a.n_prefix : i + 1;
    return a.pos[a.seq_row[group] + i] + 1;
}

// Key j and its value.
template <class T> struct key_value {
    const T *k, *v;
};

template <class T, int KIND, int SIDE>
__device__ __forceinline__ struct key_value<T> key_at(const struct attend &a, const struct work &w,
                                                      int j) {
    const T *k = (const T *)a.k, *v = (const T *)a.v;
    int64_t at;

    if (KIND == ATTEND_RELPOS) {
        int64_t row = window_token<SIDE>(a, w.window, j);
        const T *pad = (const T *)a.pad + (a.n_head + w.head) * a.head_dim;

        if (row < 0)
            return {pad, pad + a.n_head * a.head_dim};
        at = row * a.kv_stride + w.head * a.head_dim;
    } else if (KIND == ATTEND_PREFIX) {
        at = ((int64_t)w.group * a.len + j) * a.kv_stride +
             w.head / (a.n_head / a.n_kv) * a.head_dim;
    } else {
        int block = a.block[w.group * a.block_stride + j / a.block_tok];

        at = block * a.block_elements +
             ((int64_t)w.head * a.block_tok + j % a.block_tok) * a.head_dim;
    }
    return {k + at, v + at};
}

// Queries of a group.
template <int KIND>
__device__ __forceinline__ int group_len(const struct attend &a, int group)
{
    return KIND == ATTEND_PAGED ? a.seq_row[group + 1] - a.seq_row[group] : a.len;
}

// Softmax so far: the largest score, in units of log2, and the sum.  Adding a step of 64 keys gives
// the factors of what was there and of what comes; written with explicit roundings, since two
// kernels must agree to the bit.
struct running {
    float max, sum;
};

__device__ __forceinline__ void run_add(struct running *r, float max, float sum, float *old_scale,
                                        float *new_scale)
{
    float top = fmaxf(r->max, max);

    *old_scale = r->max == -CUDART_INF_F ? 0.0f : exp2f(r->max - top);
    *new_scale = max == -CUDART_INF_F ? 0.0f : exp2f(max - top);
    r->max = top;
    r->sum = __fmaf_rn(r->sum, *old_scale, __fmul_rn(sum, *new_scale));
}

__device__ __forceinline__ float run_mix(float old_value, float old_scale, float new_value,
                                         float new_scale)
{
    return __fmaf_rn(old_value, old_scale, __fmul_rn(new_value, new_scale));
}

#endif
