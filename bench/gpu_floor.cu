// What the machine itself can do, for the floors beside our figures: copy bandwidth, the price of a
// launch, plain and in a graph, host copies, and the exponential unit.   nvcc -O3
// -gencode=arch=compute_90a,code=sm_90a -o gpu_floor bench/gpu_floor.cu Each figure is the median
// of 11 timings by events after one warm-up; buffers are random and far larger than the L2 cache.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#define OK(call)                                                        \
    do {                                                                \
        cudaError_t rc = (call);                                        \
        if (rc != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

static cudaStream_t stream;

template <class F> static void report(const char *what, F run, double amount, const char *unit)
{
    std::vector<float> ms;
    cudaEvent_t from, to;

    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    for (int i = 0; i < 12; i++) {
        float t;

        OK(cudaEventRecord(from, stream));
        run();
        OK(cudaEventRecord(to, stream));
        OK(cudaEventSynchronize(to));
        OK(cudaEventElapsedTime(&t, from, to));
        if (i)
            ms.push_back(t);
    }
    std::sort(ms.begin(), ms.end());
    printf("%-44s %10.2f %s   (spread %.1f %%)\n", what, amount / ms[5], unit,
           100 * (ms.back() - ms[0]) / ms[5]);
}

__global__ void fill(uint4 *x, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned s = (unsigned)i * 2654435761u;

    if (i < n)
        x[i] = make_uint4(s, s ^ 0x9E3779B9u, s * 40503u, s * 2246822519u);
}

__global__ void read_only(const uint4 *x, size_t n, unsigned *out)
{
    unsigned s = 0;
    size_t step = gridDim.x * (size_t)blockDim.x, i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    for (; i + 3 * step < n; i += 4 * step) {
        uint4 a = __ldcs(x + i), b = __ldcs(x + i + step), c = __ldcs(x + i + 2 * step),
              d = __ldcs(x + i + 3 * step);

        s ^= a.x ^ a.w ^ b.x ^ b.w ^ c.x ^ c.w ^ d.x ^ d.w;
    }
    if (s == 12345)
        *out = s;
}

__global__ void nothing()
{
}

__global__ void exponentials(float *out, int n)
{
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;

    for (int i = 0; i < n; i++) {
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a));
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(b));
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(c));
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(d));
    }
    if (a + b + c + d == 12345)
        *out = a;
}

int main()
{
    const size_t bytes = (size_t)4 << 30;
    cudaDeviceProp p;
    uint4 *x, *y;
    void *host;

    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&x, bytes));
    OK(cudaMalloc(&y, bytes));
    OK(cudaMallocHost(&host, 256 << 20));
    fill<<<(unsigned)(bytes / 16 / 256), 256, 0, stream>>>(x, bytes / 16);
    printf("%s, %d multiprocessors\n", p.name, p.multiProcessorCount);
    report(
        "copy, bytes read and written",
        [&] { cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, stream); },
        2e-9 * (double)bytes, "TB/s");
    report(
        "read only",
        [&] {
            read_only<<<p.multiProcessorCount * 8, 512, 0, stream>>>(x, bytes / 16, (unsigned *)y);
        },
        1e-9 * (double)bytes, "TB/s");
    for (int n = 16; n <= 128; n *= 2) {
        char what[64];

        snprintf(what, sizeof what, "read only by %d blocks of 1024 threads", n);
        report(
            what, [&] { read_only<<<n, 1024, 0, stream>>>(x, bytes / 16, (unsigned *)y); },
            1e-9 * (double)bytes, "TB/s");
    }
    report(
        "host to device, pinned",
        [&] { cudaMemcpyAsync(x, host, 256 << 20, cudaMemcpyHostToDevice, stream); }, 0.268435456,
        "GB/ms");
    report(
        "device to host, pinned",
        [&] { cudaMemcpyAsync(host, x, 256 << 20, cudaMemcpyDeviceToHost, stream); }, 0.268435456,
        "GB/ms");
    report(
        "exp2",
        [&] { exponentials<<<p.multiProcessorCount * 2, 1024, 0, stream>>>((float *)y, 4096); },
        (double)p.multiProcessorCount * 2 * 1024 * 4096 * 4 * 1e-9, "T/s");
    report(
        "1000 empty launches",
        [&] {
            for (int i = 0; i < 1000; i++)
                nothing<<<1, 32, 0, stream>>>();
        },
        1000, "per ms");

    cudaGraph_t graph;
    cudaGraphExec_t exec;

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 1000; i++)
        nothing<<<1, 32, 0, stream>>>();
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    report(
        "1000 empty launches in a graph", [&] { cudaGraphLaunch(exec, stream); }, 1000, "per ms");
    OK(cudaDeviceSynchronize());
    return 0;
}
