/* Attention and the cache, host side: room for the kernels, sizes. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kv {
    struct kv_shape shape;
    size_t layer_bytes;
    char *slab; /* [layer][block][K | V][head][block_tok][head_dim] */
};

static int check_head(int64_t hd)
{
    if (hd < 8 || hd % 8 || hd > LAUNCH_MAX_HEAD)
        return err(RECTO_ESHAPE,
                   "attention: a head of %lld numbers; this build takes multiples of 8 up to %d",
                   (long long)hd, LAUNCH_MAX_HEAD);
    return 0;
}

static int run_attend(struct device *d, struct attend *a)
{
    void *p;

    a->is_f32 = d->is_f32;
    a->is_sm90 = d->is_sm90;
    a->overlaps = d->overlaps;
    a->scale = 1.0f / sqrtf((float)a->head_dim);
    TRY(cuda_work(d, WORK_BIAS, (size_t)launch_attend_bias(a) * sizeof(float), &p));
    a->bias = p;
    TRY(cuda_work(d, WORK_PART, (size_t)launch_attend_part(a) * sizeof(float), &p));
    a->part = p;
    TRY(cuda_check(launch_attend(d->stream, a), "attend"));
    return cuda_launched("attend");
}

/* ---- without a cache ------------------------------------------------------------------------- */
/* A padded token is zero before the product, so its q, k and v are the bias, rounded as the
 * product's results are. */
static int make_pad(struct device *d, const float *bias, int width, void **out)
{
    TRY(cuda_work(d, WORK_PAD, (size_t)width * sizeof(float), out));
    if (bias)
        launch_convert(d->stream, *out, bias, width, d->is_f32, true);
    else
        TRY(cuda_check(cudaMemsetAsync(*out, 0, (size_t)width * sizeof(float), d->stream),
                       "attend_relpos"));
    return 0;
}

int cuda_attend_relpos(struct device *d, tensor out, tensor qkv, const float *qkv_bias,
                       tensor rel_h, tensor rel_w, int grid, int window, int n_head)
{
    int width = (int)out.n[1], side = window ? window : grid, across = (grid + side - 1) / side;
    int views = (int)(out.n[0] / ((int64_t)grid * grid));
    const char *base = qkv.data;
    struct attend a = {
        .kind = ATTEND_RELPOS,
        .q = base,
        .k = base + (size_t)width * cuda_act_size(d),
        .v = base + 2 * (size_t)width * cuda_act_size(d),
        .out = out.data,
        .head_dim = width / n_head,
        .n_head = n_head,
        .n_kv = n_head,
        .q_stride = 3 * (int64_t)width,
        .kv_stride = 3 * (int64_t)width,
        .out_stride = width,
        .groups = views * across * across,
        .len = side * side,
        .rel_h = rel_h.data,
        .rel_w = rel_w.data,
        .grid = grid,
        .window = window,
        .side = side,
    };
    void *pad;

    TRY(check_head(a.head_dim));
    TRY(make_pad(d, qkv_bias, 3 * width, &pad));
    a.pad = pad;
    return run_attend(d, &a);
}

int cuda_attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                       int n_prefix, int n_head, int n_kv)
{
    struct attend a = {
        .kind = ATTEND_PREFIX,
        .q = q.data,
        .k = k.data,
        .v = val.data,
        .out = out.data,
        .head_dim = (int)(q.n[1] / n_head),
        .n_head = n_head,
        .n_kv = n_kv,
        .q_stride = q.stride[0],
        .kv_stride = k.stride[0],
        .out_stride = out.stride[0],
        .groups = (int)(q.n[0] / len),
        .len = len,
        .n_prefix = n_prefix,
    };

    TRY(check_head(a.head_dim));
    return run_attend(d, &a);
}

/* ---- the cache ------------------------------------------------------------------------------- */
static int kv_sizes(struct device *d, const struct kv_shape *s, size_t *layer, size_t *total)
{
    TRY(check_head(s->head_dim));
    if (s->n_layer < 1 || s->n_head < 1 || s->n_block < 1 || s->block_tok < 16 || s->block_tok % 16)
        return err(RECTO_ESHAPE, "cache: a block has %d tokens; it must be a multiple of 16",
                   s->block_tok);
    *layer = 2 * (size_t)s->block_tok * (size_t)s->head_dim * cuda_act_size(d);
    if (mem_mul(*layer, (size_t)s->n_head, layer) || mem_mul(*layer, (size_t)s->n_block, layer) ||
        mem_mul(*layer, (size_t)s->n_layer, total))
        return err(RECTO_ENOMEM, "cache: %d blocks of %d tokens are too many", s->n_block,
                   s->block_tok);
    return 0;
}

int64_t cuda_kv_bytes(struct device *d, const struct kv_shape *s)
{
    size_t layer, total;

    TRY(kv_sizes(d, s, &layer, &total));
    return (int64_t)total;
}

int cuda_kv_block_tok(const struct kv *kv)
{
    return kv->shape.block_tok;
}

struct heads cuda_kv_heads(struct device *d, const struct kv *kv, int layer)
{
    return (struct heads){.slab = kv->slab + (size_t)layer * kv->layer_bytes,
                          .n_head = kv->shape.n_head,
                          .head_dim = kv->shape.head_dim,
                          .block_tok = kv->shape.block_tok};
}

int cuda_kv_open(struct device *d, struct kv **out, const struct kv_shape *s)
{
    struct kv *kv = mem_zero(1, sizeof *kv);
    size_t total;
    void *p;
    int rc;

    *out = NULL;
    kv->shape = *s;
    TRY_OUT(kv_sizes(d, s, &kv->layer_bytes, &total));
    TRY_OUT(cuda_alloc(d, total, &p));
    kv->slab = p;
    *out = kv;
    return 0;
out:
    free(kv);
    return rc;
}

void cuda_kv_close(struct device *d, struct kv *kv)
{
    if (!kv)
        return;
    recorder_forget(d, kv);
    cuda_free(d, kv->slab);
    free(kv);
}

int cuda_kv_store(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                  const struct batch *b)
{
    const struct kv_shape *s = &kv->shape;

    launch_kv_store(d->stream, kv->slab + (size_t)layer * kv->layer_bytes, k.data, v.data,
                    d->step.slot, b->n_tok, s->n_head, s->head_dim, s->block_tok, d->is_f32);
    return cuda_launched("kv_store");
}

int cuda_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                const struct batch *b)
{
    const struct kv_shape *s = &kv->shape;
    int width = s->n_head * s->head_dim;
    char *base = kv->slab + (size_t)layer * kv->layer_bytes;
    struct attend a = {
        .kind = ATTEND_PAGED,
        .q = q.data,
        .k = base,
        .v = base + (size_t)width * (size_t)s->block_tok * cuda_act_size(d),
        .out = out.data,
        .head_dim = s->head_dim,
        .n_head = s->n_head,
        .n_kv = s->n_head,
        .q_stride = width,
        .out_stride = width,
        .groups = b->n_seq,
        .pos = d->step.rows.pos,
        .seq_row = d->step.seq_row,
        .block = d->step.block,
        .tile = d->step.tile,
        .n_tile = d->step.n_tile,
        .n_single = d->step.n_single,
        .block_stride = d->step.block_stride,
        .block_tok = s->block_tok,
        .max_len = d->step.max_len,
        .max_rows = d->step.max_rows,
        .block_elements = 2 * (int64_t)width * s->block_tok,
    };
    return run_attend(d, &a);
}
