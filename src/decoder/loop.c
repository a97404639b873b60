#include "decoder/loop.h"

#include "base/mem.h"

#include <string.h>

void loop_init(struct loop *l)
{
    *l = (struct loop){.last_cell = -1};
}

static int need(const struct loop *l, int period, int n)
{
    bool in_table = l->last_cell >= 0 && l->last_cell >= n - period;

    return MAX(in_table ? 2000 : 128, 4 * period);
}

/* The oldest of the last twelve, if they lie close enough together. */
static int forced(struct loop *l, int n)
{
    int oldest;

    l->forced[l->n_forced++ % LOOP_FORCED] = n - 1;
    if (l->n_forced < LOOP_FORCED || n < LOOP_FORCED_FROM)
        return -1;
    oldest = l->forced[l->n_forced % LOOP_FORCED];
    return n - oldest <= LOOP_FORCED_OF ? oldest : -1;
}

/* A block has begun at n - 1, so the one before it is whole: is it the third in a row that repeats? */
static int blocks(struct loop *l, const int32_t *o, int n)
{
    int len, before;

    memmove(l->start + 1, l->start, sizeof l->start - sizeof *l->start);
    l->start[0] = n - 1;
    if (++l->n_block > LOOP_BLOCKS)
        return n - 1;
    if (l->n_block < 3)
        return -1;
    len = l->start[0] - l->start[1];
    before = l->start[1] - l->start[2];
    l->n_equal = len == before &&
                         memcmp(o + l->start[1], o + l->start[2], (size_t)len * sizeof *o) == 0
                     ? l->n_equal + 1
                     : 0;
    return l->n_equal == LOOP_EQUAL ? l->start[LOOP_EQUAL] : -1;
}

int loop_put(struct loop *l, const struct loop_opts *opt, const int32_t *o, int n, bool intervened)
{
    int32_t last = o[n - 1];
    int cut = -1;

    if (last == opt->cell_end && last >= 0)
        l->last_cell = n - 1;
    for (int p = 1; p <= MIN(LOOP_PERIODS, n - 1); p++)
        l->run[p] = last == o[n - 1 - p] ? (uint16_t)MIN(l->run[p] + 1, UINT16_MAX) : 0;
    for (int p = 1; p <= LOOP_PERIODS && cut < 0; p++)
        if (l->run[p] >= 128 && l->run[p] >= need(l, p, n))
            cut = n - l->run[p];
    if (cut < 0 && intervened && !opt->ignores_forced)
        cut = forced(l, n);
    if (cut < 0 && last == opt->block_start && last >= 0)
        cut = blocks(l, o, n);
    return cut;
}
