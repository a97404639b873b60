/* A step's integers on the device: one upload before the ops of the step, to a place that depends
 * only on the counts, so that a recorded step (graph.c) finds its numbers where it found the last
 * ones. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 64 }; /* queries of a tile of attend.cu */

static int rows_of(const struct batch *b, int seq)
{
    return b->seq_row[seq + 1] - b->seq_row[seq];
}

static int blocks_of(const struct batch *b, int seq, int block_tok)
{
    return (b->seq_len[seq] + block_tok - 1) / block_tok;
}

/* Counts that decide grids and places.  The stride of the block table, and with it the number of
 * attention's steps of a decoding row, is rounded up, so that it stays for some hundred tokens. */
static void count(struct step_data *s, const struct batch *b, int block_tok)
{
    int stride = 1;

    *s = (struct step_data){.max_rows = 1};
    for (int i = 0; i < b->n_seq; i++) {
        int rows = rows_of(b, i);

        stride = MAX(stride, blocks_of(b, i, block_tok));
        s->max_rows = MAX(s->max_rows, rows);
        s->n_single += rows == 1;
        if (rows > 1)
            s->n_tile += (rows + TILE_ROWS - 1) / TILE_ROWS;
    }
    s->block_stride = (stride + 3) / 4 * 4;
    s->max_len = s->block_stride * block_tok;
}

static int32_t *put(int32_t *to, const int32_t *from, int n)
{
    if (from)
        memcpy(to, from, (size_t)n * sizeof *to);
    return to + n;
}

static void put_all(const struct step_data *s, const struct batch *b, int block_tok, int32_t *at)
{
    at = put(at, b->id, b->n_tok);
    at = put(at, b->pos, b->n_tok);
    at = put(at, b->slot, b->n_tok);
    at = put(at, b->seq_row, b->n_seq + 1);
    at = put(at, b->out_row, b->n_out);
    for (int i = 0; i < b->n_seq; i++, at += s->block_stride)
        put(at, b->block + (size_t)i * (size_t)b->block_stride, blocks_of(b, i, block_tok));
    for (int i = 0; i < b->n_seq; i++)
        for (int r = 0; rows_of(b, i) > 1 && r < rows_of(b, i); r += TILE_ROWS) {
            *at++ = i;
            *at++ = r;
        }
}

static size_t size_of_all(const struct step_data *s, const struct batch *b)
{
    return 3 * (size_t)b->n_tok + (size_t)b->n_seq + 1 + (size_t)b->n_out +
           (size_t)b->n_seq * (size_t)s->block_stride + 2 * (size_t)s->n_tile;
}

/* The same order, on the device; the bans come last, since their number is the step's own. */
static void place_all(struct step_data *s, const struct batch *b, int32_t *at)
{
    s->rows.id = at;
    s->rows.pos = s->rows.id + b->n_tok;
    s->slot = s->rows.pos + b->n_tok;
    s->seq_row = s->slot + b->n_tok;
    s->rows.out_row = at + 3 * (size_t)b->n_tok + (size_t)b->n_seq + 1;
    s->block = s->rows.out_row + b->n_out;
    s->tile = s->block + (size_t)b->n_seq * (size_t)s->block_stride;
    s->ban_from = s->tile + 2 * (size_t)s->n_tile;
    s->ban_id = s->ban_from + b->n_out + 1;
}

/* Room that rarely has to grow: growing moves it, and recorded steps are lost. */
static int take_room(struct device *d, size_t n, int32_t **out)
{
    size_t bytes = 1 << 18;
    void *p;

    while (bytes < n * sizeof **out)
        bytes *= 2;
    TRY(cuda_work(d, WORK_BATCH, bytes, &p));
    *out = p;
    return 0;
}

static int upload(struct device *d, const struct batch *b, int block_tok, const int32_t *ban,
                  size_t n_ban)
{
    struct step_data *s = &d->step;
    size_t n = size_of_all(s, b), bytes = (n + n_ban) * sizeof *ban;
    int32_t *to;
    char *from;

    TRY(take_room(d, n + n_ban, &to));
    TRY(cuda_staging(d, bytes, &from));
    put_all(s, b, block_tok, (int32_t *)(void *)from);
    if (n_ban)
        memcpy(from + n * sizeof *ban, ban, n_ban * sizeof *ban);
    place_all(s, b, to);
    return cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->stream), "step");
}

int cuda_step_upload(struct device *d, const struct batch *b, int block_tok,
                     const struct sample_ask *ask)
{
    size_t n_ban = 0;
    int32_t *ban = ask ? cuda_bans(ask, b->n_out, &n_ban) : NULL;
    int rc;

    cudaSetDevice(d->id);
    count(&d->step, b, block_tok);
    rc = upload(d, b, block_tok, ban, n_ban);
    d->step.ask = rc < 0 ? NULL : ask;
    free(ban);
    return rc;
}

int cuda_step(struct device *d, struct kv *kv, const struct batch *b, const struct sample_ask *ask,
              struct choice *next, struct step_rows *rows)
{
    int rc;

    TRY(cuda_step_upload(d, b, cuda_kv_block_tok(kv), ask));
    *rows = d->step.rows;
    if (!ask || d->step.n_single != b->n_tok || b->n_out != b->n_tok)
        return 0;
    rc = recorder_begin(d, kv, b->n_tok);
    if (rc > 0)
        cuda_expect(d, next, ask, b->n_out);
    return rc;
}
