#include "vision/sam.h"

#include "base/mem.h"
#include "vision/interpolate.h"

#include <stdlib.h>

static int grid_of(const struct sam *s, enum view_size size)
{
    return view_px(size) / s->cfg->patch;
}

/* ---- load ------------------------------------------------------------------------------------------------------------ */

static void load_norm(struct loader *ld, tensor *w, tensor *b, int64_t n, const char *stem)
{
    char name[WEIGHT_NAME_MAX];

    *w = load_vec(ld, n, weight_name(name, "%s.weight", stem));
    *b = load_vec(ld, n, weight_name(name, "%s.bias", stem));
}

static void load_pos(struct sam *s, struct loader *ld)
{
    int full = grid_of(s, GLOBAL_VIEW), small = grid_of(s, TILE_VIEW), c = s->cfg->width;
    int64_t n[] = {1, full, full, c};
    enum dtype dtype;
    float *host = load_host(ld, 4, n, "model.sam_model.pos_embed", &dtype), *resized;

    if (!host)
        return;
    s->pos[GLOBAL_VIEW] = load_computed(ld, (int64_t)full * full, c, host);
    resized = interpolate_positions(host, full, small, c, dtype == DT_BF16);
    s->pos[TILE_VIEW] = load_computed(ld, (int64_t)small * small, c, resized);
    free(resized);
    free(host);
}

/* Windows use their table as it is; global blocks need one of 2g - 1 rows for each grid. */
static void load_rel(struct sam *s, struct loader *ld, struct sam_block *b, int i, const char *axis,
                     tensor out[VIEW_SIZES])
{
    int hd = s->cfg->width / s->cfg->heads, side = b->window ? b->window : grid_of(s, GLOBAL_VIEW);
    int64_t n[] = {2 * side - 1, hd};
    char name[WEIGHT_NAME_MAX];
    enum dtype dtype;
    float *host = load_host(
        ld, 2, n, weight_name(name, "model.sam_model.blocks.%d.attn.rel_pos_%s", i, axis), &dtype);

    if (!host)
        return;
    out[GLOBAL_VIEW] = out[TILE_VIEW] = load_computed(ld, n[0], hd, host);
    if (!b->window) {
        int rows = 2 * grid_of(s, TILE_VIEW) - 1;
        float *resized = interpolate_rows(host, (int)n[0], rows, hd, dtype == DT_BF16);

        out[TILE_VIEW] = load_computed(ld, rows, hd, resized);
        free(resized);
    }
    free(host);
}

static void load_block(struct sam *s, struct loader *ld, int i)
{
    struct sam_block *b = &s->block[i];
    int c = s->cfg->width, inner = s->cfg->mlp;
    char n[WEIGHT_NAME_MAX];

    b->window = s->cfg->is_global[i] ? 0 : s->cfg->window;
    load_norm(ld, &b->norm1_w, &b->norm1_b, c,
              weight_name(n, "model.sam_model.blocks.%d.norm1", i));
    load_linear(ld, &b->qkv, 3 * c, c, true,
                weight_name(n, "model.sam_model.blocks.%d.attn.qkv", i));
    load_rel(s, ld, b, i, "h", b->rel_h);
    load_rel(s, ld, b, i, "w", b->rel_w);
    load_linear(ld, &b->proj, c, c, true, weight_name(n, "model.sam_model.blocks.%d.attn.proj", i));
    load_norm(ld, &b->norm2_w, &b->norm2_b, c,
              weight_name(n, "model.sam_model.blocks.%d.norm2", i));
    load_linear(ld, &b->lin1, inner, c, true,
                weight_name(n, "model.sam_model.blocks.%d.mlp.lin1", i));
    load_linear(ld, &b->lin2, c, inner, true,
                weight_name(n, "model.sam_model.blocks.%d.mlp.lin2", i));
}

void sam_load(struct sam *s, struct loader *ld, const struct sam_config *cfg, int64_t n_out)
{
    int c = cfg->width, neck = cfg->out_chans;

    *s = (struct sam){.cfg = cfg, .n_out = n_out};
    s->block = mem_zero((size_t)cfg->layers, sizeof *s->block);
    load_patch(ld, &s->patch, c, cfg->patch, "model.sam_model.patch_embed.proj");
    load_pos(s, ld);
    for (int i = 0; i < cfg->layers; i++)
        load_block(s, ld, i);
    load_linear(ld, &s->neck_conv1, neck, c, false, "model.sam_model.neck.0");
    load_norm(ld, &s->neck_norm1_w, &s->neck_norm1_b, neck, "model.sam_model.neck.1");
    load_conv3(ld, &s->neck_conv2, neck, neck, "model.sam_model.neck.2");
    load_norm(ld, &s->neck_norm2_w, &s->neck_norm2_b, neck, "model.sam_model.neck.3");
    load_conv3(ld, &s->net2, cfg->net2, neck, "model.sam_model.net_2");
    load_conv3(ld, &s->net3, n_out, cfg->net2, "model.sam_model.net_3");
}

