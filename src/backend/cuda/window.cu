// Attention within SAM's windows of 14 x 14 tokens on tensor cores, bf16, heads of 64 numbers.
//
// A block is a window and a head.  Its keys and values lie in shared memory as 14 rows of 16
// places, so that the row and the column of a place are known when this is compiled; the last two
// places of a row have weight 0, and padded tokens (right of the grid and below) are what the
// product makes of zeros.  Only real queries are computed, 16 to a warp; a window at the edge has
// fewer.
//
// Relative positions: a warp multiplies its queries with all rows of both tables, on tensor cores
// too, in two products with the upper and the lower half of the tables' bits, so that they count as
// fp32; a score then takes two of these numbers by its distance.
#include "backend/cuda/attend.cuh"
#include "backend/cuda/window.cuh"

#define LOG2E 1.44269504088896340736f

namespace
{
enum {
    SIDE = WINDOW_SIDE,
    PLACES = 16,
    HD = WINDOW_HEAD,
    WARPS = 7,           // 13 groups of 16 queries in a whole window: two rounds
    STEPS = 2,           // of softmax, each
    ROWS = SIDE / STEPS, // rows of the window
    TABLE = 32,          // rows of a table, 27 used
    DOTS = 2 * TABLE + 8 // numbers of a query's row of products; 8 against bank conflicts
};

struct layout { // of shared memory, bytes
    static constexpr int KEYS = 0, VALUES = SIDE * PLACES * 128, HIGH = 2 * VALUES,
                         LOW = HIGH + 2 * TABLE * 128, PRODUCTS = LOW + 2 * TABLE * 128,
                         ALL = PRODUCTS + WARPS * 16 * DOTS * (int)sizeof(float);
};
} // namespace

__device__ __forceinline__ void load_window(const struct attend &a, const struct work &w,
                                            uint32_t base)
{
    for (int i = threadIdx.x; i < SIDE * PLACES * 8; i += WARPS * 32) {
        int r = i / 8, c = i % 8, x = r % PLACES;
        bool valid = x < SIDE;
        struct key_value<bf16> at = key_at<bf16, ATTEND_RELPOS, SIDE>(
            a, w, r / PLACES * SIDE + (valid ? x : 0));

        copy16(piece(base + layout::KEYS, r, c), at.k + c * 8, valid);
        copy16(piece(base + layout::VALUES, r, c), at.v + c * 8, valid);
    }
    copy_commit();
}

// Both tables as bf16 and what is left of them.
__device__ __forceinline__ void load_tables(const struct attend &a, unsigned char *memory)
{
    for (int i = threadIdx.x; i < 2 * TABLE * HD / 2; i += WARPS * 32) {
        int r = i / (HD / 2), c = i % (HD / 2), t = r % TABLE;
        const float *table = r < TABLE ? a.rel_h : a.rel_w;
        float2 v = t < 2 * SIDE - 1 ? *(const float2 *)(table + t * HD + c * 2)
                                    : make_float2(0.0f, 0.0f);
        uint32_t at = piece(0, r, c / 4) + c % 4 * 4;

        *(uint32_t *)(memory + layout::HIGH + at) = pack_bf16(v.x, v.y);
        *(uint32_t *)(memory + layout::LOW + at) = pack_bf16(rest_of_bf16(v.x), rest_of_bf16(v.y));
    }
}

// 16 queries' products with both tables: dots[query][table * 32 + distance + 13].
__device__ __forceinline__ void table_dots(float *dots, const uint32_t q[HD / 16][4], uint32_t base)
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int n = 0; n < 2 * TABLE / 16; n++) {
        float sum[2][4] = {};

#pragma unroll
        for (int k = 0; k < HD / 16; k++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                uint32_t b[4];

                load_matrix4(b,
                             piece(base + (half ? layout::HIGH : layout::LOW),
                                   n * 16 + (lane & 7) + (lane >> 4) * 8, k * 2 + (lane >> 3 & 1)));
                mma16816(sum[0], q[k], b[0], b[1]);
                mma16816(sum[1], q[k], b[2], b[3]);
            }
#pragma unroll
        for (int i = 0; i < 4; i++)
            *(float2 *)(dots + (lane / 4 + (i & 1) * 8) * DOTS + n * 16 + (i >> 1) * 8 +
                        lane % 4 * 2) = make_float2(sum[i >> 1][(i & 1) * 2],
                                                    sum[i >> 1][(i & 1) * 2 + 1]);
    }
}

