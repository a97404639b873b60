// Attention on tensor cores, bf16, heads of 64 or 128 numbers.
//
// A warp owns 16 queries and walks over keys in steps of 64 from key 0.  A step is complete in
// itself: scores, their maximum, weights, their sum, weights times values; then it is mixed into
// what was there.  So a step may as well be computed elsewhere: for sequences of one row (decode)
// every step is a block of its own, whose result is stored and mixed in rising order by a second
// kernel, with the same instructions.  A prompt in one piece, in chunks, or row by row gives the
// same bits, and the cache's block size does not matter either.
//
// Relative positions: a query's dot products with both tables are computed first (bias_kernel,
// which also serves the plain kernel); then score (i, j) takes two of them.  Windows, and views on
// newer cards, have kernels of their own (window.cuh).  FlashAttention's
// running softmax: Dao et al. 2022, algorithm 1.
#include "backend/cuda/attend.cuh"
#include "backend/cuda/window.cuh"

#define LOG2E 1.44269504088896340736f

// ---- what relative positions add ----------------------------------------------------------------
// A block is one row of a window's (or a view's) queries: they share the table's rows for the
// vertical distance. bias [group * head][query][2 * side]: vertical distance to each key row, then
// horizontal to each key column.
template <class T> __global__ void bias_kernel(const struct attend a)
{
    extern __shared__ float4 tile[];
    int side = a.side, hd = a.head_dim, quads = hd / 4, stride = quads + 1, y = blockIdx.x,
        head = blockIdx.y, group = blockIdx.z;
    float4 *q = tile, *rh = q + side * quads, *rw = rh + side * stride;
    float *to = a.bias + ((int64_t)(group * a.n_head + head) * a.len + y * side) * 2 * side;
    struct window w = window_of(a, group);

    for (int i = threadIdx.x; i < side * hd; i += blockDim.x) {
        int64_t row = window_token<0>(a, w, y * side + i / hd);

        ((float *)q)[i] = row < 0 ? 0.0f
                                  : to_f32(((const T *)a.q)[row * a.q_stride + head * hd + i % hd]);
        ((float *)rh)[i / hd * stride * 4 + i % hd] =
            a.rel_h[(y - i / hd + side - 1) * hd + i % hd];
    }
    for (int i = threadIdx.x; i < (2 * side - 1) * hd; i += blockDim.x)
        ((float *)rw)[i / hd * stride * 4 + i % hd] = a.rel_w[i];
    __syncthreads();
    for (int i = threadIdx.x; i < side * 2 * side; i += blockDim.x) {
        int x = i / (2 * side), c = i % (2 * side);
        const float4 *r = c < side ? rh + c * stride : rw + (x - (c - side) + side - 1) * stride,
                     *v = q + x * quads;
        float sum = 0;

        for (int k = 0; k < quads; k++) {
            sum = fmaf(v[k].x, r[k].x, sum);
            sum = fmaf(v[k].y, r[k].y, sum);
            sum = fmaf(v[k].z, r[k].z, sum);
            sum = fmaf(v[k].w, r[k].w, sum);
        }
        to[i] = sum;
    }
}

static void run_bias(launch_stream s, const struct attend *a)
{
    int bytes = (a->side * a->head_dim + (3 * a->side - 1) * (a->head_dim + 4)) *
                (int)sizeof(float);
    dim3 grid((unsigned)a->side, (unsigned)a->n_head, (unsigned)a->groups);

    if (a->is_f32)
        bias_kernel<float><<<grid, 256, bytes, s>>>(*a);
    else
        bias_kernel<bf16><<<grid, 256, bytes, s>>>(*a);
}

// ---- one step of 64 keys ------------------------------------------------------------------------
// Steps have 64 keys; 48 where that is a row of a tile's grid, since then a step has one vertical
// distance.
enum { STEP = 64, QUERIES = 64, WARPS = 4 };

// Address of 16-byte piece c of row r; rows of HD numbers, pieces turned by the row number against
// bank conflicts.
template <int HD> __device__ __forceinline__ uint32_t piece(uint32_t tile, int r, int c)
{
    return tile + r * HD * 2 + ((c ^ (r & 7)) << 4);
}

