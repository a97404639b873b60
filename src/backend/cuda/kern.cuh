// What the kernels share: numbers of either type, sums over a warp, and the three instructions that
// C++ cannot say.
#ifndef RECTO_BACKEND_CUDA_KERN_CUH
#define RECTO_BACKEND_CUDA_KERN_CUH

#include "backend/cuda/launch.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf16;

// More than 48 KB of shared memory has to be asked for, kernel by kernel; the first failure stays
// in *rc.
template <class K> inline void allow_shared(K kernel, int bytes, cudaError_t *rc)
{
    cudaError_t now = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           bytes);

    if (*rc == cudaSuccess)
        *rc = now;
}

// A launch; early: it may begin before the kernel in front has ended (grid_wait).
template <class... P, class... A>
inline cudaError_t launch(void (*kernel)(P...), dim3 grid, int threads, int bytes, launch_stream s,
                          bool early, A... args)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a[1] = {};

    a[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a[0].val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = grid;
    c.blockDim = dim3((unsigned)threads);
    c.dynamicSmemBytes = (size_t)bytes;
    c.stream = s;
    c.attrs = a;
    c.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelEx(&c, kernel, (P)args...);
}

// ---- a thread a number, or a few of them
enum { ROW_THREADS = 256 };

inline unsigned blocks_for(int64_t n)
{
    return (unsigned)((n + ROW_THREADS - 1) / ROW_THREADS);
}

__device__ __forceinline__ int64_t item()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ float to_f32(float x)
{
    return x;
}

__device__ __forceinline__ float to_f32(bf16 x)
{
    return __bfloat162float(x);
}

template <class T> __device__ __forceinline__ T from_f32(float x);
template <> __device__ __forceinline__ float from_f32<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ bf16 from_f32<bf16>(float x)
{
    return __float2bfloat16(x);
}

__device__ __forceinline__ float silu(float x)
{
    return x / (1.0f + expf(-x));
}

// The exact form, as the model was trained with: x Phi(x).
__device__ __forceinline__ float gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}

// 2^x to two units in the last place, tiny results as 0.
__device__ __forceinline__ float exp2_fast(float x)
{
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x to one unit in the last place; 0 where that is tiny.
__device__ __forceinline__ float reciprocal_fast(float x)
{
    float y;

    asm("rcp.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
    return y;
}

// The same for results that are rounded to bf16: Phi as a logistic function of an odd polynomial,
// fitted on [-5.5, 5.5] and steep enough beyond. Largest error 4.5e-5, and 2.7e-4 of the value where
// that is above 1e-3 (half a bf16 step is 2e-3); a third of erff's work.  The polynomial is that of
// an exponent of 2, negated.
__device__ __forceinline__ float gelu_bf16(float x)
{
    float q = fminf(x * x, 30.25f);
    float p = x * fmaf(fmaf(fmaf(fmaf(-1.1038059e-6f, q, 3.0367288e-5f), q, 8.6508612e-4f), q,
                            -0.10681353f),
                       q, -2.3006924f);

    return x * reciprocal_fast(1.0f + exp2_fast(p));
}

// silu for results that are rounded to bf16.
__device__ __forceinline__ float silu_bf16(float x)
{
    return x * reciprocal_fast(1.0f + exp2_fast(-1.4426950408889634f * x));
}

__device__ __forceinline__ float warp_sum(float x)
{
    for (int i = 16; i > 0; i >>= 1)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, i);
    return x;
}

__device__ __forceinline__ float warp_max(float x)
{
    for (int i = 16; i > 0; i >>= 1)
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFu, x, i));
    return x;
}

// Sum over a block of up to 32 warps; every thread gets it. `part` is shared memory of 32 floats.
__device__ __forceinline__ float block_sum(float x, float *part)
{
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n = (blockDim.x + 31) >> 5;

    x = warp_sum(x);
    __syncthreads(); // part may still be read from the sum before
    if (lane == 0)
        part[warp] = x;
    __syncthreads();
    return warp_sum(lane < n ? part[lane] : 0.0f);
}

__device__ __forceinline__ uint32_t pack_bf16(float lo, float hi)
{
    __nv_bfloat162 p = __floats2bfloat162_rn(lo, hi);

    return *reinterpret_cast<uint32_t *>(&p);
}

// Four numbers at a time.
__device__ __forceinline__ void load4(float v[4], const float *x)
{
    float4 q = *(const float4 *)x;

    v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
}

