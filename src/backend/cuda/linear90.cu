// Products of many rows on compute capability 9.0.
//
// A block stays on its multiprocessor and takes tiles of 128 rows by 256 columns (or by 128 columns
// of each of a gated pair, or by 128) one after the other.  One thread asks the copy engine for
// steps of 64 terms, as many ahead as fit and across tile borders; two warp groups of 64 rows each
// multiply.  A step's place is given back once its products are done, which is known one step
// later: the tensor cores never wait.
//
// What becomes of the sums: put90.cuh.
//
// Two blocks of a cluster take neighbouring rows of tiles, each brings half of the weights for both.
// A last round that would fill at most a quarter of the machine is cut into tiles of 64 columns (17920 x 768
// x 3072: 155 us with narrow tiles, 131 so).
//
// Tiles are taken 16 rows of tiles at a time, column by column, so that what runs at the same time
// shares both operands in the second-level cache.
//
// Each sum is the same chain over k as in linear.cu and comes out the same, bit for bit
// (tests/ops/test_cuda.c).
#include "backend/cuda/put90.cuh"

namespace
{
enum {
    ROWS = MAP_ROWS,
    HALF = MAP_ROWS,
    THREADS = 384,
    BAND = 16, // rows of tiles
    REST = 64, // columns of the tiles of a last round
    STEPS_BYTES = 4 * 3 * 128 *
                  128, // of the steps on their way: four wide ones, or six narrow ones
    MAX_STAGES = 6,
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

// Tiles in the order in which they are taken; a pair of blocks takes two rows of tiles at once.
// Those from `end` to `all` are taken in pieces of REST columns, since they would leave most of the
// machine idle in a last round.
struct order {
    int across, columns, width, pair, rank;
    int first, stride, end, all;
};

__device__ __forceinline__ struct order find_order(const struct product &p, int width, int pair,
                                                   int rank, bool has_rest)
{
    int across = p.tile ? p.tile_cap : (p.rows + ROWS - 1) / ROWS;
    struct order o = {(across + pair - 1) / pair, (p.n + width - 1) / width, width, pair, rank};

    o.first = blockIdx.x / pair;
    o.stride = gridDim.x / pair;
    o.end = o.all = o.across * o.columns;
    if (has_rest && pair == 2 && o.all % o.stride * (width / REST) <= o.stride)
        o.end -= o.all % o.stride;
    return o;
}

__device__ __forceinline__ bool find_tile(const struct product &p, const struct maps &m, int t,
                                          const struct order &o, struct wide_tile *at)
{
    int wide = BAND / o.pair, band = t / (wide * o.columns) * wide,
        high = min(wide, o.across - band), in = t - band * o.columns;
    int i = (band + in % high) * o.pair + o.rank;

    *at = {i * ROWS, p.rows, in / high * o.width, &m.w, &m.up};
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

// A pair's piece of the tiles that are left, if there is one.
__device__ __forceinline__ bool find_rest(const struct product &p, const struct maps &m,
                                          const struct order &o, struct wide_tile *at)
{
    int pieces = o.width / REST, t = o.end + o.first / pieces;

    if (t >= o.all)
        return false;
    find_tile(p, m, t, o, at);
    at->col += o.first % pieces * REST;
    return at->col < p.n;
}

#if HAS_WGMMA
// ---- the two sides -------------------------------------------------------------------------------
// Places for steps in shared memory: `base`, barriers `full` then `empty`, and how many steps went
// by.
struct ring {
    uint32_t base, full;
    int it, pair, rank;
};

// A place for the next step, as soon as its last use is over.
template <int HALVES> __device__ __forceinline__ int take_place(const struct ring &r)
{
    constexpr int STAGES = STEPS_BYTES / ((1 + HALVES) * HALF * 128);
    int slot = r.it % STAGES;

    if (r.it >= STAGES)
        barrier_wait(r.full + 8 * (STAGES + slot), (r.it / STAGES - 1) & 1);
    return slot;
}

// What a tile's results will be added to is asked for with eight of its last steps: all tiles end at
// about the same time, and the memory would be busy only then.  Of long sums the results are few
// enough (9040 x 1280 x 1280: 66 us without, 59 with; 17920 x 768 x 3072: 131 and 135).
enum { LONG_SUM = 24 };

__device__ __forceinline__ void fetch_there(const struct maps &m, const struct wide_tile &w,
                                            int steps, int step)
{
    constexpr int BOXES = 2 * HALF / 32; // of 64 rows
    int eighth = 10 - (steps - step);

    if (steps > LONG_SUM || eighth < 0 || eighth > 7)
        return;
    for (int i = eighth * BOXES / 4; i < (eighth + 1) * BOXES / 4; i++)
        fetch_box(&m.y, w.col + i % BOXES * 32, w.row + i / BOXES * 64);
}

// The copying side: one thread.  Of a pair each block brings its rows and half of the weights, for
// both.
template <enum product_out OUT, int HALVES>
__device__ __forceinline__ void copy_steps(const struct maps &m, const struct wide_tile &w,
                                           int steps, struct ring *r)
{
    constexpr int STAGE = (1 + HALVES) * HALF * 128;
    constexpr bool GATED = OUT == PRODUCT_SWIGLU;
    const CUtensorMap *second = GATED ? w.up : w.w, *mine = r->rank ? second : w.w;
    int second_col = GATED ? w.col : w.col + HALF, my_col = r->rank ? second_col : w.col;

    for (int k = 0; k < steps * STEP; k += STEP, ++r->it) {
        int slot = take_place<HALVES>(*r);
        uint32_t to = r->base + slot * STAGE, here = r->full + 8 * slot;

        barrier_expect(here, STAGE); // past the end come zeros, which count
        copy_box(to, &m.x, k, w.row, here);
        if (OUT == PRODUCT_ADD && HALVES == 2)
            fetch_there(m, w, steps, k / STEP);
        to += ROWS * 128;
        if (r->pair == 2) {
            copy_box_both(to + r->rank * HALF * 128, mine, k, my_col, here);
            continue;
        }
        copy_box(to, w.w, k, w.col, here);
        if (HALVES == 2)
            copy_box(to + HALF * 128, second, k, second_col, here);
    }
}

// The same for a tile of REST columns of a pair: `up` is the map of such boxes of the weights.
__device__ __forceinline__ void copy_rest(const struct maps &m, const struct wide_tile &w,
                                          int steps, struct ring *r)
{
    for (int k = 0; k < steps * STEP; k += STEP, ++r->it) {
        int slot = take_place<2>(*r);
        uint32_t to = r->base + slot * 3 * HALF * 128, here = r->full + 8 * slot;

        barrier_expect(here, (ROWS + REST) * 128);
        copy_box(to, &m.x, k, w.row, here);
        if (r->rank == 0)
            copy_box_both(to + ROWS * 128, &m.up, k, w.col, here);
    }
}

// A step of a warp group's 64 rows is asked for; between(i) is done behind each of its products,
// which wait for each other in the tensor cores' short queue.
template <int HALVES, int COLS, class F>
__device__ __forceinline__ void begin_step(float *acc, const struct ring &r, int it, int group,
                                           bool keep, F between)
{
    constexpr int STAGE = (1 + HALVES) * HALF * 128, STAGES = STEPS_BYTES / STAGE;
    int slot = it % STAGES;
    uint32_t tile = r.base + slot * STAGE;
    uint64_t a = matrix_descriptor(tile + group * 64 * 128),
             b = matrix_descriptor(tile + ROWS * 128);

    barrier_wait(r.full + 8 * slot, it / STAGES & 1);
    group_begin();
#pragma unroll
    for (int k = 0; k < STEP / 16; k++) {
        if (COLS == 256)
            group_mma256(acc, a + k * 2, b + k * 2, keep || k > 0);
        else if (COLS == 128)
            group_mma128(acc, a + k * 2, b + k * 2, keep || k > 0);
        else
            group_mma64(acc, a + k * 2, b + k * 2, keep || k > 0);
        between(k);
    }
    group_commit();
}

// The place of the oldest running step is given back, to both blocks of a pair.
template <int HALVES> __device__ __forceinline__ void give_back(struct ring *r)
{
    constexpr int STAGES = STEPS_BYTES / ((1 + HALVES) * HALF * 128);
    uint32_t empty = r->full + 8 * (STAGES + r->it++ % STAGES);

    if (threadIdx.x % 128)
        return;
    if (r->pair == 2)
        barrier_arrive_at(empty, r->rank ^ 1);
    barrier_arrive(empty);
}

// The multiplying side: sums of a warp group's 64 rows; a step is asked for before the one in front
// has ended.  With each of the first steps a part of what is held is put (of the first tile nothing:
// its zeros stay in the buffer).
template <enum product_out OUT, int HALVES, int COLS, int WIDTH>
__device__ __forceinline__ void multiply(float *acc, struct ring *r, int group, int steps,
                                         struct held<WIDTH> *held, const CUtensorMap *map,
                                         uint32_t out)
{
    auto nothing = [](int) {};

    begin_step<HALVES, COLS>(acc, *r, r->it, group, false, nothing);
#pragma unroll
    for (int part = 0; part < WIDTH / 32; part++) {
        begin_part(part);
        begin_step<HALVES, COLS>(acc, *r, r->it + 1, group, true,
                                 [&](int i) { put_piece<OUT>(*held, part, i, out); });
        end_part(*held, part, map, out);
        group_wait<1>();
        give_back<HALVES>(r);
    }
    held->any = false;
    for (int s = WIDTH / 32 + 1; s < steps; s++) {
        begin_step<HALVES, COLS>(acc, *r, r->it + 1, group, true, nothing);
        group_wait<1>();
        give_back<HALVES>(r);
    }
    group_wait<0>();
    give_back<HALVES>(r);
    settle<COLS / 2>(acc);
}
#endif

template <enum product_out OUT, bool Y_IS_F32, int HALVES>
__global__ void __launch_bounds__(THREADS, 1)
    wide_kernel(const struct product p, const __grid_constant__ struct maps m)
{
#if HAS_WGMMA
    constexpr bool GATED = OUT == PRODUCT_SWIGLU;
    constexpr int WIDTH = GATED ? HALF : HALVES * HALF, HOLD = Y_IS_F32 ? 0 : WIDTH,
                  STAGES = STEPS_BYTES / ((1 + HALVES) * HALF * 128);
    constexpr bool HAS_REST = OUT == PRODUCT_ADD && HALVES == 2;
    extern __shared__ unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES];
    uint32_t base = (smem_addr(memory) + 1023) & ~1023u, full = smem_addr(barriers);
    int group = threadIdx.x / 128 - 1, pair = cluster_size();
    int steps = max((p.k + STEP - 1) / STEP, HOLD / 32 + 1); // those past the end bring zeros
    struct ring ring = {base, full, 0, pair, cluster_rank()};
    struct order o = find_order(p, WIDTH, pair, ring.rank, HAS_REST);
    struct wide_tile w;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(full + 8 * (STAGES + i), 2 * pair);
        }
        barrier_fence();
    }
    if (pair == 2)
        cluster_meet();
    else
        __syncthreads();
    if (group < 0) {
        registers_give<40>();
        if (threadIdx.x == 0) {
            for (int t = o.first; t < o.end; t += o.stride)
                if (find_tile(p, m, t, o, &w))
                    copy_steps<OUT, HALVES>(m, w, steps, &ring);
            if (HAS_REST && find_rest(p, m, o, &w))
                copy_rest(m, w, steps, &ring);
        }
    } else {
        uint32_t out = base + STEPS_BYTES + group * 2 * OUT_BYTES;
        float acc[HALVES * 64];
        struct held<HOLD> held = {
        };

        registers_take<232>();
        for (int t = o.first; t < o.end; t += o.stride) {
            if (!find_tile(p, m, t, o, &w))
                continue;
            multiply<OUT, HALVES, HALVES * HALF>(acc, &ring, group, steps, &held, &m.y, out);
            w.row += group * 64;
            if (p.tile && w.row + 64 > w.end)
                put_rows<OUT, Y_IS_F32, WIDTH>(p, acc, w.row, w.end, w.col);
            else if constexpr (Y_IS_F32)
                put_floats<OUT, WIDTH>(p, &m.y, acc, out, w.row, w.col);
            else
                hold<OUT>(p, &held, acc, w.row, w.col);
        }
        if (HAS_REST && find_rest(p, m, o, &w)) {
            multiply<OUT, HALVES, REST>(acc, &ring, group, steps, &held, &m.y, out);
            put_floats<OUT, REST>(p, &m.y, acc, out, w.row + group * 64, w.col);
        }
        if (held.any)
#pragma unroll
            for (int part = 0; part < HOLD / 32; part++) {
                begin_part(part);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    put_piece<OUT>(held, part, i, out);
                end_part(held, part, &m.y, out);
            }
        if (threadIdx.x % 128 == 0)
            store_wait<0>(); // the memory is in use until then
    }
    if (pair == 2)
        cluster_meet(); // and by the other block of a pair
#endif
}

