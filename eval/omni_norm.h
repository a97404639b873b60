/* Normal forms of OmniDocBench v1.5, in which its scores compare.  Source: the copy in EvolvingLMMs-Lab/lmms-eval,
 * lmms_eval/tasks/mdpbench/data_preprocess.py. */
#ifndef RECTO_EVAL_OMNI_NORM_H
#define RECTO_EVAL_OMNI_NORM_H

#include "text.h"

/* A paragraph: formulas in it that hold \, ^ or _ as Unicode text; then only letters, digits and the underscore are left. No
 * white space, no punctuation, no combining marks; case stays. */
struct eval_text omni_text(const char *s);
/* A formula set off: without tags, fonts, spaces, sizes of brackets; lower case. */
struct eval_text omni_formula(const char *s);
/* A formula whose truth was matched with words: as Unicode text, then as a paragraph. */
struct eval_text omni_formula_as_text(const char *s);
/* A table: the HTML that TEDS compares, in a new string; "" when there is none. */
char *omni_table(const char *html);

#endif
