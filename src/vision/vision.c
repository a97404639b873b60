#include "vision/vision.h"

void vision_load(struct vision *v, struct loader *ld, const struct model_config *cfg)
{
    ld->is_of_views = true;
    sam_load(&v->sam, ld, &cfg->sam, cfg->flow.dim);
    flow_load(&v->flow, ld, &cfg->flow, cfg->sam.patch);
    load_linear(ld, &v->projector, cfg->decoder.hidden, cfg->flow.dim, true,
                "model.projector.layers");
    v->separator = tensor_as_rows(load_vec(ld, cfg->decoder.hidden, "model.view_seperator"), 1);
    ld->is_of_views = false;
}

void vision_reset(struct vision *v)
{
    sam_reset(&v->sam);
    flow_reset(&v->flow);
}

/* The rows of the views of one size; tiles come first. */
static tensor part(const struct vision *v, tensor x, const struct views *views, enum view_size size)
{
    int64_t tiles = (int64_t)views->n[TILE_VIEW] * vision_view_rows(v, TILE_VIEW);

    return tensor_rows(x, size == TILE_VIEW ? 0 : tiles,
                       (int64_t)views->n[size] * vision_view_rows(v, size));
}

int64_t vision_rows(const struct vision *v, const struct views *views)
{
    return (int64_t)views->n[TILE_VIEW] * vision_view_rows(v, TILE_VIEW) +
           (int64_t)views->n[GLOBAL_VIEW] * vision_view_rows(v, GLOBAL_VIEW);
}

static void encode_maps(struct run *r, const struct vision *v, tensor feat,
                        const struct views *views, enum view_size size)
{
    size_t mark = scratch_mark(r);
    int n = views->n[size], side = view_px(size);
    tensor rows = scratch(r, DT_U8, (int64_t)n * side, 3 * side);

    for (int i = 0; !r->is_dry && i < n; i++)
        op_upload(r, tensor_rows(rows, (int64_t)i * side, side), views->pixels[size][i]);
    sam_encode(r, &v->sam, part(v, feat, views, size),
               tensor_view(rows.data, DT_U8, 4, n, side, side, 3), size);
    scratch_reset(r, mark);
}

/* Global views first: the tiles, most of the pixels, are then on their way while these are computed. */
void vision_encode(struct run *r, const struct vision *v, tensor out, const struct views *views)
{
    size_t mark = scratch_mark(r);
    tensor feat = scratch(r, r->act, out.n[0], v->sam.n_out), seen = scratch_like(r, feat);

    for (int i = 0; i < VIEW_SIZES; i++) {
        r->tap_suffix = view_suffix(i);
        if (views->n[i])
            encode_maps(r, v, feat, views, i);
    }
    flow_encode(r, &v->flow, seen, feat, views->n);
    op_linear(r, out, seen, &v->projector);
    for (int i = 0; i < VIEW_SIZES; i++) {
        r->tap_suffix = view_suffix(i);
        if (views->n[i])
            tap(r, part(v, out, views, i), "projector_out");
    }
    r->tap_suffix = NULL;
    scratch_reset(r, mark);
}

int vision_view_rows(const struct vision *v, enum view_size size)
{
    return (int)v->flow.n_row[size];
}

int vision_page_rows(const struct vision *v, int n_tile)
{
    return n_tile * vision_view_rows(v, TILE_VIEW) + vision_view_rows(v, GLOBAL_VIEW) + 1;
}
