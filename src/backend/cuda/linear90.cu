// Products of many rows on compute capability 9.0.
//
// A block stays on its multiprocessor and takes tiles of 128 rows by 256 columns (or by 128 columns
// of each of a gated pair, or by 128) one after the other.  One thread asks the copy engine for
// steps of 64 terms, as many ahead as fit and across tile borders; two warp groups of 64 rows each
// multiply.  A step's place is given back once its products are done, which is known one step
// later: the tensor cores never wait.  Results go to shared memory, 128 bytes of each row at a time,
// and from there by the copy engine while the next tile is multiplied; the engine also adds them to
// the residual stream.
//
// Tiles are taken 16 rows of tiles at a time, column by column, so that what runs at the same time
// shares both operands in the second-level cache.
//
// Each sum is the same chain over k as in linear.cu and comes out the same, bit for bit
// (tests/ops/test_cuda.c).
#include "backend/cuda/product.cuh"
#include "backend/cuda/sm90.cuh"

namespace
{
enum {
    ROWS = MAP_ROWS,
    HALF = MAP_ROWS,
    THREADS = 384,
    BAND = 16, // rows of tiles
    STEPS_BYTES = 4 * 3 * 128 *
                  128, // of the steps on their way: four wide ones, or six narrow ones
    MAX_STAGES = 6,
    OUT_BYTES = 64 * 128, // of a piece of results
    MEMORY = STEPS_BYTES + 2 * 2 * OUT_BYTES
};
} // namespace

struct maps {
    CUtensorMap x, w, up, y;
};

// Where a tile is: rows [row, end) from `row`, columns from `col`, of the matrices of these maps.
struct wide_tile {
    int row, end, col;
    const CUtensorMap *w, *up;
};

__device__ __forceinline__ bool find_tile(const struct product &p, const struct maps &m, int t,
                                          int across, int columns, int width, struct wide_tile *at)
{
    int band = t / (BAND * columns) * BAND, high = min((int)BAND, across - band),
        in = t - band * columns;
    int i = band + in % high;

    *at = {i * ROWS, p.rows, in / high * width, &m.w, &m.up};
    if (!p.tile)
        return true;

    int entry = p.tile[i], e = entry >> 16;

    if (entry < 0)
        return false;
    at->row = p.from[e] + (entry & 0xFFFF) * ROWS;
    at->end = p.from[e + 1];
    at->w = (const CUtensorMap *)p.w_maps + e;
    at->up = (const CUtensorMap *)p.up_maps + e;
    return true;
}

#if HAS_WGMMA
// What becomes of two neighbouring sums.
template <enum product_out OUT, bool Y_IS_F32>
__device__ __forceinline__ float2 finish(const struct product &p, int col, const float *v,
                                         const float *u)
{
    float2 y = {v[0], v[1]};

    if (p.bias && col < p.n) {
        float2 bias = *(const float2 *)(p.bias + col);

        y.x += bias.x;
        y.y += bias.y;
    }
    if (OUT == PRODUCT_GELU) {
        y.x = Y_IS_F32 ? gelu(y.x) : gelu_bf16(y.x);
        y.y = Y_IS_F32 ? gelu(y.y) : gelu_bf16(y.y);
    } else if (OUT == PRODUCT_SWIGLU) {
        y.x = __fdividef(y.x, 1.0f + __expf(-y.x)) * u[0];
        y.y = __fdividef(y.y, 1.0f + __expf(-y.y)) * u[1];
    }
    return y;
}

// Results of a warp group's 64 rows from `row`, by the copy engine; `out` are its two buffers.
template <enum product_out OUT, bool Y_IS_F32, int HALVES>
__device__ __forceinline__ void put_boxes(const struct product &p, const CUtensorMap *map,
                                          const float acc[HALVES][64], uint32_t out, int row,
                                          int col)
{
    constexpr int COLS = Y_IS_F32 ? 32 : 64, WIDTH = OUT == PRODUCT_SWIGLU ? HALF : HALVES * HALF;
    int lane = threadIdx.x & 31, r = threadIdx.x % 128 / 32 * 16 + lane / 4,
        barrier = threadIdx.x / 128;
    bool leads = threadIdx.x % 128 == 0;

#pragma unroll
    for (int c = 0; c < WIDTH / COLS; c++) {
        uint32_t to = out + c % 2 * OUT_BYTES;

        if (leads)
            store_wait<1>(); // the piece before the last one has left its buffer
        threads_meet(barrier, 128);
#pragma unroll
        for (int i = 0; i < COLS / 8; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int n = c * COLS + i * 8, at = n % HALF / 8 * 4 + h * 2;
                float2 y = finish<OUT, Y_IS_F32>(p, col + n + lane % 4 * 2, acc[n / HALF] + at,
                                                 acc[HALVES - 1] + at);

                if (Y_IS_F32)
                    shared_put2(piece(to, r + h * 8, 2 * i + lane % 4 / 2) + lane % 2 * 8, y);
                else
                    shared_put(piece(to, r + h * 8, i) + lane % 4 * 4, pack_bf16(y.x, y.y));
            }
        store_fence();
        threads_meet(barrier, 128);
        if (leads && OUT == PRODUCT_ADD)
            add_box(map, to, col + c * COLS, row);
        else if (leads)
            store_box(map, to, col + c * COLS, row);
        if (leads)
            store_commit();
    }
}

