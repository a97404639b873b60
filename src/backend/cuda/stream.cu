// Products of few rows on compute capability 9.0: what matters is to have all of the weights on
// their way at once.
//
// A warp takes sixteen rows of weights, as two pieces of eight, and asks the copy engine for them
// as a whole; a barrier for every 640 terms tells when they are there.  The rows of x lie
// beside them for all warps of the block.  Weights depend on nothing, so they are asked for before
// the kernel in front has ended (grid_wait), unless an expert has to be chosen first.  Once it is
// done with 640 terms a warp asks for those of the next sixteen rows, so memory never rests.
//
// The two pieces are eight columns and the eight behind them; or the same columns of a gated pair;
// or the two halves of a head that a rotation mixes: so whatever follows a product finds both its
// terms in one thread.  Each sum is the same chain over k as in linear.cu and comes out the same,
// bit for bit (tests/ops/test_cuda.c).
#include "backend/cuda/product.cuh"
#include "backend/cuda/sm90.cuh"

enum {
    SEGMENT = 640,
    MAX_SEGMENTS = 3,
    MAX_WARPS = 4,
    PIECE = 8,
    X_BARRIER = MAX_WARPS * MAX_SEGMENTS
};

// Bytes from a row to the next in shared memory: an odd number of 16-byte pieces, so that ldmatrix
// meets no bank conflicts.
__host__ __device__ __forceinline__ int pitch_of(int k)
{
    return k * 2 + 16;
}

// Sixteen rows of weights a warp.
__host__ __device__ __forceinline__ int items_of(const struct product &p)
{
    return p.out == PRODUCT_SWIGLU ? p.n / PIECE
           : p.out == PRODUCT_QKV  ? 3 * p.n / (2 * PIECE)
                                   : p.n / (2 * PIECE);
}

// First rows of an item's pieces, and the column that the first stands for.
struct pieces {
    const bf16 *a, *b;
    int col, matrix; // PRODUCT_QKV: of q, k or v
};

template <enum product_out OUT>
__device__ __forceinline__ struct pieces pieces_of(const struct product &p, const struct heads &h,
                                                   const struct place &at, int item)
{
    const bf16 *w = (const bf16 *)at.w;

    if (OUT == PRODUCT_SWIGLU) {
        int64_t off = (int64_t)item * PIECE * p.k;

        return {w + off, (const bf16 *)at.up + off, item * PIECE, 0};
    }
    if (OUT == PRODUCT_QKV) {
        int each = p.n / (2 * PIECE), m = item / each, half = h.head_dim / 2, j = item % each;
        int col = j / (half / PIECE) * h.head_dim + j % (half / PIECE) * PIECE;

        w = (const bf16 *)(m == 0 ? at.w : m == 1 ? h.wk : h.wv) + (int64_t)col * p.k;
        return {w, w + (int64_t)half * p.k, col, m};
    }
    w += (int64_t)item * 2 * PIECE * p.k;
    return {w, w + (int64_t)PIECE * p.k, item * 2 * PIECE, 0};
}

#if HAS_WGMMA
// Ask for a segment of an item's rows.
__device__ __forceinline__ void ask_segment(const struct product &p, const struct pieces &w,
                                            uint32_t tile, uint32_t full, int s)
{
    int lane = threadIdx.x & 31, n = min(SEGMENT, p.k - s * SEGMENT);

    if (lane == 0)
        barrier_expect(full + 8 * s, 2 * PIECE * 2 * n);
    __syncwarp();
    if (lane < 2 * PIECE) {
        const bf16 *from = (lane < PIECE ? w.a : w.b) + (int64_t)(lane % PIECE) * p.k;

        copy_bulk(tile + lane * pitch_of(p.k) + s * SEGMENT * 2, from + s * SEGMENT, 2 * n,
                  full + 8 * s);
    }
}

__device__ __forceinline__ void ask_weights(const struct product &p, const struct pieces &w,
                                            uint32_t tile, uint32_t full)
{
    for (int s = 0; s * SEGMENT < p.k; s++)
        ask_segment(p, w, tile, full, s);
}

