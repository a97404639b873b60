#include "tensor/inventory.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

/* The walk: latches the first result of fn that is not 0. */
struct walk {
    inventory_fn *fn;
    void *ctx;
    int rc;
    char prefix[NAMES_MAX];
};

static void prefix(struct walk *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void prefix(struct walk *w, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(w->prefix, sizeof w->prefix, fmt, ap);
    va_end(ap);
}

/* One tensor, prefix + name; sizes behind the rank are 0. */
static void add(struct walk *w, enum inventory_role role, const char *name, int64_t n0, int64_t n1,
                int64_t n2, int64_t n3)
{
    struct inventory_item it = {.role = role, .n = {n0, n1, n2, n3}, .count = 1};

    if (w->rc)
        return;
    snprintf(it.name, sizeof it.name, "%.100s%.58s", w->prefix, name);
    for (int i = 0; i < TENSOR_RANK; i++) {
        if (it.n[i])
            it.rank = i + 1;
        else
            it.n[i] = 1;
        it.count *= it.n[i];
    }
    if (role == ROLE_LINEAR || role == ROLE_CONV || role == ROLE_ROUTER || role == ROLE_HEAD)
        it.fan_in = it.count / it.n[0];
    w->rc = w->fn(w->ctx, &it);
}

static void vec(struct walk *w, enum inventory_role role, const char *name, int64_t n)
{
    add(w, role, name, n, 0, 0, 0);
}

static void mat(struct walk *w, enum inventory_role role, const char *name, int64_t rows,
                int64_t cols)
{
    add(w, role, name, rows, cols, 0, 0);
}

/* ---- SAM ------------------------------------------------------------------------------------- */

static void sam_block(struct walk *w, const struct sam_config *c, int layer, int grid)
{
    int d = c->width, side = c->is_global[layer] ? grid : c->window;

    prefix(w, "model.sam_model.blocks.%d.", layer);
    vec(w, ROLE_NORM, "norm1.weight", d);
    vec(w, ROLE_NORM_BIAS, "norm1.bias", d);
    mat(w, ROLE_LINEAR, "attn.qkv.weight", 3 * d, d);
    vec(w, ROLE_BIAS, "attn.qkv.bias", 3 * d);
    mat(w, ROLE_REL_POS, "attn.rel_pos_h", 2 * side - 1, c->head_dim);
    mat(w, ROLE_REL_POS, "attn.rel_pos_w", 2 * side - 1, c->head_dim);
    mat(w, ROLE_LINEAR, "attn.proj.weight", d, d);
    vec(w, ROLE_BIAS, "attn.proj.bias", d);
    vec(w, ROLE_NORM, "norm2.weight", d);
    vec(w, ROLE_NORM_BIAS, "norm2.bias", d);
    mat(w, ROLE_LINEAR, "mlp.lin1.weight", c->mlp, d);
    vec(w, ROLE_BIAS, "mlp.lin1.bias", c->mlp);
    mat(w, ROLE_LINEAR, "mlp.lin2.weight", d, c->mlp);
    vec(w, ROLE_BIAS, "mlp.lin2.bias", d);
}

static void sam(struct walk *w, const struct model_config *m)
{
    const struct sam_config *c = &m->sam;
    int grid = m->image_size / c->patch, neck = c->out_chans;

    prefix(w, "model.sam_model.");
    add(w, ROLE_CONV, "patch_embed.proj.weight", c->width, 3, c->patch, c->patch);
    vec(w, ROLE_BIAS, "patch_embed.proj.bias", c->width);
    add(w, ROLE_POS, "pos_embed", 1, grid, grid, c->width);
    for (int i = 0; i < c->layers; i++)
        sam_block(w, c, i, grid);
    prefix(w, "model.sam_model.");
    add(w, ROLE_CONV, "neck.0.weight", neck, c->width, 1, 1);
    vec(w, ROLE_NORM, "neck.1.weight", neck);
    vec(w, ROLE_NORM_BIAS, "neck.1.bias", neck);
    add(w, ROLE_CONV, "neck.2.weight", neck, neck, 3, 3);
    vec(w, ROLE_NORM, "neck.3.weight", neck);
    vec(w, ROLE_NORM_BIAS, "neck.3.bias", neck);
    add(w, ROLE_CONV, "net_2.weight", c->net2, neck, 3, 3);
    add(w, ROLE_CONV, "net_3.weight", m->flow.dim, c->net2, 3, 3);
}

/* ---- the encoder and the projector ----------------------------------------------------------- */

static void flow_layer(struct walk *w, const struct flow_config *c, int layer)
{
    int d = c->dim, kv = c->kv_heads * c->head_dim;

    prefix(w, "model.qwen2_model.model.model.layers.%d.", layer);
    vec(w, ROLE_NORM, "input_layernorm.weight", d);
    mat(w, ROLE_LINEAR, "self_attn.q_proj.weight", d, d);
    vec(w, ROLE_BIAS, "self_attn.q_proj.bias", d);
    mat(w, ROLE_LINEAR, "self_attn.k_proj.weight", kv, d);
    vec(w, ROLE_BIAS, "self_attn.k_proj.bias", kv);
    mat(w, ROLE_LINEAR, "self_attn.v_proj.weight", kv, d);
    vec(w, ROLE_BIAS, "self_attn.v_proj.bias", kv);
    mat(w, ROLE_LINEAR, "self_attn.o_proj.weight", d, d);
    vec(w, ROLE_NORM, "post_attention_layernorm.weight", d);
    mat(w, ROLE_LINEAR, "mlp.gate_proj.weight", c->inner, d);
    mat(w, ROLE_LINEAR, "mlp.up_proj.weight", c->inner, d);
    mat(w, ROLE_LINEAR, "mlp.down_proj.weight", d, c->inner);
}

static void flow(struct walk *w, const struct model_config *m)
{
    int d = m->flow.dim;

    prefix(w, "model.");
    mat(w, ROLE_EMBED, "qwen2_model.query_768.weight", m->n_query_tile, d);
    mat(w, ROLE_EMBED, "qwen2_model.query_1024.weight", m->n_query_global, d);
    for (int i = 0; i < m->flow.layers; i++)
        flow_layer(w, &m->flow, i);
    prefix(w, "model.");
    vec(w, ROLE_NORM, "qwen2_model.model.model.norm.weight", d);
    mat(w, ROLE_LINEAR, "projector.layers.weight", m->decoder.hidden, d);
    vec(w, ROLE_BIAS, "projector.layers.bias", m->decoder.hidden);
    vec(w, ROLE_EMBED, "view_seperator", m->decoder.hidden);
}

/* ---- the decoder ----------------------------------------------------------------------------- */

static void mlp(struct walk *w, const char *stem, int layer, int64_t hidden, int64_t inner)
{
    prefix(w, "model.layers.%d.mlp.%s", layer, stem);
    mat(w, ROLE_LINEAR, "gate_proj.weight", inner, hidden);
    mat(w, ROLE_LINEAR, "up_proj.weight", inner, hidden);
    mat(w, ROLE_LINEAR, "down_proj.weight", hidden, inner);
}

static void experts(struct walk *w, const struct decoder_config *c, int layer)
{
    char stem[32];

    prefix(w, "model.layers.%d.mlp.", layer);
    mat(w, ROLE_ROUTER, "gate.weight", c->n_expert, c->hidden);
    for (int e = 0; e < c->n_expert; e++) {
        snprintf(stem, sizeof stem, "experts.%d.", e);
        mlp(w, stem, layer, c->hidden, c->expert_inner);
    }
    mlp(w, "shared_experts.", layer, c->hidden, (int64_t)c->n_shared * c->expert_inner);
}

static void decoder_layer(struct walk *w, const struct decoder_config *c, int layer)
{
    int d = c->hidden, kv = c->kv_heads * c->head_dim;

    prefix(w, "model.layers.%d.", layer);
    vec(w, ROLE_NORM, "input_layernorm.weight", d);
    mat(w, ROLE_LINEAR, "self_attn.q_proj.weight", d, d);
    mat(w, ROLE_LINEAR, "self_attn.k_proj.weight", kv, d);
    mat(w, ROLE_LINEAR, "self_attn.v_proj.weight", kv, d);
    mat(w, ROLE_LINEAR, "self_attn.o_proj.weight", d, d);
    vec(w, ROLE_NORM, "post_attention_layernorm.weight", d);
    if (layer < c->first_dense)
        mlp(w, "", layer, d, c->dense_inner);
    else
        experts(w, c, layer);
}

static void decoder(struct walk *w, const struct decoder_config *c)
{
    prefix(w, "model.");
    mat(w, ROLE_EMBED, "embed_tokens.weight", c->vocab, c->hidden);
    for (int i = 0; i < c->layers && !w->rc; i++)
        decoder_layer(w, c, i);
    prefix(w, "%s", "");
    vec(w, ROLE_NORM, "model.norm.weight", c->hidden);
    mat(w, ROLE_HEAD, "lm_head.weight", c->vocab, c->hidden);
}

int inventory_each(const struct model_config *c, inventory_fn *fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx};

    sam(&w, c);
    flow(&w, c);
    decoder(&w, &c->decoder);
    return w.rc;
}

