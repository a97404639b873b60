// What becomes of the sums of a tile of linear90.cu.
//
// Results leave through shared memory, 128 bytes of each row at a time, by the copy engine, which
// also adds fp32 ones to the residual stream.  Those of 16 bits stay in registers (of a GELU what
// goes into it, as halves) and leave piece by piece between the next tile's products: a warp that
// issues these waits for the tensor cores, and a GELU costs as many cycles as a third of a tile of
// 768 terms.  On an H200 17920 x 3072 x 768 with GELU: 176 us before, 150 so, and 183 with the
// pieces behind a step's products instead of between them.
#ifndef RECTO_BACKEND_CUDA_PUT90_CUH
#define RECTO_BACKEND_CUDA_PUT90_CUH

#include "backend/cuda/product.cuh"
#include "backend/cuda/sm90.cuh"

enum { OUT_BYTES = 64 * 128 }; // of a piece of results

#if HAS_WGMMA
// What a warp group knows of its place: thread's first row, its column in eight, its barrier.
struct seat {
    int row, col, barrier;
    bool leads;
};

__device__ __forceinline__ struct seat find_seat()
{
    int lane = threadIdx.x & 31;

    return {(int)threadIdx.x % 128 / 32 * 16 + lane / 4, lane % 4 * 2, (int)threadIdx.x / 128,
            threadIdx.x % 128 == 0};
}

// Two neighbouring sums with their bias, or gated.
template <enum product_out OUT>
__device__ __forceinline__ float2 finish(const struct product &p, int col, const float *acc, int at)
{
    float2 y = {acc[at], acc[at + 1]};

    if (p.bias && col < p.n) {
        float2 bias = *(const float2 *)(p.bias + col);

        y.x += bias.x;
        y.y += bias.y;
    }
    if (OUT == PRODUCT_SWIGLU) {
        const float *u = acc + 64 + at;

        y.x = silu_bf16(y.x) * u[0];
        y.y = silu_bf16(y.y) * u[1];
    }
    return y;
}

// ---- results of 32 bits: put at once -------------------------------------------------------------
// Results of a warp group's 64 rows from `row`, by the copy engine; `out` are its two buffers.
template <enum product_out OUT, int WIDTH>
__device__ __forceinline__ void put_floats(const struct product &p, const CUtensorMap *map,
                                           const float *acc, uint32_t out, int row, int col)
{
    constexpr int COLS = 32;
    struct seat seat = find_seat();

#pragma unroll
    for (int c = 0; c < WIDTH / COLS; c++) {
        uint32_t to = out + c % 2 * OUT_BYTES;

        if (seat.leads)
            store_wait<1>(); // the piece before the last one has left its buffer
        threads_meet(seat.barrier, 128);
#pragma unroll
        for (int i = 0; i < COLS / 8; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int n = c * COLS + i * 8;
                float2 y = finish<OUT>(p, col + n + seat.col, acc, n / 2 + h * 2);

                if (OUT == PRODUCT_GELU)
                    y = {gelu(y.x), gelu(y.y)};
                shared_put2(piece(to, seat.row + h * 8, 2 * i + seat.col / 4) + seat.col % 4 * 4,
                            y);
            }
        store_fence();
        threads_meet(seat.barrier, 128);
        if (seat.leads && OUT == PRODUCT_ADD)
            add_box(map, to, col + c * COLS, row);
        else if (seat.leads)
            store_box(map, to, col + c * COLS, row);
        if (seat.leads)
            store_commit();
    }
}

// ---- results of 16 bits: put while the next tile is multiplied ----------------------------------
// A tile's results as packed pairs; of a GELU what goes into it, as halves.
template <int WIDTH> struct held {
    uint32_t v[WIDTH ? WIDTH / 4 : 1];
    int row, col;
    bool any;
};

template <enum product_out OUT, int WIDTH>
__device__ __forceinline__ void hold(const struct product &p, struct held<WIDTH> *held,
                                     const float *acc, int row, int col)
{
    struct seat seat = find_seat();

#pragma unroll
    for (int i = 0; i < WIDTH / 8; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float2 y = finish<OUT>(p, col + i * 8 + seat.col, acc, i * 4 + h * 2);

            held->v[i * 2 + h] = OUT == PRODUCT_GELU ? pack_half(y.x, y.y) : pack_bf16(y.x, y.y);
        }
    held->row = row;
    held->col = col;
    held->any = true;
}

// The pair as it is stored.
template <enum product_out OUT> __device__ __forceinline__ uint32_t held_pair(uint32_t v)
{
    if (OUT != PRODUCT_GELU)
        return v;

    float2 x = unpack_half(v);

    return pack_bf16(gelu_bf16(x.x), gelu_bf16(x.y));
}

// A box of 64 columns of what is held leaves in two parts of 32.  Before a part: its buffer is free.
__device__ __forceinline__ void begin_part(int part)
{
    struct seat seat = find_seat();

    if (part % 2)
        return;
    if (seat.leads)
        store_wait<1>(); // the box before the last one has left its buffer
    threads_meet(seat.barrier, 128);
}

// Eight columns of a part.
template <enum product_out OUT, int WIDTH>
__device__ __forceinline__ void put_piece(const struct held<WIDTH> &held, int part, int i,
                                          uint32_t out)
{
    struct seat seat = find_seat();
    uint32_t at = piece(out + part / 2 % 2 * OUT_BYTES, seat.row, part % 2 * 4 + i) + seat.col * 2;

#pragma unroll
    for (int h = 0; h < 2; h++)
        shared_put(at + h * 8 * 128, held_pair<OUT>(held.v[part * 8 + i * 2 + h]));
}

template <int WIDTH>
__device__ __forceinline__ void end_part(const struct held<WIDTH> &held, int part,
                                         const CUtensorMap *map, uint32_t out)
{
    struct seat seat = find_seat();

    if (part % 2 == 0)
        return;
    store_fence();
    threads_meet(seat.barrier, 128);
    if (seat.leads && held.any) {
        store_box(map, out + part / 2 % 2 * OUT_BYTES, held.col + part / 2 * 64, held.row);
        store_commit();
    }
}

// Number by number, for an expert's last rows: behind them are another's.
template <enum product_out OUT, bool Y_IS_F32, int WIDTH>
__device__ __forceinline__ void put_rows(const struct product &p, const float *acc, int row,
                                         int end, int col)
{
    struct seat seat = find_seat();

#pragma unroll
    for (int i = 0; i < WIDTH / 8; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int n = col + i * 8 + seat.col, r = row + seat.row + h * 8;

            if (n >= p.n || r >= end)
                continue;
            float2 y = finish<OUT>(p, n, acc, i * 4 + h * 2);
            int64_t to = (int64_t)r * p.n + n;

            if (Y_IS_F32)
                *(float2 *)((float *)p.y + to) = OUT == PRODUCT_GELU ? float2{gelu(y.x), gelu(y.y)}
                                                                     : y;
            else
                *(uint32_t *)((bf16 *)p.y + to) = held_pair<OUT>(
                    OUT == PRODUCT_GELU ? pack_half(y.x, y.y) : pack_bf16(y.x, y.y));
        }
}
#endif
#endif