// Ask for the rows of x, by one warp.
__device__ __forceinline__ void ask_rows(const struct product &p, const struct place &at, int n,
                                         uint32_t tile, uint32_t full)
{
    int lane = threadIdx.x & 31;

    if (lane == 0)
        barrier_expect(full, n * p.k * 2);
    __syncwarp();
    for (int r = lane; r < n; r += 32)
        copy_bulk(tile + r * pitch_of(p.k), (const bf16 *)p.x + input_row(p, at.row + r) * p.k,
                  p.k * 2, full);
}

// acc [rows of x][two pieces]: the terms of one segment, from k on.
template <int MT>
__device__ __forceinline__ void multiply(float acc[MT][2][4], uint32_t x, uint32_t w, int pitch,
                                         int n, int k, int end)
{
    int lane = threadIdx.x & 31;
    uint32_t wa = w + (lane & 7) * pitch + (lane >> 3) * 16, xa[MT];

#pragma unroll
    for (int m = 0; m < MT; m++) // rows past the last are the last again, and never stored
        xa[m] = x + min(m * 16 + (lane & 15), n - 1) * pitch + (lane >> 4) * 16;
#pragma unroll 4
    for (; k < end; k += 32) {
        uint32_t b[2][4];

        load_matrix4(b[0], wa + k * 2);
        load_matrix4(b[1], wa + PIECE * pitch + k * 2);
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int m = 0; m < MT; m++) {
                uint32_t a[4];

                load_matrix4(a, xa[m] + (k + h * 16) * 2);
                mma16816(acc[m][0], a, b[0][2 * h], b[0][2 * h + 1]);
                mma16816(acc[m][1], a, b[1][2 * h], b[1][2 * h + 1]);
            }
    }
}

// Two columns of a row of q, k or v and those half a head behind: rounded as a product's results,
// turned, stored.
__device__ __forceinline__ void put_heads(const struct product &p, const struct heads &h,
                                          const struct pieces &w, int row, const float *a,
                                          const float *b)
{
    int half = h.head_dim / 2, col = w.col + (threadIdx.x & 3) * 2, i = col % h.head_dim;
    const float *angle = h.table + (int64_t)h.pos[row] * h.head_dim;
    float lo[2], hi[2];
    bf16 *to = (bf16 *)p.y + (int64_t)row * p.n + col;

#pragma unroll
    for (int j = 0; j < 2; j++) {
        lo[j] = __bfloat162float(__float2bfloat16(a[j]));
        hi[j] = __bfloat162float(__float2bfloat16(b[j]));
        if (w.matrix < 2)
            rotate(&lo[j], &hi[j], angle[i + j], angle[i + j + half]);
    }
    if (w.matrix > 0) {
        int slot = h.slot[row], width = h.n_head * h.head_dim;

        to = (bf16 *)h.slab +
             ((int64_t)(slot / h.block_tok) * 2 + w.matrix - 1) * width * h.block_tok +
             ((int64_t)(col / h.head_dim) * h.block_tok + slot % h.block_tok) * h.head_dim + i;
    }
    *(uint32_t *)to = pack_bf16(lo[0], lo[1]);
    *(uint32_t *)(to + half) = pack_bf16(hi[0], hi[1]);
}

template <enum product_out OUT, int MT>
__device__ __forceinline__ void store(const struct product &p, const struct heads &h,
                                      const struct pieces &w, const struct place &at,
                                      float acc[MT][2][4])
{
    int lane = threadIdx.x & 31, c = w.col + lane % 4 * 2;

#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
        for (int low = 0; low < 2; low++) {
            int row = at.row + m * 16 + low * 8 + lane / 4;
            const float *a = acc[m][0] + low * 2, *b = acc[m][1] + low * 2;

            if (row >= at.end)
                continue;
            if (OUT == PRODUCT_QKV) {
                put_heads(p, h, w, row, a, b);
            } else if (OUT == PRODUCT_SWIGLU) {
                put2(p, row, c, a[0], a[1], b[0], b[1]);
            } else {
                put2(p, row, c, a[0], a[1], 0.0f, 0.0f);
                put2(p, row, c + PIECE, b[0], b[1], 0.0f, 0.0f);
            }
        }
}
#endif

