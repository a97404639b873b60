/* Ids -> text while they come: bytes go out as soon as they are whole characters.
 *
 * A token may end inside a character; those bytes (three at most) are held until the next one. What
 * can never become a character is U+FFFD (Unicode's maximal subparts). Fed ids one by one or all at
 * once, the text is the same. A character still unfinished at the end was cut by the token limit
 * and is dropped. */
#ifndef RECTO_RESULT_DETOK_H
#define RECTO_RESULT_DETOK_H

#include "base/str.h"

struct detok {
    const str *piece; /* [n_piece] borrowed: the bytes of each id; n = 0: an id without text */
    int n_piece;
    char held[4]; /* the start of a character */
    int n_held;
    int n_textless; /* ids without text so far: they decode to nothing */
    int n_invalid;  /* U+FFFD put out so far for bytes that were no UTF-8 */
};

void detok_init(struct detok *d, const str *piece, int n_piece);

/* Append to out what id completes: whole UTF-8 characters, perhaps none. Any id will do; one
 * without a piece counts as textless. */
void detok_put(struct detok *d, int32_t id, struct buf *out);

/* The end: forget the held bytes; how many there were (0: the text ended with a whole one). */
int detok_flush(struct detok *d);

#endif
