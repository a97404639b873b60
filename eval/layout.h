/* Boxes and their order. */
#ifndef RECTO_EVAL_LAYOUT_H
#define RECTO_EVAL_LAYOUT_H

#include "recto.h"

/* Area of the common part over that of both, on the 0..999 grid; 0 for boxes without area. */
double eval_iou(struct recto_box a, struct recto_box b);

struct eval_match {
    int n_truth, n_found, n_pair; /* pairs with at least the wanted overlap */
    double iou;                   /* mean over pairs; 0 without any */
};
/* One to one, greedily by overlap: the pair that overlaps most first. */
struct eval_match eval_match_boxes(const struct recto_box *truth, int n_truth,
                                   const struct recto_box *found, int n_found, double least);
/* n_pair / n_truth, n_pair / n_found (1 where there is nothing to find), 2 P R / (P + R). */
double eval_recall(const struct eval_match *m);
double eval_precision(const struct eval_match *m);
double eval_f1(const struct eval_match *m);

/* Reading order: place[i] is where the found text has what is i-th in the truth; -1: nowhere (left out). The
 * distance of Levenshtein between the order found and the true one, over the longer length: 0 when equal. */
double eval_order(const int *place, int n);

#endif
