/* An NVIDIA GPU as a device: opening it, its faults in words, and the record.
 *
 * "cuda" is the first GPU, "cuda:N" the N-th.  Nothing of the driver is needed to link or to start:
 * the runtime is linked statically and looks for the driver when the device is opened. */
#include "backend/cuda/cuda.h"

#include "backend/cuda/nvml.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGING = 128 << 20 }; /* the pixels of two groups of views, and more */

int cuda_check(int rc, const char *what)
{
    if (rc == cudaSuccess)
        return 0;
    return err(RECTO_EDEVICE,
               "device: %s: %s (%s); if it comes again, run with --device cpu and report it", what,
               cudaGetErrorString((cudaError_t)rc), cudaGetErrorName((cudaError_t)rc));
}

int cuda_launched(const char *what)
{
    return cuda_check(cudaGetLastError(), what);
}

/* ---- open ------------------------------------------------------------------------------------ */
/* The number behind the colon of "cuda:1"; 0 without one. */
static int device_number(const char *name, int *id)
{
    const char *colon = name ? strchr(name, ':') : NULL;
    char *end;
    long n;

    *id = 0;
    if (!colon)
        return 0;
    n = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || n < 0 || n > 1023)
        return err(RECTO_EUSAGE, "device: '%s' is not cuda or cuda:NUMBER", name);
    *id = (int)n;
    return 0;
}

static int choose_precision(const char *name, bool *is_f32)
{
    *is_f32 = name && strcmp(name, "fp32") == 0;
    if (!name || *is_f32 || strcmp(name, "auto") == 0 || strcmp(name, "bf16") == 0)
        return 0;
    return err(RECTO_EUSAGE, "precision: CUDA has no '%s'; use auto, bf16 or fp32", name);
}

static int cuda_count(void)
{
    int n = 0;

    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

static int find_gpu(int id)
{
    int n = 0, rc = (int)cudaGetDeviceCount(&n);

    if (rc != cudaSuccess || n == 0)
        return err(RECTO_EDEVICE, "device: no NVIDIA GPU here (%s); use --device cpu",
                   rc ? cudaGetErrorString((cudaError_t)rc) : "the driver lists none");
    if (id >= n)
        return err(RECTO_EDEVICE, "device: cuda:%d is not here, the last GPU is cuda:%d", id,
                   n - 1);
    return 0;
}

/* Tensor cores with bf16 came with compute capability 8.0; what this file was built for is the
 * build's choice. */
static int check_card(struct device *d)
{
    struct cudaDeviceProp p;

    TRY(cuda_check(cudaGetDeviceProperties(&p, d->id), "open"));
    if (p.major < 8)
        return err(RECTO_EDEVICE,
                   "device: %s has compute capability %d.%d, needed is 8.0; use --device cpu",
                   p.name, p.major, p.minor);
    d->n_sm = p.multiProcessorCount;
    d->view_batch = d->is_f32                              ? 2
                    : p.totalGlobalMem >= (size_t)40 << 30 ? 28
                                                           : 7;  /* an A4 page has 7 */
    d->is_sm90 = p.major == 9 && !getenv("RECTO_CUDA_NO_WGMMA"); /* these two for comparisons */
    d->overlaps = d->is_sm90 && !getenv("RECTO_CUDA_NO_OVERLAP");
    snprintf(d->name, sizeof d->name, "sm_%d%d", p.major, p.minor);
    return 0;
}

static int prepare_kernels(const struct device *d)
{
    int bytes;

    TRY(cuda_check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->id),
                   "open"));
    TRY(cuda_check(launch_prepare_linear(bytes), "open"));
    TRY(cuda_check(launch_prepare_moe(bytes), "open"));
    TRY(cuda_check(launch_prepare_attend(bytes), "open"));
    if (!d->is_sm90)
        return 0;
    TRY(cuda_check(launch_prepare_stream(bytes), "open"));
    return cuda_check(launch_prepare_linear90(bytes), "open");
}

