// Products of many rows on compute capability 9.0.
//
// A block stays on its multiprocessor and takes tiles of 128 rows by 256 columns (or 128 columns of
// each of a gated pair) one after the other.  One thread asks the copy engine for steps of 64
// terms, up to four ahead and across tile borders, so that the next tile's first steps arrive while
// this one's results are stored; two warp groups of 64 rows each multiply. A step's place is given
// back once its products are done, which is known one step later: the tensor cores never wait.
//
// Each sum is the same chain over k as in linear.cu and comes out the same, bit for bit
// (tests/ops/test_cuda.c).
#include "backend/cuda/product.cuh"
#include "backend/cuda/sm90.cuh"

enum { ROWS = 128, HALF = 128, STAGES = 4, THREADS = 384, STAGE_BYTES = (ROWS + 2 * HALF) * 128 };

struct maps {
    CUtensorMap x, w, up;
};

// Where a tile is: rows [row, end) from `row`, columns from `col`, of the matrices of these maps.
struct wide_tile {
    int row, end, col;
    const CUtensorMap *w, *up;
};

__device__ __forceinline__ bool find_tile(const struct product &p, const struct maps &m, int t,
                                          int across, int width, struct wide_tile *at)
{
    int i = t % across;

    *at = {i * ROWS, p.rows, t / across * width, &m.w, &m.up};
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

template <enum product_out OUT, bool Y_IS_F32>
__device__ __forceinline__ void put_pair(const struct product &p, int row, int col, float v0,
                                         float v1, float u0, float u1, float2 bias)
{
    int64_t at = (int64_t)row * p.n + col;

    v0 += bias.x;
    v1 += bias.y;
    if (OUT == PRODUCT_GELU) {
        v0 = Y_IS_F32 ? gelu(v0) : gelu_bf16(v0);
        v1 = Y_IS_F32 ? gelu(v1) : gelu_bf16(v1);
    } else if (OUT == PRODUCT_SWIGLU) {
        v0 = __fdividef(v0, 1.0f + __expf(-v0)) * u0;
        v1 = __fdividef(v1, 1.0f + __expf(-v1)) * u1;
    }
    if (!Y_IS_F32) {
        *(uint32_t *)((bf16 *)p.y + at) = pack_bf16(v0, v1);
        return;
    }
    float2 *y = (float2 *)((float *)p.y + at), old = {0.0f, 0.0f};

    if (OUT == PRODUCT_ADD)
        old = *y;
    *y = make_float2(old.x + v0, old.y + v1);
}

template <enum product_out OUT, bool Y_IS_F32>
__global__ void __launch_bounds__(THREADS, 1)
    wide_kernel(const struct product p, const __grid_constant__ struct maps m)
{
#if HAS_WGMMA
    constexpr bool GATED = OUT == PRODUCT_SWIGLU;
    constexpr int WIDTH = GATED ? HALF : 2 * HALF;
    extern __shared__ unsigned char memory[];
    __shared__ __align__(8) uint64_t barriers[2 * STAGES];
    uint32_t base = (smem_addr(memory) + 1023) & ~1023u, full = smem_addr(barriers),
             empty = full + 8 * STAGES;
    int tid = threadIdx.x, group = tid / 128 - 1, steps = (p.k + STEP - 1) / STEP;
    int across = p.tile ? p.tile_cap : (p.rows + ROWS - 1) / ROWS,
        tiles = across * ((p.n + WIDTH - 1) / WIDTH), it = 0;

    if (tid == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, 2);
        }
        barrier_fence();
    }
    __syncthreads();
    if (group < 0) { // the copying side
        registers_give<40>();
        if (tid == 0)
            for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
                struct wide_tile w;

                if (!find_tile(p, m, t, across, WIDTH, &w))
                    continue;
                for (int s = 0; s < steps; s++, it++) {
                    int slot = it % STAGES;
                    uint32_t to = base + slot * STAGE_BYTES, here = full + 8 * slot;

                    if (it >= STAGES)
                        barrier_wait(empty + 8 * slot, (it / STAGES - 1) & 1);
                    barrier_expect(here, STAGE_BYTES); // past the end come zeros, which count
                    copy_box(to, &m.x, s * STEP, w.row, here);
                    copy_box(to + ROWS * 128, w.w, s * STEP, w.col, here);
                    copy_box(to + (ROWS + HALF) * 128, GATED ? w.up : w.w, s * STEP,
                             GATED ? w.col : w.col + HALF, here);
                }
            }
    } else {
        registers_take<232>();
        for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
            struct wide_tile w;

            if (!find_tile(p, m, t, across, WIDTH, &w))
                continue;

            int lane = tid & 31, row = w.row + group * 64 + tid % 128 / 32 * 16 + lane / 4;
            float acc[2][64] = {};

            for (int s = 0; s < steps; s++, it++) {
                int slot = it % STAGES;
                uint32_t tile = base + slot * STAGE_BYTES;
                uint64_t a = matrix_descriptor(tile + group * 64 * 128),
                         b = matrix_descriptor(tile + ROWS * 128);
                uint64_t b2 = matrix_descriptor(tile + (ROWS + HALF) * 128);

                barrier_wait(full + 8 * slot, it / STAGES & 1);
                group_begin();
#pragma unroll
                for (int k = 0; k < STEP / 16; k++) {
                    group_mma(acc[0], a + k * 2, b + k * 2);
                    group_mma(acc[1], a + k * 2, b2 + k * 2);
                }
                group_commit();
                group_wait<1>();
                if (s > 0 && tid % 128 == 0)
                    barrier_arrive(empty + 8 * ((it - 1) % STAGES));
            }
            group_wait<0>();
            if (tid % 128 == 0)
                barrier_arrive(empty + 8 * ((it - 1) % STAGES));
#pragma unroll
            for (int h = 0; h < (GATED ? 1 : 2); h++)
#pragma unroll
                for (int i = 0; i < HALF / 8; i++) {
                    int n = w.col + h * HALF + i * 8 + lane % 4 * 2;
                    const float *v = acc[h] + i * 4, *u = acc[1] + i * 4;
                    float2 bias = {0.0f, 0.0f};

                    if (n >= p.n)
                        continue;
                    if (p.bias)
                        bias = *(const float2 *)(p.bias + n);
                    if (row < w.end)
                        put_pair<OUT, Y_IS_F32>(p, row, n, v[0], v[1], u[0], u[1], bias);
                    if (row + 8 < w.end)
                        put_pair<OUT, Y_IS_F32>(p, row + 8, n, v[2], v[3], u[2], u[3], bias);
                }
        }
    }
