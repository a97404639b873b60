/* The flow encoder ("visual causal flow"): feature maps -> visual tokens in reading order.
 *
 * A Qwen2 decoder used as an encoder: its input is the n feature vectors of a view followed by n learned queries; features
 * see each other, queries see all features and the queries before them; what it says at the queries is the result.
 * Sources: deepencoderv2/qwen2_d2e.py of deepseek-ai/DeepSeek-OCR-2 (Qwen2Decoder2Encoder), DeepSeek_OCR2_paper.pdf section 3. */
#ifndef RECTO_VISION_FLOW_H
#define RECTO_VISION_FLOW_H

#include "backend/op.h"
#include "tensor/config.h"
#include "tensor/weight.h"
#include "vision/view_size.h"

struct flow_layer {
    tensor attn_norm, ffn_norm;
    struct weight qkv, wo, gate, up, down; /* qkv: rows of q, of k, of v */
};

struct flow {
    const struct flow_config *cfg;
    int64_t n_row[VIEW_SIZES]; /* features of a view = queries of a view: 256, 144 */
    tensor query[VIEW_SIZES];  /* [n_row, dim] */
    tensor rope;               /* [2 * 256, head_dim] */
    struct flow_layer *layer;
    tensor norm;
};

void flow_load(struct flow *f, struct loader *ld, const struct flow_config *cfg, int patch);
void flow_reset(struct flow *f);

/* feat [rows, dim] -> out [rows, dim]: the rows of n_view[TILE_VIEW] tiles, then of n_view[GLOBAL_VIEW] global views, n_row
 * each.  A view's rows do not depend on the other views. Tap: encoder_layer%d, all 2n rows of a view, by size. */
void flow_encode(struct run *r, const struct flow *f, tensor out, tensor feat,
                 const int n_view[VIEW_SIZES]);

#endif
