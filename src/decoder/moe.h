/* Mixture of experts: every row is served by its n_pick best experts of n_expert, and by the shared ones.
 *   p = softmax(W_router h) over all experts, in fp32; the n_pick largest, weighted by p as it is (not renormalised)
 *   y += sum p_e down_e(silu(gate_e h) * up_e h) + shared(h)
 * The forward pass is one op (backend.h, moe_add), so that a device may fuse it.
 * Source: DeepseekV2MoE.forward, MoEGate.forward with scoring_func "softmax", topk_method "greedy", norm_topk_prob false. */
#ifndef RECTO_DECODER_MOE_H
#define RECTO_DECODER_MOE_H

#include "backend/backend.h"
#include "tensor/config.h"
#include "tensor/weight.h"

void moe_load(struct moe *m, struct loader *ld, const struct decoder_config *cfg, int layer);
void moe_reset(struct moe *m);

#endif
