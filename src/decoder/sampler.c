#include "decoder/sampler.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_exempt(const struct guard *g, int32_t id)
{
    return g->window != SAMPLER_WHOLE && (id == g->exempt[0] || id == g->exempt[1]);
}

int sampler_bans(const struct guard *g, const int32_t *all, int n_all, int n_prompt, int32_t *out)
{
    bool is_whole = g->window == SAMPLER_WHOLE;
    int len = is_whole ? n_all : n_all - n_prompt, n = g->n, n_out = 0;
    int from = is_whole || len <= g->window ? 0 : len - g->window;
    const int32_t *o;

    if (n <= 0 || len < n)
        return 0;
    o = is_whole ? all : all + n_prompt;
    /* an n-gram counts only when it lies wholly inside the window */
    for (int i = from; i <= len - n; i++)
        if (memcmp(o + i, o + len - (n - 1), (size_t)(n - 1) * sizeof *o) == 0 &&
            !is_exempt(g, o[i + n - 1]))
            out[n_out++] = o[i + n - 1];
    return n_out;
}

static int32_t arg_max(const float *x, int n)
{
    int32_t best = 0;

    for (int i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* log sum exp: the sum runs in blocks so that fp32 does not swallow a large vocabulary's tail. */
static double log_sum_exp(const float *x, int n, float max)
{
    double sum = 0;

    for (int i = 0; i < n; i += 64) {
        float part = 0;

        for (int j = i; j < n && j < i + 64; j++)
            part += expf(x[j] - max);
        sum += part;
    }
    return (double)max + log(sum);
}

/* splitmix64 over (seed, step): the same page gives the same text whoever shares its batch. */
static double uniform(uint64_t seed, uint64_t step)
{
    uint64_t z = seed + (step + 1) * 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-53;
}

static int by_falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

/* The smallest weight that still belongs to the top_p mass. */
static float top_p_floor(const float *weight, int n, double top_p, double total, float *sorted)
{
    float least = 0;
    double sum = 0;

    memcpy(sorted, weight, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_falling);
    for (int i = 0; i < n && sum < top_p * total; i++) {
        sum += sorted[i];
        least = sorted[i];
    }
    return least;
}

static int32_t draw(const struct sampler *s, const float *x, int n, uint64_t step,
                    struct sampler_scratch *w)
{
    float max = x[arg_max(x, n)], least, *weight = w->weight;
    double total = 0, kept = 0, at;
    int32_t last = 0;

    for (int i = 0; i < n; i++) {
        weight[i] = x[i] == -INFINITY ? 0 : expf((float)((x[i] - max) / s->temperature));
        total += weight[i];
    }
    least = s->top_p < 1 ? top_p_floor(weight, n, s->top_p, total, w->sorted) : 0;
    for (int i = 0; i < n; i++)
        kept += weight[i] >= least ? weight[i] : 0;
    at = uniform(s->seed, step) * kept;
    for (int i = 0; i < n; i++) {
        if (weight[i] < least || weight[i] <= 0)
            continue;
        last = i;
        at -= weight[i];
        if (at < 0)
            break;
    }
    return last;
}

struct pick sampler_next(const struct sample_ask *ask, float *logits, int n_vocab,
                         struct sampler_scratch *w)
{
    const struct sampler *s = ask->sampler;
    int n_ban = sampler_bans(&s->guard, ask->id, ask->n_id, ask->n_prompt, w->ban);
    int32_t free_best = arg_max(logits, n_vocab), best;
    double norm = log_sum_exp(logits, n_vocab, logits[free_best]);
    bool intervened;

    for (int i = 0; i < n_ban; i++) {
        w->saved[i] = logits[w->ban[i]];
        logits[w->ban[i]] = -INFINITY;
    }
    intervened = n_ban && logits[free_best] == -INFINITY;
    best = n_ban ? arg_max(logits, n_vocab) : free_best;
    if (logits[best] == -INFINITY)
        best = free_best;
    else if (s->temperature > 0)
        best = draw(s, logits, n_vocab, (uint64_t)(ask->n_id - ask->n_prompt), w);
    for (int i = n_ban;
         i-- > 0;) /* backwards: an id banned twice was saved first with its real value */
        logits[w->ban[i]] = w->saved[i];
    return (struct pick){
        .id = best, .logp = (float)(logits[best] - norm), .intervened = intervened};
}

struct pick sampler_join(const struct choice *const *part, int n)
{
    struct choice all = *part[0];
    double sum = 0;

    for (int r = 1; r < n; r++) {
        if (part[r]->logit > all.logit) {
            all.logit = part[r]->logit;
            all.id = part[r]->id;
        }
        if (part[r]->max > all.max) {
            all.max = part[r]->max;
            all.best = part[r]->best;
        }
    }
    for (int r = 0; r < n; r++)
        sum += (double)part[r]->sum * exp((double)part[r]->max - all.max);
    if (all.logit == -INFINITY)
        return (struct pick){all.best, (float)-log(sum), true};
    return (struct pick){all.id, (float)(all.logit - (all.max + log(sum))), all.id != all.best};
}

void sampler_scratch_init(struct sampler_scratch *w, int max_tok, int n_vocab)
{
    w->ban = mem_zero((size_t)max_tok, sizeof *w->ban);
    w->saved = mem_zero((size_t)max_tok, sizeof *w->saved);
    w->weight = mem_zero((size_t)n_vocab, sizeof *w->weight);
    w->sorted = mem_zero((size_t)n_vocab, sizeof *w->sorted);
}

void sampler_scratch_reset(struct sampler_scratch *w)
{
    free(w->ban);
    free(w->saved);
    free(w->weight);
    free(w->sorted);
    *w = (struct sampler_scratch){0};
}
