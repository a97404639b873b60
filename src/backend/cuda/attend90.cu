// SAM's attention over a whole view on compute capability 9.0, bf16, heads of 64 numbers.
//
// A block is 128 queries of a head of a view: two warp groups of 64, and one thread that asks the
// copy engine for keys and values, two rows of the grid at a time.  While a warp group's tensor
// cores weigh the values of a step, its other units take the softmax of the next one's scores
// (FlashAttention-3: Shah et al. 2024, section 3.2).
//
// Relative positions: 16 queries lie in one row of the grid, so the vertical part is a product with
// consecutive rows of a table, and the horizontal part one with SIDE + 15 rows of the other, of
// which a query takes its own SIDE.  Both are computed before the first step, with tables split in
// two bf16 numbers, so they count as fp32.  The horizontal part is the same for every row of keys
// and stays in registers; the vertical one is a number for a query and a row of keys.
#include "backend/cuda/attend.cuh"
#include "backend/cuda/sm90.cuh"
#include "backend/cuda/window.cuh"

#define LOG2E 1.44269504088896340736f

namespace
{
enum { HD = 64, GROUPS = 2, QUERIES = GROUPS * 64, STAGES = 3, THREADS = (GROUPS + 1) * 128 };

struct view_maps {
    CUtensorMap queries, keys;
};

// Shared memory, bytes from a multiple of 1024: queries first.
template <int SIDE> struct view_layout {
    static constexpr int KEYS = 2 * SIDE, TILE = KEYS * 128, KV = QUERIES * 128,
                         DOWN_STRIDE = SIDE + 8, DOT_STRIDE = SIDE + 24, // against bank conflicts
        DOWN = KV + STAGES * 2 * TILE, DOTS = DOWN + QUERIES * DOWN_STRIDE * 4,
                         ALL = DOTS + QUERIES * DOT_STRIDE * 4;
};
} // namespace

#if HAS_WGMMA
// 8 rows of a table as fragments of bf16, and of what is left of them.
__device__ __forceinline__ void table_rows(uint32_t high[HD / 16][2], uint32_t low[HD / 16][2],
                                           const float *row)
{
#pragma unroll
    for (int k = 0; k < HD / 16; k++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float2 v = *(const float2 *)(row + k * 16 + i * 8);

            high[k][i] = pack_bf16(v.x, v.y);
            low[k][i] = pack_bf16(rest_of_bf16(v.x), rest_of_bf16(v.y));
        }
}

