#include "page_score.h"

#include "assign.h"
#include "teds.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- text ------------------------------------------------------------------------------------ */

const char *eval_truth_text(const struct eval_case *c)
{
    return c->md ? c->md : c->txt ? c->txt : "";
}

const char *eval_pred_text(const struct eval_case *c, const struct eval_pred *p)
{
    const char *text = !c->md && c->txt && p->txt ? p->txt : p->md;

    return text ? text : "";
}

static struct eval_text_score compare(const struct eval_text *a, const struct eval_text *b)
{
    struct eval_text_score s = {.chars = eval_char_errors(a, b),
                                .chars_ns = eval_char_errors_ns(a, b),
                                .words = eval_word_errors(a, b)};
    size_t longer = a->n > b->n ? a->n : b->n;

    s.ned = longer ? (double)s.chars.edits / (double)longer : 0;
    return s;
}

/* N2 is made of N1: to take the marks off is most of the work. */
static void compare_all(const char *truth, const char *text, struct eval_text_score *score)
{
    struct eval_text a, b;

    for (int k = 0; k < N_EVAL_NORM; k++) {
        enum eval_norm norm = (enum eval_norm)(EVAL_N0 + k);

        if (norm == EVAL_N2) {
            eval_text_fold(&a);
            eval_text_fold(&b);
        } else {
            a = eval_text_of(truth, strlen(truth), norm);
            b = eval_text_of(text, strlen(text), norm);
        }
        score[k] = compare(&a, &b);
        if (norm != EVAL_N1) {
            eval_text_reset(&a);
            eval_text_reset(&b);
        }
    }
}

/* ---- pairs of texts -------------------------------------------------------------------------- */

struct texts {
    struct eval_text *at;
    int n;
};

static void texts_reset(struct texts *t)
{
    for (int i = 0; i < t->n; i++)
        eval_text_reset(&t->at[i]);
    free(t->at);
}

static struct texts texts_of(const struct names *list, enum eval_norm norm)
{
    struct texts t = {eval_alloc((size_t)list->n, sizeof *t.at), list->n};

    for (int i = 0; i < list->n; i++)
        t.at[i] = eval_text_of(list->name[i], strlen(list->name[i]), norm);
    return t;
}

/* mate[i] of truth i, -1 without one. Both are freed. */
static void pair_up(struct texts truth, struct texts found, double most, int *mate)
{
    double *ned = eval_alloc((size_t)truth.n * (size_t)found.n, sizeof *ned);

    for (int i = 0; i < truth.n; i++)
        for (int j = 0; j < found.n; j++)
            ned[(size_t)i * (size_t)found.n + (size_t)j] = eval_ned(&truth.at[i], &found.at[j]);
    eval_assign(ned, truth.n, found.n, mate);
    for (int i = 0; i < truth.n; i++)
        if (mate[i] >= 0 && ned[(size_t)i * (size_t)found.n + (size_t)mate[i]] > most)
            mate[i] = -1;
    free(ned);
    texts_reset(&truth);
    texts_reset(&found);
}

