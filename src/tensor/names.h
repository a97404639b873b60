/* Names of tensors. The code asks by ORIGINAL names, as the Hub's checkpoint has them; in a native
 * checkpoint (written by transformers 5) the same numbers stand under other names, and the experts
 * of a layer in two fused tensors.
 *
 *   original                               native
 *   model.sam_model. ...                   model.vision_tower.sam_encoder. ...    (see names.c)
 *   model.qwen2_model.model.model. ...     model.vision_tower.vision_encoder. ...
 *   model.qwen2_model.query_768.weight     model.vision_tower.query_768_resolution.weight
 *   model.projector.layers. ...            model.multi_modal_projector. ...
 *   model.view_seperator                   model.view_separator
 *   model.{embed_tokens,layers,norm}. ...  model.language_model. ...
 *   ...mlp.experts.M.gate_proj.weight      ...mlp.experts.gate_up_proj [E, 2 inner, hidden]:
 *                                              slice M, rows 0 .. inner - 1
 *   ...mlp.experts.M.up_proj.weight            slice M, rows inner .. 2 inner - 1
 *   ...mlp.experts.M.down_proj.weight      ...mlp.experts.down_proj [E, hidden, inner]: slice M
 *   lm_head.weight                         the same
 *
 * Accepted too: experts that are not fused, and query_768, query_1024, multi_modal_projector.proj
 * of a draft of the converter.
 * Source: convert_deepseek_ocr2_weights_to_hf.py and modeling_deepseek_ocr2.py of
 * huggingface/transformers. */
#ifndef RECTO_TENSOR_NAMES_H
#define RECTO_TENSOR_NAMES_H

#include "tensor/safetensors.h"

enum names_layout { NAMES_ORIGINAL, NAMES_NATIVE };
#define NAMES_MAX 160 /* bytes of a name, NUL included */

/* The layout, by a name that only one has; else RECTO_EMODEL. */
int names_detect(const struct ckpt *c);
const char *names_layout_text(enum names_layout l); /* "original", "native" */

/* A tensor of the original checkpoint, wherever its numbers stand. */
struct ckpt_view {
    enum dtype dtype;
    int rank; /* sizes of the original tensor, not of the fused one */
    int64_t n[TENSOR_RANK], count;
    const void *data; /* in the mapped file, aligned to nothing */
    size_t bytes;
    const struct ckpt_tensor *tensor; /* what holds it: the whole of it, unless is_slice */
    bool is_slice;
};
/* Missing, of more than 4 sizes, of an unread type, or a fused tensor of an impossible shape:
 * RECTO_EMODEL. Whether the shape is the wanted one is the caller's question. */
int names_find(const struct ckpt *c, enum names_layout layout, const char *original,
               struct ckpt_view *v);
/* The view's numbers were read for the last time: give their pages back (ckpt_drop of a slice). */
void names_drop(const struct ckpt *c, const struct ckpt_view *v);

/* Where a native checkpoint keeps it. */
enum names_part { NAMES_WHOLE, NAMES_GATE, NAMES_UP, NAMES_DOWN };
struct native_name {
    char name[NAMES_MAX];
    enum names_part part; /* of a fused tensor; NAMES_WHOLE: not fused */
    int expert;           /* its slice */
};
/* RECTO_EINTERNAL: not a name of the original checkpoint. */
int names_to_native(const char *original, struct native_name *out);

#endif
