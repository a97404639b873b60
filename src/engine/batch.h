/* Flattens the sequences of a step into rows (struct batch, backend.h). Engine thread only; allocates nothing in a step. */
#ifndef RECTO_ENGINE_BATCH_H
#define RECTO_ENGINE_BATCH_H

#include "backend/batch.h"
#include "engine/request.h"

/* Visual rows to be put in after the embedding: rows [row, row + n) of the step = rows [from, from + n) of q->visual. */
struct batch_visual {
    int row, n, from;
    const struct request *q;
};

struct batch_builder {
    struct batch b; /* what the ops see; arrays below */
    int max_tok, max_seq, max_block, max_out;
    int32_t *id, *pos, *slot, *seq_row, *seq_len, *block, *out_row;
    struct batch_visual *visual;
    int n_visual;
    struct request **out; /* [n_out] whose logits each out_row is */
};

void batch_init(struct batch_builder *bb, int max_tok, int max_seq, int max_block, int max_out);
void batch_reset(struct batch_builder *bb);
void batch_clear(struct batch_builder *bb);
/* Append the next n_tok known ids of q; with wants_logits its last row is asked for. */
void batch_add(struct batch_builder *bb, const struct kv_pool *pool, struct request *q, int n_tok,
               bool wants_logits);
/* Does every sequence have one row, whose logits are wanted? */
bool batch_is_decode(const struct batch_builder *bb);
/* The count of rows that a step of n decoding rows is padded to, so that few different ones occur: 1, 2, 4, then multiples of
 * 8, of 16 from 128 and of 32 from 256. */
int batch_bucket(int n);
/* Fill a decoding step up to n rows.  Each is a sequence of one token, whose K and V go to `block`, which no page may own; no
 * op lets a row see another, so the rest of the step stays as it is. Their out is NULL. */
void batch_pad(struct batch_builder *bb, int n, int block, int block_tok);

#endif
