#include "vision/flow.h"

#include "base/mem.h"
#include "tensor/rope.h"

#include <stdlib.h>

/* ---- load ------------------------------------------------------------------------------------------------------------ */

static void load_layer(struct flow *f, struct loader *ld, int i)
{
    struct flow_layer *l = &f->layer[i];
    int d = f->cfg->dim, kv = f->cfg->kv_heads * f->cfg->head_dim, inner = f->cfg->inner;
    char n[WEIGHT_NAME_MAX], k[WEIGHT_NAME_MAX], v[WEIGHT_NAME_MAX];

#define LAYER_IN(n, what) weight_name(n, "model.qwen2_model.model.model.layers.%d." what, i)
#define LAYER(what)       LAYER_IN(n, what)
    l->attn_norm = load_vec(ld, d, LAYER("input_layernorm.weight"));
    load_three(ld, &l->qkv, (const int64_t[]){d, kv, kv}, d,
               (const char *const[]){LAYER("self_attn.q_proj"), LAYER_IN(k, "self_attn.k_proj"),
                                     LAYER_IN(v, "self_attn.v_proj")});
    load_linear(ld, &l->wo, d, d, false, LAYER("self_attn.o_proj"));
    l->ffn_norm = load_vec(ld, d, LAYER("post_attention_layernorm.weight"));
    load_linear(ld, &l->gate, inner, d, false, LAYER("mlp.gate_proj"));
    load_linear(ld, &l->up, inner, d, false, LAYER("mlp.up_proj"));
    load_linear(ld, &l->down, d, inner, false, LAYER("mlp.down_proj"));
#undef LAYER
#undef LAYER_IN
}

void flow_load(struct flow *f, struct loader *ld, const struct flow_config *cfg, int patch)
{
    static const char *const query_name[VIEW_SIZES] = {
        [GLOBAL_VIEW] = "model.qwen2_model.query_1024.weight",
        [TILE_VIEW] = "model.qwen2_model.query_768.weight",
    };

    *f = (struct flow){.cfg = cfg};
    f->layer = mem_zero((size_t)cfg->layers, sizeof *f->layer);
    for (int v = 0; v < VIEW_SIZES; v++) {
        int side = view_px(v) / patch / 4;

        f->n_row[v] = (int64_t)side * side;
        f->query[v] = load_mat(ld, f->n_row[v], cfg->dim, query_name[v]);
    }
    f->rope = load_rope(ld, (int)(2 * f->n_row[GLOBAL_VIEW]), cfg->head_dim, cfg->theta);
    for (int i = 0; i < cfg->layers; i++)
        load_layer(f, ld, i);
    f->norm = load_vec(ld, cfg->dim, "model.qwen2_model.model.model.norm.weight");
}