static int open_device(struct device *d)
{
    char bus_id[32];
    void *p;

    TRY(cuda_check(cudaSetDevice(d->id), "open"));
    TRY(check_card(d));
    TRY(prepare_kernels(d));
    TRY(cuda_check(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "open"));
    TRY(cuda_check(cudaStreamCreateWithFlags(&d->side, cudaStreamNonBlocking), "open"));
    TRY(cuda_check(cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking), "open"));
    TRY(cuda_check(cudaEventCreateWithFlags(&d->copied, cudaEventDisableTiming), "open"));
    TRY(cuda_check(cudaEventCreateWithFlags(&d->forked, cudaEventDisableTiming), "open"));
    TRY(cuda_check(cudaEventCreateWithFlags(&d->done, cudaEventDisableTiming), "open"));
    TRY(cuda_check(cudaMallocHost(&p, STAGING), "open"));
    d->staging = (struct staging){.base = p, .cap = STAGING};
    d->recorder = recorder_open();
    if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, d->id) == cudaSuccess)
        d->nvml = nvml_open(bus_id);
    return 0;
}

static void cuda_close(struct device *d)
{
    if (!d)
        return;
    if (d->stream)
        cudaStreamSynchronize(d->stream);
    recorder_close(d->recorder);
    cuda_leave(d);
    nvml_close(d->nvml);
    for (int i = 0; i < N_WORK; i++)
        cudaFree(d->work[i].p);
    for (int i = 0; i < d->n_table; i++) {
        cudaFree((void *)d->table[i].gate);
        cudaFree((void *)d->table[i].up);
        cudaFree((void *)d->table[i].down);
        cudaFree(d->table[i].gate_map);
        cudaFree(d->table[i].up_map);
        cudaFree(d->table[i].down_map);
    }
    free(d->table);
    cudaFreeHost(d->choosing.host);
    cuda_marks_close(d);
    cudaFreeHost(d->staging.base);
    cudaFree(d->staging.mirror);
    if (d->copied)
        cudaEventDestroy(d->copied);
    if (d->copies)
        cudaStreamDestroy(d->copies);
    if (d->forked)
        cudaEventDestroy(d->forked);
    if (d->done)
        cudaEventDestroy(d->done);
    if (d->side)
        cudaStreamDestroy(d->side);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    free(d);
}

static int cuda_open(struct device **out, const struct device_opts *opts)
{
    struct device *d;
    bool is_f32;
    int id, rc;

    *out = NULL;
    TRY(choose_precision(opts->precision, &is_f32));
    TRY(device_number(opts->name, &id));
    TRY(find_gpu(id));
    d = mem_zero(1, sizeof *d);
    d->id = id;
    d->is_f32 = is_f32;
    d->router_bf16 = opts->router_bf16;
    rc = open_device(d);
    if (rc < 0)
        cuda_close(d);
    else
        *out = d;
    return rc;
}

static void cuda_stats(struct device *d, struct device_stats *s)
{
    nvml_read(d->nvml, s);
}

static void cuda_info(const struct device *d, struct device_info *info)
{
    *info = (struct device_info){
        .threads = 1,
        .kv_block_tok = 64,
        .view_batch = d->view_batch,
        .act = d->is_f32 ? DT_F32 : DT_BF16,
        .replays = d->recorder != NULL,
        .grows = true,
    };
    snprintf(info->kernels, sizeof info->kernels, "%s", d->name);
    snprintf(info->precision, sizeof info->precision, "%s", d->is_f32 ? "fp32" : "bf16");
}

static int cuda_finish(struct device *d)
{
    recorder_abandon(d);
    TRY(cuda_check(cudaStreamSynchronize(d->stream), "a step"));
    d->staging.at = 0; /* all of it has been read */
    TRY(cuda_check_peers(d));
    cuda_deliver(d);
    return 0;
}

/* ---- rows and pictures ----------------------------------------------------------------------- */
static bool is_f32(tensor t)
{
    return t.dtype == DT_F32;
}

int cuda_rmsnorm(struct device *d, tensor y, tensor x, tensor w, float eps)
{
    launch_rmsnorm(d->stream, y.data, x.data, w.data, x.n[0], (int)x.n[1], eps, is_f32(y),
                   is_f32(x), d->overlaps);
    return cuda_launched("rmsnorm");
}

static int cuda_layernorm(struct device *d, tensor y, tensor x, tensor w, tensor b, float eps)
{
    launch_layernorm(d->stream, y.data, x.data, w.data, b.data, x.n[0], (int)x.n[1], eps, is_f32(y),
                     is_f32(x), d->overlaps);
    return cuda_launched("layernorm");
}

