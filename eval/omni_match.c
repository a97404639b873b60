#include "omni_match.h"

#include "assign.h"
#include "score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURE   0.25 /* below: they belong together */
#define PART   0.6  /* a prediction is part of a truth */
#define INSIDE 0.4  /* a truth is inside a prediction */
#define APART  0.7  /* above: a pair is undone */
#define WORK   2e9  /* cells of windows; beyond it nothing is looked for inside */

/* A run of predictions [from, to). */
struct run {
    int from, to;
    double cost;
};

struct pool {
    const struct omni_line *truth, *pred;
    int *t, *p; /* indices of those in the pool */
    int n_t, n_p;
    double *cost; /* [n_t][n_p] NED */
};

static const struct eval_text *truth_at(const struct pool *q, int i)
{
    return &q->truth[q->t[i]].norm;
}

static const struct eval_text *pred_at(const struct pool *q, int j)
{
    return &q->pred[q->p[j]].norm;
}

/* ---- distances ------------------------------------------------------------------------------- */

/* Predictions [from, to) with a space between. */
static struct eval_text joined(const struct pool *q, int from, int to)
{
    struct eval_text all = {0};
    size_t n = 0;

    for (int j = from; j < to; j++)
        n += pred_at(q, j)->n + 1;
    all.code = eval_alloc(n, sizeof *all.code);
    for (int j = from; j < to; j++) {
        if (j > from)
            all.code[all.n++] = ' ';
        memcpy(all.code + all.n, pred_at(q, j)->code, pred_at(q, j)->n * sizeof *all.code);
        all.n += pred_at(q, j)->n;
    }
    return all;
}

static double ned_of_run(const struct pool *q, int truth, int from, int to)
{
    struct eval_text all = joined(q, from, to);
    double ned = eval_ned(truth_at(q, truth), &all);

    eval_text_reset(&all);
    return ned;
}

/* Is there a window of the longer, as long as the shorter, nearer than `most` of its length? `or_equal`: or as near. Without
 * windows: false, unless the shorter is really not longer. */
static bool is_inside(const struct eval_text *shorter, const struct eval_text *longer, double most,
                      bool or_equal)
{
    double limit = most * (double)shorter->n;

    if (shorter->n == 0 || shorter->n > longer->n)
        return false;
    double least = (double)eval_lev_inside(shorter, longer);
    if (or_equal ? least > limit : least >= limit)
        return false; /* no window is nearer than the nearest part */
    for (size_t i = 0; i + shorter->n <= longer->n; i++) {
        struct eval_text window = {longer->code + i, shorter->n};
        double d = (double)eval_lev(shorter, &window);

        if (or_equal ? d <= limit : d < limit)
            return true;
    }
    return false;
}

/* ---- truths that a page break or a figure has cut -------------------------------------------- */

/* May prediction `to` join the run? Two answers: it belongs to it; and the truth has room for more. */
static bool may_join(const struct pool *q, int truth, int from, int to, bool *has_room)
{
    struct eval_text longer = joined(q, from, to + 1);
    double before = ned_of_run(q, truth, from, to), after = eval_ned(truth_at(q, truth), &longer);
    bool is_part = after <= before;

    *has_room = longer.n <= truth_at(q, truth)->n;
    eval_text_reset(&longer);
    for (int j = from; j < to && is_part; j++)
        is_part = is_inside(pred_at(q, j), truth_at(q, truth), PART, true);
    return is_part && is_inside(pred_at(q, to), truth_at(q, truth), PART, false);
}

static struct run run_from(const struct pool *q, int truth, int from, const bool *is_sure)
{
    struct run r = {from, from + 1, 0};
    bool has_room = true;

    while (has_room && r.to < q->n_p && !is_sure[r.to] && may_join(q, truth, from, r.to, &has_room))
        r.to++;
    r.cost = ned_of_run(q, truth, r.from, r.to);
    return r;
}

/* The cheapest run for each truth that is not sure. How many. */
static int cheapest_runs(const struct pool *q, const bool *truth_sure, const bool *pred_sure,
                         struct run *run)
{
    int n = 0;

