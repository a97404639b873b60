/* The two long values of a tokenizer.json, model.vocab and model.merges, apart from the rest.
 *
 * A scanner walks the file once and only finds where the two lie; then it reads them, and jansson
 * reads the rest, with {} and [] in their places. So the strict parser judges the file's structure,
 * and 400,000 strings cost no object each. */
#ifndef RECTO_PROMPT_TOKENIZER_PARTS_H
#define RECTO_PROMPT_TOKENIZER_PARTS_H

#include "prompt/tokenizer.h"

struct parts {
    str vocab, merges; /* the two values in the file's bytes, brackets included; n = 0: not found */
    struct buf rest;   /* the file with {} and [] in their places; free with buf_reset */
};

/* Sentences of all three leave it to the caller to name the file.
 * RECTO_EFORMAT: more than TOKENIZER_MAX_REST bytes are left over, so it is cut short or something
 * else. A value that is not found is no failure yet: jansson may know better what is wrong. */
int parts_find(struct parts *parts, str json);

/* Into t->vocab and t->bpe.byte_id, both empty and initialised. RECTO_EFORMAT; RECTO_EMODEL: no
 * token for some byte. */
int parts_read_vocab(const struct parts *parts, struct tokenizer *t);

/* Into t->bpe, after the vocabulary. RECTO_EFORMAT: among others, a side or product that the
 * vocabulary lacks. */
int parts_read_merges(const struct parts *parts, struct tokenizer *t);

#endif