// to[query][8 n + i] = q . table row, for 16 queries and a count of rows that starts at `first` and
// goes by `step` (1 or -1).
__device__ __forceinline__ void view_dots(float *to, int stride, const uint32_t q[HD / 16][4],
                                          const float *table, int first, int step, int n_rows,
                                          int last)
{
    int lane = threadIdx.x & 31;

    for (int n = 0; n < n_rows / 8; n++) {
        uint32_t high[HD / 16][2], low[HD / 16][2];
        int r = first + step * (n * 8 + lane / 4);
        float sum[4] = {};

        table_rows(high, low, table + min(r, last) * HD + lane % 4 * 2);
#pragma unroll
        for (int k = 0; k < HD / 16; k++) {
            mma16816(sum, q[k], low[k][0], low[k][1]);
            mma16816(sum, q[k], high[k][0], high[k][1]);
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
            *(float2 *)(to + (lane / 4 + h * 8) * stride + n * 8 +
                        lane % 4 * 2) = make_float2(sum[2 * h] * LOG2E, sum[2 * h + 1] * LOG2E);
    }
}

// down[query][row of keys] in shared memory, across[column of keys] in registers, both in units of
// log2, for the 16 queries of a warp; `place` is the first one's place in the view.
template <int SIDE>
__device__ __forceinline__ void view_bias(const struct attend &a, uint32_t queries, float *down,
                                          float *dots, float across[SIDE / 8][4], int place)
{
    using L = view_layout<SIDE>;
    int lane = threadIdx.x & 31, y = place / SIDE, x = place % SIDE;
    uint32_t q[HD / 16][4];

#pragma unroll
    for (int k = 0; k < HD / 16; k++)
        load_matrix4(q[k], piece(queries, lane & 15, k * 2 + (lane >> 4)));
    view_dots(down, L::DOWN_STRIDE, q, a.rel_h, y + SIDE - 1, -1, SIDE, 2 * SIDE - 2);
    view_dots(dots, L::DOT_STRIDE, q, a.rel_w, x, 1, SIDE + 16, 2 * SIDE - 2);
    __syncwarp();
#pragma unroll
    for (int n = 0; n < SIDE / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int r = lane / 4 + (i >> 1) * 8, col = n * 8 + lane % 4 * 2 + (i & 1);

            across[n][i] = dots[r * L::DOT_STRIDE + r - col + SIDE - 1];
        }
}

template <int KEYS>
__device__ __forceinline__ void view_scores(float s[KEYS / 2], uint32_t queries, uint32_t keys)
{
    uint64_t a = matrix_descriptor(queries), b = matrix_descriptor(keys);

    group_begin();
#pragma unroll
    for (int k = 0; k < HD / 16; k++)
        if (KEYS == 128)
            group_mma128(s, a + k * 2, b + k * 2, k > 0);
        else
            group_mma96(s, a + k * 2, b + k * 2, k > 0);
    group_commit();
}

template <int KEYS>
__device__ __forceinline__ void view_weigh(float o[HD / 2], const uint32_t p[KEYS / 16][4],
                                           uint32_t values)
{
    uint64_t b = matrix_descriptor(values);

    group_begin();
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++)
        group_mma64_held(o, p[k], b + k * (16 * 128 >> 4), true);
    group_commit();
}

// Softmax so far of the two queries of a thread.
struct view_run {
    float max[2], sum[2]; // sum: of this thread's columns
};

// Scores of two rows of keys become weights; `was` scales what was there before.
template <int SIDE>
__device__ __forceinline__ void view_soften(float s[SIDE], const float across[SIDE / 8][4],
                                            const float *down, float scale, struct view_run *run,
                                            float was[2])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float2 rows = *(const float2 *)(down + h * 8 * view_layout<SIDE>::DOWN_STRIDE);
        float top[2] = {-CUDART_INF_F, -CUDART_INF_F}, sum = 0;

#pragma unroll
        for (int n = 0; n < SIDE / 4; n++)
#pragma unroll
            for (int i = 2 * h; i < 2 * h + 2; i++) {
                int row = n / (SIDE / 8);

                s[n * 4 + i] = fmaf(s[n * 4 + i], scale, across[n % (SIDE / 8)][i]);
                top[row] = fmaxf(top[row], s[n * 4 + i]);
            }

        float max = fmaxf(top[0] + rows.x, top[1] + rows.y);

        max = fmaxf(max, __shfl_xor_sync(0xFFFFFFFFu, max, 1));
        max = fmaxf(max, __shfl_xor_sync(0xFFFFFFFFu, max, 2));
        max = fmaxf(max, run->max[h]);
        was[h] = exp2_fast(run->max[h] - max);
        run->max[h] = max;
        rows.x -= max;
        rows.y -= max;
#pragma unroll
        for (int n = 0; n < SIDE / 4; n++)
#pragma unroll
            for (int i = 2 * h; i < 2 * h + 2; i++) {
                s[n * 4 + i] = exp2_fast(s[n * 4 + i] + (n < SIDE / 8 ? rows.x : rows.y));
                sum += s[n * 4 + i];
            }
        run->sum[h] = fmaf(run->sum[h], was[h], sum);
    }
}