    for (int i = 0; i < q->n_t; i++) {
        struct run best = {0, 0, INFINITY};

        for (int j = 0; j < q->n_p && !truth_sure[i]; j++) {
            struct run r = pred_sure[j] ? best : run_from(q, i, j, pred_sure);

            best = r.cost < best.cost ? r : best;
        }
        if (best.to > best.from)
            run[n++] = best;
    }
    return n;
}

static int by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    if (x->from != y->from)
        return x->from - y->from;
    return x->cost < y->cost ? -1 : x->cost > y->cost;
}

static bool overlap(const struct run *a, const struct run *b)
{
    return a->from < b->to && b->from < a->to;
}

/* Of runs [0, n) that overlap each other: all ways to keep some that do not, each begun by one that fitted into none before; the
 * way with the least mean cost is kept, at the front of run. How many. */
static int settle(struct run *run, int n)
{
    struct run *way = eval_alloc((size_t)n * (size_t)n, sizeof *way);
    int *length = eval_alloc((size_t)n, sizeof *length), n_way = 0, best = 0;
    double least = INFINITY;

    for (int k = 0; k < n; k++) {
        bool is_placed = false;

        for (int w = 0; w < n_way; w++) {
            struct run *have = way + (size_t)w * (size_t)n, *same = NULL;
            bool fits = true;

            for (int i = 0; i < length[w]; i++) {
                fits &= !overlap(&have[i], &run[k]);
                if (have[i].from == run[k].from && have[i].to == run[k].to)
                    same = &have[i];
            }
            if (fits)
                have[length[w]++] = run[k];
            else if (same)
                same->cost = fmin(same->cost, run[k].cost);
            is_placed |= fits || same;
        }
        if (!is_placed) {
            way[(size_t)n_way * (size_t)n] = run[k];
            length[n_way++] = 1;
        }
    }
    for (int w = 0; w < n_way; w++) {
        double sum = 0;

        for (int i = 0; i < length[w]; i++)
            sum += way[(size_t)w * (size_t)n + (size_t)i].cost;
        if (sum / length[w] < least) {
            least = sum / length[w];
            best = w;
        }
    }
    int kept = n_way ? length[best] : 0;
    memcpy(run, way + (size_t)best * (size_t)n, (size_t)kept * sizeof *run);
    free(way);
    free(length);
    return kept;
}

/* Runs that do not overlap, at the front of run. How many. */
static int settle_all(struct run *run, int n)
{
    int kept = 0;

    if (n > 0)
        qsort(run, (size_t)n, sizeof *run, by_start);
    for (int from = 0, to; from < n; from = to) {
        bool touches = true;

        for (to = from + 1; to < n && touches; to += touches) {
            touches = false;
            for (int k = from; k < to; k++)
                touches |= overlap(&run[k], &run[to]);
        }
        int n_kept = settle(run + from, to - from);
        memmove(run + kept, run + from, (size_t)n_kept * sizeof *run);
        kept += n_kept;
    }
    if (kept > 0)
        qsort(run, (size_t)kept, sizeof *run, by_start);
    return kept;
}