// 16 queries of a warp as fragments.
template <int HD>
__device__ __forceinline__ void load_queries(uint32_t q[HD / 16][4], uint32_t tile, int row)
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int k = 0; k < HD / 16; k++)
        load_matrix4(q[k], piece<HD>(tile, row + (lane & 15), k * 2 + (lane >> 4)));
}

// s = q K^T, unscaled.
template <int HD, int KEYS>
__device__ __forceinline__ void scores(float s[KEYS / 8][4], const uint32_t q[HD / 16][4],
                                       uint32_t keys)
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.0f;
#pragma unroll
    for (int k = 0; k < HD / 16; k++)
#pragma unroll
        for (int n = 0; n < KEYS / 16; n++) {
            uint32_t b[4];

            load_matrix4(
                b, piece<HD>(keys, n * 16 + (lane & 7) + (lane >> 4) * 8, k * 2 + (lane >> 3 & 1)));
            mma16816(s[2 * n], q[k], b[0], b[1]);
            mma16816(s[2 * n + 1], q[k], b[2], b[3]);
        }
}

// A step's softmax of one of the two rows that a thread holds (h = 0, 1): s becomes weights.
template <int KEYS>
__device__ __forceinline__ void soften(float s[KEYS / 8][4], int h, float *max, float *sum)
{
    float top = -CUDART_INF_F, total = 0;

#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        top = fmaxf(top, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));

    float base = top == -CUDART_INF_F ? 0.0f : top;

#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; i++) {
            s[n][i] = exp2f(s[n][i] - base);
            total += s[n][i];
        }
    total += __shfl_xor_sync(0xFFFFFFFFu, total, 1);
    total += __shfl_xor_sync(0xFFFFFFFFu, total, 2);
    *max = top;
    *sum = total;
}

// o = weights V
template <int HD, int KEYS>
__device__ __forceinline__ void weigh(float o[HD / 8][4], const float s[KEYS / 8][4],
                                      uint32_t values)
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int n = 0; n < HD / 8; n++)
        o[n][0] = o[n][1] = o[n][2] = o[n][3] = 0.0f;
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        uint32_t p[4] = {pack_bf16(s[2 * k][0], s[2 * k][1]), pack_bf16(s[2 * k][2], s[2 * k][3]),
                         pack_bf16(s[2 * k + 1][0], s[2 * k + 1][1]),
                         pack_bf16(s[2 * k + 1][2], s[2 * k + 1][3])};

#pragma unroll
        for (int n = 0; n < HD / 16; n++) {
            uint32_t b[4];

            load_matrix4_turned(b, piece<HD>(values, k * 16 + (lane & 15), n * 2 + (lane >> 4)));
            mma16816(o[2 * n], p, b[0], b[1]);
            mma16816(o[2 * n + 1], p, b[2], b[3]);
        }
    }
}

// Keys past a row's limit score -inf; the scale turns scores into units of log2.
template <int KEYS>
__device__ __forceinline__ void scale_and_mask(float s[KEYS / 8][4], float scale, int key,
                                               const int limit[2])
{
    int lane = threadIdx.x & 31;

#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int j = key + n * 8 + (lane & 3) * 2 + (i & 1);

            s[n][i] = j < limit[i >> 1] ? __fmul_rn(s[n][i], scale) : -CUDART_INF_F;
        }
}

// ---- many queries of a group --------------------------------------------------------------------
template <int HD, int KIND, int SIDE, int KEYS>
__device__ __forceinline__ void load_keys(const struct attend &a, const struct work &w, int key,
                                          int last, uint32_t keys, uint32_t values, int threads)
{
    for (int i = threadIdx.x; i < KEYS * HD / 8; i += threads) {
        int r = i / (HD / 8), c = i % (HD / 8), j = key + r;
        bool valid = j < last;
        struct key_value<bf16> at = key_at<bf16, KIND, SIDE>(a, w, valid ? j : 0);

        copy16(piece<HD>(keys, r, c), at.k + c * 8, valid);
        copy16(piece<HD>(values, r, c), at.v + c * 8, valid);
    }
}