template <int KEYS>
__device__ __forceinline__ void view_pack(uint32_t p[KEYS / 16][4], const float s[KEYS / 2])
{
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            p[k][i] = pack_bf16(s[k * 8 + i * 2], s[k * 8 + i * 2 + 1]);
}

__device__ __forceinline__ void view_scale(float o[HD / 2], const float was[2])
{
#pragma unroll
    for (int i = 0; i < HD / 2; i++)
        o[i] *= was[i >> 1 & 1];
}

// The copying side: queries once, then keys and values of two rows at a time.
template <int SIDE>
__device__ __forceinline__ void view_copies(const struct view_maps &m, uint32_t base, uint32_t full,
                                            int row, int first, int head, int width)
{
    using L = view_layout<SIDE>;
    uint32_t empty = full + 8 * STAGES, ready = empty + 8 * STAGES;

    barrier_expect(ready, QUERIES * 128);
    for (int g = 0; g < GROUPS; g++)
        copy_box(base + g * 64 * 128, &m.queries, head * HD, row + first + g * 64, ready);
    for (int j = 0; j < SIDE / 2; j++) {
        int slot = j % STAGES;
        uint32_t to = base + L::KV + slot * 2 * L::TILE;

        if (j >= STAGES)
            barrier_wait(empty + 8 * slot, (j / STAGES - 1) & 1);
        barrier_expect(full + 8 * slot, 2 * L::TILE);
        copy_box(to, &m.keys, width + head * HD, row + j * L::KEYS, full + 8 * slot);
        copy_box(to + L::TILE, &m.keys, 2 * width + head * HD, row + j * L::KEYS, full + 8 * slot);
    }
}

template <int SIDE>
__device__ __forceinline__ void view_group(const struct attend &a, uint32_t base,
                                           unsigned char *memory, uint32_t full, int group, int row,
                                           int first, int head)
{
    using L = view_layout<SIDE>;
    int lane = threadIdx.x & 31, warp = threadIdx.x / 32 % 4, mine = group * 64 + warp * 16;
    uint32_t empty = full + 8 * STAGES, queries = base + group * 64 * 128, p[L::KEYS / 16][4];
    float *down = (float *)(memory + L::DOWN) + mine * L::DOWN_STRIDE,
          *dots = (float *)(memory + L::DOTS) + mine * L::DOT_STRIDE;
    float s[L::KEYS / 2], o[HD / 2] = {}, across[SIDE / 8][4], was[2], scale = a.scale * LOG2E;
    struct view_run run = {{-CUDART_INF_F, -CUDART_INF_F}, {0.0f, 0.0f}};

    barrier_wait(empty + 8 * STAGES, 0); // the queries are there
    view_bias<SIDE>(a, queries + warp * 16 * 128, down, dots, across, first + mine);
    down += lane / 4 * L::DOWN_STRIDE;
    barrier_wait(full, 0);
    view_scores<L::KEYS>(s, queries, base + L::KV);
    group_wait<0>();
    settle<L::KEYS / 2>(s);
    view_soften<SIDE>(s, across, down, scale, &run, was);
    view_pack<L::KEYS>(p, s);
    for (int j = 1; j < SIDE / 2; j++) {
        int slot = j % STAGES, before = (j - 1) % STAGES;

        barrier_wait(full + 8 * slot, j / STAGES & 1);
        view_scores<L::KEYS>(s, queries, base + L::KV + slot * 2 * L::TILE);
        view_weigh<L::KEYS>(o, p, base + L::KV + before * 2 * L::TILE + L::TILE);
        group_wait<1>();
        settle<L::KEYS / 2>(s);
        view_soften<SIDE>(s, across, down + 2 * j, scale, &run, was);
        group_wait<0>();
        settle<HD / 2>(o);
        if (threadIdx.x % 128 == 0)
            barrier_arrive(empty + 8 * before);
        view_scale(o, was);
        view_pack<L::KEYS>(p, s);
    }
    view_weigh<L::KEYS>(o, p, base + L::KV + (SIDE / 2 - 1) % STAGES * 2 * L::TILE + L::TILE);
    group_wait<0>();
    settle<HD / 2>(o);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int64_t to = row + first + mine + lane / 4 + h * 8;
        float sum = run.sum[h] + __shfl_xor_sync(0xFFFFFFFFu, run.sum[h], 1), inv;

        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        inv = 1.0f / sum;
#pragma unroll
        for (int k = 0; k < HD / 8; k++)
            *(uint32_t *)((bf16 *)a.out + to * a.out_stride + head * HD + k * 8 + lane % 4 * 2) =
                pack_bf16(o[k * 4 + 2 * h] * inv, o[k * 4 + 2 * h + 1] * inv);
    }
}
#endif