void sam_reset(struct sam *s)
{
    free(s->block);
    *s = (struct sam){0};
}

/* ---- forward --------------------------------------------------------------------------------------------------------- */

/* x [v * g * g, c] is updated in place.   Source: Block.forward
 *   x += Proj Attn(LayerNorm(x))            windows are cut after the norm: padding is zero before qkv
 *   x += Lin2 gelu(Lin1 LayerNorm(x))                                                                   */
static void sam_block(struct run *r, const struct sam *s, const struct sam_block *b, tensor x,
                      enum view_size size)
{
    size_t mark = scratch_mark(r);
    tensor h = scratch_like(r, x), qkv = scratch_for(r, x, &b->qkv), a = scratch_like(r, x);

    op_layernorm(r, h, x, b->norm1_w, b->norm1_b, s->cfg->eps);
    op_linear(r, qkv, h, &b->qkv);
    op_attend_relpos(r, a, qkv, &b->qkv, b->rel_h[size], b->rel_w[size], grid_of(s, size),
                     b->window, s->cfg->heads);
    op_linear_add(r, x, a, &b->proj);
    scratch_reset(r, mark);

    h = scratch_like(r, x);
    tensor m = scratch_for(r, x, &b->lin1);
    op_layernorm(r, h, x, b->norm2_w, b->norm2_b, s->cfg->eps);
    op_linear_gelu(r, m, h, &b->lin1);
    op_linear_add(r, x, m, &b->lin2);
    scratch_reset(r, mark);
}

static tensor as_maps(tensor x, int64_t v, int64_t side)
{
    return tensor_view(x.data, x.dtype, 4, v, side, side, x.n[1]);
}

/* The reference keeps feature maps channel by channel; ours are pixel by pixel. */
static void tap_nchw(struct run *r, tensor x, int64_t v, int64_t side, const char *name)
{
    tensor m = as_maps(x, v, side), t = m;

    t.n[1] = m.n[3], t.stride[1] = m.stride[3];
    t.n[2] = m.n[1], t.stride[2] = m.stride[1];
    t.n[3] = m.n[2], t.stride[3] = m.stride[2];
    tap(r, t, "%s", name);
}

/* Layer norms over channels at each pixel are plain row norms here, since a row is a pixel. */
static void neck_and_nets(struct run *r, const struct sam *s, tensor out, tensor x, int64_t v,
                          int64_t g)
{
    int64_t half = (g - 1) / 2 + 1;
    tensor a = scratch_for(r, x, &s->neck_conv1), b = scratch_like(r, a);

    op_linear(r, a, op_as_act(r, x), &s->neck_conv1);
    op_layernorm(r, a, a, s->neck_norm1_w, s->neck_norm1_b, s->cfg->eps);
    op_conv3(r, b, as_maps(a, v, g), &s->neck_conv2, 1);
    op_layernorm(r, b, b, s->neck_norm2_w, s->neck_norm2_b, s->cfg->eps);
    tap_nchw(r, b, v, g, "sam_neck");

    tensor c = scratch(r, r->act, v * half * half, s->net2.n_out);
    op_conv3(r, c, as_maps(b, v, g), &s->net2, 2);
    op_conv3(r, out, as_maps(c, v, half), &s->net3, 2);
    tap_nchw(r, out, v, (half - 1) / 2 + 1, "sam_out");
}

void sam_encode(struct run *r, const struct sam *s, tensor out, tensor pixels, enum view_size size)
{
    size_t mark = scratch_mark(r);
    int64_t v = pixels.n[0], g = grid_of(s, size);
    tensor x = scratch(r, DT_F32, v * g * g, s->cfg->width);
    size_t inner = scratch_mark(r);
    tensor cols = scratch(r, r->act, v * g * g, s->patch.n_in);

    op_patches(r, cols, pixels, s->cfg->patch);
    op_linear(r, x, cols, &s->patch);
    scratch_reset(r, inner);
    tap(r, x, "sam_patch_embed");
    op_add_cyclic(r, x, s->pos[size]);
    for (int i = 0; i < s->cfg->layers; i++) {
        sam_block(r, s, &s->block[i], x, size);
        tap(r, x, "sam_block%d", i);
    }
    neck_and_nets(r, s, out, x, v, g);
    scratch_reset(r, mark);
}