// A step's scores in units of log2; `across` is -inf in the places that are none.
__device__ __forceinline__ void window_scores(float s[2 * ROWS][4], const uint32_t q[HD / 16][4],
                                              uint32_t keys, const float across[2][4],
                                              const float *const down[2], float scale)
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int n = 0; n < 2 * ROWS; n++)
        s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.0f;
#pragma unroll
    for (int k = 0; k < HD / 16; k++)
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            uint32_t b[4];

            load_matrix4(
                b, piece(keys, r * PLACES + (lane & 7) + (lane >> 4) * 8, k * 2 + (lane >> 3 & 1)));
            mma16816(s[2 * r], q[k], b[0], b[1]);
            mma16816(s[2 * r + 1], q[k], b[2], b[3]);
        }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float h = down[i >> 1][-r] * LOG2E;

            s[2 * r][i] = fmaf(s[2 * r][i], scale, across[0][i] + h);
            s[2 * r + 1][i] = fmaf(s[2 * r + 1][i], scale, across[1][i] + h);
        }
}

// s becomes weights; max and sum of the rows go on (sum: this thread's part), o is scaled to them.
__device__ __forceinline__ void window_soften(float s[2 * ROWS][4], float o[HD / 8][4],
                                              float max[2], float sum[2])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float top = max[h];

#pragma unroll
        for (int n = 0; n < 2 * ROWS; n++)
            top = fmaxf(top, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));

        float was = exp2_fast(max[h] - top);

        max[h] = top;
        sum[h] *= was;
#pragma unroll
        for (int n = 0; n < 2 * ROWS; n++)
#pragma unroll
            for (int i = 2 * h; i < 2 * h + 2; i++) {
                s[n][i] = exp2_fast(s[n][i] - top);
                sum[h] += s[n][i];
            }
#pragma unroll
        for (int n = 0; n < HD / 8; n++) {
            o[n][2 * h] *= was;
            o[n][2 * h + 1] *= was;
        }
    }
}

__device__ __forceinline__ void window_weigh(float o[HD / 8][4], const float s[2 * ROWS][4],
                                             uint32_t values)
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        uint32_t p[4] = {pack_bf16(s[2 * r][0], s[2 * r][1]), pack_bf16(s[2 * r][2], s[2 * r][3]),
                         pack_bf16(s[2 * r + 1][0], s[2 * r + 1][1]),
                         pack_bf16(s[2 * r + 1][2], s[2 * r + 1][3])};

#pragma unroll
        for (int n = 0; n < HD / 16; n++) {
            uint32_t b[4];

            load_matrix4_turned(b, piece(values, r * PLACES + (lane & 15), n * 2 + (lane >> 4)));
            mma16816(o[2 * n], p, b[0], b[1]);
            mma16816(o[2 * n + 1], p, b[2], b[3]);
        }
    }
}

// The two queries of a thread, i and i + 8 of a group of 16: where they are in the window and in
// the grid.  Past the last, the last one again.
struct two {
    int x[2], y[2];
};

__device__ __forceinline__ struct two two_queries(int first, int n, int across)
{
    struct two t;

#pragma unroll
    for (int h = 0; h < 2; h++) {
        int i = min(first + ((int)threadIdx.x & 31) / 4 + h * 8, n - 1);

        t.y[h] = i / across;
        t.x[h] = i % across;
    }
    return t;
}