static void names_add(struct names *list, const char *from, size_t n)
{
    if ((list->n & (list->n - 1)) == 0) /* room doubles */
        list->name = eval_grow(list->name, (size_t)(list->n ? 2 * list->n : 1), sizeof *list->name);
    list->name[list->n++] = eval_string("%.*s", (int)n, from);
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct names eval_tables_of(const char *text)
{
    struct names list = {0};
    const char *from = NULL;
    int depth = 0;

    for (const char *p = text; (p = strchr(p, '<')); p++) {
        if (strncasecmp(p, "<table", 6) == 0 && depth++ == 0)
            from = p;
        else if (strncasecmp(p, "</table>", 8) == 0 && depth > 0 && --depth == 0)
            names_add(&list, from, (size_t)(p + 8 - from));
    }
    if (depth > 0) /* not closed: to the end */
        names_add(&list, from, strlen(from));
    return list;
}

static void score_tables(struct eval_table_score *s, const struct eval_case *c, const char *text)
{
    struct names truth = eval_tables_of(c->tables ? c->tables : eval_truth_text(c));
    struct names found = eval_tables_of(text);
    int *mate = eval_alloc((size_t)truth.n, sizeof *mate);

    *s = (struct eval_table_score){.n_truth = truth.n, .n_found = found.n};
    pair_up(texts_of(&truth, EVAL_AS_IS), texts_of(&found, EVAL_AS_IS), 1, mate);
    for (int i = 0; i < truth.n; i++) {
        bool is_rough;

        if (mate[i] < 0)
            continue;
        s->teds += eval_teds(truth.name[i], found.name[mate[i]], false, &is_rough) / truth.n;
        s->teds_s += eval_teds(truth.name[i], found.name[mate[i]], true, NULL) / truth.n;
        s->n_rough += is_rough;
    }
    free(mate);
    names_reset(&truth);
    names_reset(&found);
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool is_furniture(enum recto_block_kind k)
{
    return k == RECTO_BLOCK_HEADER || k == RECTO_BLOCK_FOOTER || k == RECTO_BLOCK_PAGE_NUMBER;
}

static struct names blocks_of(const struct recto_page *page)
{
    struct names list = {0};

    for (int i = 0; i < page->n_block; i++) {
        const struct recto_block *b = &page->block[i];

        if (b->order >= 0 && b->n_text > 0 && !is_furniture(b->kind) &&
            b->kind != RECTO_BLOCK_FIGURE)
            names_add(&list, b->text, strlen(b->text));
    }
    return list;
}

/* Parts of a Markdown text between empty lines. */
static struct names paragraphs_of(const char *md)
{
    struct names list = {0};

    while (*md) {
        const char *end = strstr(md, "\n\n");
        size_t n = end ? (size_t)(end - md) : strlen(md);

        if (n > strspn(md, "\n "))
            names_add(&list, md, n);
        md += n + (end ? 2 : 0);
    }
    return list;
}

static void score_order(struct eval_page_score *s, const struct recto_page *layout, const char *md)
{
    struct names truth = blocks_of(layout), found = paragraphs_of(md);
    int *place = eval_alloc((size_t)truth.n, sizeof *place);

    pair_up(texts_of(&truth, EVAL_N1), texts_of(&found, EVAL_N1), 0.7, place);
    for (int i = 0; i < truth.n; i++)
        s->n_ordered += place[i] >= 0;
    s->order = eval_order(place, truth.n);
    free(place);
    names_reset(&truth);
    names_reset(&found);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static struct recto_box box_round(const struct recto_block *b)
{
    struct recto_box all = b->box[0];

    for (int i = 1; i < b->n_box; i++) {
        const struct recto_box *x = &b->box[i];

        all = (struct recto_box){x->x1 < all.x1 ? x->x1 : all.x1, x->y1 < all.y1 ? x->y1 : all.y1,
                                 x->x2 > all.x2 ? x->x2 : all.x2, x->y2 > all.y2 ? x->y2 : all.y2};
    }
    return all;
}

/* Of all kinds when kind is N_EVAL_KIND. How many. */
static int boxes_of(const struct recto_page *page, int kind, struct recto_box *box)
{
    int n = 0;

    for (int i = 0; i < page->n_block; i++)
        if (page->block[i].n_box > 0 && (kind == N_EVAL_KIND || (int)page->block[i].kind == kind))
            box[n++] = box_round(&page->block[i]);
    return n;
}

static struct eval_box_score score_boxes(const struct recto_page *truth,
                                         const struct recto_page *found, int kind)
{
    struct recto_box *a = eval_alloc((size_t)truth->n_block, sizeof *a);
    struct recto_box *b = eval_alloc((size_t)found->n_block, sizeof *b);
    int n_a = boxes_of(truth, kind, a), n_b = boxes_of(found, kind, b);
    struct eval_match half = eval_match_boxes(a, n_a, b, n_b, 0.5);
    struct eval_match most = eval_match_boxes(a, n_a, b, n_b, 0.75);

    free(a);
    free(b);
    return (struct eval_box_score){n_a, n_b, half.n_pair, most.n_pair, half.iou * half.n_pair};
}

/* ---- all ------------------------------------------------------------------------------------- */

void eval_page_score(struct eval_page_score *s, const struct eval_case *c,
                     const struct eval_pred *p)
{
    const char *text = eval_pred_text(c, p);

    *s = (struct eval_page_score){.has_text = c->md || c->txt,
                                  .has_boxes = c->layout && p->has_page};
    if (s->has_text)
        compare_all(eval_truth_text(c), text, s->text);
    if (c->tables || c->md)
        score_tables(&s->table, c, p->md ? p->md : "");
    if (c->layout)
        score_order(s, c->layout, p->md ? p->md : "");
    for (int k = 0; k <= N_EVAL_KIND && s->has_boxes; k++)
        *(k < N_EVAL_KIND ? &s->box_of[k] : &s->box) = score_boxes(c->layout, &p->page, k);
}