static int cuda_swiglu(struct device *d, tensor y, tensor gate, tensor up)
{
    launch_swiglu(d->stream, y.data, gate.data, up.data, tensor_count(y), is_f32(y));
    return cuda_launched("swiglu");
}

static int cuda_add_cyclic(struct device *d, tensor x, tensor p)
{
    launch_add_cyclic(d->stream, x.data, p.data, tensor_count(x), tensor_count(p));
    return cuda_launched("add_cyclic");
}

static int cuda_rope(struct device *d, tensor x, tensor pos, tensor table)
{
    launch_rope(d->stream, x.data, pos.data, table.data, x.n[0], (int)tensor_count(pos),
                (int)x.n[1], x.stride[0], (int)table.n[1], is_f32(x));
    return cuda_launched("rope");
}

static int cuda_gather_rows(struct device *d, tensor y, tensor x, tensor row)
{
    launch_gather_rows(d->stream, y.data, x.data, row.data, y.n[0], (int)x.n[1], is_f32(x),
                       d->overlaps);
    return cuda_launched("gather_rows");
}

static int cuda_copy(struct device *d, tensor y, tensor x)
{
    size_t bytes = (size_t)tensor_count(x) * dtype_size(x.dtype);

    if (x.dtype == y.dtype)
        return cuda_check(
            cudaMemcpyAsync(y.data, x.data, bytes, cudaMemcpyDeviceToDevice, d->stream), "copy");
    launch_convert(d->stream, y.data, x.data, tensor_count(x), is_f32(y), is_f32(x));
    return cuda_launched("copy");
}

static int cuda_embed(struct device *d, tensor x, tensor table, tensor id)
{
    if (table.dtype != DT_F32 && table.dtype != DT_BF16)
        return err(RECTO_EMODEL, "the embedding table is neither F32 nor BF16: convert the model");
    launch_embed(d->stream, x.data, table.data, id.data, x.n[0], (int)x.n[1], is_f32(table));
    return cuda_launched("embed");
}

static int cuda_patches(struct device *d, tensor out, tensor pixels, int patch)
{
    if (patch < 1 || pixels.n[1] % patch || pixels.n[1] != pixels.n[2] || pixels.n[3] != 3)
        return err(RECTO_ESHAPE, "patches: a view is not a square of whole patches of %d pixels",
                   patch);
    launch_patches(d->stream, out.data, pixels.data, (int)pixels.n[0], (int)pixels.n[1], patch,
                   is_f32(out));
    return cuda_launched("patches");
}

static int cuda_im2col(struct device *d, tensor out, tensor x, int stride)
{
    launch_im2col(d->stream, out.data, x.data, (int)x.n[0], (int)x.n[1], (int)x.n[2], (int)x.n[3],
                  stride, is_f32(x));
    return cuda_launched("im2col");
}

const struct backend backend_cuda = {
    .name = "cuda",
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .info = cuda_info,
    .stats = cuda_stats,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .finish = cuda_finish,
    .pack = cuda_pack,

    .rmsnorm = cuda_rmsnorm,
    .layernorm = cuda_layernorm,
    .swiglu = cuda_swiglu,
    .add_cyclic = cuda_add_cyclic,
    .rope = cuda_rope,
    .gather_rows = cuda_gather_rows,
    .copy = cuda_copy,
    .embed = cuda_embed,

    .linear = cuda_linear,
    .linear_swiglu = cuda_linear_swiglu,
    .moe_add = cuda_moe_add,
    .moe_add_norm = cuda_moe_add_norm,

    .patches = cuda_patches,
    .im2col = cuda_im2col,

    .attend_relpos = cuda_attend_relpos,
    .attend_prefix = cuda_attend_prefix,

    .join = cuda_join,
    .sum_ranks = cuda_sum_ranks,
    .sum_ranks_norm = cuda_sum_ranks_norm,

    .step = cuda_step,
    .sample = cuda_sample,

    .mark = cuda_mark,
    .between = cuda_between,

    .kv_open = cuda_kv_open,
    .kv_close = cuda_kv_close,
    .kv_bytes = cuda_kv_bytes,
    .kv_store = cuda_kv_store,
    .qkv_store = cuda_qkv_store,
    .attend = cuda_attend,
};
