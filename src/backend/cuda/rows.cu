// Rows in, rows out: norms, gates, look-ups.  All are bound by memory: a block a row, or
// a thread a number. Sums run over a row in an order that depends on the width alone, so a row's
// result does not depend on its neighbours.
#include "backend/cuda/kern.cuh"

// ---- norms --------------------------------------------------------------------------------------
enum { NORM_THREADS = 128, NORM_QUADS = 4 }; // rows of up to 2048 numbers stay in registers

// LAYER: subtract the mean first, then sum squared distances: one pass would cancel where the mean
// is large.
template <class Y, class X, bool LAYER>
__global__ void __launch_bounds__(NORM_THREADS)
    norm_kernel(Y *y, const X *x, const float *w, const float *b, int width, float eps)
{
    __shared__ float part[32];
    const X *in = x + (int64_t)blockIdx.x * width;
    Y *out = y + (int64_t)blockIdx.x * width;
    float v[NORM_QUADS][4], g[NORM_QUADS][4], sum = 0, squares = 0, mean = 0;

    grid_release();
#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++)
        if ((q * NORM_THREADS + threadIdx.x) * 4 < width)
            load4(g[q], w + (q * NORM_THREADS + threadIdx.x) * 4);
    grid_wait();
#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++) {
        int i = (q * NORM_THREADS + threadIdx.x) * 4;

        v[q][0] = v[q][1] = v[q][2] = v[q][3] = 0.0f;
        if (i < width)
            load4(v[q], in + i);
        sum += (v[q][0] + v[q][1]) + (v[q][2] + v[q][3]);
    }
    if (LAYER)
        mean = block_sum(sum, part) / (float)width;
#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if ((q * NORM_THREADS + threadIdx.x) * 4 < width)
                v[q][j] -= mean;
            squares += v[q][j] * v[q][j];
        }
    float scale = rsqrtf(block_sum(squares, part) / (float)width + eps);

#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++) {
        int i = (q * NORM_THREADS + threadIdx.x) * 4;
        float o[4] = {};

        if (i >= width)
            continue;
        if (LAYER)
            load4(o, b + i);
#pragma unroll
        for (int j = 0; j < 4; j++)
            o[j] = LAYER ? v[q][j] * scale * g[q][j] + o[j] : v[q][j] * scale * g[q][j];
        store4(out + i, o);
    }
}

enum { WARP_ROWS = 8 }; // rows of a block, a warp each

// LayerNorm of rows of up to QUADS * 128 numbers, as above but a warp a row: no barriers, and enough
// loads on their way to fill the memory.
template <class Y, class X, int QUADS>
__global__ void __launch_bounds__(WARP_ROWS * 32)
    layernorm_kernel(Y *y, const X *x, const float *w, const float *b, int64_t rows, int width,
                     float eps)
{
    int64_t row = (int64_t)blockIdx.x * WARP_ROWS + threadIdx.x / 32;
    int first = threadIdx.x % 32 * 4;
    float v[QUADS][4], sum = 0, squares = 0;

    grid_release();
    grid_wait();
    if (row >= rows)
        return;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        v[q][0] = v[q][1] = v[q][2] = v[q][3] = 0.0f;
        if (q * 128 + first < width)
            load4(v[q], x + row * width + q * 128 + first);
    }
#pragma unroll
    for (int q = 0; q < QUADS; q++)
        sum += (v[q][0] + v[q][1]) + (v[q][2] + v[q][3]);
    sum = warp_sum(sum) / (float)width;
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (q * 128 + first < width)
                v[q][j] -= sum;
            squares += v[q][j] * v[q][j];
        }
    float scale = rsqrtf(warp_sum(squares) / (float)width + eps);

#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        int i = q * 128 + first;
        float g[4], o[4];

        if (i >= width)
            continue;
        load4(g, w + i);
        load4(o, b + i);
#pragma unroll
        for (int j = 0; j < 4; j++)
            o[j] = v[q][j] * scale * g[j] + o[j];
        store4(y + row * width + i, o);
    }
}

