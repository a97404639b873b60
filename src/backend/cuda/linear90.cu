// Products of many rows on compute capability 9.0.
//
// A block stays on its multiprocessor and takes tiles one after the other.  One thread asks the copy
// engine for steps of 64 terms, as many ahead as fit and across tile borders; two warp groups
// multiply.  A step's place is given back once its products are done, which is known one step later:
// the tensor cores never wait.  Results go to shared memory, 128 bytes of each row at a time, and
// leave by the copy engine, which also adds them to the residual stream.
//
// Two kinds of tile.  Together: 128 rows by 256 columns, or by 128 columns of each of a gated pair,
// each warp group 64 of the rows; the fewest bytes for a product.  In turns: 128 by 128, each warp
// group its own tile, so that one finishes its results while the other multiplies; better where
// sums are short or what follows them is long.
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

template <bool IN_TURNS> struct stage { // a step in shared memory
    static constexpr int BYTES = (ROWS + (IN_TURNS ? 1 : 2) * HALF) * 128,
                         COUNT = STEPS_BYTES / BYTES;
};

// Columns of a tile.
template <enum product_out OUT, bool IN_TURNS> struct columns_of {
    static constexpr int TILE = IN_TURNS || OUT == PRODUCT_SWIGLU ? HALF : 2 * HALF;
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

// Results of 64 rows from `row` by 128 or 256 columns, by the copy engine; `out` are the warp group's
// two buffers.
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
template <bool GATED, bool IN_TURNS>
__device__ __forceinline__ void copy_steps(const struct product &p, const struct maps &m,
                                           const struct wide_tile &w, uint32_t base, uint32_t full,
                                           int *it)
{
    constexpr int STAGE = stage<IN_TURNS>::BYTES, STAGES = stage<IN_TURNS>::COUNT;
    uint32_t empty = full + 8 * STAGES;

    for (int k = 0; k < p.k; k += STEP, ++*it) {
        int slot = *it % STAGES;
        uint32_t to = base + slot * STAGE, here = full + 8 * slot;

        if (*it >= STAGES)
            barrier_wait(empty + 8 * slot, (*it / STAGES - 1) & 1);
        barrier_expect(here, STAGE); // past the end come zeros, which count
        copy_box(to, &m.x, k, w.row, here);
        copy_box(to + ROWS * 128, w.w, k, w.col, here);
        if (!IN_TURNS)
            copy_box(to + (ROWS + HALF) * 128, GATED ? w.up : w.w, k, GATED ? w.col : w.col + HALF,
                     here);
    }
}

// The multiplying side.  Together: sums of a warp group's 64 rows, left and right half.  In turns:
// upper and lower 64 rows.
template <bool IN_TURNS>
__device__ __forceinline__ void multiply(float acc[2][64], uint32_t base, uint32_t full, int group,
                                         int steps, int *it)
{
    constexpr int STAGE = stage<IN_TURNS>::BYTES, STAGES = stage<IN_TURNS>::COUNT;
    uint32_t empty = full + 8 * STAGES;
    bool leads = threadIdx.x % 128 == 0;

    for (int s = 0; s < steps; s++, ++*it) {
        int slot = *it % STAGES;
        uint32_t tile = base + slot * STAGE;
        uint64_t a = matrix_descriptor(tile + (IN_TURNS ? 0 : group * 64 * 128)),
                 a2 = IN_TURNS ? matrix_descriptor(tile + 64 * 128) : a,
                 b = matrix_descriptor(tile + ROWS * 128),
                 b2 = IN_TURNS ? b : matrix_descriptor(tile + (ROWS + HALF) * 128);

        barrier_wait(full + 8 * slot, *it / STAGES & 1);
        group_begin();
#pragma unroll
        for (int k = 0; k < STEP / 16; k++) {
            group_mma128(acc[0], a + k * 2, b + k * 2, s + k > 0);
            group_mma128(acc[1], a2 + k * 2, b2 + k * 2, s + k > 0);
        }
        group_commit();
        group_wait<1>();
        if (s > 0 && leads)
            barrier_arrive(empty + 8 * ((*it - 1) % STAGES));
    }
    group_wait<0>();
    if (leads)
        barrier_arrive(empty + 8 * ((*it - 1) % STAGES));
    settle<64>(acc[0]);
    settle<64>(acc[1]);
}

// Results of 64 rows.
template <enum product_out OUT, bool Y_IS_F32, int HALVES>
__device__ __forceinline__ void put_64(const struct product &p, const struct maps &m,
                                       const float acc[HALVES][64], uint32_t out, int row, int end,
                                       int col)
{
    if (p.tile && row + 64 > end)
        put_rows<OUT, Y_IS_F32, HALVES>(p, acc, row, end, col);
    else
        put_boxes<OUT, Y_IS_F32, HALVES>(p, &m.y, acc, out, row, col);
}

template <enum product_out OUT, bool Y_IS_F32, bool IN_TURNS>
__device__ __forceinline__ void work_group(const struct product &p, const struct maps &m,
                                           uint32_t base, uint32_t full, int group, int across,
                                           int columns)
{
    constexpr int WIDTH = columns_of<OUT, IN_TURNS>::TILE;
    int steps = (p.k + STEP - 1) / STEP, it = 0, n = 0;
    uint32_t out = base + STEPS_BYTES + group * 2 * OUT_BYTES;
    struct wide_tile w;

    for (int t = blockIdx.x; t < across * columns; t += gridDim.x) {
        float acc[2][64];

        if (!find_tile(p, m, t, across, columns, WIDTH, &w))
            continue;
        if (IN_TURNS && n++ % 2 != group) { // the other's
            it += steps;
            continue;
        }
        multiply<IN_TURNS>(acc, base, full, group, steps, &it);
        if (IN_TURNS) {
            put_64<OUT, Y_IS_F32, 1>(p, m, acc, out, w.row, w.end, w.col);
            put_64<OUT, Y_IS_F32, 1>(p, m, acc + 1, out, w.row + 64, w.end, w.col);
        } else
            put_64<OUT, Y_IS_F32, 2>(p, m, acc, out, w.row + group * 64, w.end, w.col);
    }
    if (threadIdx.x % 128 == 0)
        store_wait<0>(); // the memory is in use until then
}
#endif

template <enum product_out OUT, bool Y_IS_F32, bool IN_TURNS>
__global__ void __launch_bounds__(THREADS, 1)
    wide_kernel(const struct product p, const __grid_constant__ struct maps m)
{
#if HAS_WGMMA
    constexpr int WIDTH = columns_of<OUT, IN_TURNS>::TILE, STAGES = stage<IN_TURNS>::COUNT;
    extern __shared__ unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES];
    uint32_t base = (smem_addr(memory) + 1023) & ~1023u, full = smem_addr(barriers);
    int group = threadIdx.x / 128 - 1, across = p.tile ? p.tile_cap : (p.rows + ROWS - 1) / ROWS,
        columns = (p.n + WIDTH - 1) / WIDTH, it = 0;
    struct wide_tile w;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(full + 8 * (STAGES + i), IN_TURNS ? 1 : 2);
        }
        barrier_fence();
    }
    __syncthreads();
    if (group < 0) {
        registers_give<40>();
        if (threadIdx.x == 0)
            for (int t = blockIdx.x; t < across * columns; t += gridDim.x)
                if (find_tile(p, m, t, across, columns, WIDTH, &w))
                    copy_steps<OUT == PRODUCT_SWIGLU, IN_TURNS>(p, m, w, base, full, &it);
    } else {
        registers_take<232>();
        work_group<OUT, Y_IS_F32, IN_TURNS>(p, m, base, full, group, across, columns);
    }
