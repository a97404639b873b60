#include "result/wrap.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct wrap {
    const double *sum;    /* [n + 1] share of the text before unit i */
    double share;         /* of the ink, in the line at hand */
    const double *before; /* [n + 1] cost of the lines above, which end before unit i */
    double *cost;         /* [n + 1] with the line at hand */
    int *from;            /* [n + 1] where the line at hand then begins */
};

/* cost and from of the ends lo..hi, whose best beginnings lie in at..to. */
static void fill(const struct wrap *k, int lo, int hi, int at, int to)
{
    int end = lo + (hi - lo) / 2, best = at;
    double least = INFINITY;

    if (lo > hi)
        return;
    for (int i = at; i <= MIN(to, end - 1); i++) {
        double d = k->sum[end] - k->sum[i] - k->share, cost = k->before[i] + d * d;

        if (cost < least)
            least = cost, best = i;
    }
    k->cost[end] = least;
    k->from[end] = best;
    fill(k, lo, end - 1, at, best);
    fill(k, end + 1, hi, best, to);
}

static void wrap_exactly(const double *sum, int n, const double *share, int k, int *first)
{
    size_t row = (size_t)n + 1;
    double *cost = mem_alloc(2 * row * sizeof *cost);
    int *from = mem_zero((size_t)k * row, sizeof *from);

    for (int i = 0; i <= n; i++)
        cost[i] = i ? INFINITY : 0;
    for (int line = 0; line < k; line++) {
        struct wrap w = {sum, share[line], cost + (line & 1) * row, cost + (~line & 1) * row,
                         from + (size_t)line * row};

        for (int i = 0; i <= n; i++)
            w.cost[i] = INFINITY;
        fill(&w, line + 1, n - (k - 1 - line), line, n - 1);
    }
    first[k] = n;
    for (int line = k; line-- > 0;)
        first[line] = from[(size_t)line * row + (size_t)first[line + 1]];
    free(cost);
    free(from);
}

static void wrap_by_share(const double *sum, int n, const double *share, int k, int *first)
{
    double ink = 0;
    int i = 0;

    for (int line = 0; line < k; line++) {
        first[line] = i;
        ink += share[line];
        do
            i++;
        while (i < n - (k - 1 - line) && sum[i] + sum[i + 1] < 2 * ink);
    }
    first[k] = n;
}

void wrap_text(const double *t, int n, const double *b, int k, int *first)
{
    double *sum = mem_alloc(((size_t)n + 1 + (size_t)k) * sizeof *sum), *share = sum + n + 1;
    double all = 0;

    sum[0] = 0;
    for (int i = 0; i < n; i++)
        sum[i + 1] = sum[i] + t[i];
    for (int i = 1; i <= n; i++)
        sum[i] /= sum[n] > 0 && i < n ? sum[n] : 1;
    if (sum[n] > 0)
        sum[n] = 1;
    for (int i = 0; i < k; i++)
        all += b[i];
    for (int i = 0; i < k; i++)
        share[i] = all > 0 ? b[i] / all : 1.0 / k;
    if ((int64_t)n * k <= WRAP_CELLS)
        wrap_exactly(sum, n, share, k, first);
    else
        wrap_by_share(sum, n, share, k, first);
    free(sum);
}