__device__ __forceinline__ void load4(float v[4], const bf16 *x)
{
    uint2 q = *(const uint2 *)x;
    __nv_bfloat162 a = *(__nv_bfloat162 *)&q.x, b = *(__nv_bfloat162 *)&q.y;

    v[0] = __low2float(a), v[1] = __high2float(a), v[2] = __low2float(b), v[3] = __high2float(b);
}

__device__ __forceinline__ void store4(float *y, const float v[4])
{
    *(float4 *)y = make_float4(v[0], v[1], v[2], v[3]);
}

__device__ __forceinline__ void store4(bf16 *y, const float v[4])
{
    *(uint2 *)y = make_uint2(pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3]));
}

// Eight.
__device__ __forceinline__ void load8(float v[8], const float *x)
{
    load4(v, x);
    load4(v + 4, x + 4);
}

__device__ __forceinline__ void load8(float v[8], const bf16 *x)
{
    uint4 q = *(const uint4 *)x;
    uint32_t w[4] = {q.x, q.y, q.z, q.w};

#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[2 * i] = __uint_as_float(w[i] << 16);
        v[2 * i + 1] = __uint_as_float(w[i] & 0xFFFF0000u);
    }
}

__device__ __forceinline__ void store8(float *y, const float v[8])
{
    store4(y, v);
    store4(y + 4, v + 4);
}

__device__ __forceinline__ void store8(bf16 *y, const float v[8])
{
    *(uint4 *)y = make_uint4(pack_bf16(v[0], v[1]), pack_bf16(v[2], v[3]), pack_bf16(v[4], v[5]),
                             pack_bf16(v[6], v[7]));
}

// (a, b) turned by an angle; written with explicit roundings, since two kernels must agree to the
// bit.
__device__ __forceinline__ void rotate(float *a, float *b, float cosine, float sine)
{
    float x = *a, y = *b;

    *a = __fmaf_rn(x, cosine, -__fmul_rn(y, sine));
    *b = __fmaf_rn(y, cosine, __fmul_rn(x, sine));
}

// Two numbers as halves, and back; what a half cannot hold becomes the largest it can.
__device__ __forceinline__ uint32_t pack_half(float lo, float hi)
{
    __half2 p = __floats2half2_rn(lo, hi);

    return *reinterpret_cast<uint32_t *>(&p);
}

__device__ __forceinline__ float2 unpack_half(uint32_t v)
{
    const __half2 most = __float2half2_rn(65504.0f);
    __half2 p = *reinterpret_cast<__half2 *>(&v);

    return __half22float2(__hmax2_nan(__hmin2_nan(p, most), __hneg2(most)));
}

// ---- kernels that overlap (PTX ISA, griddepcontrol, sm_90) --------------------------------------
// A kernel launched with programmatic serialization may start before the one in front of it has
// ended, and from grid_wait on sees all that it wrote.  Every thread of such a kernel calls it, and
// none writes before it: then whatever ran earlier has ended, too.
__device__ __forceinline__ void grid_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n" ::: "memory");
#endif
}

// Bring a line of 128 bytes near.
__device__ __forceinline__ void fetch_line(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];\n" ::"l"(p));
}

// The next kernel may start now.
__device__ __forceinline__ void grid_release()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
#endif
}

// What rounding to bf16 takes away.
__device__ __forceinline__ float rest_of_bf16(float x)
{
    return x - __bfloat162float(__float2bfloat16(x));
}

// Address of 16-byte piece c of row r in a tile of 128-byte rows, pieces turned by the row number.
__device__ __forceinline__ uint32_t piece(uint32_t tile, int r, int c)
{
    return tile + r * 128 + ((c ^ (r & 7)) << 4);
}

// ---- tensor cores and asynchronous copies (PTX ISA, sm_80) --------------------------------------

__device__ __forceinline__ uint32_t smem_addr(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

// 16 bytes from device memory; zeros when !valid.
__device__ __forceinline__ void copy16(uint32_t dst, const void *src, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(dst), "l"(src),
                 "r"(valid ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

template <int N> __device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

__device__ __forceinline__ void load_matrix4(uint32_t r[4], uint32_t addr)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(addr)
                 : "memory");
}

__device__ __forceinline__ void load_matrix4_turned(uint32_t r[4], uint32_t addr)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(addr)
                 : "memory");
}

// c [16, 8] += a [16, 16] b [8, 16]^T, fp32 sums of bf16 products.
__device__ __forceinline__ void mma16816(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
