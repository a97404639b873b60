#include "tables.h"

#include "groups.h"
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- sheets and cells ------------------------------------------------------------------------ */

struct report_table *report_tables_add(struct report_tables *s, const char *title, const char *note,
                                       const char *columns)
{
    struct report_table one = {
        .title = eval_copy(title), .note = eval_copy(note), .n_col = 1, .n_row = 1};

    for (const char *p = columns; (p = strchr(p, '|')); p++)
        one.n_col++;
    one.cell = eval_alloc((size_t)one.n_col, sizeof *one.cell);
    for (int i = 0; i < one.n_col; i++) {
        size_t n = strcspn(columns, "|");

        one.cell[i] = eval_string("%.*s", (int)n, columns);
        columns += n + (columns[n] == '|');
    }
    s->at = eval_grow(s->at, (size_t)s->n + 1, sizeof *s->at);
    s->at[s->n] = one;
    return &s->at[s->n++];
}

void report_table_row(struct report_table *s, ...)
{
    va_list args;
    size_t n = (size_t)(s->n_row + 1) * (size_t)s->n_col;

    s->cell = eval_grow(s->cell, n, sizeof *s->cell);
    va_start(args, s);
    for (int i = 0; i < s->n_col; i++)
        s->cell[s->n_row * s->n_col + i] = va_arg(args, char *);
    va_end(args);
    s->n_row++;
}

void report_tables_reset(struct report_tables *s)
{
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < s->at[i].n_row * s->at[i].n_col; k++)
            free(s->at[i].cell[k]);
        free(s->at[i].cell);
        free(s->at[i].title);
        free(s->at[i].note);
    }
    free(s->at);
    *s = (struct report_tables){0};
}

char *cell_percent(const json_t *v)
{
    return v ? eval_string("%.2f %%", 100 * json_number_value(v)) : eval_copy("–");
}

char *cell_number(const json_t *v)
{
    return v ? eval_string("%.4f", json_number_value(v)) : eval_copy("–");
}

char *cell_count(const json_t *v)
{
    return v ? eval_string("%lld", (long long)json_integer_value(v)) : eval_copy("–");
}

static const json_t *at(const json_t *obj, const char *a, const char *b, const char *c)
{
    obj = json_object_get(obj, a);
    obj = b ? json_object_get(obj, b) : obj;
    return c ? json_object_get(obj, c) : obj;
}

/* ---- what a folder has ----------------------------------------------------------------------- */

static void add_text(struct report_tables *s, const json_t *sum)
{
    struct report_table *t = report_tables_add(
        s, "Text",
        "raw: as it is, ends stripped. N1: marks of Markdown, HTML and math removed, NFC, white space as one space. N2: N1, "
        "NFKC, quotes and dashes made plain, case folded. CER, WER: edits of all pages over the length of all truths.",
        "normalisation|pages|characters|CER|mean of pages|median|CER-ns|WER|NED");

    for (enum eval_norm k = EVAL_N0; k <= EVAL_N2; k++) {
        const char *name = eval_norm_name(k);

        report_table_row(t, eval_copy(name), cell_count(at(sum, "text", name, "pages")),
                         cell_count(at(sum, "text", name, "characters")),
                         cell_percent(at(sum, "text", name, "cer")),
                         cell_percent(at(sum, "text", name, "cer_mean")),
                         cell_percent(at(sum, "text", name, "cer_median")),
                         cell_percent(at(sum, "text", name, "cer_ns")),
                         cell_percent(at(sum, "text", name, "wer")),
                         cell_number(at(sum, "text", name, "ned")));
    }
}

static void add_groups(struct report_tables *s, const struct eval_run *r, enum eval_group a,
                       enum eval_group b)
{
    struct groups g = groups_by(r->set, a, b);
    const char *norm = eval_norm_name(r->norm);
    char *title = eval_string("By %s", g.title),
         *columns = eval_string("%s|pages|CER|median|CER-ns|WER|TEDS|order|loops", g.title);
    struct report_table *t = g.n > 1 ? report_tables_add(s, title, NULL, columns) : NULL;

