/* What was read on a page: from the engine, or from files that another program may have written. */
#ifndef RECTO_EVAL_PRED_H
#define RECTO_EVAL_PRED_H

#include "set.h"

struct eval_pred {
    bool is_there; /* false: nothing was read or found; scored as an empty text */
    char *md;      /* the Markdown that is scored; of OmniDocBench as --official eval leaves it */
    char *txt;     /* the same without marks; NULL: not known */
    char **
        repeat; /* of olmOCR-bench from files: the texts of all repeats, the first of which is md, too */
    int n_repeat;
    bool has_page; /* the rest is known too: boxes, status, tokens */
    struct recto_page page;
};

/* From a page of the engine. Takes *page over. */
void eval_pred_take(struct eval_pred *p, const struct eval_set *s, struct recto_page *page);
/* From a folder: NAME.md (or STEM.md, of which the page is taken), and beside it .txt and .json (recto-layout-1) if they are
 * there; of olmOCR-bench (has_repeats) NAME_repeatK.md, K from 1 on. A page without a file is not there. 0, or a code with *f. */
int eval_pred_load(struct eval_pred *p, const struct eval_case *c, const char *dir,
                   bool has_repeats, struct eval_fault *f);
/* DIR/NAME.md as run_dpsk_ocr2_eval_batch.py leaves it, whatever the set; of a page of the engine. 0, or RECTO_EOUTPUT. */
int eval_export(const struct eval_pred *p, const struct eval_case *c, const char *dir,
                struct eval_fault *f);
void eval_pred_reset(struct eval_pred *p);

#endif
