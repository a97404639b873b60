#include "decoder/decoder.h"

#include "base/mem.h"
#include "decoder/moe.h"
#include "tensor/rope.h"

#include <stdlib.h>

/* ---- load ------------------------------------------------------------------------------------------------------------ */

static void load_block(struct decoder *d, struct loader *ld, int i)
{
    struct decoder_block *b = &d->block[i];
    const struct decoder_config *c = d->cfg;
    int q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    char n[WEIGHT_NAME_MAX];

#define BLOCK(what) weight_name(n, "model.layers.%d." what, i)
    b->attn_norm = load_vec(ld, c->hidden, BLOCK("input_layernorm.weight"));
    load_cut(ld, &b->wq, q, c->hidden, CUT_OUT, c->head_dim, BLOCK("self_attn.q_proj"));
    load_cut(ld, &b->wk, kv, c->hidden, CUT_OUT, c->head_dim, BLOCK("self_attn.k_proj"));
    load_cut(ld, &b->wv, kv, c->hidden, CUT_OUT, c->head_dim, BLOCK("self_attn.v_proj"));
    load_cut(ld, &b->wo, c->hidden, q, CUT_IN, c->head_dim, BLOCK("self_attn.o_proj"));
    b->ffn_norm = load_vec(ld, c->hidden, BLOCK("post_attention_layernorm.weight"));
    if (i < c->first_dense) {
        load_cut(ld, &b->gate, c->dense_inner, c->hidden, CUT_OUT, 0, BLOCK("mlp.gate_proj"));
        load_cut(ld, &b->up, c->dense_inner, c->hidden, CUT_OUT, 0, BLOCK("mlp.up_proj"));
        load_cut(ld, &b->down, c->hidden, c->dense_inner, CUT_IN, 0, BLOCK("mlp.down_proj"));
    } else
        moe_load(&b->moe, ld, c, i);
#undef BLOCK
}

void decoder_load(struct decoder *d, struct loader *ld, const struct decoder_config *cfg)
{
    *d = (struct decoder){.cfg = cfg};
    d->block = mem_zero((size_t)cfg->layers, sizeof *d->block);
    d->embed = load_table(ld, cfg->vocab, cfg->hidden, "model.embed_tokens.weight");
    d->rope = load_rope(ld, cfg->context, cfg->head_dim, cfg->theta);
    for (int i = 0; i < cfg->layers; i++)
        load_block(d, ld, i);
    d->norm = load_vec(ld, cfg->hidden, "model.norm.weight");
    load_cut(ld, &d->lm_head, cfg->vocab, cfg->hidden, CUT_OUT, 0, "lm_head");
}

void decoder_reset(struct decoder *d)
{
    for (int i = 0; d->block && i < d->cfg->layers; i++)
        moe_reset(&d->block[i].moe);
    free(d->block);
    *d = (struct decoder){0};
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

/* x += FFN(h); then, unless it is the last block, h = RMSNorm(x) for the next one. */
static void ffn_add(struct run *r, const struct decoder *d, int layer, tensor x, tensor h)
{
    const struct decoder_block *b = &d->block[layer],
                               *next = layer + 1 < d->cfg->layers ? b + 1 : NULL;

    if (b->moe.n_expert && next) {
        op_moe_add_norm(r, x, h, &b->moe, next->attn_norm, d->cfg->eps);
        return;
    }
    if (b->moe.n_expert) {
        op_moe_add(r, x, h, &b->moe);
        return;
    }
    tensor m = scratch_for(r, h, &b->gate);
    op_linear_swiglu(r, m, h, &b->gate, &b->up);
    if (next)
        op_linear_add_norm(r, x, h, m, &b->down, next->attn_norm, d->cfg->eps);
    else
        op_linear_add(r, x, m, &b->down);
}

/* Attn(RoPE(Wq h), RoPE(Wk h), Wv h), in scratch; reads the paged cache through r->batch */
static tensor attended(struct run *r, const struct decoder *d, int layer, tensor h)
{
    const struct decoder_block *b = &d->block[layer];
    tensor q = scratch_for(r, h, &b->wq), a = scratch_like(r, q);
    struct qkv qkv = {&b->wq, &b->wk, &b->wv, d->rope, r->kv, layer};

    op_qkv_store(r, q, h, &qkv);
    op_attend(r, a, q, layer);
    return a;
}

static void after_attention(struct run *r, const struct decoder *d, int layer, tensor x, tensor h,
                            tensor a)
{
    const struct decoder_block *b = &d->block[layer];

    op_linear_add_norm(r, x, h, a, &b->wo, b->ffn_norm, d->cfg->eps);
    ffn_add(r, d, layer, x, h);
}

/* One decoder block; x [n_tok, hidden] is updated in place.   Source: DeepseekV2DecoderLayer.forward
 *   x += Wo Attn(RoPE(Wq h), RoPE(Wk h), Wv h)   h = RMSNorm(x)
 *   x += FFN(RMSNorm(x))                         dense in block 0, experts after it
 * h comes with the first norm done and goes with the next block's. */
static void decoder_block(struct run *r, const struct decoder *d, int layer, tensor x, tensor h)
{
    size_t mark = scratch_mark(r);
    tensor a = attended(r, d, layer, h);

    after_attention(r, d, layer, x, h, a);
    scratch_reset(r, mark);
}

void decoder_embed(struct run *r, const struct decoder *d, tensor x)
{
    op_embed(r, x, d->embed, r->id);
}

/* The last block of the rows that are asked for, into out: no row looks at another's beyond keys and values. */
static void last_block(struct run *r, const struct decoder *d, tensor out, tensor x, tensor h)
{
    int layer = d->cfg->layers - 1;
    tensor all = attended(r, d, layer, h), a, few;

    if (out.n[0] == 0)
        return;
    a = scratch(r, r->act, out.n[0], all.n[1]);
    few = scratch_like(r, out);
    op_gather_rows(r, a, all, r->out_row);
    op_gather_rows(r, out, x, r->out_row);
    after_attention(r, d, layer, out, few, a);
}

void decoder_forward(struct run *r, const struct decoder *d, tensor logits, tensor x)
{
    size_t mark = scratch_mark(r);
    const struct batch *b = r->batch;
    tensor normed = scratch_like(r, x), last = scratch(r, DT_F32, b->n_out, d->cfg->hidden);
    bool is_narrow = b->n_out < b->n_tok && !r->all_rows;
    int n_whole = d->cfg->layers - (is_narrow && !r->is_dry);

    op_rmsnorm(r, normed, x, d->block[0].attn_norm, d->cfg->eps);
    for (int i = 0; i < n_whole; i++) {
        decoder_block(r, d, i, x, normed);
        tap(r, x, "decoder_layer%d", i);
    }
    if (is_narrow || r->is_dry) /* a dry run measures both ways */
        last_block(r, d, last, x, normed);
    else if (b->n_out)
        op_gather_rows(r, last, x, r->out_row);
    if (b->n_out) {
        tensor h = scratch_like(r, last);

        op_rmsnorm(r, h, last, d->norm, d->cfg->eps);
        op_linear(r, logits, h, &d->lm_head);
    }
    scratch_reset(r, mark);
}
