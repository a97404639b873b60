/* Which parts of a page's truth and which of what was read belong together: the "quick match" of OmniDocBench v1.5's end-to-end
 * code.  Source: the copy in EvolvingLMMs-Lab/lmms-eval, lmms_eval/tasks/mdpbench/match_quick.py; equal costs may pair otherwise
 * there, and its time limit of 30 s is a limit of work here. */
#ifndef RECTO_EVAL_OMNI_MATCH_H
#define RECTO_EVAL_OMNI_MATCH_H

#include "text.h"

struct omni_line {
    struct eval_text norm; /* not empty */
    bool
        is_ignorable; /* of the truth: captions, headers and the like take their text out of the pool unscored */
};

/* Truths that were read as one run of predictions. Either may be empty: a truth without a prediction; no pair has no truth. */
struct omni_pair {
    int *truth, *pred; /* indices, rising */
    int n_truth, n_pred;
};

struct omni_pairs {
    struct omni_pair *pair;
    int n;
    bool *is_used; /* [n_pred]: in some pair, or taken by an ignorable truth */
};

struct omni_pairs omni_match(const struct omni_line *truth, int n_truth,
                             const struct omni_line *pred, int n_pred);
void omni_pairs_reset(struct omni_pairs *p);

#endif
