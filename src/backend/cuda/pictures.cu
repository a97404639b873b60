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

void launch_patches(launch_stream s, void *out, const uint8_t *pixels, int views, int side,
                    int patch, bool is_f32)
{
    int g = side / patch;
    unsigned blocks = (unsigned)(views * g * g);

    if (is_f32)
        patches_kernel<<<blocks, PICTURE_THREADS, 0, s>>>((float *)out, pixels, side, patch);
    else
        patches_kernel<<<blocks, PICTURE_THREADS, 0, s>>>((bf16 *)out, pixels, side, patch);
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

void launch_im2col(launch_stream s, void *out, const void *x, int views, int h, int w, int c,
                   int stride, bool is_f32)
{
    int ho = (h - 1) / stride + 1, wo = (w - 1) / stride + 1;
    unsigned blocks = (unsigned)(views * ho * wo);

    if (is_f32)
        im2col_kernel<<<blocks, PICTURE_THREADS, 0, s>>>((float *)out, (const float *)x, h, w, c,
                                                         stride, ho, wo);
    else
        im2col_kernel<<<blocks, PICTURE_THREADS, 0, s>>>((bf16 *)out, (const bf16 *)x, h, w, c,
                                                         stride, ho, wo);
}
