/* Two reports, page by page. */
#include "bootstrap.h"
#include "run.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1000 };

/* A page's part of a figure: sums of part over sums of whole. [0] of A, [1] of B. */
struct share {
    double part[2], whole[2];
};

struct pair {
    const char *name;
    const json_t *page[2];
};

struct comparison {
    json_t *report[2];
    struct pair *pair; /* pages of both, in the order of A */
    int n;
    const char *norm;
};

/* ---- reading --------------------------------------------------------------------------------- */

static json_t *load(const char *path, struct eval_fault *f)
{
    char *file = eval_is_dir(path) ? eval_string("%s/report.json", path) : eval_copy(path);
    char *text = eval_read_file(file, NULL);
    json_error_t why;
    json_t *root = text ? json_loads(text, 0, &why) : NULL;
    const char *schema = json_string_value(json_object_get(root, "schema"));

    if (!text)
        eval_fail(f, RECTO_ENOTFOUND, "%s: no such report; give report.json or its folder", file);
    else if (!schema || strcmp(schema, "recto-eval-1") != 0) {
        eval_fail(f, RECTO_EFORMAT, "%s is no report of recto eval: %s", file,
                  root ? "\"schema\" is not recto-eval-1" : why.text);
        json_decref(root);
        root = NULL;
    }
    free(text);
    free(file);
    return root;
}

static void pair_pages(struct comparison *c, struct page_text *out)
{
    const json_t *a = json_object_get(c->report[0], "pages"),
                 *b = json_object_get(c->report[1], "pages"), *page;
    json_t *by_name = json_object();
    size_t i;

    json_array_foreach(b, i, page)
        json_object_set(by_name, json_string_value(json_object_get(page, "name")), (json_t *)page);
    c->pair = eval_alloc(json_array_size(a), sizeof *c->pair);
    json_array_foreach(a, i, page)
    {
        const char *name = json_string_value(json_object_get(page, "name"));
        const json_t *other = name ? json_object_get(by_name, name) : NULL;

        if (other)
            c->pair[c->n++] = (struct pair){name, {page, other}};
    }
    if ((size_t)c->n < json_array_size(a) || (size_t)c->n < json_array_size(b))
        print(out, "pages only in A: %zu, only in B: %zu; they are left out\n",
              json_array_size(a) - (size_t)c->n, json_array_size(b) - (size_t)c->n);
    json_decref(by_name);
}

/* ---- record ---------------------------------------------------------------------------------- */

static void print_value(struct page_text *out, const json_t *v)
{
    char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    print(out, "%.120s%s", text ? text : "-", text && strlen(text) > 120 ? "..." : "");
    free(text);
}