void flow_reset(struct flow *f)
{
    free(f->layer);
    *f = (struct flow){0};
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

/* The rows of the views of one size, `per` rows for each of a view's features; tiles come first. */
static tensor part(const struct flow *f, tensor x, const int n_view[VIEW_SIZES],
                   enum view_size size, int64_t per)
{
    int64_t tiles = n_view[TILE_VIEW] * f->n_row[TILE_VIEW] * per;

    return tensor_rows(x, size == TILE_VIEW ? 0 : tiles, n_view[size] * f->n_row[size] * per);
}

static void tap_views(struct run *r, const struct flow *f, tensor x, const int n_view[VIEW_SIZES],
                      int layer)
{
    for (int v = 0; v < VIEW_SIZES; v++) {
        r->tap_suffix = view_suffix(v);
        if (n_view[v])
            tap(r, part(f, x, n_view, v, 2), "encoder_layer%d", layer);
    }
    r->tap_suffix = NULL;
}

/* Each view's rows are at positions 0, 1, ... of their own. */
static tensor positions(struct run *r, const struct flow *f, int64_t rows,
                        const int n_view[VIEW_SIZES])
{
    int32_t *pos = mem_alloc((size_t)rows * sizeof *pos), *at = pos;
    tensor t;

    for (int v = VIEW_SIZES; v-- > 0;)
        for (int i = 0; i < n_view[v]; i++)
            for (int32_t row = 0; row < 2 * f->n_row[v]; row++)
                *at++ = row;
    t = scratch_upload(r, DT_I32, rows, 1, pos);
    free(pos);
    return t;
}

/* x [rows, dim] is updated in place; everything but attention takes the views of both sizes at once.
 * Source: Qwen2DecoderLayer.forward
 *   x += Wo Attn(RoPE(Wq h), RoPE(Wk h), Wv h)   h = RMSNorm(x), biases in q, k and v
 *   x += Down(silu(Gate h) * Up h)               h = RMSNorm(x)                          */
static void flow_layer(struct run *r, const struct flow *f, const struct flow_layer *l, tensor x,
                       tensor pos, const int n_view[VIEW_SIZES])
{
    size_t mark = scratch_mark(r);
    int64_t d = f->cfg->dim, kv = f->cfg->kv_heads * f->cfg->head_dim;
    tensor h = scratch_like(r, x), a = scratch_like(r, x), qkv = scratch_for(r, x, &l->qkv);
    tensor q = tensor_cols(qkv, 0, d), k = tensor_cols(qkv, d, kv),
           v = tensor_cols(qkv, d + kv, kv);

    op_rmsnorm(r, h, x, l->attn_norm, f->cfg->eps);
    op_linear(r, qkv, h, &l->qkv);
    op_rope(r, tensor_cols(qkv, 0, d + kv), pos, f->rope);
    for (int i = 0; i < VIEW_SIZES; i++)
        if (n_view[i])
            op_attend_prefix(r, part(f, a, n_view, i, 2), part(f, q, n_view, i, 2),
                             part(f, k, n_view, i, 2), part(f, v, n_view, i, 2),
                             (int)(2 * f->n_row[i]), (int)f->n_row[i], f->cfg->heads,
                             f->cfg->kv_heads);
    op_linear_add(r, x, a, &l->wo);
    scratch_reset(r, mark);

    h = scratch_like(r, x);
    tensor m = scratch_for(r, x, &l->gate);
    op_rmsnorm(r, h, x, l->ffn_norm, f->cfg->eps);
    op_linear_swiglu(r, m, h, &l->gate, &l->up);
    op_linear_add(r, x, m, &l->down);
    scratch_reset(r, mark);
}

/* Features, then queries, of each view. */
static void flow_input(struct run *r, const struct flow *f, tensor x, tensor feat,
                       const int n_view[VIEW_SIZES])
{
    for (int v = 0; v < VIEW_SIZES; v++) {
        tensor to = part(f, x, n_view, v, 2), from = part(f, feat, n_view, v, 1);
        int64_t n = f->n_row[v];

        for (int64_t i = 0; i < n_view[v]; i++) {
            op_copy(r, tensor_rows(to, i * 2 * n, n), tensor_rows(from, i * n, n));
            op_copy(r, tensor_rows(to, i * 2 * n + n, n), f->query[v]);
        }
    }
}

/* What is said at the queries. */
static void flow_output(struct run *r, const struct flow *f, tensor out, tensor x,
                        const int n_view[VIEW_SIZES])
{
    for (int v = 0; v < VIEW_SIZES; v++) {
        tensor to = part(f, out, n_view, v, 1), from = part(f, x, n_view, v, 2);
        int64_t n = f->n_row[v];

        for (int64_t i = 0; i < n_view[v]; i++)
            op_rmsnorm(r, tensor_rows(to, i * n, n), tensor_rows(from, i * 2 * n + n, n), f->norm,
                       f->cfg->eps);
    }
}

void flow_encode(struct run *r, const struct flow *f, tensor out, tensor feat,
                 const int n_view[VIEW_SIZES])
{
    size_t mark = scratch_mark(r);
    tensor x = scratch(r, DT_F32, 2 * feat.n[0], f->cfg->dim);
    tensor pos = positions(r, f, 2 * feat.n[0], n_view);

    flow_input(r, f, x, feat, n_view);
    for (int i = 0; i < f->cfg->layers; i++) {
        flow_layer(r, f, &f->layer[i], x, pos, n_view);
        tap_views(r, f, x, n_view, i);
    }
    flow_output(r, f, out, x, n_view);
    scratch_reset(r, mark);
}
