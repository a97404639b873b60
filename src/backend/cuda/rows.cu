// Rows in, rows out: norms, gates, rotations, look-ups.  All are bound by memory: a block a row, or a thread a number.
// Sums run over a row in an order that depends on the width alone, so a row's result does not depend on its neighbours.
#include "backend/cuda/kern.cuh"

enum { ROW_THREADS = 256 };

// ---- norms -------------------------------------------------------------------------------------------------------------------
template <class Y, class X>
__global__ void rmsnorm_kernel(Y *y, const X *x, const float *w, int width, float eps)
{
    __shared__ float part[32];
    const X *in = x + (int64_t)blockIdx.x * width;
    Y *out = y + (int64_t)blockIdx.x * width;
    float sum = 0;

    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float v = to_f32(in[i]);

        sum += v * v;
    }
    float scale = rsqrtf(block_sum(sum, part) / (float)width + eps);

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[i] = from_f32<Y>(to_f32(in[i]) * scale * w[i]);
}

// Mean first, then the sum of squared distances: one pass would cancel where the mean is large.
template <class Y, class X>
__global__ void layernorm_kernel(Y *y, const X *x, const float *w, const float *b, int width, float eps)
{
    __shared__ float part[32];
    const X *in = x + (int64_t)blockIdx.x * width;
    Y *out = y + (int64_t)blockIdx.x * width;
    float sum = 0, squares = 0;

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += to_f32(in[i]);
    float mean = block_sum(sum, part) / (float)width;

    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float d = to_f32(in[i]) - mean;

        squares += d * d;
    }
    float scale = rsqrtf(block_sum(squares, part) / (float)width + eps);

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[i] = from_f32<Y>((to_f32(in[i]) - mean) * scale * w[i] + b[i]);
}

static int row_threads(int width)
{
    return width >= ROW_THREADS ? ROW_THREADS : (width + 31) / 32 * 32;
}

#define BY_TYPES(call)                                 \
    do {                                               \
        if (y_is_f32 && x_is_f32)                      \
            call(float, float);                        \
        else if (y_is_f32)                             \
            call(float, bf16);                         \
        else if (x_is_f32)                             \
            call(bf16, float);                         \
        else                                           \
            call(bf16, bf16);                          \
    } while (0)

void launch_rmsnorm(launch_stream s, void *y, const void *x, const float *w, int64_t rows, int width, float eps,
                    bool y_is_f32, bool x_is_f32)
{
#define CALL(Y, X) rmsnorm_kernel<Y, X><<<(unsigned)rows, row_threads(width), 0, s>>>((Y *)y, (const X *)x, w, width, eps)
    BY_TYPES(CALL);
#undef CALL
}

void launch_layernorm(launch_stream s, void *y, const void *x, const float *w, const float *b, int64_t rows, int width,
                      float eps, bool y_is_f32, bool x_is_f32)
{
#define CALL(Y, X) \
    layernorm_kernel<Y, X><<<(unsigned)rows, row_threads(width), 0, s>>>((Y *)y, (const X *)x, w, b, width, eps)
    BY_TYPES(CALL);
#undef CALL
}

// ---- a thread a number ---------------------------------------------------------------------------------------------------------
static unsigned blocks_for(int64_t n)
{
    return (unsigned)((n + ROW_THREADS - 1) / ROW_THREADS);
}

__device__ __forceinline__ int64_t item()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

template <class T> __global__ void swiglu_kernel(T *y, const T *gate, const T *up, int64_t n)
{
    int64_t i = item();

    if (i < n)
        y[i] = from_f32<T>(silu(to_f32(gate[i])) * to_f32(up[i]));
}

void launch_swiglu(launch_stream s, void *y, const void *gate, const void *up, int64_t n, bool is_f32)
{
    if (is_f32)
        swiglu_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>((float *)y, (const float *)gate, (const float *)up, n);
    else
        swiglu_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>((bf16 *)y, (const bf16 *)gate, (const bf16 *)up, n);
}

__global__ void add_cyclic_kernel(float *x, const float *p, int64_t n, int64_t period)
{
    int64_t i = item();

    if (i < n)
        x[i] += p[i % period];
}

void launch_add_cyclic(launch_stream s, float *x, const float *p, int64_t n, int64_t period)
{
    add_cyclic_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>(x, p, n, period);
}

template <class Y, class X> __global__ void convert_kernel(Y *y, const X *x, int64_t n)
{
    int64_t i = item();

    if (i < n)
        y[i] = from_f32<Y>(to_f32(x[i]));
}

void launch_convert(launch_stream s, void *y, const void *x, int64_t n, bool y_is_f32, bool x_is_f32)
{
#define CALL(Y, X) convert_kernel<<<blocks_for(n), ROW_THREADS, 0, s>>>((Y *)y, (const X *)x, n)
    BY_TYPES(CALL);
#undef CALL
}

// A thread a pair: (a, b) = (x[i], x[i + half]) becomes (a cos - b sin, b cos + a sin).
template <class T>
__global__ void rope_kernel(T *x, const int32_t *pos, const float *table, int64_t rows, int n_pos, int width, int head_dim)
{
    int64_t at = item();
    int half = head_dim / 2, pairs = width / 2, p = (int)(at % pairs), i = p % half;
    int64_t row = at / pairs;

    if (row >= rows)
        return;
    const float *angle = table + (int64_t)pos[row % n_pos] * head_dim;
    T *v = x + row * width + p / half * head_dim + i;
    float a = to_f32(v[0]), b = to_f32(v[half]), c = angle[i], s = angle[i + half];

    v[0] = from_f32<T>(a * c - b * s);
    v[half] = from_f32<T>(b * c + a * s);
}

void launch_rope(launch_stream s, void *x, const int32_t *pos, const float *table, int64_t rows, int n_pos, int width,
                 int head_dim, bool is_f32)
{
    unsigned blocks = blocks_for(rows * (width / 2));

    if (is_f32)
        rope_kernel<<<blocks, ROW_THREADS, 0, s>>>((float *)x, pos, table, rows, n_pos, width, head_dim);
    else
        rope_kernel<<<blocks, ROW_THREADS, 0, s>>>((bf16 *)x, pos, table, rows, n_pos, width, head_dim);
}

// ---- look-ups ----------------------------------------------------------------------------------------------------------------
__global__ void gather_kernel(float *y, const float *x, const int32_t *row, int width)
{
    const float *from = x + (int64_t)row[blockIdx.x] * width;
    float *to = y + (int64_t)blockIdx.x * width;

    for (int i = threadIdx.x; i < width; i += blockDim.x)
        to[i] = from[i];
}

void launch_gather_rows(launch_stream s, float *y, const float *x, const int32_t *row, int64_t rows, int width)
{
    gather_kernel<<<(unsigned)rows, row_threads(width), 0, s>>>(y, x, row, width);
}

template <class T> __global__ void embed_kernel(float *x, const T *table, const int32_t *id, int width)
{
    int64_t token = id[blockIdx.x];

    for (int i = threadIdx.x; token >= 0 && i < width; i += blockDim.x)
        x[(int64_t)blockIdx.x * width + i] = to_f32(table[token * width + i]);
}

void launch_embed(launch_stream s, float *x, const void *table, const int32_t *id, int64_t rows, int width,
                  bool table_is_f32)
{
    if (table_is_f32)
        embed_kernel<<<(unsigned)rows, row_threads(width), 0, s>>>(x, (const float *)table, id, width);
    else
        embed_kernel<<<(unsigned)rows, row_threads(width), 0, s>>>(x, (const bf16 *)table, id, width);
}
