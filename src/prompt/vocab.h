/* The vocabulary: which bytes an id stands for, and the id of given bytes.
 *
 * Built once, read by many threads. Lookups go through an open-addressing hash table; the hash is
 * seeded, so a crafted file cannot aim its entries at one slot. */
#ifndef RECTO_PROMPT_VOCAB_H
#define RECTO_PROMPT_VOCAB_H

#include "base/str.h"

#define VOCAB_MAX_ID \
    ((1 << 20) - 1) /* eight times the released model's; bounds the memory a file can ask for */

struct vocab_slot {
    uint32_t tag; /* upper half of the hash, to skip most comparisons */
    int32_t id;   /* -1: free */
};

struct vocab {
    str *piece; /* [n] the bytes of each id; {"", 0} where an id has no text */
    int n, cap; /* n: highest id + 1 */
    char *text; /* where the pieces lie */
    size_t n_text, cap_text;
    struct vocab_slot *slot; /* [n_slot], a power of two, at most half full */
    uint32_t n_slot, n_used;
    uint64_t seed;
};

/* An empty vocabulary whose pieces will have at most text_bytes in all. */
void vocab_init(struct vocab *v, size_t text_bytes, uint64_t seed);
void vocab_reset(struct vocab *v);

/* Give id its bytes (copied). is_found: vocab_find will find them; entries that are no byte strings
 * and added tokens, which are looked for by other means, only decode. RECTO_EFORMAT: no bytes, id
 * outside [0, VOCAB_MAX_ID] or already given, or the same bytes again. */
int vocab_add(struct vocab *v, int64_t id, str bytes, bool is_found);

/* The id of these bytes; -1 if there is none. */
int32_t vocab_find(const struct vocab *v, str bytes);

/* The bytes of id; empty for ids without text and ids out of range. */
str vocab_piece(const struct vocab *v, int32_t id);

/* Multiply-and-fold hash of 8 bytes at a time (the mixing step of wyhash,
 * github.com/wangyi-fudan/wyhash). */
static inline uint64_t vocab_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128)a * b;

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

#define VOCAB_ODD 0x9E3779B97F4A7C15ull /* 2^64 / golden ratio, made odd */

#endif
