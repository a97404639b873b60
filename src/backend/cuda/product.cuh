// What the product kernels share: where a block works, and what happens to a sum before it is
// stored.
#ifndef RECTO_BACKEND_CUDA_PRODUCT_CUH
#define RECTO_BACKEND_CUDA_PRODUCT_CUH

#include "backend/cuda/kern.cuh"

enum { STEP = 64 }; // k of a stage

__device__ __forceinline__ void put(const struct product &p, int64_t row, int col, float v,
                                    float up)
{
    int64_t at = row * p.n + col;

    if (p.bias)
        v += p.bias[col];
    if (p.out == PRODUCT_GELU)
        v = gelu(v);
    else if (p.out == PRODUCT_SWIGLU)
        v = silu(v) * up;
    if (!p.y_is_f32)
        ((bf16 *)p.y)[at] = __float2bfloat16(v);
    else if (p.out == PRODUCT_ADD)
        ((float *)p.y)[at] += v;
    else
        ((float *)p.y)[at] = v;
}

// Two neighbours at once; col and n are even.
__device__ __forceinline__ void put2(const struct product &p, int64_t row, int col, float v0,
                                     float v1, float u0, float u1)
{
    int64_t at = row * p.n + col;

    if (p.bias) {
        v0 += p.bias[col];
        v1 += p.bias[col + 1];
    }
    if (p.out == PRODUCT_GELU) {
        float2 half = unpack_half(pack_half(v0, v1)); // as linear90.cu holds them

        v0 = p.y_is_f32 ? gelu(v0) : gelu_bf16(half.x);
        v1 = p.y_is_f32 ? gelu(v1) : gelu_bf16(half.y);
    } else if (p.out == PRODUCT_SWIGLU) {
        v0 = silu_bf16(v0) * u0;
        v1 = silu_bf16(v1) * u1;
    }
    if (!p.y_is_f32) {
        *(uint32_t *)((bf16 *)p.y + at) = pack_bf16(v0, v1);
        return;
    }
    float2 *y = (float2 *)((float *)p.y + at);

    if (p.out == PRODUCT_ADD) {
        float2 old = *y;

        v0 += old.x;
        v1 += old.y;
    }
    *y = make_float2(v0, v1);
}

// Where a block works: rows [row, end) of y, weights of one expert or of all.
struct place {
    int row, end;
    const void *w, *up;
};

__device__ __forceinline__ bool find_place(const struct product &p, int tile_rows, int number,
                                           struct place *at)
{
    at->w = p.w;
    at->up = p.up;
    at->row = number * tile_rows;
    at->end = p.rows;
    if (!p.tile)
        return true;

    int t = p.tile[number], e = t >> 16;

    if (t < 0)
        return false;
    at->row = p.from[e] + (t & 0xFFFF) * tile_rows;
    at->end = p.from[e + 1];
    at->w = p.w_list[e];
    at->up = p.up_list ? p.up_list[e] : nullptr;
    return true;
}

__device__ __forceinline__ int64_t input_row(const struct product &p, int place)
{
    return p.row ? p.row[place] : place;
}

#endif
