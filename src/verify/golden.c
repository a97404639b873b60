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
        report(g, want->name, &d, relative(&d) <= GOLDEN_TAP_REL);
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

void golden_logits(struct golden *g, const char *name, const float *got, int64_t n)
{
    const struct ckpt_tensor *want = find(g, name);
    struct distance d = {0};
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
    else {
        for (int64_t i = 0; i < n; i++)
            add(&d, got[i], ref[i]);
        if (!(d.max_abs <= g->worst_logit))
            g->worst_logit = d.max_abs;
        report(g, name, &d, d.max_abs <= GOLDEN_LOGITS_ABS);
    }
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
        g->n_bad += same != n;
        golden_line(g, "  %-44s tokens equal %lld/%lld  %s", name, (long long)same, (long long)n,
                    same == n ? "ok" : "FAILED");
    }
    free(ref);
}

void golden_missing(struct golden *g)
{
    for (int i = 0; i < g->want->n_tensor; i++)
        if (!g->is_seen[i])
            fail(g, g->want->tensor[i].name, "named in the file, but nothing was computed for it");
}