// What the experts said, added to a row, and that row's norm: the same sums as norm_kernel's.
template <class T, bool NORM>
__global__ void __launch_bounds__(NORM_THREADS) combine_kernel(const struct combine c)
{
    __shared__ float part[32];
    int64_t row = blockIdx.x;
    const int32_t *slot = c.slot + row * c.n_pick;
    const float *share = c.share + row * c.n_pick;
    float v[NORM_QUADS][4] = {}, g[NORM_QUADS][4], old[NORM_QUADS][4], squares = 0;

    grid_release();
#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++)
        if (NORM && (q * NORM_THREADS + threadIdx.x) * 4 < c.width)
            load4(g[q], c.norm + (q * NORM_THREADS + threadIdx.x) * 4);
    grid_wait();
#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++) {
        int i = (q * NORM_THREADS + threadIdx.x) * 4;

        old[q][0] = old[q][1] = old[q][2] = old[q][3] = 0.0f;
        if (i < c.width)
            load4(old[q], c.y + row * c.width + i);
    }
#pragma unroll 3 // loads on their way at once
    for (int k = 0; k < c.n_pick; k++) {
        const T *said = (const T *)c.result + (int64_t)slot[k] * c.width;
        float weight = share[k];

#pragma unroll
        for (int q = 0; q < NORM_QUADS; q++) {
            int i = (q * NORM_THREADS + threadIdx.x) * 4;
            float r[4] = {};

            if (i < c.width)
                load4(r, said + i);
#pragma unroll
            for (int j = 0; j < 4; j++)
                v[q][j] = fmaf(weight, r[j], v[q][j]);
        }
    }
#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++) {
        int i = (q * NORM_THREADS + threadIdx.x) * 4;

#pragma unroll
        for (int j = 0; j < 4; j++) {
            v[q][j] += old[q][j];
            squares += v[q][j] * v[q][j];
        }
        if (i < c.width)
            store4(c.y + row * c.width + i, v[q]);
    }
    if (!NORM)
        return;
    float scale = rsqrtf(block_sum(squares, part) / (float)c.width + c.eps);

#pragma unroll
    for (int q = 0; q < NORM_QUADS; q++) {
        int i = (q * NORM_THREADS + threadIdx.x) * 4;
        float o[4];

        if (i >= c.width)
            continue;
#pragma unroll
        for (int j = 0; j < 4; j++)
            o[j] = v[q][j] * scale * g[q][j];
        store4((T *)c.h + row * c.width + i, o);
    }
}

// Rows of any width, without the norm.
template <class T> __global__ void wide_combine_kernel(const struct combine c)
{
    int64_t row = blockIdx.x;

    for (int i = threadIdx.x; i < c.width; i += blockDim.x) {
        float sum = 0;

        for (int k = 0; k < c.n_pick; k++)
            sum = fmaf(
                c.share[row * c.n_pick + k],
                to_f32(((const T *)c.result)[(int64_t)c.slot[row * c.n_pick + k] * c.width + i]),
                sum);
        c.y[row * c.width + i] += sum;
    }
}

bool launch_combines_norm(int width)
{
    return width % 4 == 0 && width <= NORM_THREADS * NORM_QUADS * 4;
}

template <class T> static void combine(launch_stream s, const struct combine *c)
{
    dim3 grid((unsigned)c->rows);

    if (!launch_combines_norm(c->width))
        wide_combine_kernel<T><<<grid, ROW_THREADS, 0, s>>>(*c);
    else if (c->h)
        launch(combine_kernel<T, true>, grid, NORM_THREADS, 0, s, c->overlaps, *c);
    else
        launch(combine_kernel<T, false>, grid, NORM_THREADS, 0, s, c->overlaps, *c);
}

void launch_combine(launch_stream s, const struct combine *c)
{
    if (c->is_f32)
        combine<float>(s, c);
    else
        combine<bf16>(s, c);
}