// The same number by number, for an expert's last rows: behind them are another's.
template <enum product_out OUT, bool Y_IS_F32, int HALVES>
__device__ __forceinline__ void put_rows(const struct product &p, const float acc[HALVES][64],
                                         int row, int end, int col)
{
    constexpr int WIDTH = OUT == PRODUCT_SWIGLU ? HALF : HALVES * HALF;
    int lane = threadIdx.x & 31;

    row += threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < WIDTH / 8; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int n = col + i * 8 + lane % 4 * 2, r = row + h * 8, at = i % (HALF / 8) * 4 + h * 2;

            if (n >= p.n || r >= end)
                continue;
            float2 y = finish<OUT, Y_IS_F32>(p, n, acc[i * 8 / HALF] + at, acc[HALVES - 1] + at);
            int64_t to = (int64_t)r * p.n + n;

            if (Y_IS_F32)
                *(float2 *)((float *)p.y + to) = y;
            else
                *(uint32_t *)((bf16 *)p.y + to) = pack_bf16(y.x, y.y);
        }
}

// The copying side: one thread.
template <bool GATED, int HALVES>
__device__ __forceinline__ void copy_steps(const struct product &p, const struct maps &m,
                                           const struct wide_tile &w, uint32_t base, uint32_t full,
                                           int *it)
{
    constexpr int STAGE = (1 + HALVES) * HALF * 128, STAGES = STEPS_BYTES / STAGE;
    uint32_t empty = full + 8 * STAGES;

    for (int k = 0; k < p.k; k += STEP, ++*it) {
        int slot = *it % STAGES;
        uint32_t to = base + slot * STAGE, here = full + 8 * slot;

        if (*it >= STAGES)
            barrier_wait(empty + 8 * slot, (*it / STAGES - 1) & 1);
        barrier_expect(here, STAGE); // past the end come zeros, which count
        copy_box(to, &m.x, k, w.row, here);
        copy_box(to + ROWS * 128, w.w, k, w.col, here);
        if (HALVES == 2)
            copy_box(to + (ROWS + HALF) * 128, GATED ? w.up : w.w, k, GATED ? w.col : w.col + HALF,
                     here);
    }
}

// The multiplying side: sums of a warp group's 64 rows.
template <int HALVES>
__device__ __forceinline__ void multiply(float acc[HALVES][64], uint32_t base, uint32_t full,
                                         int group, int steps, int *it)
{
    constexpr int STAGE = (1 + HALVES) * HALF * 128, STAGES = STEPS_BYTES / STAGE;
    uint32_t empty = full + 8 * STAGES;
    bool leads = threadIdx.x % 128 == 0;

    for (int s = 0; s < steps; s++, ++*it) {
        int slot = *it % STAGES;
        uint32_t tile = base + slot * STAGE;
        uint64_t a = matrix_descriptor(tile + group * 64 * 128),
                 b = matrix_descriptor(tile + ROWS * 128),
                 b2 = matrix_descriptor(tile + (ROWS + HALF) * 128);

        barrier_wait(full + 8 * slot, *it / STAGES & 1);
        group_begin();
#pragma unroll
        for (int k = 0; k < STEP / 16; k++) {
            group_mma128(acc[0], a + k * 2, b + k * 2, s + k > 0);
            if (HALVES == 2)
                group_mma128(acc[HALVES - 1], a + k * 2, b2 + k * 2, s + k > 0);
        }
        group_commit();
        group_wait<1>();
        if (s > 0 && leads)
            barrier_arrive(empty + 8 * ((*it - 1) % STAGES));
    }
    group_wait<0>();
    if (leads)
        barrier_arrive(empty + 8 * ((*it - 1) % STAGES));
#pragma unroll
    for (int h = 0; h < HALVES; h++)
        settle<64>(acc[h]);
}
#endif

