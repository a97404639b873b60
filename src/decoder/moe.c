#include "decoder/moe.h"

#include "base/mem.h"

#include <stdlib.h>

static void load_expert(struct moe *m, struct loader *ld, const struct decoder_config *c, int layer,
                        int e)
{
    char n[WEIGHT_NAME_MAX];

#define EXPERT(what) weight_name(n, "model.layers.%d.mlp.experts.%d." what, layer, e)
    load_cut(ld, &m->gate[e], c->expert_inner, c->hidden, CUT_OUT, 0, EXPERT("gate_proj"));
    load_cut(ld, &m->up[e], c->expert_inner, c->hidden, CUT_OUT, 0, EXPERT("up_proj"));
    load_cut(ld, &m->down[e], c->hidden, c->expert_inner, CUT_IN, 0, EXPERT("down_proj"));
#undef EXPERT
}

void moe_load(struct moe *m, struct loader *ld, const struct decoder_config *c, int layer)
{
    size_t n = (size_t)c->n_expert;
    int64_t shared = (int64_t)c->n_shared * c->expert_inner;
    char name[WEIGHT_NAME_MAX];

    *m = (struct moe){.n_expert = c->n_expert, .n_pick = c->n_pick};
    m->gate = mem_zero(n, sizeof *m->gate);
    m->up = mem_zero(n, sizeof *m->up);
    m->down = mem_zero(n, sizeof *m->down);
#define MLP(what) weight_name(name, "model.layers.%d.mlp." what, layer)
    load_linear_f32(ld, &m->router, c->n_expert, c->hidden, MLP("gate"));
    for (int e = 0; e < c->n_expert; e++)
        load_expert(m, ld, c, layer, e);
    load_cut(ld, &m->shared_gate, shared, c->hidden, CUT_OUT, 0, MLP("shared_experts.gate_proj"));
    load_cut(ld, &m->shared_up, shared, c->hidden, CUT_OUT, 0, MLP("shared_experts.up_proj"));
    load_cut(ld, &m->shared_down, c->hidden, shared, CUT_IN, 0, MLP("shared_experts.down_proj"));
#undef MLP
}

void moe_reset(struct moe *m)
{
    free(m->gate);
    free(m->up);
    free(m->down);
    *m = (struct moe){0};
}
