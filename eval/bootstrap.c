#include "bootstrap.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>

uint64_t eval_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct interval eval_bootstrap(int n, int rounds, uint64_t seed,
                               double (*figure)(void *ctx, const int *pick, int n), void *ctx)
{
    int *pick = eval_alloc((size_t)n, sizeof *pick);
    double *v = eval_alloc((size_t)rounds, sizeof *v);
    struct interval i = {0, 0};

    for (int k = 0; k < rounds && n > 0; k++) {
        for (int j = 0; j < n; j++)
            pick[j] = (int)(eval_random(&seed) % (uint64_t)n);
        v[k] = figure(ctx, pick, n);
    }
    if (n > 0) {
        qsort(v, (size_t)rounds, sizeof *v, by_value);
        i = (struct interval){v[(int)floor(0.025 * (rounds - 1))],
                              v[(int)ceil(0.975 * (rounds - 1))]};
    }
    free(pick);
    free(v);
    return i;
}
