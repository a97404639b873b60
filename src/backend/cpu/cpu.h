/* What the files of the CPU backend share: the device, its workspace, and the two ways of
 * spreading work over threads. */
#ifndef RECTO_BACKEND_CPU_CPU_H
#define RECTO_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "backend/cpu/kern.h"
#include "base/pool.h"
#include "tensor/quant.h"

#define MAX_HEAD_DIM 256

/* Memory of a call, kept for the next one; one slot for each thing that is alive at the same
 * time as others. */
enum work_slot {
    WORK_INPUT,  /* rows as a product takes them            */
    WORK_MIDDLE, /* between the two products of a SwiGLU    */
    WORK_ROUTER, /* logits and picks                        */
    WORK_EXPERT, /* gathered rows                           */
    WORK_RESULT, /* expert outputs                          */
    WORK_KEYS,   /* keys and values in panels               */
    WORK_TABLE,  /* relative position tables in panels      */
    WORK_TILE,   /* each worker's query tile                */
    WORK_LIST,   /* products or tiles of a call             */
    N_WORK
};

struct device {
    struct cpu_kern kern;
    enum cpu_isa isa;
    struct pool *pool;
    bool is_fp32; /* everything in fp32, the cache too                   */
    bool has_bb;  /* products of bf16 weights take bf16 inputs           */
    bool router_bf16;
    struct comm *comm; /* of the ranks, once joined */
    int rank;
    struct {
        void *p;
        size_t cap;
    } work[N_WORK];
};

/* At least `bytes` of slot, 64-byte aligned, content undefined; valid until the slot is asked
 * for again. RECTO_ENOMEM */
int cpu_work(struct device *d, enum work_slot slot, size_t bytes, void **out);

/* 64-byte aligned memory for cpu_free; zeroed. NULL: none left. */
void *cpu_alloc(size_t bytes);
void cpu_free(void *p);

static inline int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* fn(ctx, from, to) over pieces of [0, rows) on all threads; width is the numbers touched in a
 * row: little work stays on the calling thread. */
typedef void rows_fn(void *ctx, int64_t from, int64_t to);
void cpu_rows(struct device *d, rows_fn *fn, void *ctx, int64_t rows, int64_t width);

/* ---- products: linear.c ---------------------------------------------------------------------- */
enum product_out {
    PRODUCT_SET,         /* y  = x W^T + b           */
    PRODUCT_GELU,        /* y  = gelu(x W^T + b)     */
    PRODUCT_ADD,         /* y += x W^T + b           */
    PRODUCT_SWIGLU,      /* y  = silu(x W^T) * x U^T */
    PRODUCT_SWIGLU_BF16, /* the same in bf16, columns padded to whole panels with zeros */
};

struct product {
    /* [rows][x_stride], elements of cpu_x_size(w) bytes: fp32; bf16, padded to an even width with
     * zero; or quantised rows (kern.h) */
    const void *x;
    void *y; /* [rows][y_stride] */
    int64_t x_stride, y_stride, rows;
    const struct weight *w, *up;
    enum product_out out;
    int64_t first_item, n_group, n_block, span; /* filled by cpu_products */
};

/* Run n products, all independent, as one round of the pool. */
void cpu_products(struct device *d, struct product *p, int n);

/* A product by w wants its input rounded to bf16. */
static inline bool cpu_takes_bf16(const struct device *d, const struct weight *w)
{
    return d->has_bb && w->kind == WEIGHT_BF16;
}

/* Bytes of a panel of int8 or int4 weights. */
static inline int64_t cpu_panel_bytes(enum weight_kind kind, int64_t n_in)
{
    int64_t n_group = quant_groups(kind, n_in);

    return quant_scale_bytes(n_group) + n_group * quant_row_bytes(kind, quant_group(kind)) * PANEL;
}

/* Bytes of what x_stride counts for a product by w. */
static inline size_t cpu_x_size(const struct device *d, const struct weight *w)
{
    return quant_is(w->kind) ? 1 : cpu_takes_bf16(d, w) ? 2 : 4;
}

/* Stride of bf16 rows in the workspace: whole cache lines, and never a multiple of 2 KiB, where
 * the rows of a tile would fall into few sets of the first-level cache. */
static inline int64_t bf16_stride(int64_t width)
{
    int64_t s = round_up(width, 32);

    return s % 1024 == 0 ? s + 32 : s;
}

/* Stride of rows of `width` as a product by w takes them, where those are not fp32: bf16 or
 * quantised. */
int64_t cpu_x_stride(const struct device *d, const struct weight *w, int64_t width);
/* Rows of fp32 [rows][from_stride] made into what a product by w takes, not fp32. */
void cpu_convert(struct device *d, const struct weight *w, void *to, const float *from,
                 int64_t from_stride, int64_t rows, int64_t width);
/* x as a product by w takes it: itself, or rounded or quantised into `slot`. */
int cpu_input(struct device *d, enum work_slot slot, tensor x, const struct weight *w,
              const void **out, int64_t *stride);

/* ---- the slots of the record, by file -------------------------------------------------------- */
int cpu_pack(struct device *d, struct weight *w, const void *src, enum dtype dtype, int64_t n_out,
             int64_t n_in, bool force_f32);

int cpu_pack_quant(struct device *d, struct weight *w, const struct quant_source *src,
                   int64_t n_out, int64_t n_in, enum weight_kind kind);

int cpu_measure_peak(struct device *d, struct device_peak *out);

int cpu_rmsnorm(struct device *d, tensor y, tensor x, tensor w, float eps);
int cpu_layernorm(struct device *d, tensor y, tensor x, tensor w, tensor b, float eps);
int cpu_swiglu(struct device *d, tensor y, tensor gate, tensor up);
int cpu_add_cyclic(struct device *d, tensor x, tensor p);
int cpu_rope(struct device *d, tensor x, tensor pos, tensor table);
int cpu_gather_rows(struct device *d, tensor y, tensor x, tensor row);
int cpu_copy(struct device *d, tensor y, tensor x);
int cpu_embed(struct device *d, tensor x, tensor table, tensor id);

int cpu_linear(struct device *d, tensor y, tensor x, const struct weight *w, enum linear_mode mode);
int cpu_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                      const struct weight *up);
int cpu_moe_add(struct device *d, tensor y, tensor h, const struct moe *m);

int cpu_patches(struct device *d, tensor out, tensor pixels, int patch);
int cpu_im2col(struct device *d, tensor out, tensor x, int stride);

int cpu_attend_relpos(struct device *d, tensor out, tensor qkv, const float *qkv_bias, tensor rel_h,
                      tensor rel_w, int grid, int window, int n_head);
int cpu_attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                      int n_prefix, int n_head, int n_kv);

int cpu_kv_open(struct device *d, struct kv **out, const struct kv_shape *s);
void cpu_kv_close(struct device *d, struct kv *kv);
int64_t cpu_kv_bytes(struct device *d, const struct kv_shape *s);
int cpu_kv_store(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                 const struct batch *b);
int cpu_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
               const struct batch *b);

#endif
