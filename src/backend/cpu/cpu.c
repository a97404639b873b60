/* The CPU as a device: settings, memory, threads, and the record. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- memory ---------------------------------------------------------------------------------- */
/* From this size on memory is mapped and asked for in huge pages: a decode step reads a gigabyte
 * of weights, and 4 KiB pages would cost a page-table walk for each of its 64 lines. */
#define MAP_FROM ((size_t)1 << 20)

struct block_head {
    size_t mapped; /* bytes of the mapping; 0: from malloc */
    char pad[64 - sizeof(size_t)];
};

static struct block_head *map_block(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, MADV_HUGEPAGE); /* advice: without it the memory is only slower */
    return p;
}

void *cpu_alloc(size_t bytes)
{
    struct block_head *h;
    size_t total = round_up((int64_t)bytes, 64) + sizeof *h;

    if (bytes > (size_t)1 << 46)
        return NULL;
    if (total >= MAP_FROM) {
        h = map_block(total);
    } else {
        h = aligned_alloc(64, total);
        if (h)
            memset(h, 0, total);
    }
    if (!h)
        return NULL;
    h->mapped = total >= MAP_FROM ? total : 0;
    return h + 1;
}

void cpu_free(void *p)
{
    struct block_head *h = p;

    if (!p)
        return;
    h--;
    if (h->mapped)
        munmap(h, h->mapped);
    else
        free(h);
}

int cpu_work(struct device *d, enum work_slot slot, size_t bytes, void **out)
{
    if (bytes > d->work[slot].cap) {
        cpu_free(d->work[slot].p);
        d->work[slot].cap = 0;
        d->work[slot].p = cpu_alloc(bytes);
        if (!d->work[slot].p)
            return err(RECTO_ENOMEM,
                       "workspace: no memory for %zu MiB; run with fewer pages at once",
                       bytes >> 20);
        d->work[slot].cap = bytes;
    }
    *out = d->work[slot].p;
    return 0;
}

static int alloc_slot(struct device *d, size_t bytes, void **out)
{
    *out = cpu_alloc(bytes);
    if (!*out)
        return err(
            RECTO_ENOMEM,
            "no memory for %zu MiB of weights or cache; lower --kv-tokens or close other programs",
            bytes >> 20);
    return 0;
}

static void free_slot(struct device *d, void *p)
{
    cpu_free(p);
}

static int move(struct device *d, void *dst, const void *src, size_t bytes)
{
    if (bytes)
        memmove(dst, src, bytes);
    return 0;
}

static int finish(struct device *d)
{
    return 0;
}

/* ---- ranks ----------------------------------------------------------------------------------- */
static int cpu_join(struct device *d, struct comm *c, int rank, int64_t rows, int64_t width)
{
    d->comm = c;
    d->rank = rank;
    return comm_barrier(c);
}

static int cpu_sum_ranks(struct device *d, tensor y, tensor part)
{
    float *to = y.data, *from = part.data;
    int64_t n = tensor_count(y);

    if (d->comm)
        return comm_sum(d->comm, d->rank, to, from, n);
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
    memset(from, 0, (size_t)n * sizeof *from);
    return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */
/* Numbers in a piece of cpu_rows: some tens of microseconds. */
#define PIECE 32768

struct rows_job {
    rows_fn *fn;
    void *ctx;
    int64_t rows, per_piece;
};

static void rows_item(void *ctx, int64_t i, int worker)
{
    const struct rows_job *j = ctx;
    int64_t from = i * j->per_piece;

    j->fn(j->ctx, from, MIN(from + j->per_piece, j->rows));
}

void cpu_rows(struct device *d, rows_fn *fn, void *ctx, int64_t rows, int64_t width)
{
    struct rows_job j = {fn, ctx, rows, MAX(1, PIECE / MAX(1, width))};

    pool_run(d->pool, rows_item, &j, div_up(rows, j.per_piece));
}

/* ---- device ---------------------------------------------------------------------------------- */
static int choose_isa(const char *name, enum cpu_isa *isa)
{
    enum cpu_isa present = cpu_isa_present();

    *isa = present;
    if (!name || strcmp(name, "auto") == 0)
        return 0;
    for (int i = 0; i < N_ISA; i++)
        if (strcmp(name, cpu_isa_name((enum cpu_isa)i)) == 0) {
            *isa = MIN((enum cpu_isa)i, present);
            return 0;
        }
    return err(
        RECTO_EUSAGE,
        "kernels: no set is called '%s'; use auto, c, avx2, avx512, avx512vnni, avx512bf16 or "
        "amx",
        name);
}

static int choose_precision(const char *name, bool *is_fp32)
{
    *is_fp32 = name && strcmp(name, "fp32") == 0;
    if (!name || *is_fp32 || strcmp(name, "auto") == 0 || strcmp(name, "bf16") == 0)
        return 0;
    return err(RECTO_EUSAGE, "precision: the CPU has no '%s'; use auto, bf16 or fp32", name);
}

static int cpu_open(struct device **out, const struct device_opts *opts)
{
    enum cpu_isa isa;
    bool is_fp32;
    struct device *d;

    *out = NULL;
    TRY(choose_isa(opts->kernels, &isa));
    TRY(choose_precision(opts->precision, &is_fp32));
    d = mem_zero(1, sizeof *d);
    cpu_kern_init(&d->kern, isa);
    d->isa = isa;
    d->is_fp32 = is_fp32;
    d->has_bb = !is_fp32 && d->kern.has_bb;
    d->router_bf16 = opts->router_bf16;
    d->pool = pool_open(opts->threads);
    *out = d;
    return 0;
}

static void cpu_close(struct device *d)
{
    if (!d)
        return;
    pool_close(d->pool);
    for (int i = 0; i < N_WORK; i++)
        cpu_free(d->work[i].p);
    free(d);
}

static void cpu_info(const struct device *d, struct device_info *info)
{
    *info = (struct device_info){
        .threads = pool_threads(d->pool), .kv_block_tok = 64, .view_batch = 1, .act = DT_F32};
    snprintf(info->kernels, sizeof info->kernels, "%s", cpu_isa_name(d->isa));
    snprintf(info->precision, sizeof info->precision, "%s", d->is_fp32 ? "fp32" : "bf16");
}

const struct backend backend_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .info = cpu_info,
    .alloc = alloc_slot,
    .free = free_slot,
    .upload = move,
    .download = move,
    .finish = finish,
    .pack = cpu_pack,
    .pack_quant = cpu_pack_quant,

    .measure_peak = cpu_measure_peak,

    .join = cpu_join,
    .sum_ranks = cpu_sum_ranks,

    .rmsnorm = cpu_rmsnorm,
    .layernorm = cpu_layernorm,
    .swiglu = cpu_swiglu,
    .add_cyclic = cpu_add_cyclic,
    .rope = cpu_rope,
    .gather_rows = cpu_gather_rows,
    .copy = cpu_copy,
    .embed = cpu_embed,

    .linear = cpu_linear,
    .linear_swiglu = cpu_linear_swiglu,
    .moe_add = cpu_moe_add,

    .patches = cpu_patches,
    .im2col = cpu_im2col,

    .attend_relpos = cpu_attend_relpos,
    .attend_prefix = cpu_attend_prefix,

    .kv_open = cpu_kv_open,
    .kv_close = cpu_kv_close,
    .kv_bytes = cpu_kv_bytes,
    .kv_store = cpu_kv_store,
    .attend = cpu_attend,
};
