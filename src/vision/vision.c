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

void vision_encode(struct run *r, const struct vision *v, tensor out, tensor pixels,
                   enum view_size size)
{
    size_t mark = scratch_mark(r);
    int64_t rows = pixels.n[0] * vision_view_rows(v, size);
    tensor feat = scratch(r, r->act, rows, v->sam.n_out), seen = scratch_like(r, feat);

    sam_encode(r, &v->sam, feat, pixels, size);
    flow_encode(r, &v->flow, seen, feat, size);
    op_linear(r, out, seen, &v->projector);
    tap(r, out, "projector_out");
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
