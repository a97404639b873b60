// Products y = x W^T with what follows them fused in.
//
// Every element of y is one chain of tensor-core steps over k = 0, 16, 32, ... in fp32, whatever
// the tile: so tiles may be chosen by the number of rows, and a row still comes out the same alone,
// in a batch or in a chunk, bit for bit.  Three tiles share one source: 16 x 16 keeps a whole
// weight row in flight and streams weights for a few rows (decode); 64 x 32 for tens of rows; 128 x
// 128 for views and prompts.  Rows of 128 bytes lie in shared memory with their 16-byte pieces
// turned by the row number, so that neither the copies nor ldmatrix meet bank conflicts.
//
// Anything else (fp32, sizes that are no multiple of 8) goes to a plain tile of fp32 arithmetic,
// also in rising k.
#include "backend/cuda/product.cuh"

// ---- tensor cores -------------------------------------------------------------------------------

template <int BM, int BN, int WARPS_M, int WARPS_N, int STAGES, bool SWIGLU>
__global__ void __launch_bounds__(WARPS_M *WARPS_N * 32, 2) product_kernel(const struct product p)
{
    constexpr int THREADS = WARPS_M * WARPS_N * 32, WM = BM / WARPS_M, WN = BN / WARPS_N,
                  MI = WM / 16, NI = WN / 16;
    constexpr int MATRICES = SWIGLU ? 2 : 1, STAGE = (BM + MATRICES * BN) * 128;
    constexpr int X_PIECES = BM * 8 / THREADS, W_PIECES = BN * 8 / THREADS;
    extern __shared__ __align__(128) unsigned char memory[];
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    int wm = warp / WARPS_N * WM, wn = warp % WARPS_N * WN, col = blockIdx.y * BN,
        steps = (p.k + STEP - 1) / STEP;
    struct place at;

    grid_release();
    if (p.tile) {
        grid_wait();
        if (!find_place(p, BM, blockIdx.x, &at))
            return;
    } else {
        find_place(p, BM, blockIdx.x, &at);
        at.w = blockIdx.z ? p.more[blockIdx.z - 1] : at.w;
    }

    const bf16 *x[X_PIECES];
    float acc[MATRICES][MI][NI][2][4] = {};
    uint32_t base = smem_addr(memory);

#pragma unroll
    for (int i = 0; i < X_PIECES; i++) {
        int r = at.row + (tid + i * THREADS) / 8;

        x[i] = r < at.end ? (const bf16 *)p.x + input_row(p, r) * p.k : nullptr;
    }
    auto load_x = [&](int step) {
        uint32_t tile = base + step % STAGES * STAGE;
        int k = step * STEP;

#pragma unroll
        for (int i = 0; i < X_PIECES; i++) {
            int r = (tid + i * THREADS) / 8, c = (tid + i * THREADS) % 8;
            bool valid = x[i] && k + c * 8 < p.k;

            copy16(piece(tile, r, c), valid ? x[i] + k + c * 8 : (const bf16 *)p.x, valid);
        }
    };
    auto load_w = [&](int step) {
        uint32_t tile = base + step % STAGES * STAGE;
        int k = step * STEP;

#pragma unroll
        for (int m = 0; m < MATRICES; m++) {
            const bf16 *w = (const bf16 *)(m ? at.up : at.w);

#pragma unroll
            for (int i = 0; i < W_PIECES; i++) {
                int r = (tid + i * THREADS) / 8, c = (tid + i * THREADS) % 8;
                bool valid = col + r < p.n && k + c * 8 < p.k;

                copy16(piece(tile + (BM + m * BN) * 128, r, c),
                       valid ? w + (int64_t)(col + r) * p.k + k + c * 8 : w, valid);
            }
        }
    };

    for (int s = 0; s < STAGES - 1 && s < steps; s++) // weights wait for nobody
        load_w(s);
    if (!p.tile)
        grid_wait();
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps)
            load_x(s);
        copy_commit();
    }
    for (int s = 0; s < steps; s++) {
        copy_wait<STAGES - 2>();
        __syncthreads();
        if (s + STAGES - 1 < steps) {
            load_x(s + STAGES - 1);
            load_w(s + STAGES - 1);
        }
        copy_commit();

        uint32_t tile = base + s % STAGES * STAGE;

#pragma unroll
        for (int kk = 0; kk < STEP / 16; kk++) {
            uint32_t a[MI][4];

#pragma unroll
            for (int mi = 0; mi < MI; mi++)
                load_matrix4(a[mi], piece(tile, wm + mi * 16 + (lane & 15), kk * 2 + (lane >> 4)));
#pragma unroll
            for (int m = 0; m < MATRICES; m++)
#pragma unroll
                for (int ni = 0; ni < NI; ni++) {
                    uint32_t b[4];
                    int r = wn + ni * 16 + (lane & 7) + (lane >> 4) * 8;

                    load_matrix4(b, piece(tile + (BM + m * BN) * 128, r, kk * 2 + (lane >> 3 & 1)));
#pragma unroll
                    for (int mi = 0; mi < MI; mi++) {
                        mma16816(acc[m][mi][ni][0], a[mi], b[0], b[1]);
                        mma16816(acc[m][mi][ni][1], a[mi], b[2], b[3]);
                    }
                }
        }
    }
