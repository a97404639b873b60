/* The paged cache and causal attention over it.
 *
 * The slab is [layer][block][head][keys, values], each head's part as attend.h lays it out, so a
 * decode step reads exactly the keys and values it needs, in order.  Which block belongs to whom
 * is the caller's business (engine/kv_pool). */
#include "backend/cpu/attend.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct kv {
    struct kv_shape shape;
    size_t part;  /* bytes of one head's keys (or values) in a block */
    size_t block; /* bytes of a block of one layer                   */
    char *slab;
};

static int kv_sizes(struct device *d, const struct kv_shape *s, struct kv *kv, size_t *total)
{
    TRY(head_dim_check(s->head_dim));
    if (s->n_layer < 1 || s->n_head < 1 || s->n_block < 1 || s->block_tok < PANEL ||
        s->block_tok % PANEL)
        return err(RECTO_ESHAPE, "cache: a block has %d tokens; it must be a multiple of %d",
                   s->block_tok, PANEL);
    kv->shape = *s;
    kv->part = (size_t)s->block_tok * (size_t)s->head_dim * key_size(d);
    if (mem_mul(2 * kv->part, (size_t)s->n_head, &kv->block) ||
        mem_mul(kv->block, (size_t)s->n_block, total) || mem_mul(*total, (size_t)s->n_layer, total))
        return err(RECTO_ENOMEM, "cache: %d blocks of %d tokens are too many", s->n_block,
                   s->block_tok);
    return 0;
}

int64_t cpu_kv_bytes(struct device *d, const struct kv_shape *s)
{
    struct kv kv;
    size_t total;

    TRY(kv_sizes(d, s, &kv, &total));
    return (int64_t)total;
}

int cpu_kv_open(struct device *d, struct kv **out, const struct kv_shape *s)
{
    struct kv *kv = mem_zero(1, sizeof *kv);
    size_t total;
    int rc;

    *out = NULL;
    TRY_OUT(kv_sizes(d, s, kv, &total));
    kv->slab = cpu_alloc(total);
    if (!kv->slab)
        TRY_OUT(err(RECTO_ENOMEM, "cache: no memory for %zu MiB; lower the number of cached tokens",
                    total >> 20));
    *out = kv;
    return 0;
out:
    free(kv);
    return rc;
}

void cpu_kv_close(struct device *d, struct kv *kv)
{
    if (!kv)
        return;
    cpu_free(kv->slab);
    free(kv);
}

static char *head_at(const struct kv *kv, int layer, int64_t block, int head)
{
    return kv->slab + ((size_t)layer * (size_t)kv->shape.n_block + (size_t)block) * kv->block +
           (size_t)head * 2 * kv->part;
}

/* ---- store ----------------------------------------------------------------------------------- */
struct store_job {
    const struct device *d;
    const struct kv *kv;
    const float *k, *v;
    const struct batch *b;
    int layer;
};

/* One head, rows in order.  The first token of a block clears its values: what the block's last
 * owner left there would be multiplied by weight 0, which a NaN survives. */
static void store_head(void *ctx, int64_t head, int worker)
{
    const struct store_job *j = ctx;
    const struct kv_shape *s = &j->kv->shape;
    int64_t width = (int64_t)s->n_head * s->head_dim;

    for (int r = 0; r < j->b->n_tok; r++) {
        int block = j->b->slot[r] / s->block_tok, off = j->b->slot[r] % s->block_tok;
        char *at = head_at(j->kv, j->layer, block, (int)head);

        assert(j->b->slot[r] >= 0 && block < s->n_block);
        if (off == 0)
            memset(at + j->kv->part, 0, j->kv->part);
        keys_pack1(j->d, at, at + j->kv->part, s->block_tok, off, s->head_dim,
                   j->k + r * width + head * s->head_dim, j->v + r * width + head * s->head_dim);
    }
}

int cpu_kv_store(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                 const struct batch *b)
{
    struct store_job j = {d, kv, k.data, v.data, b, layer};

    if (b->n_tok < 4) /* shorter than waking a thread */
        for (int h = 0; h < kv->shape.n_head; h++)
            store_head(&j, h, 0);
    else
        pool_run(d->pool, store_head, &j, kv->shape.n_head);
    return 0;
}

/* ---- attend ---------------------------------------------------------------------------------- */
struct tile_place {
    int seq, row, n; /* rows [row, row + n) of the step, all of one sequence */
};

struct attend_job {
    const struct device *d;
    const struct kv *kv;
    const struct batch *b;
    float *out;
    const float *q;
    char *memory; /* [workers][per_worker] */
    size_t per_worker;
    const struct tile_place *place;
    int n_place, layer;
};

static void attend_item(void *ctx, int64_t i, int worker)
{
    const struct attend_job *j = ctx;
    const struct kv_shape *s = &j->kv->shape;
    const struct tile_place *p = &j->place[i % j->n_place];
    int head = (int)(i / j->n_place);
    int64_t width = (int64_t)s->n_head * s->head_dim,
            at = (int64_t)p->row * width + (int64_t)head * s->head_dim;
    struct arena memory = {.base = j->memory + (size_t)worker * j->per_worker,
                           .cap = j->per_worker};
    char *base = head_at(j->kv, j->layer, 0, head);
    struct head_keys keys = {.k = base,
                             .v = base + j->kv->part,
                             .block = j->b->block + (int64_t)p->seq * j->b->block_stride,
                             .block_bytes = (int64_t)j->kv->block,
                             .block_tok = s->block_tok};
    struct tile t;

    tile_carve(&t, &memory, s->head_dim, 0);
    t.n = p->n;
    for (int r = 0; r < p->n; r++) {
        t.limit[r] = j->b->pos[p->row + r] + 1;
        tile_query(&t, r, j->q + at + r * width);
    }
    tile_attend(j->d, &t, &keys);
    for (int r = 0; r < p->n; r++)
        memcpy(j->out + at + r * width, t.o + r * s->head_dim, (size_t)s->head_dim * sizeof *t.o);
}

/* Tiles of every sequence; returns their number. place may be NULL to count. */
static int place_tiles(const struct batch *b, struct tile_place *place)
{
    int n = 0;

    for (int s = 0; s < b->n_seq; s++)
        for (int row = b->seq_row[s]; row < b->seq_row[s + 1]; row += TILE_ROWS, n++)
            if (place)
                place[n] = (struct tile_place){s, row, MIN(TILE_ROWS, b->seq_row[s + 1] - row)};
    return n;
}

int cpu_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
               const struct batch *b)
{
    struct attend_job j = {.d = d, .kv = kv, .b = b, .out = out.data, .q = q.data, .layer = layer};
    struct arena count = {0};
    void *place, *memory;

    tile_carve(&(struct tile){0}, &count, kv->shape.head_dim, 0);
    j.per_worker = count.peak;
    j.n_place = place_tiles(b, NULL);
    TRY(cpu_work(d, WORK_LIST, (size_t)j.n_place * sizeof *j.place, &place));
    TRY(cpu_work(d, WORK_TILE, j.per_worker * (size_t)pool_threads(d->pool), &memory));
    place_tiles(b, place);
    j.place = place;
    j.memory = memory;
    pool_run(d->pool, attend_item, &j, (int64_t)j.n_place * kv->shape.n_head);
    return 0;
}