// The first n_also blocks across work on the product `also`, the others on `main`. x_rows: rows of
// x that there is room for.
template <enum product_out OUT, int MT>
__global__ void __launch_bounds__(MAX_WARPS * 32)
    stream_kernel(const struct product main, const struct product also, int n_also,
                  const struct heads h, int x_rows)
{
#if HAS_WGMMA
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[X_BARRIER + 1];
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    bool is_also = (int)blockIdx.x < n_also;
    const struct product &p = is_also ? also : main;
    int items = items_of(p), column = is_also ? blockIdx.x : 0,
        step = (is_also ? n_also : 1) * gridDim.y * warps;
    int item = (column * gridDim.y + blockIdx.y) * warps + warp;
    int pitch = pitch_of(p.k), n, phase = 0;
    uint32_t x = smem_addr(memory), w = x + (x_rows + warp * 2 * PIECE) * pitch;
    uint32_t full = smem_addr(barriers) + warp * MAX_SEGMENTS * 8,
             x_full = smem_addr(barriers) + X_BARRIER * 8;
    struct place at = {0, p.rows, p.w, p.up};

    if (lane == 0) {
        for (int s = 0; s < MAX_SEGMENTS; s++)
            barrier_init(full + 8 * s, 1);
        if (warp == 0)
            barrier_init(x_full, 1);
        barrier_fence();
    }
    __syncwarp();
    grid_release();
    if (!p.tile && item < items)
        ask_weights(p, pieces_of<OUT>(p, h, at, item), w, full);
    grid_wait();
    if (p.tile) {
        if (!find_place(p, p.tile_rows, blockIdx.x - n_also, &at))
            return;
        if (item < items)
            ask_weights(p, pieces_of<OUT>(p, h, at, item), w, full);
    }
    n = min(at.end - at.row, x_rows);
    at.end = at.row + n; // what follows is another tile's
    if (warp == 0)
        ask_rows(p, at, n, x, x_full);
    __syncthreads(); // the barrier of x is there
    barrier_wait(x_full, 0);
    for (; item < items; item += step, phase ^= 1) {
        float acc[MT][2][4] = {};
        struct pieces next = pieces_of<OUT>(p, h, at, min(item + step, items - 1));

        for (int s = 0; s * SEGMENT < p.k; s++) {
            barrier_wait(full + 8 * s, phase);
            multiply<MT>(acc, x, w, pitch, n, s * SEGMENT, min(p.k, (s + 1) * SEGMENT));
            __syncwarp(); // all lanes have read it
            if (item + step < items)
                ask_segment(p, next, w, full, s);
        }
        store<OUT, MT>(p, h, pieces_of<OUT>(p, h, at, item), at, acc);
    }
#endif
}

// ---- host ---------------------------------------------------------------------------------------
enum { MAX_ROWS = 32, SHARED = 226 * 1024, RESERVED = 1024, MOST_ITEMS = 4 };

static int rows_of(const struct product *p)
{
    return p->tile ? (p->most_rows < p->tile_rows ? p->most_rows : p->tile_rows) : p->rows;
}

static int bytes_of(const struct product *p, int warps)
{
    return (rows_of(p) + warps * 2 * PIECE) * pitch_of(p->k);
}

bool launch_takes_stream(const struct product *p)
{
    bool heads = p->out != PRODUCT_QKV || (p->heads && p->heads->head_dim % 32 == 0 && !p->bias);

    return p->is_sm90 && !p->x_is_f32 && !p->w_is_f32 && p->out != PRODUCT_GELU && heads &&
           p->k % 32 == 0 && p->k <= SEGMENT * MAX_SEGMENTS && p->n % (2 * PIECE) == 0 &&
           (!p->tile || p->tile_rows <= 16) && rows_of(p) <= MAX_ROWS && bytes_of(p, 1) <= SHARED;
}

