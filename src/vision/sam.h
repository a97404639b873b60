/* SAM ViT-B: pixels -> feature maps.
 *
 * Per view of S x S pixels (1024: the page as a whole; 768: a tile), g = S / 16: 16x16 patches, absolute positions, 12
 * pre-norm blocks (windows of 14x14, four of them global) with decomposed relative positions, a neck (1x1, 3x3) and two
 * 3x3 convolutions of stride 2, which leave (g / 4)^2 vectors of the flow encoder's width, in row-major order.
 * Sources: deepencoderv2/sam_vary_sdpa.py of deepseek-ai/DeepSeek-OCR-2 (ImageEncoderViT); Kirillov et al. 2023, "Segment
 * Anything", appendix A; relative positions: Li et al. 2022, "MViTv2", section 4.1. */
#ifndef RECTO_VISION_SAM_H
#define RECTO_VISION_SAM_H

#include "backend/op.h"
#include "tensor/config.h"
#include "tensor/weight.h"
#include "vision/view_size.h"

struct sam_block {
    tensor norm1_w, norm1_b, norm2_w, norm2_b;
    struct weight qkv, proj, lin1, lin2;
    tensor rel_h[VIEW_SIZES],
        rel_w[VIEW_SIZES]; /* per view size; equal where the block has windows */
    int window;            /* 0: global */
};

struct sam {
    const struct sam_config *cfg;
    int64_t n_out; /* width of what comes out */
    struct weight patch;
    tensor pos[VIEW_SIZES]; /* [g * g, width] */
    struct sam_block *block;
    struct weight neck_conv1, neck_conv2, net2, net3;
    tensor neck_norm1_w, neck_norm1_b, neck_norm2_w, neck_norm2_b;
};

/* s is usable after the loader's failure only by sam_reset. cfg is borrowed. n_out: width of net_3. */
void sam_load(struct sam *s, struct loader *ld, const struct sam_config *cfg, int64_t n_out);
void sam_reset(struct sam *s);

/* pixels U8 [v, S, S, 3] -> out [v * (g/4)^2, n_out]. Taps: sam_patch_embed, sam_block%d, sam_neck (NCHW), sam_out (NCHW) */
void sam_encode(struct run *r, const struct sam *s, tensor out, tensor pixels, enum view_size size);

#endif
