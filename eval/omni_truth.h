/* The annotations of a page of OmniDocBench, in reading order. */
#ifndef RECTO_EVAL_OMNI_TRUTH_H
#define RECTO_EVAL_OMNI_TRUTH_H

#include <jansson.h>
#include <stdbool.h>

enum truth_kind { TRUTH_TEXT, TRUTH_FORMULA, TRUTH_TABLE };

struct omni_truth {
    enum truth_kind kind;
    const char *category; /* in the JSON */
    char *content;        /* text, LaTeX, or HTML */
    double order;
    bool is_ignorable; /* captions, footnotes, headers, footers, page numbers, algorithms */
};

struct omni_truths {
    struct omni_truth *at; /* by order */
    int n;
};

/* Of the categories that are scored or ignorable, with content; blocks that a `truncated` relation joins are one. */
struct omni_truths omni_truths_of(const json_t *page);
void omni_truths_reset(struct omni_truths *t);

#endif