    for (int i = 0; t && i < g.n; i++) {
        json_t *sum = eval_summary(r, g.at[i].index, g.at[i].n);

        report_table_row(t, eval_copy(g.at[i].name), cell_count(json_object_get(sum, "pages")),
                         cell_percent(at(sum, "text", norm, "cer")),
                         cell_percent(at(sum, "text", norm, "cer_median")),
                         cell_percent(at(sum, "text", norm, "cer_ns")),
                         cell_percent(at(sum, "text", norm, "wer")),
                         cell_number(at(sum, "tables", "teds", NULL)),
                         cell_number(at(sum, "order", "distance", NULL)),
                         cell_percent(at(sum, "reading", "loops_left", NULL)));
        json_decref(sum);
    }
    free(title);
    free(columns);
    groups_reset(&g);
}

static void add_tables(struct report_tables *s, const json_t *sum)
{
    struct report_table *t = report_tables_add(
        s, "Tables",
        "Tree edit distance similarity, mean over pages of the mean over a page's tables; a table that was not found has 0. "
        "TEDS-S: structure only. Rough: so large that rows were compared instead of trees.",
        "pages|tables|found|TEDS|TEDS-S|rough");

    report_table_row(t, cell_count(at(sum, "tables", "pages", NULL)),
                     cell_count(at(sum, "tables", "tables", NULL)),
                     cell_count(at(sum, "tables", "found", NULL)),
                     cell_number(at(sum, "tables", "teds", NULL)),
                     cell_number(at(sum, "tables", "teds_s", NULL)),
                     cell_count(at(sum, "tables", "rough", NULL)));
}

static void add_box_row(struct report_table *t, const char *name, const json_t *b)
{
    report_table_row(
        t, eval_copy(name), cell_count(json_object_get(b, "truth")),
        cell_count(json_object_get(b, "found")), cell_number(json_object_get(b, "recall_50")),
        cell_number(json_object_get(b, "precision_50")), cell_number(json_object_get(b, "f1_50")),
        cell_number(json_object_get(b, "recall_75")),
        cell_number(json_object_get(b, "precision_75")), cell_number(json_object_get(b, "f1_75")),
        cell_number(json_object_get(b, "iou")));
}

static void add_boxes(struct report_tables *s, const json_t *sum)
{
    struct report_table *t = report_tables_add(
        s, "Boxes",
        "Boxes of blocks, paired greedily by overlap (IoU); IoU is the mean over pairs of 0.5 or more. All: whatever the kind.",
        "kind|truth|found|recall 0.5|precision 0.5|F1 0.5|recall 0.75|precision 0.75|F1 0.75|IoU");
    const char *kind;
    json_t *one;

    add_box_row(t, "all", at(sum, "boxes", "all", NULL));
    json_object_foreach(json_object_get(json_object_get(sum, "boxes"), "kinds"), kind, one)
        add_box_row(t, kind, one);
}

static void add_order(struct report_tables *s, const json_t *sum)
{
    struct report_table *t = report_tables_add(
        s, "Reading order",
        "Distance between the order of the truth's blocks and that in which they were read; 0: the same.",
        "pages|distance");

    report_table_row(t, cell_count(at(sum, "order", "pages", NULL)),
                     cell_number(at(sum, "order", "distance", NULL)));
}

static void add_reading(struct report_tables *s, const json_t *sum)
{
    struct report_table *t = report_tables_add(
        s, "Reading",
        "Loops: pages with an attempt that went round, pages that ended so. Interventions of the "
        "n-gram guard in 1000 tokens. Confidence is a ranking, not a probability.",
        "status|pages|loops tried|loops left|read again|interventions|tokens|"
        "confidence");
    const char *name;
    json_t *n;

    report_table_row(t, eval_copy("all"), cell_count(at(sum, "reading", "pages", NULL)),
                     cell_percent(at(sum, "reading", "loop_rate", NULL)),
                     cell_percent(at(sum, "reading", "loops_left", NULL)),
                     cell_count(at(sum, "reading", "read_again", NULL)),
                     cell_number(at(sum, "reading", "interventions", NULL)),
                     cell_count(at(sum, "reading", "tokens", NULL)),
                     cell_number(at(sum, "reading", "conf", NULL)));
    json_object_foreach(json_object_get(json_object_get(sum, "reading"), "status"), name, n)
        report_table_row(t, eval_copy(name), cell_count(n), eval_copy(""), eval_copy(""),
                         eval_copy(""), eval_copy(""), eval_copy(""), eval_copy(""));
}

