/* What the model runs on: one record of device calls and ops.
 *
 * The model is written once, against op.h; op.h checks shapes and calls the record of the device at hand.  A slot returns 0
 * or a negative code with a sentence (base/err.h).  Slots marked (composed) may be NULL: op.c then builds them from others.
 *
 * Common rules
 *   - Activations are contiguous matrices [rows, width]; rows may be any number >= 1.  The residual stream, logits and what
 *     comes out of a view are fp32; what lies between two products is device_info.act (fp32 on the CPU, perhaps bf16 on a
 *     GPU).  Norms read fp32 or act and write act; products read act and write act or fp32, LINEAR_ADD adds to fp32.
 *   - A row's result must not depend on the other rows of the call, nor on the number of threads: each output is summed over
 *     its inputs in one order that depends only on the weight's shape and kind; attention runs over keys from position 0 in
 *     fixed steps.  This makes batch, chunk and page-table equal to single, whole and flat, bit for bit.
 *   - The device may keep a workspace of its own that grows to the largest call; the caller's tensors come from op.h.
 *   - One thread at a time calls a device. */
#ifndef RECTO_BACKEND_BACKEND_H
#define RECTO_BACKEND_BACKEND_H

#include "backend/batch.h"
#include "backend/comm.h"
#include "backend/sample.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdbool.h>

struct device; /* a backend's own */
struct kv;     /* a backend's paged cache slab */

struct device_opts {
    const char *
        name; /* as asked for: "cpu", or a backend's name and a variant of its own behind a colon */
    const char *precision; /* "auto", "bf16", "fp32" */
    const char *
        kernels; /* CPU: "auto" or the highest set to use: "c", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx" */
    bool
        router_bf16; /* round the router's inputs, weights and logits to bf16, as the published runs did */
    int threads; /* CPU: 0 = all usable cores */
    const char *
        weights; /* "auto", "bf16": as stored; "int8", "int4": the decoder's matrices quantised (tensor/weight.h) */
};

struct device_info {
    char kernels[32];   /* kernel set in use, "avx512bf16" */
    char precision[16]; /* "fp32", "bf16" */
    int threads;
    int kv_block_tok; /* preferred KV block, tokens */
    int view_batch;   /* views that pay to be encoded together */
    enum dtype act;   /* DT_F32 or DT_BF16: activations between two products */
    bool
        replays; /* steps of decoding rows are recorded by their count and replayed: pad it to few different ones */
    bool
        grows; /* its workspace grows by calls that wait for other devices: as a rank it must have seen its largest steps before */
};

/* Where a step's arrays (struct batch) are on the device. */
struct step_rows {
    int32_t *id, *pos, *out_row;
};

/* What the machine can do at most, operations and bytes a second by all threads, measured. */
struct device_peak {
    double product, product_f32,
        quantised; /* by bf16, fp32 and int8 weights; a product and a sum are two */
    double read;   /* of memory that is in no cache */
};

/* What the device reports of itself now; NAN, or -1 for bytes, where it does not know. */
struct device_stats {
    double
        utilisation; /* 0..1 of the time in which anything ran, over the device's own sampling period */
    double power_w, temperature_c;
    int64_t memory_used, memory_total; /* bytes, of all programs */
};
#define DEVICE_STATS_UNKNOWN ((struct device_stats){NAN, NAN, NAN, -1, -1})

/* ---- weights --------------------------------------------------------------------------------------------------------- */
enum weight_kind {
    WEIGHT_F32,
    WEIGHT_BF16,
    WEIGHT_INT8,
    WEIGHT_INT4
}; /* the last two: tensor/quant.h */

/* y = x W^T + bias; W is [n_out, n_in].  data is in the backend's own packed layout. */
struct weight {
    void *data;
    float *bias; /* device address, [n_out]; NULL: none */
    int64_t n_out, n_in, bytes;
    enum weight_kind kind;
    bool is_part; /* cut by input: a product is this rank's part of a sum over all ranks */
    int64_t from; /* cut by output: the first row of the whole matrix that is here */
};

/* A host matrix to be quantised, or quantised: rows contiguous but perhaps unaligned. */
struct quant_source {
    const void *data; /* [n_out, n_in] of dtype; or quant_row_bytes(kind, n_in) a row */
    enum dtype dtype;
    const void *scale; /* [n_out, quant_groups(kind, n_in)] bf16; NULL: data are not quantised */
};

/* One mixture-of-experts layer: shared experts are one SwiGLU of their joint width. */
struct moe {
    int n_expert, n_pick;
    struct weight router;            /* [n_expert, hidden], WEIGHT_F32 always */
    struct weight *gate, *up, *down; /* [n_expert] each */
    struct weight shared_gate, shared_up, shared_down;
};

/* ---- paged cache -------------------------------------------------------------------------------------------------------- */
struct kv_shape {
    int n_layer, n_head, head_dim;
    int n_block, block_tok; /* block_tok is a multiple of 16 */
};

enum linear_mode {
    LINEAR_SET,  /* y  = x W^T + b                                              */
    LINEAR_GELU, /* y  = gelu(x W^T + b), exact erf form                        */
    LINEAR_ADD,  /* y += x W^T + b                                              */
};

