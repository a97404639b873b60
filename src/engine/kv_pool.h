/* The paged KV cache as integers: which block of the slab belongs to which sequences.  The slab itself is the device's.
 *
 * Words (docs/engine.md): a *block* holds block_tok tokens of a sequence for all layers and heads; a *slot* is one token's
 * place, block * block_tok + offset; a sequence's block table lists its blocks in order of position.
 *
 * Sharing is exact and by content: a full block of a prompt may be published under a key that stands for everything up to
 * its end (the image, the ids).  A later sequence with the same prompt starts from those blocks instead of computing them.
 * A block that nobody holds stays findable until its room is needed; the longest unheld goes first.
 *
 * Reserving is all or nothing, so a refusal leaves nothing to undo.  Engine thread only.
 * Source of the scheme: Kwon et al. 2023, "PagedAttention", sections 4.2 and 4.4. */
#ifndef RECTO_ENGINE_KV_POOL_H
#define RECTO_ENGINE_KV_POOL_H

#include "base/err.h"
#include "base/mem.h"

/* What a block holds: 128 bits of a SHA-256 chain; all zero: not published. */
struct kv_key {
    uint64_t a, b;
};

struct kv_block {
    int32_t n_holder;
    int32_t next, prev; /* in the list of unheld blocks; -1: end */
    int32_t chain;      /* next block of the same bucket */
    struct kv_key key;
};

struct kv_pool {
    int n_block, block_tok;
    int n_free;         /* blocks that nobody holds */
    int32_t head, tail; /* of the unheld: taken from the head */
    int32_t *bucket;    /* [n_bucket] first published block, -1: none */
    int n_bucket;       /* a power of two */
    struct kv_block *block;
    int64_t n_shared_tok,
        n_forgotten; /* counters: tokens taken over; published blocks overwritten */
};

struct kv_seq {
    int32_t *block; /* [n_block], room for cap */
    int n_block, cap;
};

void kv_pool_init(struct kv_pool *p, int n_block, int block_tok);
void kv_pool_reset(struct kv_pool *p);
/* Make room for n_tok tokens in all; RECTO_ENOSPC when the pool has too few blocks now. */
int kv_reserve(struct kv_pool *p, struct kv_seq *s, int n_tok);
/* Take over the published blocks of key[0], key[1], ... as far as they go; s is empty. Returns how many blocks. */
int kv_share(struct kv_pool *p, struct kv_seq *s, const struct kv_key *key, int n_key);
/* How many blocks kv_share would take over, taking none. */
int kv_shareable(const struct kv_pool *p, const struct kv_key *key, int n_key);
/* Block i of s is complete and holds what key says. The first to publish a key keeps it. */
void kv_publish(struct kv_pool *p, const struct kv_seq *s, int i, struct kv_key key);
/* Give everything back; s is empty and reusable. */
void kv_release(struct kv_pool *p, struct kv_seq *s);
void kv_seq_room(struct kv_seq *s, int n_block); /* room in the table for that many */
void kv_seq_reset(struct kv_seq *s);             /* free the table of an empty sequence */

static inline int32_t kv_slot(const struct kv_pool *p, const struct kv_seq *s, int pos)
{
    return s->block[pos / p->block_tok] * p->block_tok + pos % p->block_tok;
}

#endif
