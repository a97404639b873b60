// Pixels and feature maps as rows that a product can take: a convolution is its patches times its
// weights.
#include "backend/cuda/kern.cuh"

enum { PICTURE_THREADS = 256 };

// A block a patch; (u / 255 - 0.5) / 0.5 in the reference's order of operations: ToTensor, then
// Normalize(0.5, 0.5).
template <class T>
__global__ void patches_kernel(T *out, const uint8_t *pixels, int side, int patch)
{
    int g = side / patch, width = 3 * patch * patch;
    int64_t view = blockIdx.x / (g * g);
    int cell = blockIdx.x % (g * g), y0 = cell / g * patch, x0 = cell % g * patch;

    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        int c = i / (patch * patch), y = i / patch % patch, x = i % patch;
        float u = (float)pixels[((view * side + y0 + y) * side + x0 + x) * 3 + c];

        out[(int64_t)blockIdx.x * width + i] = from_f32<T>(
            __fdiv_rn(__fdiv_rn(u, 255.0f) - 0.5f, 0.5f));
    }
}

// The same, a thread eight pixels of a row of a patch: 24 bytes in, 8 numbers of each color out.
template <class T>
__global__ void patches8_kernel(T *out, const uint8_t *pixels, int n, int side, int patch)
{
    int at = (int)(blockIdx.x * blockDim.x + threadIdx.x), g = side / patch,
        pieces = patch * patch / 8;
    int row = at / pieces, i = at % pieces * 8, cell = row % (g * g);
    int64_t y = (int64_t)(row / (g * g)) * side + cell / g * patch + i / patch,
            x = cell % g * patch + i % patch;

    if (at >= n)
        return;
    const uint2 *from = (const uint2 *)(pixels + (y * side + x) * 3);
    uint2 piece[3] = {from[0], from[1], from[2]};
    const uint32_t word[6] = {piece[0].x, piece[0].y, piece[1].x,
                              piece[1].y, piece[2].x, piece[2].y};

#pragma unroll
    for (int c = 0; c < 3; c++) {
        float v[8];

#pragma unroll
        for (int j = 0; j < 8; j++) {
            int byte = j * 3 + c;
            float u = (float)(word[byte / 4] >> byte % 4 * 8 & 255);

            v[j] = (__fdiv_rn(u, 255.0f) - 0.5f) * 2.0f; // twice is the same as by a half
        }
        store8(out + ((int64_t)row * 3 + c) * patch * patch + i, v);
    }
}

template <class T>
static void patches(launch_stream s, T *out, const uint8_t *pixels, int views, int side, int patch)
{
    int n = views * side * side / 8;
    unsigned blocks = (unsigned)((n + PICTURE_THREADS - 1) / PICTURE_THREADS);

    if (patch % 8)
        patches_kernel<<<(unsigned)(views * (side / patch) * (side / patch)), PICTURE_THREADS, 0,
                         s>>>(out, pixels, side, patch);
    else
        patches8_kernel<<<blocks, PICTURE_THREADS, 0, s>>>(out, pixels, n, side, patch);
}

void launch_patches(launch_stream s, void *out, const uint8_t *pixels, int views, int side,
                    int patch, bool is_f32)
{
    if (is_f32)
        patches(s, (float *)out, pixels, views, side, patch);
    else
        patches(s, (bf16 *)out, pixels, views, side, patch);
}

// A block an output pixel: the nine pixels around it, zeros outside the picture, order (ky, kx, c).
template <class T>
__global__ void im2col_kernel(T *out, const T *x, int h, int w, int c, int stride, int ho, int wo)
{
    int64_t r = blockIdx.x, view = r / (ho * wo);
    int yo = (int)(r / wo % ho), xo = (int)(r % wo);

    for (int i = threadIdx.x; i < 9 * c; i += blockDim.x) {
        int y = yo * stride + i / (3 * c) - 1, xi = xo * stride + i / c % 3 - 1;
        bool inside = y >= 0 && y < h && xi >= 0 && xi < w;

        out[r * 9 * c + i] = inside ? x[((view * h + y) * w + xi) * c + i % c] : from_f32<T>(0.0f);
    }
}

// The same, a thread 16 bytes of a pixel's channels; c counts these pieces.
__global__ void im2col16_kernel(uint4 *out, const uint4 *x, int64_t n, int h, int w, int c,
                                int stride, int ho, int wo)
{
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int r = (int)(at / c), i = (int)(at % c), y0 = r / wo % ho * stride - 1,
        x0 = r % wo * stride - 1;
    int64_t view = r / (ho * wo);
    uint4 v[9];

    if (at >= n)
        return;
#pragma unroll
    for (int k = 0; k < 9; k++) {
        int y = y0 + k / 3, xi = x0 + k % 3;

        v[k] = make_uint4(0, 0, 0, 0);
        if (y >= 0 && y < h && xi >= 0 && xi < w)
            v[k] = x[((view * h + y) * w + xi) * c + i];
    }
#pragma unroll
    for (int k = 0; k < 9; k++)
        out[((int64_t)r * 9 + k) * c + i] = v[k];
}

void launch_im2col(launch_stream s, void *out, const void *x, int views, int h, int w, int c,
                   int stride, bool is_f32)
{
    int ho = (h - 1) / stride + 1, wo = (w - 1) / stride + 1;
    unsigned blocks = (unsigned)(views * ho * wo);
    int each = is_f32 ? 4 : 8; // numbers of 16 bytes
    int64_t pieces = (int64_t)blocks * (c / each);

    if (c % each == 0)
        im2col16_kernel<<<(unsigned)((pieces + PICTURE_THREADS - 1) / PICTURE_THREADS),
                          PICTURE_THREADS, 0, s>>>((uint4 *)out, (const uint4 *)x, pieces, h, w,
                                                   c / each, stride, ho, wo);
    else if (is_f32)
        im2col_kernel<<<blocks, PICTURE_THREADS, 0, s>>>((float *)out, (const float *)x, h, w, c,
                                                         stride, ho, wo);
    else
        im2col_kernel<<<blocks, PICTURE_THREADS, 0, s>>>((bf16 *)out, (const bf16 *)x, h, w, c,
                                                         stride, ho, wo);
}
