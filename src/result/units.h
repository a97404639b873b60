/* Text as the units between which a line can break: words, and each CJK character by itself. */
#ifndef RECTO_RESULT_UNITS_H
#define RECTO_RESULT_UNITS_H

#include "base/str.h"

#define SPACE_WIDTH 0.5

struct unit {
    str text; /* borrowed */
    double width;
    bool after_space; /* white space before it */
    int hard_line;    /* which line of the text, from 0; lines without text do not count */
};

struct units {
    struct unit *unit;
    double *width; /* of each, with the space before it */
    double sum;    /* of those */
    int n, n_hard; /* units, hard lines */
    int n_code;    /* characters without white space */
    int n_cjk;     /* of them */
};

void units_of(struct units *u, str text);
void units_reset(struct units *u);

#endif
