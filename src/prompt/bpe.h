/* Byte pair encoding: start from single bytes, then again and again merge the adjacent pair with
 * the lowest rank (of equal ones the leftmost) until no pair has a merge. Rank = place in the
 * file's list of merges.
 *
 * The pairs wait in a heap and the symbols form a linked list, so a piece of n bytes costs
 * O(n log n): a page of text without a space is no attack. A piece that is in the vocabulary as a
 * whole is not short-cut ("ignore_merges": false).
 * Sources: Sennrich, Haddow, Birch 2016, "Neural machine translation of rare words with subword
 * units", section 3.2; order of merges as in huggingface/tokenizers, models/bpe/word.rs. */
#ifndef RECTO_PROMPT_BPE_H
#define RECTO_PROMPT_BPE_H

#include "base/str.h"
#include "prompt/ids.h"

struct bpe_merge {
    int32_t left, right; /* left < 0: a free slot */
    int32_t rank, product;
};

struct bpe {
    int32_t byte_id[256];    /* the id of each single byte */
    struct bpe_merge *merge; /* open addressing by (left, right), at most half full */
    uint32_t n_slot, n_merge;
    uint64_t seed;
};

void bpe_init(struct bpe *b, uint64_t seed);
void bpe_reset(struct bpe *b);

/* The next merge in rank order. RECTO_EFORMAT: this pair has one already. */
int bpe_add(struct bpe *b, int32_t left, int32_t right, int32_t product);

/* Memory that bpe_encode keeps between pieces; zero it first, bpe_scratch_reset frees it. */
struct bpe_scratch {
    struct bpe_symbol *symbol;
    struct bpe_pair *heap;
    int cap_symbol, cap_heap, n_heap;
};
void bpe_scratch_reset(struct bpe_scratch *s);

/* Append the ids of one piece, which is shorter than 2^30 bytes. */
void bpe_encode(const struct bpe *b, struct bpe_scratch *s, str piece, struct ids *out);

#endif