template <int SIDE>
__global__ void __launch_bounds__(THREADS, 1)
    view_kernel(const struct attend a, const __grid_constant__ struct view_maps m)
{
#if HAS_WGMMA
    extern __shared__ unsigned char shared[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES + 1];
    uint32_t start = smem_addr(shared), base = (start + 1023) & ~1023u, full = smem_addr(barriers);
    int group = threadIdx.x / 128 - 1, first = blockIdx.x * QUERIES, head = blockIdx.y,
        row = blockIdx.z * SIDE * SIDE;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(full + 8 * (STAGES + i), GROUPS);
        }
        barrier_init(full + 8 * 2 * STAGES, 1);
        barrier_fence();
    }
    __syncthreads();
    if (group < 0) {
        registers_give<40>();
        if (threadIdx.x == 0)
            view_copies<SIDE>(m, base, full, row, first, head, a.n_head * HD);
    } else {
        registers_take<232>();
        view_group<SIDE>(a, base, shared + (base - start), full, group, row, first, head);
    }
#endif
}

// ---- the flow encoder's views -------------------------------------------------------------------
// A block is 64 queries of a head of a view: one warp group, whose first thread asks for keys and
// values.  Keys that a query does not see weigh 0, rows of the view behind among them.
namespace
{
enum {
    PREFIX_QUERIES = 64,
    PREFIX_KEYS = 96,
    PREFIX_STAGES = 2,
    PREFIX_TILE = PREFIX_KEYS * 128,
    PREFIX_KV = PREFIX_QUERIES * 128, // queries first
    PREFIX_BYTES = PREFIX_KV + PREFIX_STAGES * 2 * PREFIX_TILE
};

struct prefix_maps {
    CUtensorMap queries, keys, values;
};
} // namespace

#if HAS_WGMMA
__device__ __forceinline__ void prefix_copy(const struct prefix_maps &m, uint32_t base,
                                            uint32_t full, int step, int row, int col)
{
    int slot = step % PREFIX_STAGES;
    uint32_t to = base + PREFIX_KV + slot * 2 * PREFIX_TILE;

    barrier_expect(full + 8 * slot, 2 * PREFIX_TILE);
    copy_box(to, &m.keys, col, row + step * PREFIX_KEYS, full + 8 * slot);
    copy_box(to + PREFIX_TILE, &m.values, col, row + step * PREFIX_KEYS, full + 8 * slot);
}

// Scores of keys from `key` on become weights; `was` scales what was there before.
__device__ __forceinline__ void prefix_soften(float s[PREFIX_KEYS / 2], float scale, int key,
                                              const int limit[2], struct view_run *run,
                                              float was[2])
{
    int left = key + threadIdx.x % 4 * 2;

#pragma unroll
    for (int h = 0; h < 2; h++) {
        float max = run->max[h], sum = 0;

#pragma unroll
        for (int n = 0; n < PREFIX_KEYS / 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float *at = s + n * 4 + 2 * h + i;

                *at = left + n * 8 + i < limit[h] ? *at * scale : -CUDART_INF_F;
                max = fmaxf(max, *at);
            }
        max = fmaxf(max, __shfl_xor_sync(0xFFFFFFFFu, max, 1));
        max = fmaxf(max, __shfl_xor_sync(0xFFFFFFFFu, max, 2));
        was[h] = exp2_fast(run->max[h] - max);
        run->max[h] = max;
#pragma unroll
        for (int n = 0; n < PREFIX_KEYS / 8; n++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float *at = s + n * 4 + 2 * h + i;

                *at = exp2_fast(*at - max);
                sum += *at;
            }
        run->sum[h] = fmaf(run->sum[h], was[h], sum);
    }
}

