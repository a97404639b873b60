/* config.json: the sizes of a model, from either of its two layouts, checked.
 *
 *   original   the Hub's (deepseek-ai/DeepSeek-OCR-2): language_config, vision_config.width,
 *              projector_config. What the official code hard-codes may stand in it under override
 *              keys; absent, the released value counts.
 *   native     transformers 5 (model_type deepseek_ocr2): text_config,
 *              vision_config.{sam_config, encoder_config}.
 *
 * docs/model.md has the table of keys of both. The layout of config.json says nothing about the
 * names in the checkpoint, which are probed (names.h): transformers writes either.
 *
 * An option that would change the numbers and that recto does not compute (latent attention, rope
 * scaling, renormalised expert weights, tied embeddings ...) is refused by name; so is a size out
 * of range. What official code never reads (global_view_pos, candidate_resolutions,
 * vision_config.mlp_ratio, downsample_channels[1]) is not read here either. Every failure is
 * RECTO_EMODEL: file, key, what was found and what was expected. */
#ifndef RECTO_TENSOR_CONFIG_H
#define RECTO_TENSOR_CONFIG_H

#include "base/str.h"

#define CONFIG_LAYER_MAX     256
#define CONFIG_SAM_LAYER_MAX 64

enum config_layout { CONFIG_ORIGINAL, CONFIG_NATIVE };

struct sam_config {      /* released */
    int width;           /* 768 */
    int layers;          /* 12 */
    int heads, head_dim; /* 12 of 64 */
    int mlp;             /* 3072: inner width, width * mlp_ratio */
    int out_chans;       /* 256: channels of the neck */
    int net2;            /* 512: channels of net_2; those of net_3 are flow.dim */
    int window;          /* 14: patches a side */
    int patch;           /* 16: pixels a side; no other value fits the learned queries */
    bool is_global[CONFIG_SAM_LAYER_MAX]; /* layer i attends to the whole grid: 2, 5, 8, 11 */
    float eps;                            /* 1e-6, always */
};

struct flow_config {
    int dim;             /* 896 */
    int layers;          /* 24 */
    int heads, kv_heads; /* 14, 2 */
    int head_dim;        /* 64 */
    int inner;           /* 4864 */
    float theta, eps;    /* 1e6, 1e-6 */
};

struct decoder_config {
    int vocab;           /* 129280 */
    int hidden;          /* 1280 */
    int layers;          /* 12 */
    int heads, kv_heads; /* 10, 10 */
    int head_dim;        /* 128 */
    int dense_inner;     /* 6848 */
    int first_dense;     /* 1: that many dense layers, then experts */
    int expert_inner;    /* 896 */
    int n_expert;        /* 64; the router's softmax is over all */
    int n_pick;          /* 6; they keep their weights of that softmax */
    int n_shared;        /* 2: one MLP n_shared * expert_inner wide */
    float theta, eps;    /* 1e4, 1e-6 */
    int context;         /* 8192 positions */
    int bos, eos;        /* 0, 1 */
    bool norm_topk;      /* false, always: true is refused */
    float scaling;       /* 1, always: of the experts' sum */
};

struct model_config {
    enum config_layout layout;
    struct sam_config sam;
    struct flow_config flow;
    struct decoder_config decoder;    /* the projector is linear, flow.dim -> decoder.hidden */
    int image_token_id;               /* -1: the id of "<image>" in the tokenizer */
    bool crop_mode;                   /* false: never tiles */
    int image_size, tile;             /* 1024, 768: pixels of the global view and of a tile */
    int n_query_global, n_query_tile; /* 256, 144: vectors of a view */
    int guard_n, guard_w; /* n-gram ban: size (-1: off) and window (-1: whole sequence); 20, 90 */
};

/* Read dir/config.json, or dir itself when it is a *.json file (sizes alone are wanted: simulations), and the guard from dir/generation_config.json if there is one. */
int config_load(struct model_config *c, const char *dir);
/* The text of a config.json; name is for messages. The guard gets its default. */
int config_parse(struct model_config *c, str json, const char *name);
/* Set the guard from the text of a generation_config.json, {"recto": {"guard": "40/180"}}:
 * size/window, size/all, or off. Without these keys it stays as it is. */
int config_parse_guard(struct model_config *c, str json, const char *name);
/* The released model's sizes. */
void config_released(struct model_config *c);

/* Append the config.json of c, in either layout, with every value written out; dtype is "bfloat16"
 * or "float32". config_parse of it gives c again, but for layout and guard. */
void config_write(const struct model_config *c, enum config_layout layout, const char *dtype,
                  struct buf *out);

#endif
