/* Tables of rotary position embeddings, shared by the flow encoder and the decoder. */
#ifndef RECTO_TENSOR_ROPE_H
#define RECTO_TENSOR_ROPE_H

#include "tensor/weight.h"

/* [n_pos, head_dim]: row p holds cos(p * f_i) for i < head_dim/2, then sin(p * f_i), f_i = theta^(-2i / head_dim).
 * Frequencies and angles are rounded to fp32 as the reference does: at position 1000 this moves an angle by 1e-4.
 * Source: Su et al. 2021, "RoFormer", equation 34; huggingface/transformers LlamaRotaryEmbedding. */
tensor load_rope(struct loader *ld, int n_pos, int head_dim, double theta);

#endif