/* All predictions as runs: the settled ones, and the others alone. */
static int all_runs(const struct pool *q, struct run *settled, int n_settled, struct run *out)
{
    int n = 0, next = 0;

    for (int j = 0; j < q->n_p;) {
        if (next < n_settled && settled[next].from == j)
            out[n] = settled[next++];
        else
            out[n] = (struct run){j, j + 1, 0};
        j = out[n++].to;
    }
    return n;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Predictions that are together in a pair, and its truths: [n_p] and [n_t] flags. */
struct draft {
    struct run run;
    int *truth, n_truth;
};

struct drafts {
    struct draft *at;
    int n;
    bool *has_pair; /* [n_t] */
};

static struct draft *draft_of(struct drafts *d, struct run run, int n_t)
{
    for (int i = 0; i < d->n; i++)
        if (d->at[i].run.from == run.from && d->at[i].run.to == run.to)
            return &d->at[i];
    d->at = eval_grow(d->at, (size_t)d->n + 1, sizeof *d->at);
    d->at[d->n] = (struct draft){run, eval_alloc((size_t)n_t, sizeof(int)), 0};
    return &d->at[d->n++];
}

static void draft_add(struct drafts *d, struct run run, int truth, int n_t)
{
    struct draft *one = draft_of(d, run, n_t);

    one->truth[one->n_truth++] = truth;
    d->has_pair[truth] = true;
}

/* Truths and runs so that the sum of costs is least; what is too far apart stays alone. */
static void match_runs(const struct pool *q, struct drafts *d, const struct run *run, int n_run)
{
    double *cost = eval_alloc((size_t)q->n_t * (size_t)n_run, sizeof *cost);
    int *mate = eval_alloc((size_t)q->n_t, sizeof *mate);

    for (int i = 0; i < q->n_t; i++)
        for (int k = 0; k < n_run; k++)
            cost[(size_t)i * (size_t)n_run + (size_t)k] =
                run[k].to == run[k].from + 1
                    ? q->cost[(size_t)i * (size_t)q->n_p + (size_t)run[k].from]
                    : ned_of_run(q, i, run[k].from, run[k].to);
    eval_assign(cost, q->n_t, n_run, mate);
    for (int i = 0; i < q->n_t; i++)
        if (mate[i] >= 0 && cost[(size_t)i * (size_t)n_run + (size_t)mate[i]] <= APART)
            draft_add(d, run[mate[i]], i, q->n_t);
    free(cost);
    free(mate);
}

/* Truths left alone that are inside a prediction join its pair. */
static void match_inside(const struct pool *q, struct drafts *d)
{
    bool *was_alone = eval_alloc((size_t)q->n_t, 1);
    double work = 0;

    for (int i = 0; i < q->n_t; i++)
        was_alone[i] = !d->has_pair[i];
    for (int j = 0; j < q->n_p; j++)
        for (int i = 0; i < q->n_t && work < WORK; i++) {
            const struct eval_text *t = truth_at(q, i), *p = pred_at(q, j);

            if (!was_alone[i])
                continue;
            work += (double)t->n * (double)p->n / 64;
            if (is_inside(t, p, INSIDE, false)) {
                struct run one = {j, j + 1, 0};

                if (d->has_pair[i])
                    draft_of(
                        d, one,
                        q->n_t); /* taken already, but this prediction counts as matched, too */
                else
                    draft_add(d, one, i, q->n_t);
            }
        }
    free(was_alone);
}

/* What is free on both sides, whatever the distance. */
static void match_rest(const struct pool *q, struct drafts *d)
{
    bool *is_taken = eval_alloc((size_t)q->n_p, 1);
    int *free_t = eval_alloc((size_t)q->n_t, sizeof *free_t),
        *free_p = eval_alloc((size_t)q->n_p, sizeof *free_p),
        *mate = eval_alloc((size_t)q->n_t, sizeof *mate), n_t = 0, n_p = 0;

    for (int i = 0; i < d->n; i++)
        for (int j = d->at[i].run.from; j < d->at[i].run.to; j++)
            is_taken[j] = true;
    for (int i = 0; i < q->n_t; i++)
        if (!d->has_pair[i])
            free_t[n_t++] = i;
    for (int j = 0; j < q->n_p; j++)
        if (!is_taken[j])
            free_p[n_p++] = j;
    double *cost = eval_alloc((size_t)n_t * (size_t)n_p, sizeof *cost);
    for (int i = 0; i < n_t; i++)
        for (int k = 0; k < n_p; k++)
            cost[(size_t)i * (size_t)n_p + (size_t)k] =
                q->cost[(size_t)free_t[i] * (size_t)q->n_p + (size_t)free_p[k]];
    eval_assign(cost, n_t, n_p, mate);
    for (int i = 0; i < n_t; i++)
        if (mate[i] >= 0)
            draft_add(d, (struct run){free_p[mate[i]], free_p[mate[i]] + 1, 0}, free_t[i], q->n_t);
    free(is_taken);
    free(free_t);
    free(free_p);
    free(mate);
    free(cost);
}

static void match_pool(const struct pool *q, struct drafts *d)
{
    bool *truth_sure = eval_alloc((size_t)q->n_t, 1), *pred_sure = eval_alloc((size_t)q->n_p, 1);
    struct run *run = eval_alloc((size_t)q->n_t, sizeof *run),
               *all = eval_alloc((size_t)q->n_p, sizeof *all);

    for (int i = 0; i < q->n_t; i++)
        for (int j = 0; j < q->n_p; j++)
            if (q->cost[(size_t)i * (size_t)q->n_p + (size_t)j] < SURE)
                truth_sure[i] = pred_sure[j] = true;
    int n = settle_all(run, cheapest_runs(q, truth_sure, pred_sure, run));
    match_runs(q, d, all, all_runs(q, run, n, all));
    match_inside(q, d);
    match_rest(q, d);
    free(truth_sure);
    free(pred_sure);
    free(run);
    free(all);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Predictions that are an ignorable truth, nearly. */
static void drop_ignorable(const struct omni_line *truth, int n_truth, const struct omni_line *pred,
                           int n_pred, bool *is_gone)
{
    for (int i = 0; i < n_truth; i++)
        for (int j = 0; j < n_pred && truth[i].is_ignorable; j++)
            is_gone[j] |= eval_ned(&truth[i].norm, &pred[j].norm) < SURE;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void add_pair(struct omni_pairs *out, const struct pool *q, const int *truth, int n_truth,
                     struct run run)
{
    struct omni_pair p = {eval_alloc((size_t)n_truth, sizeof(int)),
                          eval_alloc((size_t)(run.to - run.from), sizeof(int)), n_truth,
                          run.to - run.from};

    for (int i = 0; i < n_truth; i++)
        p.truth[i] = q->t[truth[i]];
    qsort(p.truth, (size_t)n_truth, sizeof *p.truth, by_number);
    for (int j = run.from; j < run.to; j++) {
        p.pred[j - run.from] = q->p[j];
        out->is_used[q->p[j]] = true;
    }
    out->pair = eval_grow(out->pair, (size_t)out->n + 1, sizeof *out->pair);
    out->pair[out->n++] = p;
}

static void make_pool(struct pool *q, const struct omni_line *truth, int n_truth,
                      const struct omni_line *pred, int n_pred, const bool *is_gone)
{
    *q = (struct pool){.truth = truth,
                       .pred = pred,
                       .t = eval_alloc((size_t)n_truth, sizeof(int)),
                       .p = eval_alloc((size_t)n_pred, sizeof(int))};
    for (int i = 0; i < n_truth; i++)
        if (!truth[i].is_ignorable)
            q->t[q->n_t++] = i;
    for (int j = 0; j < n_pred; j++)
        if (!is_gone[j])
            q->p[q->n_p++] = j;
    q->cost = eval_alloc((size_t)q->n_t * (size_t)q->n_p, sizeof *q->cost);
    for (int i = 0; i < q->n_t; i++)
        for (int j = 0; j < q->n_p; j++)
            q->cost[(size_t)i * (size_t)q->n_p + (size_t)j] = eval_ned(truth_at(q, i),
                                                                       pred_at(q, j));
}

struct omni_pairs omni_match(const struct omni_line *truth, int n_truth,
                             const struct omni_line *pred, int n_pred)
{
    struct omni_pairs out = {.is_used = eval_alloc((size_t)n_pred, 1)};
    struct drafts d = {0};
    struct pool q;

    drop_ignorable(truth, n_truth, pred, n_pred, out.is_used);
    make_pool(&q, truth, n_truth, pred, n_pred, out.is_used);
    d.has_pair = eval_alloc((size_t)q.n_t, 1);
    if (q.n_t > 0 && q.n_p > 0)
        match_pool(&q, &d);
    for (int i = 0; i < d.n; i++)
        if (d.at[i].n_truth > 0)
            add_pair(&out, &q, d.at[i].truth, d.at[i].n_truth, d.at[i].run);
    for (int i = 0; i < q.n_t; i++)
        if (!d.has_pair[i])
            add_pair(&out, &q, &i, 1, (struct run){0, 0, 0});
    for (int i = 0; i < d.n; i++)
        free(d.at[i].truth);
    free(d.at);
    free(d.has_pair);
    free(q.t);
    free(q.p);
    free(q.cost);
    return out;
}

void omni_pairs_reset(struct omni_pairs *p)
{
    for (int i = 0; i < p->n; i++) {
        free(p->pair[i].truth);
        free(p->pair[i].pred);
    }
    free(p->pair);
    free(p->is_used);
    *p = (struct omni_pairs){0};
}
