#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The pattern: for each distinct code a row of bits, bit i of it where the pattern has that code at i. */
struct pattern {
    int32_t *slot_code, *slot_row; /* codes by hash: [mask + 1]; row 0: the slot is free */
    size_t mask;
    uint64_t *row; /* [1 + n_code][n_block]; the first is of codes that it lacks */
    size_t n_code, n_block, n;
};

/* The slot of the code, or the free one where it belongs. */
static size_t slot_of(const struct pattern *p, int32_t code)
{
    size_t i = ((uint32_t)code * 2654435769u >> 7) & p->mask;

    while (p->slot_row[i] && p->slot_code[i] != code)
        i = (i + 1) & p->mask;
    return i;
}

static void pattern_make(struct pattern *p, const int32_t *code, size_t n)
{
    *p = (struct pattern){.mask = 63, .n_block = (n + 63) / 64, .n = n};
    while (p->mask < 2 * n)
        p->mask = 2 * p->mask + 1;
    p->slot_code = eval_alloc(p->mask + 1, sizeof *p->slot_code);
    p->slot_row = eval_alloc(p->mask + 1, sizeof *p->slot_row);
    for (size_t i = 0; i < n; i++) {
        size_t at = slot_of(p, code[i]);

        if (!p->slot_row[at]) {
            p->slot_code[at] = code[i];
            p->slot_row[at] = (int32_t)++p->n_code;
        }
    }
    p->row = eval_alloc((p->n_code + 1) * p->n_block, sizeof *p->row);
    for (size_t i = 0; i < n; i++)
        p->row[(size_t)p->slot_row[slot_of(p, code[i])] * p->n_block + i / 64] |= (uint64_t)1
                                                                                  << i % 64;
}

static void pattern_reset(struct pattern *p)
{
    free(p->slot_code);
    free(p->slot_row);
    free(p->row);
}

/* How much more the row's value is than that of the column before: both 0, or one of them 1. */
struct carry {
    uint64_t up, down;
};

/* 64 rows of one column: plus and minus are the vertical differences, `in` the horizontal one above the block; that at
 * row `last` of it comes back. No branches: they would be guessed wrong half of the time. */
static inline struct carry step(uint64_t *plus, uint64_t *minus, uint64_t equal, struct carry in,
                                unsigned last)
{
    uint64_t pv = *plus, mv = *minus, xv = equal | mv;

    equal |= in.down;
    uint64_t xh = (((equal & pv) + pv) ^ pv) | equal, ph = mv | ~(xh | pv), mh = pv & xh;
    struct carry out = {ph >> last & 1, mh >> last & 1};
    ph = ph << 1 | in.up;
    mh = mh << 1 | in.down;
    *plus = mh | ~(xv | ph);
    *minus = ph & xv;
    return out;
}

/* One try, exact when the distance is at most `most`, else some number above `most`.  Ukkonen (Algorithms for
 * approximate string matching, Information and Control 64, 1985): a path that costs no more never leaves the diagonals
 * -most ... most, so only blocks that touch them are worked on.  What lies outside counts as if every step there cost
 * one, which is never too little. */
static size_t within(const struct pattern *p, const int32_t *text, size_t n, size_t most,
                     uint64_t *plus, uint64_t *minus)
{
    size_t first = 0, n_open = 0, bottom = 0; /* bottom: value under the last open block */

    for (size_t j = 0; j < n; j++) {
        const uint64_t *equal = p->row + (size_t)text[j] * p->n_block;
        size_t last_row = j + most < p->n ? j + most : p->n - 1;
        struct carry carry = {1, 0}; /* the edge above grows by one a column */

        for (; n_open <= last_row / 64; n_open++) {
            plus[n_open] = UINT64_MAX;
            minus[n_open] = 0;
            bottom += n_open + 1 == p->n_block ? (p->n - 1) % 64 + 1 : 64;
        }
        first = j > most ? (j - most) / 64 : 0;
        for (size_t k = first; k < n_open; k++)
            carry = step(&plus[k], &minus[k], equal[k], carry,
                         k + 1 == p->n_block ? (p->n - 1) % 64 : 63);
        bottom += carry.up - carry.down;
    }
    return bottom;
}

/* Neither is empty, and a is not the longer one. */
static size_t distance(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    struct pattern p;
    size_t most = n_b - n_a > 32 ? 2 * (n_b - n_a) : 64, d;
    int32_t *text = eval_alloc(n_b, sizeof *text);

    pattern_make(&p, a, n_a);
    uint64_t *plus = eval_alloc(2 * p.n_block, sizeof *plus);
    for (size_t j = 0; j < n_b; j++)
        text[j] = p.slot_row[slot_of(&p, b[j])];
    while ((d = within(&p, text, n_b, most, plus, plus + p.n_block)) > most)
        most *= 4;
    pattern_reset(&p);
    free(plus);
    free(text);
    return d;
}

size_t eval_lev(const struct eval_text *a, const struct eval_text *b)
{
    size_t n_a = a->n, n_b = b->n, from = 0;

    while (from < n_a && from < n_b && a->code[from] == b->code[from])
        from++;
    while (n_a > from && n_b > from && a->code[n_a - 1] == b->code[n_b - 1])
        n_a--, n_b--;
    n_a -= from;
    n_b -= from;
    if (n_a == 0 || n_b == 0)
        return n_a + n_b;
    /* the shorter one is the pattern: fewer blocks */
    return n_a <= n_b ? distance(a->code + from, n_a, b->code + from, n_b)
                      : distance(b->code + from, n_b, a->code + from, n_a);
}

size_t eval_lev_inside(const struct eval_text *a, const struct eval_text *b)
{
    size_t bottom = a->n, least = a->n;
    struct pattern p;

    if (a->n == 0)
        return 0;
    pattern_make(&p, a->code, a->n);
    uint64_t *plus = eval_alloc(2 * p.n_block, sizeof *plus), *minus = plus + p.n_block;
    memset(plus, 255, p.n_block * sizeof *plus);
    for (size_t j = 0; j < b->n; j++) {
        const uint64_t *equal = p.row + (size_t)p.slot_row[slot_of(&p, b->code[j])] * p.n_block;
        struct carry carry = {0, 0}; /* a may begin anywhere: the edge above is 0 */

        for (size_t k = 0; k < p.n_block; k++)
            carry = step(&plus[k], &minus[k], equal[k], carry,
                         k + 1 == p.n_block ? (p.n - 1) % 64 : 63);
        bottom += carry.up - carry.down;
        least = bottom < least ? bottom : least;
    }
    pattern_reset(&p);
    free(plus);
    return least;
}
