/* How far a text is from the truth. */
#ifndef RECTO_EVAL_SCORE_H
#define RECTO_EVAL_SCORE_H

#include "text.h"

struct eval_errors {
    size_t edits; /* insertions, deletions and replacements */
    size_t ref;   /* length of the truth, in the same units */
};

/* edits / ref, which may exceed 1; without a truth 0 for an empty text, else 1. Sums of edits and refs over pages give
 * the rate of a corpus (micro-average). */
double eval_rate(struct eval_errors e);

/* Characters, white space among them. */
struct eval_errors eval_char_errors(const struct eval_text *truth, const struct eval_text *text);
/* Characters without white space: CER-ns. */
struct eval_errors eval_char_errors_ns(const struct eval_text *truth, const struct eval_text *text);
struct eval_errors eval_word_errors(const struct eval_text *truth, const struct eval_text *text);
/* lev / length of the longer; 0 when both are empty. */
double eval_ned(const struct eval_text *a, const struct eval_text *b);

/* CER of two UTF-8 strings under a normalisation. */
double eval_cer(const char *truth, const char *text, enum eval_norm norm);

#endif