static bool compare_records(const struct comparison *c, struct page_text *out)
{
    json_t *both = json_copy(json_object_get(c->report[0], "record"));
    const json_t *b = json_object_get(c->report[1], "record");
    const char *key;
    json_t *unused;
    int n = 0;

    json_object_update_missing(both, (json_t *)b);
    json_object_foreach(both, key, unused)
    {
        const json_t *x = json_object_get(json_object_get(c->report[0], "record"), key),
                     *y = json_object_get(b, key);

        if (x && y && json_equal(x, y))
            continue;
        print(out, "%s: ", key);
        print_value(out, x);
        print(out, " | ");
        print_value(out, y);
        print(out, "\n");
        n++;
    }
    json_decref(both);
    print(out, n ? "\n" : "same record\n\n");
    return n == 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Kinds of figures: a rate of errors [edits, length] of the text, or a mean of a number over the pages that have it. */
struct figure {
    const char *name, *in, *key;
    bool is_rate;
};
static const struct figure figures[] = {
    {"CER", "text", "chars", true},
    {"CER-ns", "text", "chars_ns", true},
    {"WER", "text", "words", true},
    {"TEDS", "tables", "teds", false},
    {"TEDS-S", "tables", "teds_s", false},
    {"order", "order", "distance", false},
    {"IoU", "boxes", "iou", false},
    {"Text Edit", "omnidoc", "text_edit", false},
    {"Formula Edit", "omnidoc", "formula_edit", false},
    {"Table Edit", "omnidoc", "table_edit", false},
    {"TEDS", "omnidoc", "teds", false},
    {"Order Edit", "omnidoc", "order_edit", false},
    {"tests passed", "olmocr", "pass_rate", false},
};
enum { N_FIGURE = sizeof figures / sizeof *figures };

static bool share_of(const struct comparison *c, const struct figure *g, const struct pair *p,
                     struct share *s)
{
    for (int k = 0; k < 2; k++) {
        const json_t *v = json_object_get(p->page[k], g->in);

        v = json_object_get(g->is_rate ? json_object_get(v, c->norm) : v, g->key);
        if (g->is_rate ? json_array_size(v) != 2 : !json_is_number(v))
            return false;
        s->part[k] = g->is_rate ? json_number_value(json_array_get(v, 0)) : json_number_value(v);
        s->whole[k] = g->is_rate ? json_number_value(json_array_get(v, 1)) : 1;
    }
    return true;
}

static double ratio(const struct share *s, const int *pick, int n, int side)
{
    double part = 0, whole = 0;

    for (int i = 0; i < n; i++) {
        part += s[pick ? pick[i] : i].part[side];
        whole += s[pick ? pick[i] : i].whole[side];
    }
    return whole > 0 ? part / whole : part > 0;
}

static double difference(void *ctx, const int *pick, int n)
{
    return ratio(ctx, pick, n, 1) - ratio(ctx, pick, n, 0);
}

static void compare_figure(const struct comparison *c, const struct figure *g, uint64_t seed,
                           struct page_text *out)
{
    struct share *s = eval_alloc((size_t)c->n, sizeof *s);
    int n = 0, n_better = 0, n_worse = 0;

    for (int i = 0; i < c->n; i++)
        n += share_of(c, g, &c->pair[i], &s[n]);
    for (int i = 0; i < n; i++) {
        n_better += s[i].part[1] < s[i].part[0];
        n_worse += s[i].part[1] > s[i].part[0];
    }
    if (n > 0) {
        struct interval v = eval_bootstrap(n, ROUNDS, seed, difference, s);
        double d = difference(s, NULL, n);

        print(out, "%-12s  %5d  %10.6f  %10.6f  %+10.6f  [%+.6f .. %+.6f]  %s  %d less, %d more\n",
              g->name, n, ratio(s, NULL, n, 0), ratio(s, NULL, n, 1), d, v.lo, v.hi,
              v.lo > 0 || v.hi < 0 ? "differs" : "-      ", n_better, n_worse);
    }
    free(s);
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct change {
    const char *name;
    double by, from, to;
};

static int by_size(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (fabs(x->by) != fabs(y->by))
        return fabs(x->by) > fabs(y->by) ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Every page whose first known figure changed, the largest change first. How many. */
static int compare_pages(const struct comparison *c, const struct figure *g, struct page_text *out)
{
    struct change *change = eval_alloc((size_t)c->n, sizeof *change);
    int n = 0;

    for (int i = 0; i < c->n; i++) {
        struct share s;

        if (!share_of(c, g, &c->pair[i], &s))
            continue;
        double from = ratio(&s, NULL, 1, 0), to = ratio(&s, NULL, 1, 1);
        if (from != to)
            change[n++] = (struct change){c->pair[i].name, to - from, from, to};
    }
    qsort(change, (size_t)n, sizeof *change, by_size);
    if (n > 0)
        print(out, "\npages whose %s differs:\n", g->name);
    for (int i = 0; i < n; i++)
        print(out, "  %+.6f  %.6f -> %.6f  %s\n", change[i].by, change[i].from, change[i].to,
              change[i].name);
    free(change);
    return n;
}

/* Two pages are the same but for what tells nothing of the text. */
static int count_other(const struct comparison *c)
{
    int n = 0;

    for (int i = 0; i < c->n; i++)
        n += !json_equal(c->pair[i].page[0], c->pair[i].page[1]);
    return n;
}

int eval_compare(const char *a, const char *b, uint64_t seed, struct page_text *out,
                 bool *is_same_record, bool *is_same_score, struct eval_fault *f)
{
    struct comparison c = {.report = {load(a, f), NULL}};

    c.report[1] = c.report[0] ? load(b, f) : NULL;
    if (c.report[1]) {
        const json_t *norm = json_object_get(json_object_get(c.report[0], "record"),
                                             "normalisation");
        c.norm = json_is_string(norm) ? json_string_value(norm) : eval_norm_name(EVAL_N1);
        *is_same_record = compare_records(&c, out);
        pair_pages(&c, out);
        print(
            out,
            "%-12s  pages           A           B       B - A  95 %% (%d paired bootstraps, seed %llu)\n",
            "", ROUNDS, (unsigned long long)seed);
        for (int i = 0; i < N_FIGURE; i++)
            compare_figure(&c, &figures[i], seed, out);
        for (int i = 0; i < N_FIGURE; i++)
            compare_pages(&c, &figures[i], out);
        int n = count_other(&c);
        *is_same_score = n == 0;
        print(out, "\n%d of %d pages differ in something\n", n, c.n);
    }
    bool is_fine = c.report[1];
    free(c.pair);
    json_decref(c.report[0]);
    json_decref(c.report[1]);
    return is_fine ? 0 : f->code;
}