// SIDE == KEYS: a step is a row of the grid, so the horizontal part of a bias is the same in all
// steps and stays in registers.
template <int HD, int KIND, int SIDE, int KEYS>
__global__ void __launch_bounds__(WARPS * 32) flash_kernel(const struct attend a)
{
    constexpr int ROW = HD * 2;
    constexpr bool BY_ROWS = KIND == ATTEND_RELPOS && SIDE == KEYS;
    extern __shared__ __align__(128) unsigned char memory[];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = blockIdx.z,
        first = blockIdx.x * QUERIES;

    if (KIND == ATTEND_PAGED) {
        group = a.tile[2 * blockIdx.x];
        first = a.tile[2 * blockIdx.x + 1];
    }
    struct work w = work_of<KIND>(a, group, blockIdx.y);
    int n = min(QUERIES, group_len<KIND>(a, group) - first), last;
    uint32_t base = smem_addr(memory), keys = base + QUERIES * ROW, values = keys + 2 * KEYS * ROW;
    uint32_t q[HD / 16][4];
    float o[HD / 8][4] = {}, s[KEYS / 8][4], step[HD / 8][4], across[BY_ROWS ? KEYS / 8 : 1][4],
                 scale = a.scale * LOG2E;
    struct running run[2] = {{-CUDART_INF_F, 0.0f}, {-CUDART_INF_F, 0.0f}};
    int limit[2];
    const float *bias[2] = {nullptr, nullptr};

    // Limits do not fall within a group, except from its prefix to its tail; the tile's largest is
    // at either end.
    last = max(key_limit<KIND>(a, group, first), key_limit<KIND>(a, group, first + n - 1));
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int i = first + min(warp * 16 + lane / 4 + h * 8, n - 1);

        limit[h] = key_limit<KIND>(a, group, i);
        if (KIND == ATTEND_RELPOS)
            bias[h] = a.bias + ((int64_t)(group * a.n_head + w.head) * a.len + i) * 2 * SIDE;
    }
    if (BY_ROWS)