#pragma unroll
    for (int mi = 0; mi < MI; mi++)
#pragma unroll
        for (int ni = 0; ni < NI; ni++)
#pragma unroll
            for (int h = 0; h < 4; h++) { // left and right 8 columns, upper and lower 8 rows
                int side = h & 1, low = h >> 1;
                int row = at.row + wm + mi * 16 + low * 8 + lane / 4,
                    c = col + wn + ni * 16 + side * 8 + lane % 4 * 2;
                const float *v = acc[0][mi][ni][side] + low * 2,
                            *u = acc[MATRICES - 1][mi][ni][side] + low * 2;

                if (row < at.end && c < p.n)
                    put2(p, row + (int64_t)blockIdx.z * p.rows, c, v[0], v[1], u[0], u[1]);
            }
}

template <int BM, int BN, int WARPS_M, int WARPS_N, int STAGES, bool SWIGLU>
static void run(launch_stream s, const struct product *p)
{
    auto kernel = product_kernel<BM, BN, WARPS_M, WARPS_N, STAGES, SWIGLU>;
    int bytes = STAGES * (BM + (SWIGLU ? 2 : 1) * BN) * 128;
    dim3 grid((unsigned)(p->tile ? p->tile_cap : (p->rows + BM - 1) / BM),
              (unsigned)((p->n + BN - 1) / BN), p->more[0] ? 3 : 1);

    launch(kernel, grid, WARPS_M * WARPS_N * 32, bytes, s, p->overlaps, *p);
}

int launch_tile_rows(int rows)
{
    return rows <= 16 ? 16 : rows <= 64 ? 64 : 128;
}

// All tiles give the same bits, so the choice is one of speed: the largest of which there are
// enough to fill the machine; linear90.cu, which keeps more in flight, is the best for few as well.
static int best_tile_rows(const struct product *p)
{
    int64_t tiles = (int64_t)((p->rows + 127) / 128) * ((p->n + 127) / 128);
    bool are_few = p->is_sm90 ? p->rows <= 256 && tiles < 48 : tiles < 96;

    if (p->rows > 64 && are_few)
        return 64;
    return launch_tile_rows(p->rows);
}

static cudaError_t run_tensor(launch_stream s, const struct product *p, int tile_rows)
{
    bool gated = p->out == PRODUCT_SWIGLU;

    if (tile_rows == 128 && p->is_sm90 && (!p->tile || p->w_maps))
        return (cudaError_t)launch_product90(s, p);
    if (tile_rows == 16)
        gated ? run<16, 16, 1, 1, 16, true>(s, p) : run<16, 16, 1, 1, 16, false>(s, p);
    else if (tile_rows == 64)
        gated ? run<64, 32, 4, 1, 6, true>(s, p) : run<64, 32, 4, 1, 6, false>(s, p);
    else
        gated ? run<128, 64, 4, 2, 3, true>(s, p) : run<128, 128, 2, 4, 3, false>(s, p);
    return cudaSuccess;
}

