/* How much a figure would differ with other pages: the bootstrap.  Efron: Bootstrap methods: another look at the jackknife,
 * Annals of Statistics 7 (1979). */
#ifndef RECTO_EVAL_BOOTSTRAP_H
#define RECTO_EVAL_BOOTSTRAP_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, 2014): the same seed, the same numbers. */
uint64_t eval_random(uint64_t *state);

struct interval {
    double lo, hi;
};
/* The 95 % interval of figure(ctx, pick, n) over `rounds` draws of n of n with replacement; pick[] are the indices drawn. */
struct interval eval_bootstrap(int n, int rounds, uint64_t seed,
                               double (*figure)(void *ctx, const int *pick, int n), void *ctx);

#endif