#pragma unroll
        for (int k = 0; k < KEYS / 8; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                across[BY_ROWS ? k : 0][i] = bias[i >> 1][SIDE + k * 8 + (lane & 3) * 2 + (i & 1)] *
                                             LOG2E;
    for (int i = threadIdx.x; i < QUERIES * HD / 8; i += WARPS * 32) {
        int r = i / (HD / 8), c = i % (HD / 8);
        int64_t row = r < n ? query_row<KIND, SIDE>(a, w, first + r) : -1;

        copy16(piece<HD>(base, r, c),
               (const bf16 *)a.q + (row < 0 ? 0 : row) * a.q_stride + w.head * HD + c * 8,
               row >= 0);
    }
    load_keys<HD, KIND, SIDE, KEYS>(a, w, 0, last, keys, values, WARPS * 32);
    copy_commit();
    for (int key = 0, at = 0; key < last; key += KEYS, at ^= 1) {
        float down[2] = {0.0f, 0.0f}, max[2], sum[2], was[2], now[2];

        if (BY_ROWS) {
            down[0] = bias[0][key / KEYS] * LOG2E;
            down[1] = bias[1][key / KEYS] * LOG2E;
        }
        if (key + KEYS < last)
            load_keys<HD, KIND, SIDE, KEYS>(a, w, key + KEYS, last, keys + (at ^ 1) * KEYS * ROW,
                                            values + (at ^ 1) * KEYS * ROW, WARPS * 32);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        if (key == 0)
            load_queries<HD>(q, base, warp * 16);
        scores<HD, KEYS>(s, q, keys + at * KEYS * ROW);
        if (BY_ROWS) {
#pragma unroll
            for (int k = 0; k < KEYS / 8; k++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    s[k][i] = fmaf(s[k][i], scale, down[i >> 1] + across[BY_ROWS ? k : 0][i]);
        } else
            scale_and_mask<KEYS>(s, scale, key, limit);
#pragma unroll
        for (int h = 0; h < 2; h++)
            soften<KEYS>(s, h, &max[h], &sum[h]);
        weigh<HD, KEYS>(step, s, values + at * KEYS * ROW);
#pragma unroll
        for (int h = 0; h < 2; h++)
            run_add(&run[h], max[h], sum[h], &was[h], &now[h]);
#pragma unroll
        for (int k = 0; k < HD / 8; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                o[k][i] = run_mix(o[k][i], was[i >> 1], step[k][i], now[i >> 1]);
        __syncthreads(); // the buffers turn
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        int r = warp * 16 + lane / 4 + h * 8;
        int64_t row = r < n ? query_row<KIND, SIDE>(a, w, first + r) : -1;
        float inv = 1.0f / run[h].sum;

        if (row < 0)
            continue;
#pragma unroll
        for (int k = 0; k < HD / 8; k++)
            *(uint32_t *)((bf16 *)a.out + row * a.out_stride + w.head * HD + k * 8 +
                          (lane & 3) * 2) = pack_bf16(o[k][2 * h] * inv, o[k][2 * h + 1] * inv);
    }
}

// ---- sequences of one row: each step a block, then their sum ------------------------------------
// part [sequence][head][step][HD + 2]: the weighted values, the largest score, the sum of weights.
template <int HD> __global__ void __launch_bounds__(32) step_kernel(const struct attend a)
{
    constexpr int ROW = HD * 2;
    extern __shared__ __align__(128) unsigned char memory[];
    constexpr int KEYS = STEP;
    int lane = threadIdx.x, head = blockIdx.y, seq = blockIdx.z, key = blockIdx.x * KEYS,
        row = a.seq_row[seq];
    int last = a.pos[row] + 1, limit[2] = {last, last};
    bool has_keys = key < last && a.seq_row[seq + 1] - row == 1;
    bool are_old = has_keys && key + KEYS < last && !a.n_tile; // of steps before
    uint32_t base = smem_addr(memory), keys = base + 16 * ROW, values = keys + KEYS * ROW;
    uint32_t q[HD / 16][4];
    float o[HD / 8][4], s[KEYS / 8][4], max, sum, unused[2];

    grid_release();
    if (are_old)
        load_keys<HD, ATTEND_PAGED, 0, KEYS>(a, work_of<ATTEND_PAGED>(a, seq, head), key, last,
                                             keys, values, 32);
    grid_wait();
    if (!has_keys)
        return;
    for (int i = lane; i < 16 * HD / 8; i += 32)
        copy16(piece<HD>(base, i / (HD / 8), i % (HD / 8)),
               (const bf16 *)a.q + row * a.q_stride + head * HD + i % (HD / 8) * 8, i < HD / 8);
    if (!are_old)
        load_keys<HD, ATTEND_PAGED, 0, KEYS>(a, work_of<ATTEND_PAGED>(a, seq, head), key, last,
                                             keys, values, 32);
    copy_commit();
    copy_wait<0>();
    __syncwarp();
    load_queries<HD>(q, base, 0);
    scores<HD, KEYS>(s, q, keys);
    scale_and_mask<KEYS>(s, a.scale * LOG2E, key, limit);
    soften<KEYS>(s, 0, &max, &sum);
    soften<KEYS>(s, 1, &unused[0], &unused[1]);
    weigh<HD, KEYS>(o, s, values);
    if (lane >= 4)
        return;

    float *part = a.part + (((int64_t)seq * a.n_head + head) * gridDim.x + blockIdx.x) * (HD + 2);

#pragma unroll
    for (int k = 0; k < HD / 8; k++)
        *(float2 *)(part + k * 8 + lane * 2) = make_float2(o[k][0], o[k][1]);
    if (lane == 0)
        *(float2 *)(part + HD) = make_float2(max, sum);
}

template <int HD>
__global__ void __launch_bounds__(HD) join_kernel(const struct attend a, int steps)
{
    int head = blockIdx.x, seq = blockIdx.y, row = a.seq_row[seq], n;
    const float *part = a.part + ((int64_t)seq * a.n_head + head) * steps * (HD + 2);
    struct running run = {-CUDART_INF_F, 0.0f};
    float o = 0;

    grid_release();
    grid_wait();
    if (a.seq_row[seq + 1] - row != 1)
        return;
    n = (a.pos[row] + STEP) / STEP;
#pragma unroll 8 // loads on their way at once
    for (int i = 0; i < n; i++, part += HD + 2) {
        float was, now;

        run_add(&run, part[HD], part[HD + 1], &was, &now);
        o = run_mix(o, was, part[threadIdx.x], now);
    }
    ((bf16 *)a.out)[row * a.out_stride + head * HD + threadIdx.x] = __float2bfloat16(
        o * (1.0f / run.sum));
}

static int steps_of(const struct attend *a)
{
    return (a->max_len + STEP - 1) / STEP;
}

template <int HD> static void run_steps(launch_stream s, const struct attend *a)
{
    int bytes = (16 + 2 * STEP) * HD * 2, steps = steps_of(a);

    launch(step_kernel<HD>, dim3((unsigned)steps, (unsigned)a->n_head, (unsigned)a->groups), 32,
           bytes, s, a->overlaps, *a);
    launch(join_kernel<HD>, dim3((unsigned)a->n_head, (unsigned)a->groups), HD, 0, s, a->overlaps,
           *a, steps);
}

template <int HD, int KIND, int SIDE, int KEYS>
static void run_flash(launch_stream s, const struct attend *a)
{
    int bytes = (QUERIES + 4 * KEYS) * HD * 2;
    dim3 grid((unsigned)((a->len + QUERIES - 1) / QUERIES), (unsigned)a->n_head,
              (unsigned)a->groups);

    if (KIND == ATTEND_PAGED)
        grid = dim3((unsigned)a->n_tile, (unsigned)a->n_head);
    flash_kernel<HD, KIND, SIDE, KEYS><<<grid, WARPS * 32, bytes, s>>>(*a);
}

// ---- any type, any head: a warp a query ---------------------------------------------------------
// 32 keys at a time: each lane scores one, then owns every 32nd number of the result.
template <class T, int KIND>
__global__ void __launch_bounds__(128) plain_kernel(const struct attend a)
{
    constexpr int MAX_PER_LANE = LAUNCH_MAX_HEAD / 32;
    __shared__ float query[4][LAUNCH_MAX_HEAD];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, head = blockIdx.y, group = blockIdx.z,
        hd = a.head_dim;
    int i = blockIdx.x * 4 + warp, limit;
    struct work w = work_of<KIND>(a, group, head);
    int64_t row = i < group_len<KIND>(a, group) ? query_row<KIND, 0>(a, w, i) : -1;
    float o[MAX_PER_LANE] = {}, max = -CUDART_INF_F, sum = 0;

    if (row < 0)
        return;
    for (int d = lane; d < hd; d += 32)
        query[warp][d] = to_f32(((const T *)a.q)[row * a.q_stride + head * hd + d]);
    __syncwarp();
    limit = key_limit<KIND>(a, group, i);

    const float *bias = KIND == ATTEND_RELPOS
                            ? a.bias + ((int64_t)(group * a.n_head + head) * a.len + i) * 2 * a.side
                            : nullptr;

    for (int key = 0; key < limit; key += 32) {
        int j = key + lane;
        float s = -CUDART_INF_F;

        if (j < limit) {
            const T *k = key_at<T, KIND, 0>(a, w, j).k;

            s = 0;
            for (int d = 0; d < hd; d++)
                s = fmaf(query[warp][d], to_f32(k[d]), s);
            s *= a.scale;
            if (KIND == ATTEND_RELPOS)
                s += bias[j / a.side] + bias[a.side + j % a.side];
        }
        float top = fmaxf(max, warp_max(s)), was = expf(max - top), p = expf(s - top);

        max = top;
        sum = sum * was + warp_sum(p);
#pragma unroll
        for (int c = 0; c < MAX_PER_LANE; c++)
            o[c] *= was;
        for (int t = 0; t < min(32, limit - key); t++) {
            float weight = __shfl_sync(0xFFFFFFFFu, p, t);
            const T *v = key_at<T, KIND, 0>(a, w, key + t).v;

#pragma unroll
            for (int c = 0; c < MAX_PER_LANE; c++)
                if (c * 32 + lane < hd)
                    o[c] = fmaf(weight, to_f32(v[c * 32 + lane]), o[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < MAX_PER_LANE; c++)
        if (c * 32 + lane < hd)
            ((T *)a.out)[row * a.out_stride + head * hd + c * 32 + lane] = from_f32<T>(o[c] / sum);
}

template <class T, int KIND> static void run_plain(launch_stream s, const struct attend *a)
{
    int len = KIND == ATTEND_PAGED ? a->max_rows : a->len;

    plain_kernel<T, KIND>
        <<<dim3((unsigned)((len + 3) / 4), (unsigned)a->n_head, (unsigned)a->groups), 128, 0, s>>>(
            *a);
}

// ---- choosing -----------------------------------------------------------------------------------
static bool has_tensor_kernel(const struct attend *a)
{
    if (a->is_f32)
        return false;
    if (a->kind == ATTEND_RELPOS)
        return a->head_dim == 64 && (a->side == 64 || a->side == 48 || a->side == WINDOW_SIDE);
    return a->head_dim == 64 || (a->head_dim == 128 && a->kind == ATTEND_PAGED);
}

// SAM's own kernels compute what relative positions add by themselves.
static bool needs_bias(const struct attend *a)
{
    return a->kind == ATTEND_RELPOS &&
           !(has_tensor_kernel(a) && (a->side == WINDOW_SIDE || a->is_sm90));
}

int64_t launch_attend_bias(const struct attend *a)
{
    return needs_bias(a) ? (int64_t)a->groups * a->n_head * a->len * 2 * a->side : 0;
}

int64_t launch_attend_part(const struct attend *a)
{
    if (a->kind != ATTEND_PAGED || !has_tensor_kernel(a))
        return 0;
    return (int64_t)a->groups * a->n_head * steps_of(a) * (a->head_dim + 2);
}

static int run_relpos(launch_stream s, const struct attend *a)
{
    if (a->side == WINDOW_SIDE)
        launch_windows(s, a);
    else if (a->is_sm90)
        return launch_views90(s, a);
    else if (a->side == 64)
        run_flash<64, ATTEND_RELPOS, 64, 64>(s, a);
    else
        run_flash<64, ATTEND_RELPOS, 48, 48>(s, a);
    return cudaSuccess;
}

static int run_tensor(launch_stream s, const struct attend *a)
{
    if (a->kind == ATTEND_RELPOS)
        return run_relpos(s, a);
    if (a->kind == ATTEND_PREFIX && a->is_sm90) {
        return launch_prefix90(s, a);
    } else if (a->kind == ATTEND_PREFIX) {
        run_flash<64, ATTEND_PREFIX, 0, STEP>(s, a);
    } else {
        if (a->n_tile)
            a->head_dim == 64 ? run_flash<64, ATTEND_PAGED, 0, STEP>(s, a)
                              : run_flash<128, ATTEND_PAGED, 0, STEP>(s, a);
        if (a->n_single)
            a->head_dim == 64 ? run_steps<64>(s, a) : run_steps<128>(s, a);
    }
    return cudaSuccess;
}

template <class T> static void run_any(launch_stream s, const struct attend *a)
{
    if (a->kind == ATTEND_RELPOS)
        run_plain<T, ATTEND_RELPOS>(s, a);
    else if (a->kind == ATTEND_PREFIX)
        run_plain<T, ATTEND_PREFIX>(s, a);
    else
        run_plain<T, ATTEND_PAGED>(s, a);
}

int launch_attend(launch_stream s, const struct attend *a)
{
    if (needs_bias(a))
        run_bias(s, a);
    if (has_tensor_kernel(a))
        return run_tensor(s, a);
    if (a->is_f32)
        run_any<float>(s, a);
    else
        run_any<bf16>(s, a);
    return cudaSuccess;
}

int launch_prepare_attend(int shared_bytes)
{
    cudaError_t rc = cudaSuccess;

    allow_shared(bias_kernel<float>, shared_bytes, &rc);
    allow_shared(bias_kernel<bf16>, shared_bytes, &rc);
    allow_shared(flash_kernel<64, ATTEND_RELPOS, 64, 64>, shared_bytes, &rc);
    allow_shared(flash_kernel<64, ATTEND_RELPOS, 48, 48>, shared_bytes, &rc);
    prepare_windows(shared_bytes, &rc);
    prepare_views90(shared_bytes, &rc);
    allow_shared(flash_kernel<64, ATTEND_PREFIX, 0, STEP>, shared_bytes, &rc);
    allow_shared(flash_kernel<64, ATTEND_PAGED, 0, STEP>, shared_bytes, &rc);
    allow_shared(flash_kernel<128, ATTEND_PAGED, 0, STEP>, shared_bytes, &rc);
    allow_shared(step_kernel<64>, shared_bytes, &rc);
    allow_shared(step_kernel<128>, shared_bytes, &rc);
    return rc;
}
