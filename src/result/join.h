/* Two readings of the halves of a page make one. */
#ifndef RECTO_RESULT_JOIN_H
#define RECTO_RESULT_JOIN_H

#include "recto.h"

/* Put what b holds behind a: blocks (their order goes on), raw text with an empty line between, ids, counts; the finish is the
 * worse one (loop, length, eos), conf weighted by ids.  Only what parse and a reading fill is looked at.  b is reset. */
void page_join(struct recto_page *a, struct recto_page *b);

#endif
