/* The tensors of a model, by original name: which there are and of what shape follows from the
 * configuration alone. Used to make a checkpoint, to compare one with its configuration, and to
 * count parameters. Source of names: model.safetensors.index.json of deepseek-ai/DeepSeek-OCR-2; of
 * shapes: the modules of deepencoderv2/ (sam_vary_sdpa.py, qwen2_d2e.py, build_linear.py) and
 * modeling_deepseekv2.py. */
#ifndef RECTO_TENSOR_INVENTORY_H
#define RECTO_TENSOR_INVENTORY_H

#include "tensor/config.h"
#include "tensor/names.h"

/* What the numbers are for. */
enum inventory_role {
    ROLE_LINEAR,    /* [out, in] */
    ROLE_CONV,      /* [out, in, y, x] */
    ROLE_BIAS,      /* of either */
    ROLE_NORM,      /* gain of a norm */
    ROLE_NORM_BIAS, /* shift of a LayerNorm */
    ROLE_POS,       /* SAM's absolute positions [1, grid, grid, width] */
    ROLE_REL_POS,   /* SAM's relative positions [2 side - 1, head_dim] */
    ROLE_EMBED,     /* rows that are looked up: token embeddings, learned queries, the separator */
    ROLE_ROUTER,    /* [experts, hidden] */
    ROLE_HEAD,      /* lm_head */
};

struct inventory_item {
    char name[NAMES_MAX]; /* original */
    enum inventory_role role;
    int rank;
    int64_t n[TENSOR_RANK]; /* 1 behind rank */
    int64_t count;
    int64_t fan_in; /* products summed into one output; 0 for what is not a matrix */
};

/* Call fn for every tensor, in the order in which a page walks through them; the item lives until
 * fn returns. The first result other than 0 ends the walk and is returned. */
typedef int inventory_fn(void *ctx, const struct inventory_item *item);
int inventory_each(const struct model_config *c, inventory_fn *fn, void *ctx);

/* How many tensors, and in *n_param (NULL is fine) how many numbers. */
int inventory_count(const struct model_config *c, int64_t *n_param);

/* Compare a checkpoint with a configuration: every tensor must be there, of the right shape and a
 * floating type. */
int inventory_check(const struct model_config *c, const struct ckpt *ckpt,
                    enum names_layout layout);

#endif
