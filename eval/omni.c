#include "omni.h"

#include "assign.h"
#include "omni_items.h"
#include "omni_match.h"
#include "omni_norm.h"
#include "omni_truth.h"
#include "score.h"
#include "teds.h"

#include <stdlib.h>
#include <string.h>

/* Sums over the samples of a page. */
struct edits {
    double edits, length;
    int n;
};

struct page {
    struct omni_truths truth;
    struct omni_items read;
    struct edits text, formula, table;
    double teds, teds_s;
    int n_table;
};

static void add_sample(struct edits *e, const struct eval_text *truth, const struct eval_text *read)
{
    e->edits += (double)eval_lev(truth, read);
    e->length += (double)(truth->n > read->n ? truth->n : read->n);
    e->n++;
}

static bool is_table(const struct omni_item *x)
{
    return x->kind == OMNI_HTML_TABLE || x->kind == OMNI_LATEX_TABLE;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void score_table(struct page *p, const char *truth, const char *read)
{
    char *a = omni_table(truth), *b = omni_table(read);
    struct eval_text x = eval_text_of(a, strlen(a), EVAL_AS_IS),
                     y = eval_text_of(b, strlen(b), EVAL_AS_IS);

    add_sample(&p->table, &x, &y);
    p->teds += eval_teds(a, b, false, NULL);
    p->teds_s += eval_teds(a, b, true, NULL);
    p->n_table++;
    eval_text_reset(&x);
    eval_text_reset(&y);
    free(a);
    free(b);
}

/* Cells of a table that no truth has go among the paragraphs. */
static void add_cells(struct omni_items *l, const struct omni_item *table)
{
    for (const char *s = table->text; (s = strstr(s, "<td")); s++) {
        const char *from = strchr(s, '>'), *to = from ? strchr(from, '<') : NULL;

        if (to && to > from + 1 && strncmp(to, "</td>", 5) == 0)
            omni_add(l, OMNI_TEXT, table->at, eval_string("%.*s", (int)(to - from - 1), from + 1));
    }
}

/* Indices of the tables in the truth, in what was read. */
static int truth_tables(const struct page *p, int *at)
{
    int n = 0;

    for (int i = 0; i < p->truth.n; i++)
        if (p->truth.at[i].kind == TRUTH_TABLE)
            at[n++] = i;
    return n;
}

static int read_tables(const struct page *p, int *at, bool *are_latex)
{
    int n = 0, n_latex = 0, n_html = 0;

    for (int i = 0; i < p->read.n; i++) {
        n_latex += p->read.item[i].kind == OMNI_LATEX_TABLE;
        n_html += p->read.item[i].kind == OMNI_HTML_TABLE;
    }
    *are_latex = n_latex > n_html;
    for (int i = 0; i < p->read.n; i++)
        if (p->read.item[i].kind == (*are_latex ? OMNI_LATEX_TABLE : OMNI_HTML_TABLE))
            at[n++] = i;
    return n;
}

static void match_tables(const struct page *p, const int *truth, int n, const int *read, int m,
                         int *mate)
{
    double *cost = eval_alloc((size_t)n * (size_t)m, sizeof *cost);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            const char *x = p->truth.at[truth[i]].content, *y = p->read.item[read[j]].text;
            struct eval_text a = eval_text_of(x, strlen(x), EVAL_AS_IS);
            struct eval_text b = eval_text_of(y, strlen(y), EVAL_AS_IS);

            cost[(size_t)i * (size_t)m + (size_t)j] = eval_ned(&a, &b);
            eval_text_reset(&a);
            eval_text_reset(&b);
        }
    eval_assign(cost, n, m, mate);
    free(cost);
}