int launch_prepare_linear(int shared_bytes)
{
    cudaError_t rc = cudaSuccess;

    allow_shared(product_kernel<16, 16, 1, 1, 16, true>, shared_bytes, &rc);
    allow_shared(product_kernel<16, 16, 1, 1, 16, false>, shared_bytes, &rc);
    allow_shared(product_kernel<64, 32, 4, 1, 6, true>, shared_bytes, &rc);
    allow_shared(product_kernel<64, 32, 4, 1, 6, false>, shared_bytes, &rc);
    allow_shared(product_kernel<128, 64, 4, 2, 3, true>, shared_bytes, &rc);
    allow_shared(product_kernel<128, 128, 2, 4, 3, false>, shared_bytes, &rc);
    return rc;
}

// ---- any type, any size -------------------------------------------------------------------------
enum { PLAIN = 64, PLAIN_STEP = 16 };

template <class X, class W, bool SWIGLU>
__global__ void __launch_bounds__(256) plain_kernel(const struct product p)
{
    __shared__ float xs[PLAIN_STEP][PLAIN + 4], ws[SWIGLU ? 2 : 1][PLAIN_STEP][PLAIN + 4];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, col = blockIdx.y * PLAIN;
    float acc[SWIGLU ? 2 : 1][4][4] = {};
    struct place at;

    if (!find_place(p, PLAIN, blockIdx.x, &at))
        return;
    for (int k = 0; k < p.k; k += PLAIN_STEP) {
        __syncthreads();
        for (int i = tid; i < PLAIN * PLAIN_STEP; i += 256) {
            int r = i / PLAIN_STEP, c = i % PLAIN_STEP;
            bool in = k + c < p.k;

            xs[c][r] = in && at.row + r < at.end
                           ? to_f32(((const X *)p.x)[input_row(p, at.row + r) * p.k + k + c])
                           : 0.0f;
            for (int m = 0; m < (SWIGLU ? 2 : 1); m++)
                ws[m][c][r] =
                    in && col + r < p.n
                        ? to_f32(((const W *)(m ? at.up : at.w))[(int64_t)(col + r) * p.k + k + c])
                        : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < PLAIN_STEP; c++)
#pragma unroll
            for (int m = 0; m < (SWIGLU ? 2 : 1); m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        acc[m][i][j] = fmaf(xs[c][ty * 4 + i], ws[m][c][tx * 4 + j], acc[m][i][j]);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = at.row + ty * 4 + i, c = col + tx * 4 + j;

            if (row < at.end && c < p.n)
                put(p, row, c, acc[0][i][j], acc[SWIGLU ? 1 : 0][i][j]);
        }
}

template <class X, class W> static void run_plain(launch_stream s, const struct product *p)
{
    dim3 grid((unsigned)(p->tile ? p->tile_cap : (p->rows + PLAIN - 1) / PLAIN),
              (unsigned)((p->n + PLAIN - 1) / PLAIN));

    if (p->out == PRODUCT_SWIGLU)
        plain_kernel<X, W, true><<<grid, 256, 0, s>>>(*p);
    else
        plain_kernel<X, W, false><<<grid, 256, 0, s>>>(*p);
}

// Three matrices at once stay on the tile of 64 rows: enough blocks for rows of a decoding step.
int launch_three(launch_stream s, const struct product *p)
{
    if (p->rows <= 16)
        run<16, 16, 1, 1, 16, false>(s, p);
    else
        run<64, 32, 4, 1, 6, false>(s, p);
    return cudaGetLastError();
}

int launch_product(launch_stream s, const struct product *p)
{
    if (launch_takes_stream(p))
        return launch_product_stream(s, p);
    if (!p->x_is_f32 && !p->w_is_f32 && p->k % 8 == 0 && p->n % 8 == 0)
        return run_tensor(s, p, p->tile ? p->tile_rows : best_tile_rows(p));
    if (p->tile && p->tile_rows != PLAIN)
        return cudaErrorInvalidValue;
    if (p->x_is_f32 && p->w_is_f32)
        run_plain<float, float>(s, p);
    else if (p->x_is_f32)
        run_plain<float, bf16>(s, p);
    else if (p->w_is_f32)
        run_plain<bf16, float>(s, p);
    else
        run_plain<bf16, bf16>(s, p);
    return cudaSuccess;
}
