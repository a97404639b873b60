/* Pages that have a property in common: of one kind, in one language, at one level. */
#ifndef RECTO_EVAL_GROUPS_H
#define RECTO_EVAL_GROUPS_H

#include "run.h"

struct group {
    char *name; /* "tables", or of a cross "tables, de" */
    int *index; /* of its pages, in order */
    int n;
};

struct groups {
    char *title; /* "kind", "kind and language" */
    struct group *at;
    int n;
};

/* By one property, or by two crossed (b = a: by one); groups in the order of their names. Pages that do not have it are in
 * none. n is 0 when no page has it. groups_reset frees. */
struct groups groups_by(const struct eval_set *s, enum eval_group a, enum eval_group b);
void groups_reset(struct groups *g);

#endif
