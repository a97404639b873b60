#include "layout.h"

#include "score.h"

#include <stdlib.h>

static double area(struct recto_box b)
{
    return b.x2 > b.x1 && b.y2 > b.y1 ? (double)(b.x2 - b.x1) * (b.y2 - b.y1) : 0;
}

double eval_iou(struct recto_box a, struct recto_box b)
{
    struct recto_box both = {a.x1 > b.x1 ? a.x1 : b.x1, a.y1 > b.y1 ? a.y1 : b.y1,
                             a.x2 < b.x2 ? a.x2 : b.x2, a.y2 < b.y2 ? a.y2 : b.y2};
    double common = area(both), all = area(a) + area(b) - common;

    return all > 0 ? common / all : 0;
}

struct pair {
    double iou;
    int truth, found;
};

/* Equal overlaps: in the order of the truth, then of what was found. */
static int by_overlap(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->iou != y->iou)
        return x->iou > y->iou ? -1 : 1;
    return x->truth != y->truth ? x->truth - y->truth : x->found - y->found;
}

static int overlaps(const struct recto_box *truth, int n_truth, const struct recto_box *found,
                    int n_found, double least, struct pair *pair)
{
    int n = 0;

    for (int i = 0; i < n_truth; i++)
        for (int j = 0; j < n_found; j++) {
            double iou = eval_iou(truth[i], found[j]);

            if (iou > 0 && iou >= least)
                pair[n++] = (struct pair){iou, i, j};
        }
    return n;
}

struct eval_match eval_match_boxes(const struct recto_box *truth, int n_truth,
                                   const struct recto_box *found, int n_found, double least)
{
    struct eval_match m = {.n_truth = n_truth, .n_found = n_found};
    struct pair *pair = eval_alloc((size_t)n_truth * (size_t)n_found, sizeof *pair);
    char *is_used = eval_alloc((size_t)n_truth + (size_t)n_found, 1);
    int n = overlaps(truth, n_truth, found, n_found, least, pair);

    qsort(pair, (size_t)n, sizeof *pair, by_overlap);
    for (int i = 0; i < n; i++) {
        char *a = &is_used[pair[i].truth], *b = &is_used[n_truth + pair[i].found];

        if (*a || *b)
            continue;
        *a = *b = 1;
        m.n_pair++;
        m.iou += pair[i].iou;
    }
    if (m.n_pair)
        m.iou /= m.n_pair;
    free(pair);
    free(is_used);
    return m;
}

double eval_recall(const struct eval_match *m)
{
    return m->n_truth ? (double)m->n_pair / m->n_truth : 1;
}

double eval_precision(const struct eval_match *m)
{
    return m->n_found ? (double)m->n_pair / m->n_found : 1;
}

double eval_f1(const struct eval_match *m)
{
    double p = eval_precision(m), r = eval_recall(m);

    return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

struct placed {
    int place, truth;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    return x->place != y->place ? x->place - y->place : x->truth - y->truth;
}

double eval_order(const int *place, int n)
{
    struct placed *p = eval_alloc((size_t)n, sizeof *p);
    struct eval_text truth = {eval_alloc((size_t)n, sizeof *truth.code), 0}, found = truth;
    double ned;

    found.code = eval_alloc((size_t)n, sizeof *found.code);
    for (int i = 0; i < n; i++)
        if (place[i] >= 0) {
            p[truth.n] = (struct placed){place[i], i};
            truth.code[truth.n++] = i;
        }
    found.n = truth.n;
    if (found.n > 0)
        qsort(p, found.n, sizeof *p, by_place);
    for (size_t i = 0; i < found.n; i++)
        found.code[i] = p[i].truth;
    ned = eval_ned(&truth, &found);
    eval_text_reset(&truth);
    eval_text_reset(&found);
    free(p);
    return ned;
}