/* ---- the two benchmarks ----------------------------------------------------------------------- */

static void add_omnidoc(struct report_tables *s, const json_t *sum)
{
    const json_t *o = json_object_get(sum, "omnidoc");
    struct report_table *t = report_tables_add(
        s, "OmniDocBench v1.5, computed by recto",
        "Means over pages. Overall needs CDM, which needs TeX; Overall-noCDM has Formula Edit in its place and is no official "
        "figure. Surplus: letters read that no truth has, over the letters of all truths; the benchmark leaves them unscored.",
        "Text Edit|Formula Edit|Table Edit|TEDS|TEDS-S|Order Edit|Overall|Overall-noCDM|surplus");

    report_table_row(
        t, cell_number(json_object_get(o, "text_edit")),
        cell_number(json_object_get(o, "formula_edit")),
        cell_number(json_object_get(o, "table_edit")), cell_number(json_object_get(o, "teds")),
        cell_number(json_object_get(o, "teds_s")), cell_number(json_object_get(o, "order_edit")),
        eval_copy("–"), cell_number(json_object_get(o, "overall_nocdm")),
        cell_percent(json_object_get(o, "surplus")));
}

static void add_olmocr(struct report_tables *s, const json_t *sum)
{
    const json_t *o = json_object_get(sum, "olmocr"), *range = json_object_get(o, "interval");
    struct report_table *t = report_tables_add(
        s, "olmOCR-bench, computed by recto",
        "Score: mean over files of the share of tests passed; in brackets 95 % of 1000 bootstraps within files. Formulas that are "
        "not literally equal are left out as unrendered.",
        "file|tests|passed|share");
    const char *name;
    json_t *one;

    json_object_foreach(json_object_get(o, "sets"), name, one)
        report_table_row(t, eval_copy(name), cell_count(json_object_get(one, "tests")),
                         cell_count(json_object_get(one, "passed")),
                         cell_percent(json_object_get(one, "pass_rate")));
    report_table_row(t, eval_copy("score"), eval_copy(""), eval_copy(""),
                     eval_string("%.2f %% [%.2f .. %.2f]",
                                 100 * json_number_value(json_object_get(o, "score")),
                                 100 * json_number_value(json_array_get(range, 0)),
                                 100 * json_number_value(json_array_get(range, 1))));
    report_table_row(t, eval_copy("unrendered"), cell_count(json_object_get(o, "unrendered")),
                     eval_copy(""), eval_copy(""));
}

static void add_fields(struct report_tables *s, const char *title, const char *note,
                       const json_t *obj)
{
    struct report_table *t = report_tables_add(s, title, note, "field|value");
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)obj, key, v)
    {
        char *text = json_is_string(v) ? eval_copy(json_string_value(v))
                                       : json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

        if (text && strlen(text) > 400) /* the list of pages is in report.json */
            memcpy(text + 396, "...", 4);
        report_table_row(t, eval_copy(key), text ? text : eval_copy("–"));
    }
}

struct report_tables report_tables_of(const struct eval_run *r)
{
    struct report_tables s = {0};
    int n = r->set->n, *all = eval_alloc((size_t)n, sizeof *all);

    for (int i = 0; i < n; i++)
        all[i] = i;
    json_t *sum = eval_summary(r, all, n);
    free(all);
    if (json_object_get(sum, "omnidoc"))
        add_omnidoc(&s, sum);
    if (json_object_get(sum, "olmocr"))
        add_olmocr(&s, sum);
    if (json_object_get(sum, "text"))
        add_text(&s, sum);
    for (int a = 0; a < N_EVAL_GROUP; a++)
        for (int b = a; b < N_EVAL_GROUP; b++)
            add_groups(&s, r, (enum eval_group)a, (enum eval_group)b);
    if (json_object_get(sum, "tables"))
        add_tables(&s, sum);
    if (json_object_get(sum, "order"))
        add_order(&s, sum);
    if (json_object_get(sum, "boxes"))
        add_boxes(&s, sum);
    if (json_object_get(sum, "reading"))
        add_reading(&s, sum);
    add_fields(&s, "Run", "May differ between runs that are otherwise the same; no benchmark.",
               r->run);
    add_fields(&s, "Record", "What the scores depend on.", r->record);
    json_decref(sum);
    return s;
}
