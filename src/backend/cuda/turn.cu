// Rotations (RoPE), and queries, keys and values on their way into the cache.
#include "backend/cuda/kern.cuh"

// A thread a pair: (a, b) = (x[i], x[i + half]) becomes (a cos - b sin, b cos + a sin).
template <class T>
__global__ void rope_kernel(T *x, const int32_t *pos, const float *table, int64_t rows, int n_pos,
                            int width, int64_t stride, int head_dim)
{
    int64_t at = item();
    int half = head_dim / 2, pairs = width / 2, p = (int)(at % pairs), i = p % half;
    int64_t row = at / pairs;

    if (row >= rows)
        return;
    const float *angle = table + (int64_t)pos[row % n_pos] * head_dim;
    T *v = x + row * stride + p / half * head_dim + i;
    float a = to_f32(v[0]), b = to_f32(v[half]);

    rotate(&a, &b, angle[i], angle[i + half]);
    v[0] = from_f32<T>(a);
    v[half] = from_f32<T>(b);
}

// A thread eight pairs of bf16 numbers.
__global__ void rope8_kernel(bf16 *x, const int32_t *pos, const float *table, int64_t rows,
                             int n_pos, int width, int64_t stride, int head_dim)
{
    int64_t at = item();
    int half = head_dim / 2, pieces = width / 16, p = (int)(at % pieces) * 8, i = p % half;
    int64_t row = at / pieces;

    if (row >= rows)
        return;
    const float *angle = table + (int64_t)pos[row % n_pos] * head_dim + i;
    bf16 *v = x + row * stride + p / half * head_dim + i;
    float a[8], b[8], cosine[8], sine[8];

    load8(a, v);
    load8(b, v + half);
    load8(cosine, angle);
    load8(sine, angle + half);
#pragma unroll
    for (int j = 0; j < 8; j++)
        rotate(a + j, b + j, cosine[j], sine[j]);
    store8(v, a);
    store8(v + half, b);
}

void launch_rope(launch_stream s, void *x, const int32_t *pos, const float *table, int64_t rows,
                 int n_pos, int width, int64_t stride, int head_dim, bool is_f32)
{
    unsigned blocks = blocks_for(rows * (width / 2));

    if (!is_f32 && head_dim % 16 == 0 && stride % 8 == 0 && (uintptr_t)x % 16 == 0)
        rope8_kernel<<<blocks_for(rows * (width / 16)), ROW_THREADS, 0, s>>>(
            (bf16 *)x, pos, table, rows, n_pos, width, stride, head_dim);
    else if (is_f32)
        rope_kernel<<<blocks, ROW_THREADS, 0, s>>>((float *)x, pos, table, rows, n_pos, width,
                                                   stride, head_dim);
    else
        rope_kernel<<<blocks, ROW_THREADS, 0, s>>>((bf16 *)x, pos, table, rows, n_pos, width,
                                                   stride, head_dim);
}

// N pairs a thread, N consecutive numbers of either half of a head; results were rounded by the
// product, so they come out as from PRODUCT_QKV.
template <int N> struct __align__(2 * N) numbers
{
    bf16 v[N];
};

template <int N>
__device__ __forceinline__ void turn(struct numbers<N> *a, struct numbers<N> *b, const float *angle,
                                     int half)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        float x = to_f32(a->v[i]), y = to_f32(b->v[i]);

        rotate(&x, &y, angle[i], angle[i + half]);
        a->v[i] = from_f32<bf16>(x);
        b->v[i] = from_f32<bf16>(y);
    }
}

template <int N>
__global__ void turn_store_kernel(bf16 *q, const bf16 *qkv, const struct heads h, int rows)
{
    typedef struct numbers<N> some;
    int half = h.head_dim / 2, width = h.n_head * h.head_dim, per_row = width / 2 / N;
    int64_t at = item(), all = (int64_t)rows * width;
    int row = (int)(at / per_row), p = (int)(at % per_row) * N, head = p / half, i = p % half;

    grid_release();
    grid_wait();
    if (row >= rows)
        return;

    int slot = h.slot[row];
    const float *angle = h.table + (int64_t)h.pos[row] * h.head_dim + i;
    bf16 *keys = (bf16 *)h.slab + (int64_t)(slot / h.block_tok) * 2 * width * h.block_tok +
                 (int64_t)(slot % h.block_tok) * h.head_dim +
                 (int64_t)head * h.block_tok * h.head_dim + i;
    bf16 *values = keys + (int64_t)width * h.block_tok;
    int64_t from = (int64_t)row * width + (int64_t)head * h.head_dim + i;
    some a = *(const some *)(qkv + from), b = *(const some *)(qkv + from + half),
         c = *(const some *)(qkv + all + from), d = *(const some *)(qkv + all + from + half);

    turn(&a, &b, angle, half);
    turn(&c, &d, angle, half);
    *(some *)(q + from) = a;
    *(some *)(q + from + half) = b;
    *(some *)keys = c;
    *(some *)(keys + half) = d;
    *(some *)values = *(const some *)(qkv + 2 * all + from);
    *(some *)(values + half) = *(const some *)(qkv + 2 * all + from + half);
}

template <int N>
static void turn_store(launch_stream s, void *q, const void *qkv, const struct heads *h, int rows,
                       bool early)
{
    unsigned blocks = blocks_for((int64_t)rows * (h->n_head * h->head_dim / 2 / N));

    launch(turn_store_kernel<N>, dim3(blocks), ROW_THREADS, 0, s, early, (bf16 *)q,
           (const bf16 *)qkv, *h, rows);
}

void launch_turn_store(launch_stream s, void *q, const void *qkv, const struct heads *h, int rows,
                       bool early)
{
    if (h->head_dim % 16 == 0)
        turn_store<8>(s, q, qkv, h, rows, early);
    else
        turn_store<1>(s, q, qkv, h, rows, early);
}

// ---- the cache ----------------------------------------------------------------------------------
template <class T>
__global__ void store_kernel(T *slab, const T *k, const T *v, const int32_t *slot, int n_head,
                             int head_dim, int block_tok)
{
    int width = n_head * head_dim, tok = blockIdx.x, block = slot[tok] / block_tok,
        off = slot[tok] % block_tok;
    T *at = slab + (int64_t)block * 2 * width * block_tok;

    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        int64_t to = ((int64_t)(i / head_dim) * block_tok + off) * head_dim + i % head_dim;

        at[to] = k[(int64_t)tok * width + i];
        at[(int64_t)width * block_tok + to] = v[(int64_t)tok * width + i];
    }
}

void launch_kv_store(launch_stream s, void *slab, const void *k, const void *v, const int32_t *slot,
                     int n_tok, int n_head, int head_dim, int block_tok, bool is_f32)
{
    if (is_f32)
        store_kernel<<<(unsigned)n_tok, 256, 0, s>>>(
            (float *)slab, (const float *)k, (const float *)v, slot, n_head, head_dim, block_tok);
    else
        store_kernel<<<(unsigned)n_tok, 256, 0, s>>>((bf16 *)slab, (const bf16 *)k, (const bf16 *)v,
                                                     slot, n_head, head_dim, block_tok);
}