// ---- host ---------------------------------------------------------------------------------------
static int tiles_of(const struct product *p, int width)
{
    return (p->tile ? p->tile_cap : (p->rows + ROWS - 1) / ROWS) * ((p->n + width - 1) / width);
}

// Blocks in pairs where two rows of tiles share their weights: not for experts, whose rows of tiles
// are each one's own, nor for narrow tiles.
template <enum product_out OUT, bool Y_IS_F32, int HALVES>
static int run(launch_stream s, const struct product *p, const struct maps *m)
{
    int tiles = tiles_of(p, OUT == PRODUCT_SWIGLU ? HALF : HALVES * HALF), blocks;
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a[1] = {};

    a[0].id = cudaLaunchAttributeClusterDimension;
    a[0].val.clusterDim.x = HALVES == 2 && !p->tile && p->rows > ROWS ? 2 : 1;
    a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
    blocks = (tiles < p->n_sm ? tiles + 1 : p->n_sm) / (int)a[0].val.clusterDim.x *
             (int)a[0].val.clusterDim.x;
    c.gridDim = dim3((unsigned)blocks);
    c.blockDim = dim3(THREADS);
    c.dynamicSmemBytes = MEMORY + 1024;
    c.stream = s;
    c.attrs = a;
    c.numAttrs = 1;
    return cudaLaunchKernelEx(&c, wide_kernel<OUT, Y_IS_F32, HALVES>, *p, *m);
}

// Narrow tiles where wide ones would leave more of the machine idle in the last round: costs in
// tenths of a narrow step, a tile's end counted in.
static bool is_narrow(const struct product *p)
{
    int steps = (p->k + STEP - 1) / STEP, pairs = p->n_sm / 2,
        wide = (tiles_of(p, 2 * HALF) + 1) / 2, rounds = wide / pairs, rest = wide % pairs,
        narrow = (tiles_of(p, HALF) + p->n_sm - 1) / p->n_sm;
    bool in_pieces = p->out == PRODUCT_ADD && rest * (2 * HALF / REST) <= pairs;
    int last = rest == 0 ? 0 : in_pieces ? 9 * steps + 20 : 20 * steps + 40;

    return (int64_t)narrow * (11 * steps + 30) < (int64_t)rounds * (20 * steps + 40) + last;
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
        !(p->out == PRODUCT_ADD ? make_map(&m.up, p->w, p->n, p->k, false, REST)
                                : map_operand(&m.up, p->up, p->n, p->k)) ||
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
