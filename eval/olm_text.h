/* Texts as olmOCR-bench compares them. */
#ifndef RECTO_EVAL_OLM_TEXT_H
#define RECTO_EVAL_OLM_TEXT_H

#include "text.h"

/* <br> is a space, bold and italic marks go, white space is one space, NFC, plain quotes and dashes. */
struct eval_text olm_fold(const char *md);
void olm_lower(struct eval_text *t);
struct eval_text olm_part(const struct eval_text *t, size_t from,
                          size_t n); /* a view: not to be reset */

/* 2 LCS / (|a| + |b|); 1 when both are empty. LCS: longest common subsequence, bit-parallel (Crochemore et al.: A fast and
 * practical bit-vector algorithm for the longest common subsequence problem, IPL 80, 2001). */
double olm_ratio(const struct eval_text *a, const struct eval_text *b);
/* The best ratio of the shorter with a part of the longer that is as long, or shorter at either end. */
double olm_partial_ratio(const struct eval_text *a, const struct eval_text *b);

/* Where `what` is found with at most `most` edits: starts[], at most `cap`; how many. Of matches that overlap the nearest. */
int olm_find(const struct eval_text *what, const struct eval_text *in, size_t most, size_t *starts,
             int cap);

#endif
