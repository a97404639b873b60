/* The paged KV cache as integers: which block of the slab belongs to which sequence.  The slab itself is the device's.
 *
 * Words (docs/engine.md): a *block* holds block_tok tokens of one sequence for all layers and heads; a *slot* is one token's
 * place, block * block_tok + offset; a sequence's block table lists its blocks in order of position.
 * Reserving is all or nothing, so a refusal leaves nothing to undo.  Engine thread only. */
#ifndef RECTO_ENGINE_KV_POOL_H
#define RECTO_ENGINE_KV_POOL_H

#include "base/err.h"
#include "base/mem.h"

struct kv_pool {
    int n_block, block_tok;
    int n_free;
    int32_t *free; /* stack of free block numbers */
};

struct kv_seq {
    int32_t *block; /* [n_block], room for cap */
    int n_block, cap;
};

void kv_pool_init(struct kv_pool *p, int n_block, int block_tok);
void kv_pool_reset(struct kv_pool *p);
/* Make room for n_tok tokens in all; RECTO_ENOSPC when the pool has too few blocks now. */
int kv_reserve(struct kv_pool *p, struct kv_seq *s, int n_tok);
/* Give everything back; s is empty and reusable. */
void kv_release(struct kv_pool *p, struct kv_seq *s);
void kv_seq_reset(struct kv_seq *s); /* free the table of an empty sequence */

static inline int32_t kv_slot(const struct kv_pool *p, const struct kv_seq *s, int pos)
{
    return s->block[pos / p->block_tok] * p->block_tok + pos % p->block_tok;
}

#endif
