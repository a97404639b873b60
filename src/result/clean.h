/* Text that is safe to store: always valid UTF-8, whatever the model's bytes were. */
#ifndef RECTO_RESULT_CLEAN_H
#define RECTO_RESULT_CLEAN_H

#include "base/str.h"

enum clean_flag {
    CLEAN_CUT_TAIL = 1 << 0, /* an unfinished character at the very end is dropped, not replaced */
    CLEAN_CONTROLS =
        1 << 1, /* C0 controls except \t and \n, and noncharacters, become U+FFFD too */
};

/* Append in to out with invalid sequences as U+FFFD, one per maximal subpart. At most three
 * bytes come of one. */
void clean_add(struct buf *out, str in, unsigned flags);

/* True if clean_add would copy in byte for byte. */
bool clean_already(str in, unsigned flags);

/* The same as a new NUL-terminated string of the caller. */
char *clean_dup(str in, unsigned flags, size_t *n);

/* Largest n' <= n at which s, valid UTF-8, can be cut without splitting a character. */
size_t clean_cut(str s, size_t n);

/* U+FDD0..FDEF and the last two code points of each plane. */
static inline bool is_noncharacter(uint32_t c)
{
    return (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE;
}

#endif