/* Queries, keys and values of a layer. */
struct qkv {
    const struct weight *wq, *wk, *wv;
    tensor rope; /* as of `rope` */
    struct kv *kv;
    int layer;
};

enum { BACKEND_MARKS = 2048 };

struct backend {
    const char *name;
    bool is_simulated; /* computes nothing: weights are not read */
    bool is_scripted;  /* and ids come from the request (decoder/script.h) */

    /* ---- device ---- */
    int (*count)(
        void); /* devices of this kind here, numbered from 0; NULL: there is but one place, for any number of engines */
    int (*open)(struct device **out, const struct device_opts *opts);
    void (*close)(struct device *d);
    void (*info)(const struct device *d, struct device_info *info);
    void (*stats)(struct device *d,
                  struct device_stats *s); /* any thread; NULL: nothing is known */
    int (*alloc)(struct device *d, size_t bytes, void **out); /* 64-byte aligned; RECTO_ENOMEM */
    void (*free)(struct device *d, void *p);
    int (*upload)(struct device *d, void *dst, const void *src, size_t bytes);
    int (*download)(struct device *d, void *dst, const void *src, size_t bytes); /* waits */
    /* Wait; report late faults.  Called after a failed op, too: what it left behind is dropped. */
    int (*finish)(struct device *d);
    /* Pack a host matrix [n_out, n_in], rows contiguous but perhaps unaligned, F32, BF16 or F16, into w (data, n_out, n_in,
     * kind, bytes; bias untouched).  F32 and F16 become WEIGHT_F32, BF16 stays WEIGHT_BF16, or as `force_f32` says.
     * free with .free(d, w->data). */
    int (*pack)(struct device *d, struct weight *w, const void *src, enum dtype dtype,
                int64_t n_out, int64_t n_in, bool force_f32);
    /* The same as WEIGHT_INT8 or WEIGHT_INT4: from F32, BF16 or F16, quantised by rows (tensor/quant.h), or from rows that
     * are quantised already.  NULL: the backend has no such weights. */
    int (*pack_quant)(struct device *d, struct weight *w, const struct quant_source *src,
                      int64_t n_out, int64_t n_in, enum weight_kind kind);

    /* ---- element-wise and norms; sums in fp32 ---- */
    int (*rmsnorm)(struct device *d, tensor y, tensor x, tensor w,
                   float eps); /* x / sqrt(mean x^2 + eps) * w */
    int (*layernorm)(struct device *d, tensor y, tensor x, tensor w, tensor b,
                     float eps); /* biased variance */
    int (*swiglu)(struct device *d, tensor y, tensor gate,
                  tensor up); /* silu(gate) * up; y may be gate */
    int (*add_cyclic)(struct device *d, tensor x,
                      tensor p); /* x [k*T, C] += p [T, C], repeated k times */
    /* Rotate-half in place: x [rows, heads * head_dim]; pair (i, i + head_dim/2) of row r turns by the angle whose cosine and
     * sine are table[pos[r mod n_pos]][i] and [i + head_dim/2].  table F32 [n, head_dim], pos I32 [n_pos] on the device.
     * Rows are x.stride[0] apart. */
    int (*rope)(struct device *d, tensor x, tensor pos, tensor table);
    int (*gather_rows)(struct device *d, tensor y, tensor x,
                       tensor row); /* y[i] = x[row[i]], of one type; row I32 on the device */
    int (*copy)(struct device *d, tensor y,
                tensor x); /* same size, contiguous; fp32 <-> act converts */
    /* x[r] = table[id[r]] as fp32; rows with id < 0 are left alone. table [vocab, width] F32 or BF16, id I32, on the device */
    int (*embed)(struct device *d, tensor x, tensor table, tensor id);

    /* ---- matrix products ---- */
    int (*linear)(struct device *d, tensor y, tensor x, const struct weight *w,
                  enum linear_mode mode);
    int (*linear_swiglu)(struct device *d, tensor y, tensor x, const struct weight *gate,
                         const struct weight *up); /* y = silu(x Wg^T) * (x Wu^T); (composed) */
    /* y += sum over the n_pick largest p_e (picked order, lowest id first on ties) of p_e * expert_e(h), + shared(h), where
     * p = softmax over all experts of the router's fp32 logits, not renormalised.  y, h [rows, hidden], distinct. */
    int (*moe_add)(struct device *d, tensor y, tensor h, const struct moe *m);
    /* The same, then h = RMSNorm(y) with w. (composed) */
    int (*moe_add_norm)(struct device *d, tensor y, tensor h, const struct moe *m, tensor w,
                        float eps);

    /* ---- pictures ---- */
    /* pixels U8 [v, S, S, 3] -> out [v * g * g, 3 * p * p], g = S / p: value (u/255 - 0.5) / 0.5, order channel, row, column */
    int (*patches)(struct device *d, tensor out, tensor pixels, int patch);
    /* x [v, H, W, C] -> out [v * Ho * Wo, 9 * C] for a 3x3 convolution with zero padding 1: order (ky, kx, c);
     * Ho = (H - 1) / stride + 1 */
    int (*im2col)(struct device *d, tensor out, tensor x, int stride);