template <enum product_out OUT, bool Y_IS_F32, int HALVES>
__global__ void __launch_bounds__(THREADS, 1)
    wide_kernel(const struct product p, const __grid_constant__ struct maps m)
{
#if HAS_WGMMA
    constexpr bool GATED = OUT == PRODUCT_SWIGLU;
    constexpr int WIDTH = GATED ? HALF : HALVES * HALF,
                  STAGES = STEPS_BYTES / ((1 + HALVES) * HALF * 128);
    extern __shared__ unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES];
    uint32_t base = (smem_addr(memory) + 1023) & ~1023u, full = smem_addr(barriers);
    int group = threadIdx.x / 128 - 1, steps = (p.k + STEP - 1) / STEP;
    int across = p.tile ? p.tile_cap : (p.rows + ROWS - 1) / ROWS,
        columns = (p.n + WIDTH - 1) / WIDTH, it = 0;
    struct wide_tile w;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(full + 8 * (STAGES + i), 2);
        }
        barrier_fence();
    }
    __syncthreads();
    if (group < 0) {
        registers_give<40>();
        if (threadIdx.x == 0)
            for (int t = blockIdx.x; t < across * columns; t += gridDim.x)
                if (find_tile(p, m, t, across, columns, WIDTH, &w))
                    copy_steps<GATED, HALVES>(p, m, w, base, full, &it);
    } else {
        registers_take<232>();
        for (int t = blockIdx.x; t < across * columns; t += gridDim.x) {
            float acc[HALVES][64];

            if (!find_tile(p, m, t, across, columns, WIDTH, &w))
                continue;
            multiply<HALVES>(acc, base, full, group, steps, &it);
            w.row += group * 64;
            if (p.tile && w.row + 64 > w.end)
                put_rows<OUT, Y_IS_F32, HALVES>(p, acc, w.row, w.end, w.col);
            else
                put_boxes<OUT, Y_IS_F32, HALVES>(
                    p, &m.y, acc, base + STEPS_BYTES + group * 2 * OUT_BYTES, w.row, w.col);
        }
        if (threadIdx.x % 128 == 0)
            store_wait<0>(); // the memory is in use until then
    }
#endif
}

// ---- host ---------------------------------------------------------------------------------------
static int tiles_of(const struct product *p, int width)
{
    return (p->tile ? p->tile_cap : (p->rows + ROWS - 1) / ROWS) * ((p->n + width - 1) / width);
}

template <enum product_out OUT, bool Y_IS_F32, int HALVES>
static int run(launch_stream s, const struct product *p, const struct maps *m)
{
    int tiles = tiles_of(p, OUT == PRODUCT_SWIGLU ? HALF : HALVES * HALF);
    int blocks = tiles < p->n_sm ? tiles : p->n_sm;

    wide_kernel<OUT, Y_IS_F32, HALVES><<<blocks, THREADS, MEMORY + 1024, s>>>(*p, *m);
    return cudaSuccess;
}

// Narrow tiles where wide ones would leave more of the machine idle in the last round: costs in
// tenths of a narrow step, a tile's end counted in.
static bool is_narrow(const struct product *p)
{
    int steps = (p->k + STEP - 1) / STEP, wide = (tiles_of(p, 2 * HALF) + p->n_sm - 1) / p->n_sm,
        narrow = (tiles_of(p, HALF) + p->n_sm - 1) / p->n_sm;

    return (int64_t)narrow * (11 * steps + 30) < (int64_t)wide * (20 * steps + 40);
}

template <enum product_out OUT, bool Y_IS_F32>
static int run_best(launch_stream s, const struct product *p, const struct maps *m)
{
    return is_narrow(p) ? run<OUT, Y_IS_F32, 1>(s, p, m) : run<OUT, Y_IS_F32, 2>(s, p, m);
}

static bool map_operand(CUtensorMap *map, const void *data, int rows, int k)
{
    return !data || make_map(map, data, rows, k, false, MAP_ROWS);
}

int launch_product90(launch_stream s, const struct product *p)
{
    struct maps m;

    if (!map_operand(&m.x, p->x, p->rows, p->k) || !map_operand(&m.w, p->w, p->n, p->k) ||
        !map_operand(&m.up, p->up, p->n, p->k) ||
        !make_map(&m.y, p->y, p->rows, p->n, p->y_is_f32, 64))
        return cudaErrorInvalidValue;
    if (p->out == PRODUCT_SWIGLU)
        return p->y_is_f32 ? run<PRODUCT_SWIGLU, true, 2>(s, p, &m)
                           : run<PRODUCT_SWIGLU, false, 2>(s, p, &m);
    if (p->out == PRODUCT_GELU)
        return p->y_is_f32 ? run_best<PRODUCT_GELU, true>(s, p, &m)
                           : run_best<PRODUCT_GELU, false>(s, p, &m);
    if (p->out == PRODUCT_ADD)
        return run_best<PRODUCT_ADD, true>(s, p, &m);
    return p->y_is_f32 ? run_best<PRODUCT_SET, true>(s, p, &m)
                       : run_best<PRODUCT_SET, false>(s, p, &m);
}

int launch_prepare_linear90(int shared_bytes)
{
    cudaError_t rc = cudaSuccess;

    shared_bytes -= 2 * MAX_STAGES * (int)sizeof(uint64_t) + 64; // the barriers are apart
    allow_shared(wide_kernel<PRODUCT_SET, false, 1>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, false, 2>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, true, 1>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, true, 2>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, false, 1>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, false, 2>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, true, 1>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, true, 2>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_ADD, true, 1>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_ADD, true, 2>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SWIGLU, false, 2>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SWIGLU, true, 2>, shared_bytes, &rc);
    return rc;
}
