#include "engine/kv_pool.h"

#include <assert.h>
#include <stdlib.h>

void kv_pool_init(struct kv_pool *p, int n_block, int block_tok)
{
    *p = (struct kv_pool){.n_block = n_block, .block_tok = block_tok, .n_free = n_block};
    p->free = mem_zero((size_t)n_block, sizeof *p->free);
    for (int i = 0; i < n_block; i++)
        p->free[i] = n_block - 1 - i; /* low numbers first: a short run touches little memory */
}

void kv_pool_reset(struct kv_pool *p)
{
    free(p->free);
    *p = (struct kv_pool){0};
}

int kv_reserve(struct kv_pool *p, struct kv_seq *s, int n_tok)
{
    int want = (int)div_up(n_tok, p->block_tok), need = want - s->n_block;

    if (need > p->n_free)
        return RECTO_ENOSPC;
    if (want > s->cap) {
        s->cap = want;
        s->block = mem_grow(s->block, (size_t)s->cap, sizeof *s->block);
    }
    while (need-- > 0)
        s->block[s->n_block++] = p->free[--p->n_free];
    return 0;
}

void kv_release(struct kv_pool *p, struct kv_seq *s)
{
    while (s->n_block > 0)
        p->free[p->n_free++] = s->block[--s->n_block];
    assert(p->n_free <= p->n_block);
}

void kv_seq_reset(struct kv_seq *s)
{
    assert(s->n_block == 0);
    free(s->block);
    *s = (struct kv_seq){0};
}
