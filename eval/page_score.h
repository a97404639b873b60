/* One page of a folder with truth: how far what was read is from it. */
#ifndef RECTO_EVAL_PAGE_SCORE_H
#define RECTO_EVAL_PAGE_SCORE_H

#include "layout.h"
#include "pred.h"
#include "score.h"

/* EVAL_N0, N1, N2 at 0, 1, 2. */
enum { N_EVAL_NORM = 3, N_EVAL_KIND = RECTO_BLOCK_OTHER + 1 };

struct eval_text_score {
    struct eval_errors chars, chars_ns, words;
    double ned;
};

/* Tables of truth and text are paired so that the sum of NED of their HTML is least. */
struct eval_table_score {
    int n_truth, n_found, n_rough; /* rough: teds.h */
    double teds, teds_s; /* means over the tables of the truth; one without a partner has 0 */
};

/* Boxes of blocks (of one with several, the box round all), paired by overlap. */
struct eval_box_score {
    int n_truth, n_found;
    int n_50, n_75; /* pairs that overlap (IoU) by 0.5, by 0.75 */
    double sum_iou; /* over the first */
};

struct eval_page_score {
    bool has_text; /* there is a truth; else the next three are empty */
    struct eval_text_score text[N_EVAL_NORM];
    struct eval_table_score table;
    /* Blocks of the truth and paragraphs of the text, paired so that the sum of NED is least and none is over 0.7. */
    int n_ordered; /* pairs; below two there is no order */
    double order;  /* layout.h */
    bool has_boxes;
    struct eval_box_score box,
        box_of[N_EVAL_KIND]; /* of all blocks, whatever their kind; of those of a kind */
};

void eval_page_score(struct eval_page_score *s, const struct eval_case *c,
                     const struct eval_pred *p);
/* The texts that are compared, as N1 (N0 of a .txt truth would want the txt format). Either is "" if there is none. */
const char *eval_truth_text(const struct eval_case *c);
const char *eval_pred_text(const struct eval_case *c, const struct eval_pred *p);

/* The tables in an HTML or Markdown text, outermost only; free with names_reset. */
struct names eval_tables_of(const char *text);

#endif
