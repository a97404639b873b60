#include "vision/flow.h"

#include "base/mem.h"
#include "tensor/rope.h"

#include <stdlib.h>

/* ---- load ------------------------------------------------------------------------------------------------------------ */

static void load_layer(struct flow *f, struct loader *ld, int i)
{
    struct flow_layer *l = &f->layer[i];
    int d = f->cfg->dim, kv = f->cfg->kv_heads * f->cfg->head_dim, inner = f->cfg->inner;
    char n[WEIGHT_NAME_MAX];

#define LAYER(what) weight_name(n, "model.qwen2_model.model.model.layers.%d." what, i)
    l->attn_norm = load_vec(ld, d, LAYER("input_layernorm.weight"));
    load_linear(ld, &l->wq, d, d, true, LAYER("self_attn.q_proj"));
    load_linear(ld, &l->wk, kv, d, true, LAYER("self_attn.k_proj"));
    load_linear(ld, &l->wv, kv, d, true, LAYER("self_attn.v_proj"));
    load_linear(ld, &l->wo, d, d, false, LAYER("self_attn.o_proj"));
    l->ffn_norm = load_vec(ld, d, LAYER("post_attention_layernorm.weight"));
    load_linear(ld, &l->gate, inner, d, false, LAYER("mlp.gate_proj"));
    load_linear(ld, &l->up, inner, d, false, LAYER("mlp.up_proj"));
    load_linear(ld, &l->down, d, inner, false, LAYER("mlp.down_proj"));
#undef LAYER
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
        f->pos[v] = load_counting(ld, 2 * f->n_row[v]);
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

/* x [v * 2n, dim] is updated in place.   Source: Qwen2DecoderLayer.forward
 *   x += Wo Attn(RoPE(Wq h), RoPE(Wk h), Wv h)   h = RMSNorm(x), biases in q, k and v
 *   x += Down(silu(Gate h) * Up h)               h = RMSNorm(x)                          */
static void flow_layer(struct run *r, const struct flow *f, const struct flow_layer *l, tensor x,
                       enum view_size size)
{
    size_t mark = scratch_mark(r);
    int n = (int)f->n_row[size];
    tensor h = scratch_like(r, x), a = scratch_like(r, x), q = scratch_for(r, x, &l->wq);
    tensor k = scratch_for(r, x, &l->wk), v = scratch_for(r, x, &l->wv);

    op_rmsnorm(r, h, x, l->attn_norm, f->cfg->eps);
    op_linear(r, q, h, &l->wq);
    op_linear(r, k, h, &l->wk);
    op_linear(r, v, h, &l->wv);
    op_rope(r, q, f->pos[size], f->rope);
    op_rope(r, k, f->pos[size], f->rope);
    op_attend_prefix(r, a, q, k, v, 2 * n, n, f->cfg->heads, f->cfg->kv_heads);
    op_linear_add(r, x, a, &l->wo);
    scratch_reset(r, mark);

    h = scratch_like(r, x);
    tensor m = scratch_for(r, x, &l->gate);
    op_rmsnorm(r, h, x, l->ffn_norm, f->cfg->eps);
    op_linear_swiglu(r, m, h, &l->gate, &l->up);
    op_linear_add(r, x, m, &l->down);
    scratch_reset(r, mark);
}

void flow_encode(struct run *r, const struct flow *f, tensor out, tensor feat, enum view_size size)
{
    size_t mark = scratch_mark(r);
    int64_t n = f->n_row[size], v = feat.n[0] / n;
    tensor x = scratch(r, DT_F32, v * 2 * n, f->cfg->dim);

    for (int64_t i = 0; i < v; i++) {
        op_copy(r, tensor_rows(x, i * 2 * n, n), tensor_rows(feat, i * n, n));
        op_copy(r, tensor_rows(x, i * 2 * n + n, n), f->query[size]);
    }
    for (int i = 0; i < f->cfg->layers; i++) {
        flow_layer(r, f, &f->layer[i], x, size);
        tap(r, x, "encoder_layer%d", i);
    }
    for (int64_t i = 0; i < v; i++)
        op_rmsnorm(r, tensor_rows(out, i * n, n), tensor_rows(x, i * 2 * n + n, n), f->norm,
                   f->cfg->eps);
    scratch_reset(r, mark);
}
