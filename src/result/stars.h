/* Asterisks that mark emphasis: pairs of * ** *** around words, on one line. One pair of each length
 * is followed at a time, which keeps the time linear. */
#ifndef RECTO_RESULT_STARS_H
#define RECTO_RESULT_STARS_H

#include "base/str.h"

struct stars {
    const char *closer[4]; /* for 1..3 asterisks: where the pair that is open ends */
    bool no_closer[4];     /* none before the end of this line */
};

enum stars_role { STARS_NONE, STARS_OPEN, STARS_CLOSE };

/* How many asterisks stand at s.p[at]. */
size_t stars_run(str s, size_t at);
/* What the n asterisks at s.p[i] are; s is the same for all calls between two stars_forget. */
enum stars_role stars_mark(struct stars *k, str s, size_t i, size_t n);
/* A line ends, or another text begins. */
void stars_forget(struct stars *k);

#endif