#endif
}

// ---- host ---------------------------------------------------------------------------------------
typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The driver's function, looked up so that nothing links against the driver.
static encode_fn *find_encode()
{
    static encode_fn *found;
    cudaDriverEntryPointQueryResult how;
    void *p = nullptr;

    if (!found && cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &p, 12000,
                                                   cudaEnableDefault, &how) == cudaSuccess)
        found = (encode_fn *)p;
    return found;
}

static bool make_map(CUtensorMap *map, const void *data, int rows, int k)
{
    cuuint64_t size[] = {(cuuint64_t)k, (cuuint64_t)rows}, stride[] = {(cuuint64_t)k * 2};
    cuuint32_t box[] = {STEP, ROWS}, step[] = {1, 1};
    encode_fn *encode = find_encode();

    return encode && encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)data, size, stride,
                            box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <enum product_out OUT, bool Y_IS_F32>
static int run(launch_stream s, const struct product *p, const struct maps *m)
{
    int bytes = STAGES * STAGE_BYTES + 1024, width = OUT == PRODUCT_SWIGLU ? HALF : 2 * HALF;
    int tiles = (p->tile ? p->tile_cap : (p->rows + ROWS - 1) / ROWS) *
                ((p->n + width - 1) / width);
    int blocks = tiles < p->n_sm ? tiles : p->n_sm;

    wide_kernel<OUT, Y_IS_F32><<<blocks, THREADS, bytes, s>>>(*p, *m);
    return cudaSuccess;
}

int launch_map_bytes()
{
    return (int)sizeof(CUtensorMap);
}

bool launch_make_map(void *to, const void *data, int rows, int k)
{
    return make_map((CUtensorMap *)to, data, rows, k);
}

int launch_product90(launch_stream s, const struct product *p)
{
    struct maps m;

    if (!make_map(&m.x, p->x, p->rows, p->k) || (p->w && !make_map(&m.w, p->w, p->n, p->k)) ||
        (p->up && !make_map(&m.up, p->up, p->n, p->k)))
        return cudaErrorInvalidValue;
    if (p->out == PRODUCT_SWIGLU)
        return p->y_is_f32 ? run<PRODUCT_SWIGLU, true>(s, p, &m)
                           : run<PRODUCT_SWIGLU, false>(s, p, &m);
    if (p->out == PRODUCT_GELU)
        return p->y_is_f32 ? run<PRODUCT_GELU, true>(s, p, &m) : run<PRODUCT_GELU, false>(s, p, &m);
    if (p->out == PRODUCT_ADD)
        return run<PRODUCT_ADD, true>(s, p, &m);
    return p->y_is_f32 ? run<PRODUCT_SET, true>(s, p, &m) : run<PRODUCT_SET, false>(s, p, &m);
}

int launch_prepare_linear90(int shared_bytes)
{
    cudaError_t rc = cudaSuccess;

    shared_bytes -= 2 * STAGES * (int)sizeof(uint64_t) + 64; // the barriers are apart
    allow_shared(wide_kernel<PRODUCT_SET, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SET, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_GELU, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_ADD, true>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SWIGLU, false>, shared_bytes, &rc);
    allow_shared(wide_kernel<PRODUCT_SWIGLU, true>, shared_bytes, &rc);
    return rc;
}
