/* The decoder: rows of embeddings -> logits.
 *
 * Twelve pre-norm blocks of plain multi-head attention over the paged cache, with a dense SwiGLU in the first block and
 * experts after it.  All running pages are rows of one matrix (struct batch), so decoding is a prefill of length one.
 * Source: modeling_deepseekv2.py of the DeepSeek-OCR-2 checkpoint with use_mla = false (attention is then LlamaAttention). */
#ifndef RECTO_DECODER_DECODER_H
#define RECTO_DECODER_DECODER_H

#include "backend/op.h"
#include "tensor/config.h"
#include "tensor/weight.h"

struct decoder_block {
    tensor attn_norm, ffn_norm;
    struct weight wq, wk, wv, wo;
    struct weight gate, up, down; /* dense blocks */
    struct moe moe;               /* the others; n_expert is 0 in dense blocks */
};

struct decoder {
    const struct decoder_config *cfg;
    tensor embed; /* [vocab, hidden] */
    tensor rope;  /* [context, head_dim] */
    struct decoder_block *block;
    tensor norm;
    struct weight lm_head;
};

void decoder_load(struct decoder *d, struct loader *ld, const struct decoder_config *cfg);
void decoder_reset(struct decoder *d);

/* Both between op_step and the end of its step. */
/* Rows of the step from their ids: x [n_tok, hidden]; visual rows (id -1) stay as they are, the caller fills them. */
void decoder_embed(struct run *r, const struct decoder *d, tensor x);
/* x is consumed; logits [n_out, vocab] of r->batch's out_row (n_out may be 0).
 * Taps: decoder_layer%d */
void decoder_forward(struct run *r, const struct decoder *d, tensor logits, tensor x);

#endif
