/* The ops as the model calls them: shapes are checked here once for all backends, failures latch.
 *
 * A `struct run` is one forward pass in flight.  In a dry run (is_dry) every tensor has data == NULL and ops only check
 * shapes, so a dry pass proves the model against its configuration and, since scratch_* only counts then, measures the
 * scratch memory.  The first failure stays in r->err and turns every later op into nothing; run_finish reports it.
 * Arguments and formulas of each op: backend.h. */
#ifndef RECTO_BACKEND_OP_H
#define RECTO_BACKEND_OP_H

#include "backend/backend.h"
#include "base/arena.h"

/* Intermediate values for golden tests: t is host memory, fp32, perhaps strided; valid during the call. */
typedef void tap_fn(void *ctx, const char *name, tensor t);

struct run {
    const struct backend *be;
    struct device *dev;
    struct arena scratch; /* device memory */
    enum dtype act;       /* of activations between two products, device_info.act */
    bool is_dry;
    int err;
    struct comm *comm; /* of the ranks; NULL: the only one */
    tensor
        part; /* [most rows of a step, hidden] zero, between op and sum over ranks; where the model is cut */
    const struct batch *batch; /* of the step (op_step), for kv_store and attend */
    tensor id, pos, out_row;   /* its arrays on the device, I32 [n, 1] */
    struct kv *kv;
    bool all_rows; /* the last block computes every row, on all ranks alike: a rank has a tap */
    tap_fn *tap;   /* NULL: none */
    void *tap_ctx;
    const char *tap_suffix; /* "_global", "_tiles", "" */
};

/* The latched failure, or a late one of the device; clears the latch. */
int run_finish(struct run *r);

/* Scratch of the step, uninitialised; contiguous. */
tensor scratch(struct run *r, enum dtype dtype, int64_t rows, int64_t width);
/* An activation of x's size */
static inline tensor scratch_like(struct run *r, tensor x)
{
    return scratch(r, r->act, x.n[0], x.n[1]);
}
/* An activation with room for x W^T */
static inline tensor scratch_for(struct run *r, tensor x, const struct weight *w)
{
    return scratch(r, r->act, x.n[0], w->n_out);
}
static inline size_t scratch_mark(const struct run *r)
{
    return arena_mark(&r->scratch);
}
static inline void scratch_reset(struct run *r, size_t mark)
{
    arena_release(&r->scratch, mark);
}
/* Host numbers into a contiguous tensor of their size. */
void op_upload(struct run *r, tensor to, const void *host);
/* Begin a step of b's rows: r->batch and what belongs to it are set until the scratch is reset.  True when the device did the
 * whole step by itself, the choice included: then only run_finish remains.  ask [n_out]: what op_sample will ask at the end
 * of the step, or NULL; next is filled by run_finish. */
bool op_step(struct run *r, const struct batch *b, const struct sample_ask *ask,
             struct choice *next);
/* next is filled when run_finish returns. */
void op_sample(struct run *r, tensor logits, const struct sample_ask *ask, struct choice *next);
/* Host numbers copied into scratch. */
tensor scratch_upload(struct run *r, enum dtype dtype, int64_t rows, int64_t width,
                      const void *host);

/* printf-style name of a layer's tap, e.g. tap(r, x, "sam_block%d", i); nothing but a branch when no tap is set. */
void tap(struct run *r, tensor x, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void op_rmsnorm(struct run *r, tensor y, tensor x, tensor w, float eps);
void op_layernorm(struct run *r, tensor y, tensor x, tensor w, tensor b, float eps);
void op_swiglu(struct run *r, tensor y, tensor gate, tensor up);
void op_add_cyclic(struct run *r, tensor x, tensor p);
void op_rope(struct run *r, tensor x, tensor pos, tensor table);
void op_gather_rows(struct run *r, tensor y, tensor x, tensor row);
void op_copy(struct run *r, tensor y, tensor x);
/* x as an activation: itself where the residual stream is of that type, else a rounded copy in scratch. */
tensor op_as_act(struct run *r, tensor x);
void op_embed(struct run *r, tensor x, tensor table, tensor id);
void op_linear(struct run *r, tensor y, tensor x, const struct weight *w);
void op_linear_gelu(struct run *r, tensor y, tensor x, const struct weight *w);
/* Summed over ranks where w is cut by input, as the experts below. */
void op_linear_add(struct run *r, tensor y, tensor x, const struct weight *w);
/* Then h = RMSNorm(y) with norm; h may be x's */
void op_linear_add_norm(struct run *r, tensor y, tensor h, tensor x, const struct weight *w,
                        tensor norm, float eps);
void op_linear_swiglu(struct run *r, tensor y, tensor x, const struct weight *gate,
                      const struct weight *up);
void op_moe_add(struct run *r, tensor y, tensor h, const struct moe *m);
/* Then h = RMSNorm(y) with w */
void op_moe_add_norm(struct run *r, tensor y, tensor h, const struct moe *m, tensor w, float eps);
void op_patches(struct run *r, tensor out, tensor pixels, int patch);
/* 3x3, padding 1: x [v, H, W, C] -> y [v * Ho * Wo, n_out]; w was loaded in (ky, kx, c) order */
void op_conv3(struct run *r, tensor y, tensor x, const struct weight *w, int stride);
void op_attend_relpos(struct run *r, tensor out, tensor qkv, const struct weight *wqkv,
                      tensor rel_h, tensor rel_w, int grid, int window, int n_head);
void op_attend_prefix(struct run *r, tensor out, tensor q, tensor k, tensor v, int len,
                      int n_prefix, int n_head, int n_kv);
/* q = rope(h Wq^T), rope(h Wk^T) and h Wv^T into the cache of w->layer: a step's rows */
void op_qkv_store(struct run *r, tensor q, tensor h, const struct qkv *w);
void op_kv_store(struct run *r, int layer, tensor k, tensor v);
void op_attend(struct run *r, tensor out, tensor q, int layer);

#endif
