/* A page of Markdown taken apart as the end-to-end code of OmniDocBench v1.5 does: tables, formulas, code, and the paragraphs
 * that are left.  Source: the copy of it in EvolvingLMMs-Lab/lmms-eval, lmms_eval/tasks/mdpbench/extract.py. */
#ifndef RECTO_EVAL_OMNI_ITEMS_H
#define RECTO_EVAL_OMNI_ITEMS_H

#include <stddef.h>

enum omni_kind {
    OMNI_TEXT,
    OMNI_CODE,
    OMNI_FORMULA, /* set off: $$ $$ or \[ \] */
    OMNI_INLINE,  /* $ $ or \( \) in a paragraph, where it stays, too */
    OMNI_HTML_TABLE,
    OMNI_LATEX_TABLE,
};

struct omni_item {
    enum omni_kind kind;
    size_t
        at; /* where it began; of paragraphs the sum of the lengths before, without the empty lines, as there */
    char *text;
};

struct omni_items {
    struct omni_item *item; /* by `at`; those that began at the same place as they were found */
    int n, cap;
};

struct omni_items omni_items_of(const char *md);
void omni_items_reset(struct omni_items *l);
void omni_add(struct omni_items *l, enum omni_kind kind, size_t at, char *text); /* takes text */

#endif
