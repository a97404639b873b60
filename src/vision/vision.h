/* A page's views -> its visual rows: SAM, flow encoder, projector, and the order they are put in.
 * Source: DeepseekOCR2Model.forward (modeling_deepseekocr2.py), build_linear.py of deepseek-ai/DeepSeek-OCR-2. */
#ifndef RECTO_VISION_VISION_H
#define RECTO_VISION_VISION_H

#include "vision/flow.h"
#include "vision/sam.h"

struct vision {
    struct sam sam;
    struct flow flow;
    struct weight projector; /* [hidden, dim], with bias */
    tensor separator;        /* [1, hidden] */
};

void vision_load(struct vision *v, struct loader *ld, const struct model_config *cfg);
void vision_reset(struct vision *v);

/* Views to encode together: n of each size, host addresses of their pixels, S x S x 3 bytes each. */
struct views {
    int n[VIEW_SIZES];
    const unsigned char **pixels[VIEW_SIZES]; /* [n]; not read in a dry run */
};

/* out [vision_rows, hidden]: the rows of all tiles, then those of all global views.  A view's rows do not depend on the
 * others'.  Tap: projector_out, by size. */
void vision_encode(struct run *r, const struct vision *v, tensor out, const struct views *views);
int64_t vision_rows(const struct vision *v, const struct views *views);

/* Rows of one view; rows of a page with n_tile tiles: locals, then global, then one separator. */
int vision_view_rows(const struct vision *v, enum view_size size);
int vision_page_rows(const struct vision *v, int n_tile);

#endif