// Rows of any width.
template <class Y, class X, bool LAYER>
__global__ void wide_norm_kernel(Y *y, const X *x, const float *w, const float *b, int width,
                                 float eps)
{
    __shared__ float part[32];
    const X *in = x + (int64_t)blockIdx.x * width;
    Y *out = y + (int64_t)blockIdx.x * width;
    float sum = 0, squares = 0, mean = 0;

    for (int i = threadIdx.x; LAYER && i < width; i += blockDim.x)
        sum += to_f32(in[i]);
    if (LAYER)
        mean = block_sum(sum, part) / (float)width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float d = to_f32(in[i]) - mean;

        squares += d * d;
    }
    float scale = rsqrtf(block_sum(squares, part) / (float)width + eps);

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[i] = from_f32<Y>((to_f32(in[i]) - mean) * scale * w[i] + (LAYER ? b[i] : 0.0f));
}

static int row_threads(int width)
{
    return width >= ROW_THREADS ? ROW_THREADS : (width + 31) / 32 * 32;
}

#define BY_TYPES(call)            \
    do {                          \
        if (y_is_f32 && x_is_f32) \
            call(float, float);   \
        else if (y_is_f32)        \
            call(float, bf16);    \
        else if (x_is_f32)        \
            call(bf16, float);    \
        else                      \
            call(bf16, bf16);     \
    } while (0)

template <class Y, class X, bool LAYER>
static void run_norm(launch_stream s, void *y, const void *x, const float *w, const float *b,
                     int64_t rows, int width, float eps, bool early)
{
    if (launch_combines_norm(width))
        launch(norm_kernel<Y, X, LAYER>, dim3((unsigned)rows), NORM_THREADS, 0, s, early, (Y *)y,
               (const X *)x, w, b, width, eps);
    else
        wide_norm_kernel<Y, X, LAYER>
            <<<(unsigned)rows, row_threads(width), 0, s>>>((Y *)y, (const X *)x, w, b, width, eps);
}

// Which kernel depends on the width alone.
template <class Y, class X>
static void run_layernorm(launch_stream s, void *y, const void *x, const float *w, const float *b,
                          int64_t rows, int width, float eps, bool early)
{
    dim3 grid((unsigned)((rows + WARP_ROWS - 1) / WARP_ROWS));

    if (width % 4 || width > 1024)
        run_norm<Y, X, true>(s, y, x, w, b, rows, width, eps, early);
    else if (width <= 256)
        launch(layernorm_kernel<Y, X, 2>, grid, WARP_ROWS * 32, 0, s, early, (Y *)y, (const X *)x,
               w, b, rows, width, eps);
    else
        launch(layernorm_kernel<Y, X, 8>, grid, WARP_ROWS * 32, 0, s, early, (Y *)y, (const X *)x,
               w, b, rows, width, eps);
}

void launch_rmsnorm(launch_stream s, void *y, const void *x, const float *w, int64_t rows,
                    int width, float eps, bool y_is_f32, bool x_is_f32, bool early)
{
#define CALL(Y, X) run_norm<Y, X, false>(s, y, x, w, nullptr, rows, width, eps, early)
    BY_TYPES(CALL);
#undef CALL
}

void launch_layernorm(launch_stream s, void *y, const void *x, const float *w, const float *b,
                      int64_t rows, int width, float eps, bool y_is_f32, bool x_is_f32, bool early)
{
#define CALL(Y, X) run_layernorm<Y, X>(s, y, x, w, b, rows, width, eps, early)
    BY_TYPES(CALL);
#undef CALL
}

// ---- a thread a number --------------------------------------------------------------------------
template <class T> __global__ void swiglu_kernel(T *y, const T *gate, const T *up, int64_t n)
{
    int64_t i = item();

    if (i < n)
        y[i] = from_f32<T>(silu(to_f32(gate[i])) * to_f32(up[i]));
}

void launch_swiglu(launch_stream s, void *y, const void *gate, const void *up, int64_t n,
                   bool is_f32)
{
    if (is_f32)
        swiglu_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>((float *)y, (const float *)gate,
                                                            (const float *)up, n);
    else
        swiglu_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>((bf16 *)y, (const bf16 *)gate,
                                                            (const bf16 *)up, n);
}

__device__ __forceinline__ float plus(float a, float b)
{
    return a + b;
}