/* ---- uses ------------------------------------------------------------------------------------ */

struct total {
    int n;
    int64_t n_param;
};

static int count_one(void *ctx, const struct inventory_item *it)
{
    struct total *t = ctx;

    t->n++;
    t->n_param += it->count;
    return 0;
}

int inventory_count(const struct model_config *c, int64_t *n_param)
{
    struct total t = {0};

    inventory_each(c, count_one, &t);
    if (n_param)
        *n_param = t.n_param;
    return t.n;
}

struct check {
    const struct ckpt *ckpt;
    enum names_layout layout;
};

static int check_one(void *ctx, const struct inventory_item *it)
{
    const struct check *c = ctx;
    struct ckpt_view v;
    char found[SHAPE_TEXT_MAX], wanted[SHAPE_TEXT_MAX];

    TRY(names_find(c->ckpt, c->layout, it->name, &v));
    if (v.rank != it->rank || memcmp(v.n, it->n, sizeof v.n) != 0)
        return err(RECTO_EMODEL,
                   "%s: tensor %s is %s, expected %s; config.json belongs to another model",
                   ckpt_path(c->ckpt, v.tensor), it->name, shape_text(found, v.rank, v.n),
                   shape_text(wanted, it->rank, it->n));
    if (v.dtype != DT_F32 && v.dtype != DT_BF16 && v.dtype != DT_F16)
        return err(
            RECTO_EMODEL,
            "%s: tensor %s is of type %s, expected F32, BF16 or F16; use the bf16 checkpoint",
            ckpt_path(c->ckpt, v.tensor), it->name, dtype_text(v.dtype));
    return 0;
}

int inventory_check(const struct model_config *c, const struct ckpt *ckpt, enum names_layout layout)
{
    struct check ctx = {ckpt, layout};

    return inventory_each(c, check_one, &ctx);
}
