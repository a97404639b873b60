/* recto bench compare: two result files, figure by figure, with the spread of their rounds. */
#include "bench.h"
#include "progress.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 1100, MOST_FIGURES = 64 };

/* One figure of a file: what its rounds gave, sorted. */
struct figure {
    char name[64];
    bool less_is_better;
    double v[MOST_ROUNDS];
    int n;
};

struct figures {
    struct figure at[MOST_FIGURES];
    int n;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const struct figure *f)
{
    return (f->v[f->n / 2] + f->v[(f->n - 1) / 2]) / 2;
}

/* ---- what is in a file ----------------------------------------------------------------------- */

static double number(const json_t *obj, const char *key)
{
    return json_number_value(json_object_get(obj, key));
}

static struct figure *add(struct figures *all, const char *name, bool less_is_better)
{
    struct figure *f = all->n < MOST_FIGURES ? &all->at[all->n++] : NULL;

    if (f) {
        *f = (struct figure){.less_is_better = less_is_better};
        snprintf(f->name, sizeof f->name, "%s", name);
    }
    return f;
}

static void put(struct figure *f, double v)
{
    if (f && f->n < MOST_ROUNDS)
        f->v[f->n++] = v;
}

/* Rounds of requests at once. */
static void take_tokens(struct figures *all, const json_t *root)
{
    const json_t *row, *round;
    size_t i, k;

    json_array_foreach(json_object_get(root, "rows"), i, row)
    {
        char name[64];

        snprintf(name, sizeof name, "output tok/s at %d", (int)number(row, "concurrency"));
        struct figure *f = add(all, name, false);
        json_array_foreach(json_object_get(row, "rounds"), k, round)
            put(f, number(round, "output_tokens") / number(round, "s"));
    }
}

static void take_pages(struct figures *all, const json_t *root)
{
    static const char *const latency[] = {"latency_mean_s", "latency_p50_s", "latency_p90_s",
                                          "latency_p99_s"};
    struct figure *speed = add(all, "pages/s", false), *tokens = add(all, "output tok/s", false);
    struct figure *more[4];
    const json_t *round;
    size_t i;

    for (int k = 0; k < 4; k++)
        more[k] = add(all, latency[k], true);
    json_array_foreach(json_object_get(root, "rounds"), i, round)
    {
        put(speed, number(round, "pages") / number(round, "s"));
        put(tokens, number(round, "output_tokens") / number(round, "s"));
        for (int k = 0; k < 4; k++)
            put(more[k], number(round, latency[k]));
    }
}

/* A stage has its least, median and greatest time only: three rounds as good as. */
static void take_stages(struct figures *all, const json_t *root)
{
    const json_t *stage;
    size_t i;

    json_array_foreach(json_object_get(root, "stages"), i, stage)
    {
        char name[64];

        snprintf(name, sizeof name, "%s, %s: ms", json_string_value(json_object_get(stage, "part")),
                 json_string_value(json_object_get(stage, "name")));
        struct figure *f = add(all, name, true);
        put(f, number(stage, "least_ms"));
        put(f, number(stage, "median_ms"));
        put(f, number(stage, "most_ms"));
    }
}

static void take(struct figures *all, const json_t *root)
{
    const char *kind = json_string_value(json_object_get(root, "bench"));

    all->n = 0;
    if (strcmp(kind, "tokens") == 0)
        take_tokens(all, root);
    else if (strcmp(kind, "pages") == 0)
        take_pages(all, root);
    else if (strcmp(kind, "stages") == 0)
        take_stages(all, root);
    for (int i = 0; i < all->n; i++)
        qsort(all->at[i].v, (size_t)all->at[i].n, sizeof *all->at[i].v, by_value);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static json_t *load(const char *path)
{
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why);

    if (root && json_string_value(json_object_get(root, "bench")))
        return root;
    say(SAY_ERROR, "%s is no result of recto bench --json: %s (%s)", path,
        root ? "no \"bench\" in it" : why.text, recto_error_name(RECTO_EFORMAT));
    json_decref(root);
    return NULL;
}

/* What was measured, where it is not the same. */
static void print_differences(const json_t *a, const json_t *b)
{
    json_t *both = json_copy((json_t *)a), *unused;
    const char *key;

    json_object_update_missing(both, (json_t *)b);
    json_object_foreach(both, key, unused)
    {
        const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

        if (json_is_array(x) || json_is_array(y) || (x && y && json_equal(x, y)))
            continue;
        char *as = x ? json_dumps(x, JSON_ENCODE_ANY) : NULL,
             *bs = y ? json_dumps(y, JSON_ENCODE_ANY) : NULL;
        printf("%s: %s | %s\n", key, as ? as : "-", bs ? bs : "-");
        free(as);
        free(bs);
    }
    json_decref(both);
}

/* Spreads that do not touch are more than chance would do. */
static const char *verdict(const struct figure *a, const struct figure *b)
{
    bool is_more = b->v[0] > a->v[a->n - 1], is_less = b->v[b->n - 1] < a->v[0];

    if (!is_more && !is_less)
        return "within the spread";
    return is_more == b->less_is_better ? "B is worse" : "B is better";
}

static const struct figure *find(const struct figures *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->at[i].name, name) == 0)
            return &all->at[i];
    return NULL;
}

static int print_figures(const struct figures *a, const struct figures *b)
{
    int n = 0;

    printf("%-32s %34s %34s %8s\n", "", "A: median [least .. most]", "B: median [least .. most]",
           "B / A");
    for (int i = 0; i < a->n; i++) {
        const struct figure *x = &a->at[i], *y = find(b, x->name);
        char as[64], bs[64];

        if (!y || x->n == 0 || y->n == 0)
            continue;
        snprintf(as, sizeof as, "%.4g [%.4g .. %.4g] of %d", median(x), x->v[0], x->v[x->n - 1],
                 x->n);
        snprintf(bs, sizeof bs, "%.4g [%.4g .. %.4g] of %d", median(y), y->v[0], y->v[y->n - 1],
                 y->n);
        printf("%-32s %34s %34s %8.3f  %s\n", x->name, as, bs, median(y) / median(x),
               verdict(x, y));
        n++;
    }
    return n;
}

int bench_compare(const struct options *o)
{
    static struct figures a, b;
    json_t *x, *y;
    int rc = EXIT_INPUT;

    if (o->n_input != 3) {
        say(SAY_ERROR, "expected: recto bench compare A.json B.json");
        return EXIT_USAGE;
    }
    x = load(o->input[1]);
    y = x ? load(o->input[2]) : NULL;
    if (y) {
        take(&a, x);
        take(&b, y);
        print_differences(x, y);
        rc = print_figures(&a, &b) > 0 ? EXIT_FINE : EXIT_INPUT;
        if (rc != EXIT_FINE)
            say(SAY_ERROR, "%s and %s have no figure in common", o->input[1], o->input[2]);
    }
    json_decref(x);
    json_decref(y);
    return rc;
}