// Results of 64 queries, of which those below n are stored.
__device__ __forceinline__ void prefix_store(const struct attend &a, const float o[HD / 2],
                                             const struct view_run &run, int64_t row, int n,
                                             int head)
{
    int lane = threadIdx.x & 31, mine = threadIdx.x / 32 * 16 + lane / 4;

#pragma unroll
    for (int h = 0; h < 2; h++) {
        float sum = run.sum[h] + __shfl_xor_sync(0xFFFFFFFFu, run.sum[h], 1), inv;
        bf16 *to = (bf16 *)a.out + (row + mine + h * 8) * a.out_stride + head * HD + lane % 4 * 2;

        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
        inv = 1.0f / sum;
        if (mine + h * 8 >= n)
            continue;
#pragma unroll
        for (int k = 0; k < HD / 8; k++)
            *(uint32_t *)(to + k * 8) = pack_bf16(o[k * 4 + 2 * h] * inv,
                                                  o[k * 4 + 2 * h + 1] * inv);
    }
}

__device__ __forceinline__ void prefix_group(const struct attend &a, const struct prefix_maps &m,
                                             uint32_t base, uint32_t full, int steps, int row,
                                             int first, int head)
{
    uint32_t kv = base + PREFIX_KV, p[PREFIX_KEYS / 16][4];
    float s[PREFIX_KEYS / 2], o[HD / 2] = {}, was[2], scale = a.scale * LOG2E;
    struct view_run run = {{-CUDART_INF_F, -CUDART_INF_F}, {0.0f, 0.0f}};
    int limit[2], col = head / (a.n_head / a.n_kv) * HD;

#pragma unroll
    for (int h = 0; h < 2; h++) {
        int i = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + h * 8;

        limit[h] = key_limit<ATTEND_PREFIX>(a, 0, min(i, a.len - 1));
    }
    if (threadIdx.x == 0)
        for (int j = 0; j < min(steps, PREFIX_STAGES); j++)
            prefix_copy(m, base, full, j, row, col);
    barrier_wait(full + 8 * PREFIX_STAGES, 0); // the queries are there
    barrier_wait(full, 0);
    view_scores<PREFIX_KEYS>(s, base, kv);
    group_wait<0>();
    settle<PREFIX_KEYS / 2>(s);
    prefix_soften(s, scale, 0, limit, &run, was);
    view_pack<PREFIX_KEYS>(p, s);
    for (int j = 1; j < steps; j++) {
        int slot = j % PREFIX_STAGES, before = (j - 1) % PREFIX_STAGES;

        barrier_wait(full + 8 * slot, j / PREFIX_STAGES & 1);
        view_scores<PREFIX_KEYS>(s, base, kv + slot * 2 * PREFIX_TILE);
        view_weigh<PREFIX_KEYS>(o, p, kv + before * 2 * PREFIX_TILE + PREFIX_TILE);
        group_wait<1>();
        settle<PREFIX_KEYS / 2>(s);
        prefix_soften(s, scale, j * PREFIX_KEYS, limit, &run, was);
        group_wait<0>();
        settle<HD / 2>(o);
        __syncthreads(); // all have read what the next keys take the place of
        if (threadIdx.x == 0 && j - 1 + PREFIX_STAGES < steps)
            prefix_copy(m, base, full, j - 1 + PREFIX_STAGES, row, col);
        view_scale(o, was);
        view_pack<PREFIX_KEYS>(p, s);
    }
    view_weigh<PREFIX_KEYS>(o, p, kv + (steps - 1) % PREFIX_STAGES * 2 * PREFIX_TILE + PREFIX_TILE);
    group_wait<0>();
    settle<HD / 2>(o);
    prefix_store(a, o, run, row + first, a.len - first, head);
}
#endif