    /* ---- attention; scale 1/sqrt(head_dim) ---- */
    /* SAM block.  qkv [v * g * g, 3 * C] = q of all heads, then k, then v; out [v * g * g, C].  rel_h, rel_w F32
     * [2K - 1, head_dim]; score += q.rel_h[y - y' + K - 1] + q.rel_w[x - x' + K - 1] with the unscaled q.
     * window = 0: all g*g tokens attend to each other, K = g.  window = K: windows of KxK over the grid padded with zeros to
     * the right and below; padded tokens are not queries, but are keys and values equal to qkv_bias (not masked). */
    int (*attend_relpos)(struct device *d, tensor out, tensor qkv, const float *qkv_bias,
                         tensor rel_h, tensor rel_w, int grid, int window, int n_head);
    /* Flow encoder.  Views of len rows each: q, out [v * len, n_head * hd]; k, val [v * len, n_kv * hd]; q's rows are
     * q.stride[0] apart, those of k and val k.stride[0] (columns of one matrix, tensor_cols); query head h uses
     * KV head h / (n_head / n_kv).  Row i of a view sees keys [0, i < n_prefix ? n_prefix : i + 1). */
    int (*attend_prefix)(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                         int n_prefix, int n_head, int n_kv);

    /* ---- a step of rows ---- */
    /* Called once before the ops that read b, which are those of one step of the decoder: puts b's numbers on the device, where
     * they stay until the next call.  ask [n_out]: `sample` will end the step with these and next; NULL: it will not.
     * Returns 1 when the device has recorded the same step before (as many rows, all decoding) and now replays it with b's
     * numbers: then the ops must not be called, only finish.  NULL: op.c uploads what *rows names to scratch. */
    int (*step)(struct device *d, struct kv *kv, const struct batch *b,
                const struct sample_ask *ask, struct choice *next, struct step_rows *rows);

    /* ---- choosing ---- */
    /* next[i] from row i of logits [n, ids] as ask[i] wants, by the rules of decoder/sampler.h; temperatures are 0; next is
     * filled when finish returns.  NULL, or a temperature: the runner takes the logits to the host and chooses there. */
    int (*sample)(struct device *d, tensor logits, const struct sample_ask *ask,
                  struct choice *next);

    /* ---- ranks (comm.h); NULL: a device of this kind holds whole models only ---- */
    /* d is this rank of c, until it is closed, for sums of up to so many rows of that width.  Called by all ranks, when all are
     * open, and again, alike, after comm_reset.  RECTO_EDEVICE: these devices do not reach each other's memory. */
    int (*join)(struct device *d, struct comm *c, int rank, int64_t rows, int64_t width);
    /* y += sum of all ranks' part, in the order of ranks; part, fp32 of y's size, is zero afterwards.  Before join: of its
     * own part alone. */
    int (*sum_ranks)(struct device *d, tensor y, tensor part);
    /* The same, then h = RMSNorm(y) with w. (composed) */
    int (*sum_ranks_norm)(struct device *d, tensor y, tensor part, tensor h, tensor w, float eps);

    /* ---- measuring ---- */
    int (*measure_peak)(struct device *d,
                        struct device_peak *out); /* takes a second or two; NULL: unknown */

    /* ---- time ---- */
    int64_t (*now_ns)(
        struct device *d); /* NULL: the machine's clock.  A simulated device has its own */

    /* Moments of the device: mark i, 0 .. BACKEND_MARKS - 1, is queued behind what was asked for so far; `between` waits for
     * both and gives the milliseconds from one to the other.  For measurements; NULL: it has none. */
    int (*mark)(struct device *d, int i);
    int (*between)(struct device *d, int from, int to, double *ms);

    /* ---- paged cache ---- */
    int (*kv_open)(struct device *d, struct kv **out, const struct kv_shape *s);
    void (*kv_close)(struct device *d, struct kv *kv);
    int64_t (*kv_bytes)(struct device *d, const struct kv_shape *s);
    /* k, v [n_tok, n_head * head_dim] into b->slot */
    int (*kv_store)(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                    const struct batch *b);
    /* Those of a step's rows h: q = rope(h Wq^T); rope(h Wk^T) and h Wv^T go into the cache; pos as in b.  1: this size is better
     * composed (linear, rope, kv_store). (composed) */
    int (*qkv_store)(struct device *d, tensor q, tensor h, const struct qkv *w,
                     const struct batch *b);
    /* Row r of sequence s sees the cached positions 0 .. pos[r]. out, q [n_tok, n_head * head_dim] */
    int (*attend)(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                  const struct batch *b);
};

extern const struct backend backend_cpu, backend_sim, backend_script,
    backend_cuda; /* backend_cuda: with RECTO_HAVE_CUDA */

/* The record of a name ("cpu", "sim:h200": what stands before a colon counts); NULL with a sentence when this build has no
 * such backend. */
const struct backend *backend_find(const char *name);

#endif