__device__ __forceinline__ float4 plus(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// A thread a number of p, or four, and all places that it is added to.
template <class T> __global__ void add_cyclic_kernel(T *x, const T *p, int64_t n, int64_t period)
{
    int64_t i = item();

    if (i >= period)
        return;
    T add = p[i];

#pragma unroll 4
    for (; i < n; i += period)
        x[i] = plus(x[i], add);
}

void launch_add_cyclic(launch_stream s, float *x, const float *p, int64_t n, int64_t period)
{
    if (n % 4 || period % 4)
        add_cyclic_kernel<<<blocks_for(period), ROW_THREADS, 0, s>>>(x, p, n, period);
    else
        add_cyclic_kernel<<<blocks_for(period / 4), ROW_THREADS, 0, s>>>(
            (float4 *)x, (const float4 *)p, n / 4, period / 4);
}

template <class Y, class X> __global__ void convert_kernel(Y *y, const X *x, int64_t n)
{
    int64_t i = item();

    if (i < n)
        y[i] = from_f32<Y>(to_f32(x[i]));
}

// A thread four numbers.
template <class Y, class X> __global__ void convert4_kernel(Y *y, const X *x, int64_t n)
{
    int64_t i = item() * 4;
    float v[4];

    if (i >= n)
        return;
    load4(v, x + i);
    store4(y + i, v);
}

template <class Y, class X> static void convert(launch_stream s, Y *y, const X *x, int64_t n)
{
    if (n % 4)
        convert_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>(y, x, n);
    else
        convert4_kernel<<<blocks_for(n / 4), ROW_THREADS, 0, s>>>(y, x, n);
}

void launch_convert(launch_stream s, void *y, const void *x, int64_t n, bool y_is_f32,
                    bool x_is_f32)
{
#define CALL(Y, X) convert(s, (Y *)y, (const X *)x, n)
    BY_TYPES(CALL);
#undef CALL
}

// ---- look-ups -----------------------------------------------------------------------------------
template <class T> __global__ void gather_kernel(T *y, const T *x, const int32_t *row, int width)
{
    const T *from = x + (int64_t)row[blockIdx.x] * width;
    T *to = y + (int64_t)blockIdx.x * width;

    grid_release();
    grid_wait();
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        to[i] = from[i];
}

void launch_gather_rows(launch_stream s, void *y, const void *x, const int32_t *row, int64_t rows,
                        int width, bool is_f32, bool early)
{
    if (is_f32)
        launch(gather_kernel<float>, dim3((unsigned)rows), row_threads(width), 0, s, early,
               (float *)y, (const float *)x, row, width);
    else
        launch(gather_kernel<bf16>, dim3((unsigned)rows), row_threads(width), 0, s, early,
               (bf16 *)y, (const bf16 *)x, row, width);
}

template <class T>
__global__ void embed_kernel(float *x, const T *table, const int32_t *id, int width)
{
    int64_t token = id[blockIdx.x];

    grid_release();
    for (int i = threadIdx.x; token >= 0 && i < width; i += blockDim.x)
        x[(int64_t)blockIdx.x * width + i] = to_f32(table[token * width + i]);
}

void launch_embed(launch_stream s, float *x, const void *table, const int32_t *id, int64_t rows,
                  int width, bool table_is_f32)
{
    if (table_is_f32)
        embed_kernel<<<(unsigned)rows, row_threads(width), 0, s>>>(x, (const float *)table, id,
                                                                   width);
    else
        embed_kernel<<<(unsigned)rows, row_threads(width), 0, s>>>(x, (const bf16 *)table, id,
                                                                   width);
}

__global__ void gather_bytes_kernel(uint4 *y, const uint4 *x, const int32_t *row, int width)
{
    int64_t from = (int64_t)row[blockIdx.x] * width;

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[(int64_t)blockIdx.x * width + i] = x[from + i];
}

void launch_gather_bytes(launch_stream s, void *y, const void *x, const int32_t *row, int64_t rows,
                         int bytes)
{
    gather_bytes_kernel<<<(unsigned)rows, 128, 0, s>>>((uint4 *)y, (const uint4 *)x, row,
                                                       bytes / 16);
}