// Queries with the most keys first.
__global__ void __launch_bounds__(128, 3)
    prefix_kernel(const struct attend a, const __grid_constant__ struct prefix_maps m)
{
#if HAS_WGMMA
    extern __shared__ unsigned char shared[];
    __shared__ __align__(8) uint64_t barriers[PREFIX_STAGES + 1];
    uint32_t base = (smem_addr(shared) + 1023) & ~1023u, full = smem_addr(barriers),
             ready = full + 8 * PREFIX_STAGES;
    int first = (int)(gridDim.x - 1 - blockIdx.x) * PREFIX_QUERIES, head = blockIdx.y,
        row = blockIdx.z * a.len, end = min(first + PREFIX_QUERIES, a.len);
    int keys = max(key_limit<ATTEND_PREFIX>(a, 0, first), key_limit<ATTEND_PREFIX>(a, 0, end - 1));

    if (threadIdx.x == 0) {
        for (int i = 0; i <= PREFIX_STAGES; i++)
            barrier_init(full + 8 * i, 1);
        barrier_fence();
    }
    grid_release();
    grid_wait();
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(ready, PREFIX_QUERIES * 128);
        copy_box(base, &m.queries, head * HD, row + first, ready);
    }
    prefix_group(a, m, base, full, (keys + PREFIX_KEYS - 1) / PREFIX_KEYS, row, first, head);
#endif
}

// ---- host ---------------------------------------------------------------------------------------
template <int SIDE>
static void run_views(launch_stream s, const struct attend *a, const struct view_maps *m)
{
    dim3 grid(SIDE * SIDE / QUERIES, (unsigned)a->n_head, (unsigned)a->groups);

    view_kernel<SIDE><<<grid, THREADS, view_layout<SIDE>::ALL + 1024, s>>>(*a, *m);
}

int launch_views90(launch_stream s, const struct attend *a)
{
    struct view_maps m;
    int rows = a->groups * a->len, cols = (int)a->q_stride;

    if (!make_map(&m.queries, a->q, rows, cols, false, 64) ||
        !make_map(&m.keys, a->q, rows, cols, false, 2 * a->side))
        return cudaErrorInvalidValue;
    if (a->side == 64)
        run_views<64>(s, a, &m);
    else
        run_views<48>(s, a, &m);
    return cudaSuccess;
}

int launch_prefix90(launch_stream s, const struct attend *a)
{
    struct prefix_maps m;
    int rows = a->groups * a->len;
    dim3 grid((unsigned)((a->len + PREFIX_QUERIES - 1) / PREFIX_QUERIES), (unsigned)a->n_head,
              (unsigned)a->groups);

    if (!make_map(&m.queries, a->q, rows, (int)a->q_stride, false, PREFIX_QUERIES) ||
        !make_map(&m.keys, a->k, rows, (int)a->kv_stride, false, PREFIX_KEYS) ||
        !make_map(&m.values, a->v, rows, (int)a->kv_stride, false, PREFIX_KEYS))
        return cudaErrorInvalidValue;
    return launch(prefix_kernel, grid, 128, PREFIX_BYTES + 1024, s, a->overlaps, *a, m);
}

void prepare_views90(int shared_bytes, cudaError_t *rc)
{
    allow_shared(view_kernel<64>, shared_bytes - 64, rc); // the barriers are apart
    allow_shared(view_kernel<48>, shared_bytes - 64, rc);
    allow_shared(prefix_kernel, shared_bytes - 64, rc);
}