static void score_tables(struct page *p)
{
    int *truth = eval_alloc((size_t)p->truth.n, sizeof *truth),
        *read = eval_alloc((size_t)p->read.n, sizeof *read), n_read = p->read.n;
    int *mate = eval_alloc((size_t)p->truth.n, sizeof *mate);
    bool are_latex, *is_matched = eval_alloc((size_t)n_read, 1);
    int n = truth_tables(p, truth), m = read_tables(p, read, &are_latex);

    match_tables(p, truth, n, read, m, mate);
    for (int i = 0; i < n; i++) {
        bool has = mate[i] >= 0 && !are_latex;

        score_table(p, p->truth.at[truth[i]].content, has ? p->read.item[read[mate[i]]].text : "");
        if (mate[i] >= 0)
            is_matched[read[mate[i]]] = true;
    }
    for (int j = 0; j < m && n > 0; j++)
        if (!is_matched[read[j]]) {
            struct omni_item table = p->read.item[read[j]]; /* the list moves while it grows */

            add_cells(&p->read, &table);
        }
    free(truth);
    free(read);
    free(mate);
    free(is_matched);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines with something in them, and what each was made of. */
struct lines {
    struct omni_line *line;
    int *from; /* index in the truth, or in what was read */
    int n;
};

static void lines_add(struct lines *l, struct eval_text norm, bool is_ignorable, int from)
{
    if (norm.n == 0) {
        eval_text_reset(&norm);
        return;
    }
    l->line[l->n] = (struct omni_line){norm, is_ignorable};
    l->from[l->n++] = from;
}

static struct lines lines_for(int n)
{
    return (struct lines){eval_alloc((size_t)n, sizeof(struct omni_line)),
                          eval_alloc((size_t)n, sizeof(int)), 0};
}

static void lines_reset(struct lines *l)
{
    for (int i = 0; i < l->n; i++)
        eval_text_reset(&l->line[i].norm);
    free(l->line);
    free(l->from);
}

static struct lines truth_lines(const struct omni_truths *t)
{
    struct lines l = lines_for(t->n);

    for (int i = 0; i < t->n; i++)
        if (t->at[i].kind != TRUTH_TABLE)
            lines_add(&l,
                      t->at[i].kind == TRUTH_FORMULA ? omni_formula(t->at[i].content)
                                                     : omni_text(t->at[i].content),
                      t->at[i].is_ignorable, i);
    return l;
}

/* By place, but inline formulas last. */
static struct lines read_lines(const struct omni_items *items)
{
    struct lines l = lines_for(items->n);

    for (int is_inline = 0; is_inline < 2; is_inline++)
        for (int i = 0; i < items->n; i++) {
            const struct omni_item *x = &items->item[i];

            if (is_table(x) || (x->kind == OMNI_INLINE) != is_inline)
                continue;
            lines_add(&l,
                      x->kind == OMNI_FORMULA || x->kind == OMNI_INLINE ? omni_formula(x->text)
                                                                        : omni_text(x->text),
                      false, i);
        }
    return l;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static struct eval_text together(const struct lines *l, const int *index, int n)
{
    struct eval_text all = {0};
    size_t size = 0;

    for (int i = 0; i < n; i++)
        size += l->line[index[i]].norm.n;
    all.code = eval_alloc(size, sizeof *all.code);
    for (int i = 0; i < n; i++) {
        const struct eval_text *t = &l->line[index[i]].norm;

        memcpy(all.code + all.n, t->code, t->n * sizeof *t->code);
        all.n += t->n;
    }
    return all;
}

/* Most of its truths are. */
static bool is_formula(const struct page *p, const struct lines *truth, const struct omni_pair *q)
{
    int n = 0;

    for (int i = 0; i < q->n_truth; i++)
        n += p->truth.at[truth->from[q->truth[i]]].kind == TRUTH_FORMULA;
    return 2 * n > q->n_truth ||
           (2 * n == q->n_truth && p->truth.at[truth->from[q->truth[0]]].kind == TRUTH_FORMULA);
}

static bool is_read_as_words(const struct page *p, const struct lines *read,
                             const struct omni_pair *q)
{
    if (q->n_pred == 0)
        return false;
    enum omni_kind kind = p->read.item[read->from[q->pred[0]]].kind;
    return kind != OMNI_FORMULA && kind != OMNI_INLINE;
}

static struct eval_text formulas_as_text(const struct page *p, const struct lines *truth,
                                         const struct omni_pair *q)
{
    struct page_text all = {0};

    for (int i = 0; i < q->n_truth; i++)
        print(&all, "{%s} ", p->truth.at[truth->from[q->truth[i]]].content);
    struct eval_text t = omni_formula_as_text(all.p);
    free(all.p);
    return t;
}

static void score_pair(struct page *p, const struct lines *truth, const struct lines *read,
                       const struct omni_pair *q)
{
    bool formula = is_formula(p, truth, q), as_words = formula && is_read_as_words(p, read, q);
    struct eval_text a = as_words ? formulas_as_text(p, truth, q)
                                  : together(truth, q->truth, q->n_truth);
    struct eval_text b = together(read, q->pred, q->n_pred);

    if (a.n + b.n > 0)
        add_sample(formula && !as_words ? &p->formula : &p->text, &a, &b);
    eval_text_reset(&a);
    eval_text_reset(&b);
}

/* ---- order ----------------------------------------------------------------------------------- */

struct placed {
    size_t at; /* of the first prediction */
    int pair;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->pair - y->pair;
}

/* Texts in the order in which they were read, against their true order; lines are in that already. */
static double order_edit(const struct page *p, const struct lines *truth, const struct lines *read,
                         const struct omni_pairs *pairs, int *n)
{
    struct placed *placed = eval_alloc((size_t)pairs->n, sizeof *placed);
    struct eval_text want = {eval_alloc((size_t)truth->n, sizeof(int32_t)), 0},
                     got = {eval_alloc((size_t)truth->n, sizeof(int32_t)), 0};
    bool *is_text = eval_alloc((size_t)truth->n, 1);
    int n_placed = 0;

    for (int i = 0; i < pairs->n; i++) {
        const struct omni_pair *q = &pairs->pair[i];

        if (is_formula(p, truth, q))
            continue;
        for (int k = 0; k < q->n_truth; k++)
            is_text[q->truth[k]] = true;
        if (q->n_pred > 0)
            placed[n_placed++] = (struct placed){p->read.item[read->from[q->pred[0]]].at, i};
    }
    for (int i = 0; i < truth->n; i++)
        if (is_text[i])
            want.code[want.n++] = i;
    if (n_placed > 0)
        qsort(placed, (size_t)n_placed, sizeof *placed, by_place);
    for (int i = 0; i < n_placed; i++)
        for (int k = 0; k < pairs->pair[placed[i].pair].n_truth; k++)
            got.code[got.n++] = pairs->pair[placed[i].pair].truth[k];
    *n = (int)want.n;
    double ned = eval_ned(&want, &got);
    eval_text_reset(&want);
    eval_text_reset(&got);
    free(placed);
    free(is_text);
    return ned;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void put_edits(json_t *obj, const char *key, const struct edits *e)
{
    char *name = eval_string("%s_edit", key);

    if (e->n > 0) {
        json_object_set_new(obj, key, json_pack("[ff]", e->edits, e->length));
        json_object_set_new(obj, name, json_real(e->length > 0 ? e->edits / e->length : 0));
    }
    free(name);
}

/* Letters of predictions that no truth has; inline formulas stand in a paragraph, too. */
static double surplus(const struct page *p, const struct lines *read,
                      const struct omni_pairs *pairs)
{
    double sum = 0;

    for (int j = 0; j < read->n; j++)
        if (!pairs->is_used[j] && p->read.item[read->from[j]].kind != OMNI_INLINE)
            sum += (double)read->line[j].norm.n;
    return sum;
}

static json_t *score_lines(struct page *p)
{
    struct lines truth = truth_lines(&p->truth), read = read_lines(&p->read);
    struct omni_pairs pairs = omni_match(truth.line, truth.n, read.line, read.n);
    json_t *obj = json_object();
    double n_letter = 0, order;
    int n_order;

    for (int i = 0; i < pairs.n; i++)
        score_pair(p, &truth, &read, &pairs.pair[i]);
    for (int i = 0; i < truth.n; i++)
        n_letter += (double)truth.line[i].norm.n;
    order = order_edit(p, &truth, &read, &pairs, &n_order);
    put_edits(obj, "text", &p->text);
    put_edits(obj, "formula", &p->formula);
    put_edits(obj, "table", &p->table);
    if (p->n_table > 0) {
        json_object_set_new(obj, "teds", json_real(p->teds / p->n_table));
        json_object_set_new(obj, "teds_s", json_real(p->teds_s / p->n_table));
        json_object_set_new(obj, "tables", json_integer(p->n_table));
    }
    if (n_order > 0)
        json_object_set_new(obj, "order_edit", json_real(order));
    json_object_set_new(obj, "surplus", json_pack("[ff]", surplus(p, &read, &pairs), n_letter));
    omni_pairs_reset(&pairs);
    lines_reset(&truth);
    lines_reset(&read);
    return obj;
}

json_t *omni_score(const json_t *page, const char *md)
{
    struct page p = {.truth = omni_truths_of(page), .read = omni_items_of(md)};

    score_tables(&p);
    json_t *obj = json_pack("{so}", "omnidoc", score_lines(&p));
    omni_truths_reset(&p.truth);
    omni_items_reset(&p.read);
    return obj;
}

char *omni_truth_md(const json_t *page)
{
    struct omni_truths t = omni_truths_of(page);
    struct page_text out = {0};

    print_bytes(&out, "", 0);
    for (int i = 0; i < t.n; i++)
        if (!t.at[i].is_ignorable) {
            const char *mark = t.at[i].kind == TRUTH_FORMULA ? "$$\n" : "";

            print(&out, "%s%s\n%s\n", mark, t.at[i].content, *mark ? "$$\n" : "");
        }
    omni_truths_reset(&t);
    return out.p;
}