#endif
}

// ---- host ---------------------------------------------------------------------------------------
static int tiles_of(const struct product *p, int width)
{
    return (p->tile ? p->tile_cap : (p->rows + ROWS - 1) / ROWS) * ((p->n + width - 1) / width);
}

template <enum product_out OUT, bool Y_IS_F32, bool IN_TURNS>
static int run(launch_stream s, const struct product *p, const struct maps *m)
{
    int tiles = tiles_of(p, columns_of<OUT, IN_TURNS>::TILE);
    int blocks = tiles < p->n_sm ? tiles : p->n_sm;

    wide_kernel<OUT, Y_IS_F32, IN_TURNS><<<blocks, THREADS, MEMORY + 1024, s>>>(*p, *m);
    return cudaSuccess;
}

// Which kind ends first, in tenths of a step of a tile in turns (0.036 us on an H200): a wide step
// costs 20 and its results 70, or 150 with a GELU; a step in turns costs 11 for its smaller share of
// products, and only the last results show.
static bool goes_in_turns(const struct product *p)
{
    int64_t steps = (p->k + STEP - 1) / STEP,
            together = (tiles_of(p, 2 * HALF) + p->n_sm - 1) / p->n_sm,
            in_turns = (tiles_of(p, HALF) + p->n_sm - 1) / p->n_sm;

    return in_turns * 11 * steps + 60 <
           together * (20 * steps + (p->out == PRODUCT_GELU ? 150 : 70));
}

template <enum product_out OUT, bool Y_IS_F32>
static int run_best(launch_stream s, const struct product *p, const struct maps *m)
{
    return goes_in_turns(p) ? run<OUT, Y_IS_F32, true>(s, p, m)
                            : run<OUT, Y_IS_F32, false>(s, p, m);
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
        return p->y_is_f32 ? run<PRODUCT_SWIGLU, true, false>(s, p, &m)
                           : run<PRODUCT_SWIGLU, false, false>(s, p, &m);
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
    allow_shared(wide_kernel<PRODUCT_SET, false, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, false, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, true, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, true, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, false, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, false, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, true, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, true, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_ADD, true, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_ADD, true, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SWIGLU, false, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SWIGLU, true, false>, shared_bytes, &rc);
    return rc;
}
