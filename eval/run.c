#include "run.h"

#include "olm.h"
#include "omni.h"
#include "text.h"

#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

static struct eval_reading reading_of(const struct eval_pred *p)
{
    const struct recto_page *page = &p->page;
    struct eval_reading r = {.is_known = p->has_page};

    if (!p->has_page)
        return r;
    r.status = page->status;
    r.has_looped = page->status == RECTO_PAGE_LOOP;
    for (int i = 0; i < page->n_attempt; i++)
        r.has_looped |= page->attempt[i].finish == RECTO_FINISH_LOOP;
    r.n_attempt = page->n_attempt;
    r.n_token = page->n_token;
    r.n_intervention = page->n_intervention;
    r.tiles_w = page->tiles_w;
    r.tiles_h = page->tiles_h;
    r.conf = page->conf;
    r.total_ms = page->timing.total;
    return r;
}

static void score_one(void *ctx, int i)
{
    struct eval_run *r = ctx;
    struct eval_result *out = &r->result[i];

    out->is_there = r->pred[i].is_there;
    out->reading = reading_of(&r->pred[i]);
    eval_page_score(&out->score, &r->set->at[i], &r->pred[i]);
    if (r->set->layout == EVAL_OMNIDOC)
        out->more = omni_score(r->set->at[i].more, r->pred[i].md ? r->pred[i].md : "");
    else if (r->set->layout == EVAL_OLMOCR)
        out->more = olm_score(r->set->at[i].more, &r->pred[i]);
}

void eval_score(struct eval_run *r, int threads)
{
    xmlInitParser(); /* before there are threads */
    eval_each(r->set->n, threads, score_one, r);
}

void eval_run_reset(struct eval_run *r)
{
    for (int i = 0; r->pred && i < r->set->n; i++)
        eval_pred_reset(&r->pred[i]);
    for (int i = 0; r->result && i < r->set->n; i++)
        json_decref(r->result[i].more);
    free(r->pred);
    free(r->result);
    json_decref(r->record);
    json_decref(r->run);
    *r = (struct eval_run){0};
}

/* ---- the worst ------------------------------------------------------------------------------- */

struct badness {
    double how;
    int page;
};

static int by_badness(const void *a, const void *b)
{
    const struct badness *x = a, *y = b;

    if (x->how != y->how)
        return x->how > y->how ? -1 : 1;
    return x->page - y->page;
}

/* -1: not known. */
static double how_bad(const struct eval_run *r, int page)
{
    const struct eval_result *one = &r->result[page];
    const json_t *omni = json_object_get(json_object_get(one->more, "omnidoc"), "text_edit"),
                 *olm = json_object_get(json_object_get(one->more, "olmocr"), "pass_rate");

    if (json_is_number(omni))
        return json_number_value(omni);
    if (json_is_number(olm))
        return 1 - json_number_value(olm);
    return one->score.has_text ? eval_rate(one->score.text[r->norm - EVAL_N0].chars) : -1;
}

int *eval_worst_first(const struct eval_run *r)
{
    int n = r->set->n, *order = eval_alloc((size_t)n, sizeof *order);
    struct badness *b = eval_alloc((size_t)n, sizeof *b);
    bool is_scored = false;

    for (int i = 0; i < n; i++)
        is_scored |= how_bad(r, i) >= 0;
    for (int i = 0; i < n; i++)
        b[i] = (struct badness){is_scored ? how_bad(r, i) : 1 - r->result[i].reading.conf, i};
    qsort(b, (size_t)n, sizeof *b, by_badness);
    for (int i = 0; i < n; i++)
        order[i] = b[i].page;
    free(b);
    return order;
}
