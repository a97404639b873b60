#include "bench_sums.h"

#include "bootstrap.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* ---- OmniDocBench ---------------------------------------------------------------------------- */

static const json_t *part(const struct eval_run *r, int page, const char *bench, const char *key)
{
    return json_object_get(json_object_get(r->result[page].more, bench), key);
}

/* The mean over the pages that have it; false: none has. */
static bool mean(const struct eval_run *r, const int *index, int n, const char *key, double *m)
{
    double sum = 0;
    int n_page = 0;

    for (int i = 0; i < n; i++) {
        const json_t *v = part(r, index[i], "omnidoc", key);

        if (!json_is_number(v))
            continue;
        sum += json_number_value(v);
        n_page++;
    }
    *m = n_page ? sum / n_page : 0;
    return n_page > 0;
}

json_t *omni_sum(const struct eval_run *r, const int *index, int n)
{
    static const char *const keys[] = {"text_edit", "formula_edit", "table_edit",
                                       "teds",      "teds_s",       "order_edit"};
    json_t *out = json_object();
    double m[6], more = 0, all = 0;
    bool has[6];

    for (int k = 0; k < 6; k++) {
        has[k] = mean(r, index, n, keys[k], &m[k]);
        if (has[k])
            json_object_set_new(out, keys[k], json_real(m[k]));
    }
    if (has[0] && has[1] && has[3])
        json_object_set_new(out, "overall_nocdm",
                            json_real(100 * ((1 - m[0]) + m[3] + (1 - m[1])) / 3));
    for (int i = 0; i < n; i++) {
        const json_t *s = part(r, index[i], "omnidoc", "surplus");

        more += json_number_value(json_array_get(s, 0));
        all += json_number_value(json_array_get(s, 1));
    }
    json_object_set_new(out, "surplus", json_real(all > 0 ? more / all : 0));
    return out;
}

/* ---- olmOCR-bench ---------------------------------------------------------------------------- */

/* A test that was passed or not, and which file it is of. */
struct outcome {
    int set;
    bool is_passed;
};

struct outcomes {
    struct outcome *at;
    int n, n_set, n_unrendered;
    const char *set[256];
    int first[257]; /* outcomes lie by set: set k has [first[k], first[k + 1]) */
};

static int set_number(struct outcomes *o, const char *name)
{
    for (int k = 0; k < o->n_set; k++)
        if (strcmp(o->set[k], name) == 0)
            return k;
    if (o->n_set == 256)
        return 255;
    o->set[o->n_set] = name;
    return o->n_set++;
}

static void collect(struct outcomes *o, const struct eval_run *r, const int *index, int n)
{
    for (int i = 0; i < n; i++) {
        const json_t *test, *tests = part(r, index[i], "olmocr", "tests");
        size_t k;

        json_array_foreach(tests, k, test)
        {
            const json_t *passed = json_object_get(test, "passed");
            const char *set = json_string_value(json_object_get(test, "set"));

            o->n_unrendered += json_is_null(passed);
            if (!json_is_boolean(passed) || !set)
                continue;
            if ((o->n & (o->n - 1)) == 0)
                o->at = eval_grow(o->at, (size_t)(o->n ? 2 * o->n : 1), sizeof *o->at);
            o->at[o->n++] = (struct outcome){set_number(o, set), json_is_true(passed)};
        }
    }
}

static int by_set(const void *a, const void *b)
{
    return ((const struct outcome *)a)->set - ((const struct outcome *)b)->set;
}

/* The mean over files of the share that passed. */
static double score(const struct outcomes *o, const int *pick)
{
    double sum = 0;

    for (int k = 0; k < o->n_set; k++) {
        int n_passed = 0, n = o->first[k + 1] - o->first[k];

        for (int i = o->first[k]; i < o->first[k + 1]; i++)
            n_passed += o->at[pick ? pick[i] : i].is_passed;
        sum += n ? (double)n_passed / n : 0;
    }
    return o->n_set ? sum / o->n_set : 0;
}

/* Draws are within files: draw i is taken as one of the outcomes of i's own file. */
static double redrawn(void *ctx, const int *pick, int n)
{
    const struct outcomes *o = ctx;
    int *own = eval_alloc((size_t)n, sizeof *own);

    for (int i = 0; i < n; i++) {
        int k = o->at[i].set, size = o->first[k + 1] - o->first[k];

        own[i] = o->first[k] + pick[i] % size;
    }
    double s = score(o, own);
    free(own);
    return s;
}

json_t *olm_sum(const struct eval_run *r, const int *index, int n)
{
    enum { ROUNDS = 1000 };
    struct outcomes o = {0};
    json_t *out = json_object(), *sets = json_object();

    collect(&o, r, index, n);
    if (o.n > 0)
        qsort(o.at, (size_t)o.n, sizeof *o.at, by_set);
    for (int i = 0; i < o.n; i++)
        o.first[o.at[i].set + 1]++;
    for (int k = 0; k < o.n_set; k++)
        o.first[k + 1] += o.first[k];
    for (int k = 0; k < o.n_set; k++) {
        int n_passed = 0, size = o.first[k + 1] - o.first[k];

        for (int i = o.first[k]; i < o.first[k + 1]; i++)
            n_passed += o.at[i].is_passed;
        json_object_set_new(sets, o.set[k],
                            json_pack("{sisisf}", "tests", size, "passed", n_passed, "pass_rate",
                                      size ? (double)n_passed / size : 0.0));
    }
    struct interval v = eval_bootstrap(o.n, ROUNDS, r->seed, redrawn, &o);
    json_object_set_new(out, "sets", sets);
    json_object_set_new(out, "score", json_real(score(&o, NULL)));
    json_object_set_new(out, "interval", json_pack("[ff]", v.lo, v.hi));
    json_object_set_new(out, "unrendered", json_integer(o.n_unrendered));
    free(o.at);
    return out;
}