// Few rows: a warp a block, since blocks of little memory fill a multiprocessor evenly.  More: the
// rows of x are worth sharing.
static int warps_of(const struct product *p)
{
    int rows = rows_of(p), warps = rows <= 4 ? 1 : rows <= 8 ? 2 : MAX_WARPS;
    int64_t items = (int64_t)items_of(*p) * (p->tile ? p->tile_cap : 1);

    while (warps > 1 && (bytes_of(p, warps) > SHARED || items < (int64_t)warps * p->n_sm))
        warps /= 2;
    return warps;
}

// Items of a warp.  Just over one round of blocks is better left to the scheduler; experts differ,
// so whoever is done takes the next few.
static int64_t each_of(const struct product *p, int64_t items, int64_t room)
{
    int64_t each = (items + room - 1) / room;

    if (items < 2 * room)
        return 1;
    return p->tile && each > MOST_ITEMS ? MOST_ITEMS : each;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

template <enum product_out OUT, int MT>
static cudaError_t run(launch_stream s, const struct product *p, const struct product *also)
{
    int warps = warps_of(p), tiles = p->tile ? p->tile_cap : 1;
    int bytes = larger(bytes_of(p, warps), also ? bytes_of(also, warps) : 0);
    int resident = larger(SHARED / (bytes + RESERVED), 1);
    int64_t items = items_of(*p), room = (int64_t)p->n_sm * resident * warps;
    int64_t each = each_of(p, items * tiles, room),
            across = (items + warps * each - 1) / (warps * each);
    int n_also = also ? (int)((items_of(*also) + warps * across - 1) / (warps * across)) : 0;
    struct heads none = {};

    return launch(stream_kernel<OUT, MT>, dim3((unsigned)(n_also + tiles), (unsigned)across),
                  warps * 32, bytes, s, p->overlaps, *p, also ? *also : *p, n_also,
                  p->heads ? *p->heads : none, rows_of(p));
}

template <enum product_out OUT>
static cudaError_t run_rows(launch_stream s, const struct product *p)
{
    return rows_of(p) <= 16 ? run<OUT, 1>(s, p, nullptr) : run<OUT, 2>(s, p, nullptr);
}

bool launch_takes_both(const struct product *p, const struct product *also)
{
    int most = also->k > p->k ? 4 : 16; // wider rows cost the experts their room

    return launch_takes_stream(p) && launch_takes_stream(also) && p->tile && !also->tile &&
           also->rows == rows_of(p) && also->rows <= most && bytes_of(also, warps_of(p)) <= SHARED;
}

int launch_both_stream(launch_stream s, const struct product *p, const struct product *also)
{
    return p->out == PRODUCT_SWIGLU ? run<PRODUCT_SWIGLU, 1>(s, p, also)
                                    : run<PRODUCT_SET, 1>(s, p, also);
}

int launch_product_stream(launch_stream s, const struct product *p)
{
    switch (p->out) {
    case PRODUCT_ADD:
        return run_rows<PRODUCT_ADD>(s, p);
    case PRODUCT_SWIGLU:
        return run_rows<PRODUCT_SWIGLU>(s, p);
    case PRODUCT_QKV:
        return run_rows<PRODUCT_QKV>(s, p);
    default:
        return run_rows<PRODUCT_SET>(s, p);
    }
}

int launch_prepare_stream(int shared_bytes)
{
    cudaError_t rc = cudaSuccess;

    shared_bytes -= (X_BARRIER + 1) * (int)sizeof(uint64_t) + 64; // the barriers are apart
    allow_shared(stream_kernel<PRODUCT_SET, 1>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_SET, 2>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_ADD, 1>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_ADD, 2>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_SWIGLU, 1>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_SWIGLU, 2>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_QKV, 1>, shared_bytes, &rc);
    allow_shared(stream_kernel<PRODUCT_QKV, 2>, shared_bytes, &rc);
    return rc;
}
