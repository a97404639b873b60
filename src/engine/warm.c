#include "engine/warm.h"

#include <stdlib.h>

struct warm {
    struct runner *rn;
    int block, block_tok; /* where all rows go */
    int n_tok, n_seq, n_block;
    int32_t *id, *pos, *slot, *seq_row, *seq_len, *table, *out_row;
};

static int32_t *numbers(int n)
{
    return mem_zero((size_t)n, sizeof(int32_t));
}

static void take(struct warm *w, int n_tok, int n_seq)
{
    w->id = numbers(n_tok);
    w->pos = numbers(n_tok);
    w->slot = numbers(n_tok);
    w->seq_row = numbers(n_seq + 1);
    w->seq_len = numbers(n_seq);
    w->out_row = numbers(n_tok);
    w->table = numbers(n_seq * w->n_block);
    for (int i = 0; i < n_seq * w->n_block; i++)
        w->table[i] = w->block;
}

static void give(struct warm *w)
{
    free(w->id);
    free(w->pos);
    free(w->slot);
    free(w->seq_row);
    free(w->seq_len);
    free(w->out_row);
    free(w->table);
}

static int run(struct warm *w, int n_tok, int n_seq, int n_out)
{
    static const struct sampler greedy = {.top_p = 1};
    struct run *r = &w->rn->run;
    const struct decoder *d = &w->rn->model->decoder;
    struct batch b = {n_tok,      n_seq,    w->id,      w->pos,     w->slot, w->seq_row,
                      w->seq_len, w->table, w->n_block, w->out_row, n_out};

    for (int i = 0; i < n_out; i++)
        w->rn->ask[i] = (struct sample_ask){.sampler = &greedy};
    if (!op_step(r, &b, w->rn->ask, w->rn->found)) {
        tensor x = scratch(r, DT_F32, n_tok, d->cfg->hidden),
               logits = scratch(r, DT_F32, n_out, d->lm_head.n_out);

        decoder_embed(r, d, x);
        decoder_forward(r, d, logits, x);
        op_sample(r, logits, w->rn->ask, w->rn->found);
    }
    scratch_reset(r, 0);
    r->batch = NULL;
    return run_finish(r);
}

/* Rows of as many sequences as it takes; the first block's worth fills every place of the block with numbers. */
static int prompts(struct warm *w, int n_tok)
{
    int context = w->rn->model->cfg.decoder.context, n_seq = 0;

    for (int i = 0; i < n_tok; i++) {
        w->pos[i] = i % context;
        w->slot[i] = w->block * w->block_tok + i % w->block_tok;
        if (w->pos[i] == 0)
            w->seq_row[n_seq++] = i;
        w->seq_len[n_seq - 1] = w->pos[i] + 1;
    }
    w->seq_row[n_seq] = n_tok;
    w->out_row[0] = n_tok - 1;
    return run(w, n_tok, n_seq, 1);
}

static int decodes(struct warm *w, int n)
{
    int last = w->rn->model->cfg.decoder.context - 1;

    for (int i = 0; i < n; i++) {
        w->pos[i] = last;
        w->slot[i] = w->block * w->block_tok + last % w->block_tok;
        w->seq_row[i] = w->out_row[i] = i;
        w->seq_len[i] = last + 1;
    }
    w->seq_row[n] = n;
    return run(w, n, n, n);
}

int runner_warm(struct runner *rn, const struct runner_opts *o, int block_tok)
{
    int context = rn->model->cfg.decoder.context, rc = 0;
    struct warm w = {.rn = rn,
                     .block = (int)div_up(o->kv_tok, block_tok),
                     .block_tok = block_tok,
                     .n_block = (int)div_up(context, block_tok)};

    take(&w, o->max_tok, MAX(o->max_out, (int)div_up(o->max_tok, context) + 1));
    for (int n = o->max_tok; rc == 0 && n > 0; n = n > 512 ? 512 : n / 2)
        rc = prompts(&w, n);
    if (rc == 0)
        rc = decodes(&w, MIN(o->max_out, o->max_tok));
    give(&w);
    return rc;
}
