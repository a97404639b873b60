/* Where two texts differ, for people. */
#ifndef RECTO_EVAL_DIFF_H
#define RECTO_EVAL_DIFF_H

#include "text.h"

enum diff_kind { DIFF_SAME, DIFF_LOST, DIFF_ADDED };

struct diff_part {
    enum diff_kind kind;
    char *text; /* UTF-8, escaped for HTML */
};
struct diff {
    struct diff_part *part;
    int n;
    bool is_cut; /* only the beginnings were compared: the texts are too long */
};

/* Parts in order; a replaced word is lost, then the other added. Compared are words and the white space between them,
 * ideographs and kana alone. diff_reset frees. */
struct diff diff_of(const struct eval_text *truth, const struct eval_text *text);
void diff_reset(struct diff *d);

#endif
