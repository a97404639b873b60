#include "omni_truth.h"

#include "files.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static const struct category {
    const char *name;
    enum truth_kind kind;
    bool is_ignorable;
} categories[] = {
    {"text_block", TRUTH_TEXT, false},    {"title", TRUTH_TEXT, false},
    {"code_txt", TRUTH_TEXT, false},      {"code_txt_caption", TRUTH_TEXT, false},
    {"reference", TRUTH_TEXT, false},     {"equation_isolated", TRUTH_FORMULA, false},
    {"table", TRUTH_TABLE, false},        {"equation_caption", TRUTH_TEXT, true},
    {"figure_caption", TRUTH_TEXT, true}, {"figure_footnote", TRUTH_TEXT, true},
    {"table_caption", TRUTH_TEXT, true},  {"table_footnote", TRUTH_TEXT, true},
    {"code_algorithm", TRUTH_TEXT, true}, {"code_algorithm_caption", TRUTH_TEXT, true},
    {"header", TRUTH_TEXT, true},         {"footer", TRUTH_TEXT, true},
    {"page_footnote", TRUTH_TEXT, true},  {"page_number", TRUTH_TEXT, true},
};

static const struct category *category_of(const json_t *det)
{
    const char *name = json_string_value(json_object_get(det, "category_type"));

    for (size_t i = 0; name && i < sizeof categories / sizeof *categories; i++)
        if (strcmp(name, categories[i].name) == 0)
            return &categories[i];
    return NULL;
}

static const char *content_of(const json_t *det, enum truth_kind kind)
{
    static const char *const keys[] = {"text", "latex", "html"};
    const char *s = json_string_value(json_object_get(det, keys[kind]));

    return s ? s : "";
}

/* ---- blocks that were cut -------------------------------------------------------------------- */

/* group[i] of det i: the least index of those that it is joined with; -1: with none. */
static void join(const json_t *page, const json_t *dets, int *group)
{
    int n = (int)json_array_size(dets);
    const json_t *relation,
        *relations = json_object_get(json_object_get(page, "extra"), "relation");
    size_t k;

    for (int i = 0; i < n; i++)
        group[i] = -1;
    json_array_foreach(relations, k, relation)
    {
        const char *type = json_string_value(json_object_get(relation, "relation_type"));
        int from = -1, to = -1;

        if (!type || strcmp(type, "truncated") != 0)
            continue;
        for (int i = 0; i < n; i++) {
            const json_t *id = json_object_get(json_array_get(dets, (size_t)i), "anno_id");

            from = json_equal(id, json_object_get(relation, "source_anno_id")) ? i : from;
            to = json_equal(id, json_object_get(relation, "target_anno_id")) ? i : to;
        }
        if (from < 0 || to < 0)
            continue;
        int a = group[from] < 0 ? from : group[from], b = group[to] < 0 ? to : group[to];
        for (int i = 0; i < n; i++)
            if (i == from || i == to || (group[i] >= 0 && (group[i] == a || group[i] == b)))
                group[i] = a < b ? a : b;
    }
}

static int by_order(const void *a, const void *b)
{
    const struct omni_truth *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

static void add(struct omni_truths *t, const struct category *c, const json_t *det)
{
    t->at = eval_grow(t->at, (size_t)t->n + 1, sizeof *t->at);
    t->at[t->n++] = (struct omni_truth){c->kind, c->name, eval_copy(content_of(det, c->kind)),
                                        json_number_value(json_object_get(det, "order")),
                                        c->is_ignorable};
}

/* The texts of a group in reading order, as one block where the first stands. */
static void add_group(struct omni_truths *t, const json_t *dets, const int *group, int head)
{
    struct omni_truths parts = {0};
    struct page_text all = {0};

    for (int i = 0; i < (int)json_array_size(dets); i++) {
        const json_t *det = json_array_get(dets, (size_t)i);
        const struct category *c = category_of(det);

        if (group[i] == head && c)
            add(&parts, c, det);
    }
    if (parts.n > 0) {
        qsort(parts.at, (size_t)parts.n, sizeof *parts.at, by_order);
        for (int i = 0; i < parts.n; i++)
            print(&all, "%s", parts.at[i].content);
        struct omni_truth one = parts.at[0];
        one.content = all.p;
        t->at = eval_grow(t->at, (size_t)t->n + 1, sizeof *t->at);
        t->at[t->n++] = one;
    }
    omni_truths_reset(&parts);
}

struct omni_truths omni_truths_of(const json_t *page)
{
    const json_t *dets = json_object_get(page, "layout_dets");
    int n = (int)json_array_size(dets), *group = eval_alloc((size_t)n, sizeof *group), kept = 0;
    struct omni_truths t = {0};

    join(page, dets, group);
    for (int i = 0; i < n; i++) {
        const json_t *det = json_array_get(dets, (size_t)i);
        const struct category *c = category_of(det);

        if (group[i] == i)
            add_group(&t, dets, group, i);
        else if (group[i] < 0 && c)
            add(&t, c, det);
    }
    for (int i = 0; i < t.n; i++) {
        if (t.at[i].content[0])
            t.at[kept++] = t.at[i];
        else
            free(t.at[i].content);
    }
    t.n = kept;
    if (t.n > 0)
        qsort(t.at, (size_t)t.n, sizeof *t.at, by_order);
    free(group);
    return t;
}

void omni_truths_reset(struct omni_truths *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->at[i].content);
    free(t->at);
    *t = (struct omni_truths){0};
}