__device__ __forceinline__ int64_t grid_row(const struct attend &a, const struct window &w, int y,
                                            int x)
{
    return ((int64_t)w.view * a.grid + w.y + y) * a.grid + w.x + x;
}

// Queries [first, first + 16) of the n of a window.
__device__ __forceinline__ void window_queries(const struct attend &a, const struct work &w,
                                               uint32_t base, float *dots, int first, int n,
                                               int columns)
{
    int lane = threadIdx.x & 31, col = lane % 4 * 2;
    struct two t = two_queries(first, n, columns);
    float s[2 * ROWS][4], o[HD / 8][4] = {}, across[2][4], max[2] = {-CUDART_INF_F, -CUDART_INF_F},
                                 sum[2] = {0.0f, 0.0f};
    uint32_t q[HD / 16][4];

#pragma unroll
    for (int k = 0; k < HD / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            q[k][i] = *(const uint32_t *)((const bf16 *)a.q +
                                          grid_row(a, w.window, t.y[i & 1], t.x[i & 1]) *
                                              a.q_stride +
                                          w.head * HD + k * 16 + (i >> 1) * 8 + col);
    __syncwarp(); // the group before has read its products
    table_dots(dots, q, base);
    __syncwarp();
#pragma unroll
    for (int p = 0; p < 2; p++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int x = p * 8 + col + (i & 1), h = i >> 1;
            const float *row = dots + (lane / 4 + h * 8) * DOTS + TABLE;

            across[p][i] = x < SIDE ? row[t.x[h] - x + SIDE - 1] * LOG2E : -CUDART_INF_F;
        }
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        const float *down[2];
        uint32_t at = step * ROWS * PLACES * 128;

#pragma unroll
        for (int h = 0; h < 2; h++)
            down[h] = dots + (lane / 4 + h * 8) * DOTS + t.y[h] - step * ROWS + SIDE - 1;
        window_scores(s, q, base + layout::KEYS + at, across, down, a.scale * LOG2E);
        window_soften(s, o, max, sum);
        window_weigh(o, s, base + layout::VALUES + at);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        sum[h] += __shfl_xor_sync(0xFFFFFFFFu, sum[h], 1);
        sum[h] += __shfl_xor_sync(0xFFFFFFFFu, sum[h], 2);
        if (first + lane / 4 + h * 8 >= n)
            continue;
        float inv = 1.0f / sum[h];

#pragma unroll
        for (int k = 0; k < HD / 8; k++)
            *(uint32_t *)((bf16 *)a.out + grid_row(a, w.window, t.y[h], t.x[h]) * a.out_stride +
                          w.head * HD + k * 8 +
                          col) = pack_bf16(o[k][2 * h] * inv, o[k][2 * h + 1] * inv);
    }
}

__global__ void __launch_bounds__(WARPS * 32, 2) window_kernel(const struct attend a)
{
    extern __shared__ __align__(128) unsigned char memory[];
    struct work w = work_of<ATTEND_RELPOS>(a, blockIdx.y, blockIdx.x);
    int warp = threadIdx.x >> 5, columns = min(SIDE, a.grid - w.window.x),
        n = columns * min(SIDE, a.grid - w.window.y);
    uint32_t base = smem_addr(memory);
    float *dots = (float *)(memory + layout::PRODUCTS) + warp * 16 * DOTS;

    load_window(a, w, base);
    load_tables(a, memory);
    copy_wait<0>();
    __syncthreads();
    for (int first = warp * 16; first < n; first += WARPS * 16)
        window_queries(a, w, base, dots, first, n, columns);
}

void launch_windows(launch_stream s, const struct attend *a)
{
    window_kernel<<<dim3((unsigned)a->n_head, (unsigned)a->groups), WARPS * 32, layout::ALL, s>>>(
        *a);
}

void prepare_windows(int shared_bytes, cudaError_t *rc)
{
    if (shared_bytes >= layout::ALL)
        allow_shared(window_kernel, shared_bytes, rc);
}
