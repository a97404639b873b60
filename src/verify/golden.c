#include "verify/golden.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_EVERY 97 /* the step of taps called *_flat_every_97 */

void golden_line(struct golden *g, const char *fmt, ...)
{
    char line[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    g->print(g->print_ctx, line);
}

static const struct ckpt_tensor *find(struct golden *g, const char *name)
{
    const struct ckpt_tensor *t = ckpt_find(g->want, name);

    if (t)
        g->is_seen[t - g->want->tensor] = true;
    return t;
}

static void fail(struct golden *g, const char *name, const char *why)
{
    g->n_bad++;
    golden_line(g, "  %-44s FAILED: %s", name, why);
}

struct distance {
    double diff2, ref2, max_abs;
};

static void add(struct distance *d, double got, double want)
{
    double e = got - want;

    d->diff2 += e * e;
    d->ref2 += want * want;
    d->max_abs = fabs(e) > d->max_abs || isnan(e) ? fabs(e) : d->max_abs;
}

static double relative(const struct distance *d)
{
    return sqrt(d->diff2) / (d->ref2 > 0 ? sqrt(d->ref2) : 1);
}

/* Element i of t in C order, through its strides. */
static float at(tensor t, int64_t i)
{
    int64_t offset = 0;

    for (int k = TENSOR_RANK - 1; k >= 0; k--) {
        offset += i % t.n[k] * t.stride[k];
        i /= t.n[k];
    }
    return ((const float *)t.data)[offset];
}

struct golden_bounds golden_bounds_of(enum weight_kind k)
{
    static const struct golden_bounds bounds[] = {
        [WEIGHT_F32] = {GOLDEN_TAP_REL, GOLDEN_LOGITS_ABS, 1e-9},
        [WEIGHT_BF16] = {GOLDEN_TAP_REL, GOLDEN_LOGITS_ABS, 1e-9},
        [WEIGHT_INT8] = {0.05, 0.9, 1e-3},
        [WEIGHT_INT4] = {0.5, 4, 0.17},
    };

    return bounds[k];
}

/* Taps of the vision part hold as ever: its weights are as stored. */
static double tap_bound(const struct golden *g, const char *name)
{
    return strncmp(name, "decoder", 7) == 0 ? golden_bounds_of(g->kind).tap_rel : GOLDEN_TAP_REL;
}

static double log_sum_exp(const float *x, int64_t n)
{
    double max = x[0], sum = 0;

    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - max);
    return max + log(sum);
}

static double divergence(const float *want, const float *got, int64_t n)
{
    double of_want = log_sum_exp(want, n), of_got = log_sum_exp(got, n), kl = 0;

    for (int64_t i = 0; i < n; i++) {
        double p = want[i] - of_want;

        kl += exp(p) * (p - (got[i] - of_got));
    }
    return kl;
}

static void report(struct golden *g, const char *name, const struct distance *d, bool holds)
{
    g->n_bad += !holds;
    golden_line(g, "  %-44s rel L2 %.2e  max abs %.2e  %s", name, relative(d), d->max_abs,
                holds ? "ok" : "FAILED");
}

static void compare_tap(struct golden *g, const struct ckpt_tensor *want, tensor got, int64_t every)
{
    int64_t n = (tensor_count(got) + every - 1) / every;
    float *ref = mem_alloc((size_t)want->count * sizeof *ref);
    struct distance d = {0};

    if (want->count != n)
        fail(g, want->name, "the sizes differ");
    else if (ckpt_read_f32(want->dtype, want->data, want->count, ref) < 0)
        fail(g, want->name, err_text());
    else {
        for (int64_t i = 0; i < n; i++)
            add(&d, at(got, i * every), ref[i]);
        if (!(relative(&d) <= g->worst_rel))
            g->worst_rel = relative(&d);
        report(g, want->name, &d, relative(&d) <= tap_bound(g, want->name));
    }
    free(ref);
}

void golden_tap(void *ctx, const char *name, tensor t)
{
    struct golden *g = ctx;
    const struct ckpt_tensor *want = find(g, name);
    char sampled[128];

    if (want)
        compare_tap(g, want, t, 1);
    snprintf(sampled, sizeof sampled, "%s_flat_every_%d", name, SAMPLE_EVERY);
    want = find(g, sampled);
    if (want)
        compare_tap(g, want, t, SAMPLE_EVERY);
}

/* Distances of the logits, and how far what they predict is off. */
static void compare_logits(struct golden *g, const char *name, const float *got, const float *ref,
                           int64_t rows, int64_t vocab)
{
    struct golden_bounds bound = golden_bounds_of(g->kind);
    struct distance d = {0};
    double kl = 0;

    for (int64_t i = 0; i < rows * vocab; i++)
        add(&d, got[i], ref[i]);
    for (int64_t r = 0; r < rows; r++)
        kl += divergence(ref + r * vocab, got + r * vocab, vocab) / (double)rows;
    if (!(d.max_abs <= g->worst_logit))
        g->worst_logit = d.max_abs;
    if (!(kl <= g->worst_kl))
        g->worst_kl = kl;
    report(g, name, &d, d.max_abs <= bound.logits_abs && kl <= bound.kl);
}

void golden_logits(struct golden *g, const char *name, const float *got, int64_t rows,
                   int64_t vocab)
{
    const struct ckpt_tensor *want = find(g, name);
    int64_t n = rows * vocab;
    float *ref;

    if (!want)
        return;
    if (want->count != n) {
        fail(g, name, "the sizes differ");
        return;
    }
    ref = mem_alloc((size_t)n * sizeof *ref);
    if (ckpt_read_f32(want->dtype, want->data, n, ref) < 0)
        fail(g, name, err_text());
    else
        compare_logits(g, name, got, ref, rows, vocab);
    free(ref);
}

void golden_ids(struct golden *g, const char *name, const int32_t *got, int64_t n)
{
    const struct ckpt_tensor *want = find(g, name);
    int64_t same = 0;
    int32_t *ref;

    if (!want)
        return;
    ref = mem_alloc((size_t)want->count * sizeof *ref);
    if (want->count != n || ckpt_read_i32(want->dtype, want->data, n, ref) < 0)
        fail(g, name, want->count != n ? "the sizes differ" : err_text());
    else {
        for (int64_t i = 0; i < n; i++)
            same += got[i] == ref[i];
        bool holds = same == n || quant_is(g->kind);

        g->n_bad += !holds;
        golden_line(g, "  %-44s tokens equal %lld/%lld  %s", name, (long long)same, (long long)n,
                    same == n ? "ok"
                    : holds   ? "counted only"
                              : "FAILED");
    }
    free(ref);
}

void golden_missing(struct golden *g)
{
    for (int i = 0; i < g->want->n_tensor; i++)
        if (!g->is_seen[i])
            fail(g, g->want->tensor[i].name, "named in the file, but nothing was computed for it");
}
