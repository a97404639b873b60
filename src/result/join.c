#include "result/join.h"

#include "base/mem.h"
#include "result/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The lower half's blocks behind the upper one's; b is empty afterwards. */
static void join_blocks(struct recto_page *a, struct recto_page *b)
{
    int order = 0, n = MIN(b->n_block, BLOCKS_MAX - a->n_block);

    for (int i = 0; i < a->n_block; i++)
        order = MAX(order, a->block[i].order + 1);
    a->block = mem_grow(a->block, (size_t)MAX(a->n_block + n, 1), sizeof *a->block);
    for (int i = 0; i < n; i++) {
        struct recto_block *to = &a->block[a->n_block++];

        *to = b->block[i];
        to->order += to->order < 0 ? 0 : order;
        b->block[i] = (struct recto_block){0};
    }
}

static void *join_arrays(void *a, size_t n_a, const void *b, size_t n_b, size_t size)
{
    a = mem_grow(a, MAX(n_a + n_b, 1), size);
    if (n_b)
        memcpy((char *)a + n_a * size, b, n_b * size);
    return a;
}

static double joined_conf(const struct recto_page *a, const struct recto_page *b)
{
    int n = a->n_token + b->n_token;
    double sum = 0;

    sum += a->n_token ? a->n_token * log(a->conf) : 0;
    sum += b->n_token ? b->n_token * log(b->conf) : 0;
    return n ? exp(sum / n) : 0;
}

static void join_raw(struct recto_page *a, const struct recto_page *b)
{
    struct buf raw = {0};

    buf_add(&raw, a->raw, a->n_raw);
    if (a->n_raw && b->n_raw)
        buf_text(&raw, "\n\n");
    buf_add(&raw, b->raw, b->n_raw);
    buf_add(&raw, "", 0);
    free(a->raw);
    a->n_raw = raw.n;
    a->raw = raw.p ? raw.p : mem_strdup("");
}

void page_join(struct recto_page *a, struct recto_page *b)
{
    size_t n_a = (size_t)a->n_token, n_b = (size_t)b->n_token;

    if (b->finish == RECTO_FINISH_LOOP || a->finish == RECTO_FINISH_EOS)
        a->finish = b->finish;
    join_raw(a, b);
    join_blocks(a, b);
    a->conf = joined_conf(a, b);
    a->id = join_arrays(a->id, n_a, b->id, n_b, sizeof *a->id);
    a->logp = join_arrays(a->logp, n_a, b->logp, n_b, sizeof *a->logp);
    a->n_token += b->n_token;
    a->n_visual += b->n_visual;
    a->n_prompt += b->n_prompt;
    a->n_stray += b->n_stray;
    a->n_intervention += b->n_intervention;
    for (int i = a->n_warning ? b->n_warning : 0; i < b->n_warning; i++)
        page_add_warning(a, b->warning[i]);
    recto_page_reset(b);
}
