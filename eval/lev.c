#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The pattern: for each distinct code a row of bits, bit i of it where the pattern has that code at i. */
struct pattern {
    int32_t *code; /* sorted, distinct */
    uint64_t *row; /* [n_code + 1][n_block]; the last is of codes that it lacks */
    size_t n_code, n_block, n;
};

static int by_code(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return x < y ? -1 : x > y;
}

/* Number of the code, or n_code. */
static size_t find(const struct pattern *p, int32_t code)
{
    size_t lo = 0, hi = p->n_code;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (p->code[mid] < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < p->n_code && p->code[lo] == code ? lo : p->n_code;
}

static void pattern_make(struct pattern *p, const int32_t *code, size_t n)
{
    *p = (struct pattern){.code = eval_alloc(n, sizeof *code), .n_block = (n + 63) / 64, .n = n};
    memcpy(p->code, code, n * sizeof *code);
    qsort(p->code, n, sizeof *code, by_code);
    for (size_t i = 0; i < n; i++)
        if (p->n_code == 0 || p->code[p->n_code - 1] != p->code[i])
            p->code[p->n_code++] = p->code[i];
    p->row = eval_alloc((p->n_code + 1) * p->n_block, sizeof *p->row);
    for (size_t i = 0; i < n; i++)
        p->row[find(p, code[i]) * p->n_block + i / 64] |= (uint64_t)1 << i % 64;
}

/* 64 rows of one column: plus and minus are the vertical differences, `in` the horizontal one above the block;
 * the horizontal one at the row of `last` comes back. */
static int step(uint64_t *plus, uint64_t *minus, uint64_t equal, int in, uint64_t last)
{
    uint64_t pv = *plus, mv = *minus, xv = equal | mv;

    equal |= in < 0;
    uint64_t xh = (((equal & pv) + pv) ^ pv) | equal, ph = mv | ~(xh | pv), mh = pv & xh;
    int out = ph & last ? 1 : mh & last ? -1 : 0;
    ph = ph << 1 | (in > 0);
    mh = mh << 1 | (in < 0);
    *plus = mh | ~(xv | ph);
    *minus = ph & xv;
    return out;
}

/* a is not empty. */
static size_t distance(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    struct pattern p;
    size_t d = n_a;

    pattern_make(&p, a, n_a);
    uint64_t *plus = eval_alloc(p.n_block, sizeof *plus),
             *minus = eval_alloc(p.n_block, sizeof *minus);
    memset(plus, 255, p.n_block * sizeof *plus);
    for (size_t j = 0; j < n_b; j++) {
        const uint64_t *equal = p.row + find(&p, b[j]) * p.n_block;
        int carry = 1; /* the upper edge of the table grows by one a column */

        for (size_t k = 0; k < p.n_block; k++) {
            bool is_last = k + 1 == p.n_block;

            carry = step(&plus[k], &minus[k], equal[k], carry,
                         (uint64_t)1 << (is_last ? (n_a - 1) % 64 : 63));
        }
        d += (size_t)carry;
    }
    free(p.code);
    free(p.row);
    free(plus);
    free(minus);
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
    return n_a < n_b ? distance(a->code + from, n_a, b->code + from, n_b)
                     : distance(b->code + from, n_b, a->code + from, n_a);
}
