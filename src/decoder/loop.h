/* The loop detector: is the page going round?
 *
 * Over new ids o[0 .. L), for each period p = 1 .. 256 a run length c[p] = (L > p and o[L-1] = o[L-1-p]) ? c[p] + 1 : 0.
 *   A, exact   c[p] >= need(p) for some p;  need = max(128, 4p), but max(2000, 4p) when </td> is among the last p ids: a
 *              table may rightly hold hundreds of equal cells
 *   B, forced  at least 12 of the last 256 steps were interventions of the guard, counted from L >= 64
 *   C, blocks  three blocks in a row each equal to the one before it, or more than 400 blocks; a block's ids run from its
 *              opening marker to the next
 * 256 comparisons a token.  A loop of period p costs at most need(p) + p ids. */
#ifndef RECTO_DECODER_LOOP_H
#define RECTO_DECODER_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#define LOOP_PERIODS     256
#define LOOP_FORCED      12 /* interventions */
#define LOOP_FORCED_OF   256
#define LOOP_FORCED_FROM 64
#define LOOP_EQUAL       3 /* blocks */
#define LOOP_BLOCKS      400

struct loop_opts {
    int32_t cell_end, block_start; /* ids of </td> and <|ref|>; -1: none */
    bool ignores_forced;           /* detectors A and C only */
};

struct loop {
    uint16_t run[LOOP_PERIODS + 1]; /* c[p], stops at UINT16_MAX */
    int32_t forced[LOOP_FORCED];    /* positions of the last interventions, a ring */
    int n_forced;
    int last_cell;             /* position of the last </td>, -1: none */
    int n_block, n_equal;      /* opening markers; blocks in a row equal to the one before each */
    int start[LOOP_EQUAL + 2]; /* positions of the last opening markers, newest first */
};

void loop_init(struct loop *l);
/* After o[n - 1] was appended.  -1: no loop; else how many ids to keep: the text up to the end of the first unit, up to the first
 * of the twelve interventions, or up to the first of the three blocks (up to the end of the 400th). */
int loop_put(struct loop *l, const struct loop_opts *opt, const int32_t *o, int n, bool intervened);

#endif
