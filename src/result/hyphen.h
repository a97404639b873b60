/* Words parted at line ends, joined again: a letter, "-", the end of the line, a small letter. It is
 * a guess ("well-\nknown" loses its hyphen), so only on request. Math and tables are left alone. */
#ifndef RECTO_RESULT_HYPHEN_H
#define RECTO_RESULT_HYPHEN_H

#include "base/str.h"

/* Append text with such words joined. */
void hyphen_join(struct buf *out, str text);

#endif
