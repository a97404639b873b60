#include "engine/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void batch_init(struct batch_builder *bb, int max_tok, int max_seq, int max_block, int max_out)
{
    *bb = (struct batch_builder){
        .max_tok = max_tok, .max_seq = max_seq, .max_block = max_block, .max_out = max_out};
    bb->id = mem_zero((size_t)max_tok, sizeof *bb->id);
    bb->pos = mem_zero((size_t)max_tok, sizeof *bb->pos);
    bb->slot = mem_zero((size_t)max_tok, sizeof *bb->slot);
    bb->seq_row = mem_zero((size_t)max_seq + 1, sizeof *bb->seq_row);
    bb->seq_len = mem_zero((size_t)max_seq, sizeof *bb->seq_len);
    bb->block = mem_zero((size_t)max_seq * (size_t)max_block, sizeof *bb->block);
    bb->out_row = mem_zero((size_t)max_out, sizeof *bb->out_row);
    bb->out = mem_zero((size_t)max_out, sizeof(struct request *));
    bb->visual = mem_zero((size_t)max_seq, sizeof *bb->visual);
    batch_clear(bb);
}

void batch_reset(struct batch_builder *bb)
{
    free(bb->id);
    free(bb->pos);
    free(bb->slot);
    free(bb->seq_row);
    free(bb->seq_len);
    free(bb->block);
    free(bb->out_row);
    free(bb->out);
    free(bb->visual);
    *bb = (struct batch_builder){0};
}

void batch_clear(struct batch_builder *bb)
{
    bb->b = (struct batch){
        .id = bb->id,
        .pos = bb->pos,
        .slot = bb->slot,
        .seq_row = bb->seq_row,
        .seq_len = bb->seq_len,
        .block = bb->block,
        .block_stride = bb->max_block,
        .out_row = bb->out_row,
    };
    bb->n_visual = 0;
}

/* The part of [at, at + n_tok) that is visual rows, if any. */
static void add_visual(struct batch_builder *bb, const struct request *q, int at, int n_tok,
                       int row)
{
    int from = MAX(at, q->image_at), to = MIN(at + n_tok, q->image_at + q->n_visual);

    if (from < to)
        bb->visual[bb->n_visual++] = (struct batch_visual){row + from - at, to - from,
                                                           from - q->image_at, q};
}

void batch_add(struct batch_builder *bb, const struct kv_pool *pool, struct request *q, int n_tok,
               bool wants_logits)
{
    struct batch *b = &bb->b;
    int row = b->n_tok, at = q->s.n_cached;

    assert(row + n_tok <= bb->max_tok && b->n_seq < bb->max_seq &&
           q->s.kv.n_block <= bb->max_block);
    add_visual(bb, q, at, n_tok, row);
    for (int i = 0; i < n_tok; i++) {
        int pos = at + i;
        bool is_visual = pos >= q->image_at && pos < q->image_at + q->n_visual;

        bb->id[row + i] = is_visual ? -1 : q->id[pos];
        bb->pos[row + i] = pos;
        bb->slot[row + i] = kv_slot(pool, &q->s.kv, pos);
    }
    memcpy(bb->block + (size_t)b->n_seq * (size_t)bb->max_block, q->s.kv.block,
           (size_t)q->s.kv.n_block * sizeof *bb->block);
    bb->seq_row[b->n_seq] = row;
    bb->seq_len[b->n_seq] = at + n_tok;
    b->n_tok += n_tok;
    bb->seq_row[++b->n_seq] = b->n_tok;
    if (wants_logits) {
        assert(b->n_out < bb->max_out);
        bb->out[b->n_out] = q;
        bb->out_row[b->n_out++] = b->n_tok - 1;
    }
}

bool batch_is_decode(const struct batch_builder *bb)
{
    const struct batch *b = &bb->b;

    return b->n_tok == b->n_seq && b->n_out == b->n_seq && bb->n_visual == 0;
}

int batch_bucket(int n)
{
    int grain = n <= 2 ? 1 : n <= 4 ? 4 : n <= 128 ? 8 : n <= 256 ? 16 : 32;

    return (n + grain - 1) / grain * grain;
}

void batch_pad(struct batch_builder *bb, int n, int block, int block_tok)
{
    struct batch *b = &bb->b;

    assert(n <= bb->max_tok && n <= bb->max_seq && n <= bb->max_out);
    for (int row = b->n_tok; row < n; row++) {
        bb->id[row] = bb->pos[row] = 0;
        bb->slot[row] = block * block_tok;
        bb->block[(size_t)row * (size_t)bb->max_block] = block;
        bb->seq_len[row] = 1;
        bb->seq_row[row + 1] = row + 1;
        bb->out_row[row] = row;
        bb->out[row] = NULL;
    }
    b->n_tok = b->n_seq = b->n_out = MAX(n, b->n_tok);
}
