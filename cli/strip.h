/* Take layout markers out of text that arrives in pieces, for `recto read --stream`.
 *
 * The model writes <|ref|>LABEL<|/ref|><|det|>BOXES<|/det|> and a newline before each block.
 * All of that is left out, as the Markdown writer leaves it out of the finished page; everything
 * else passes unchanged.  A label or a box list longer than STRIP_MAX bytes is no marker: what
 * was held back is then passed on as text, so a runaway page stays visible. */
#ifndef RECTO_CLI_STRIP_H
#define RECTO_CLI_STRIP_H

#include <stdbool.h>
#include <stddef.h>

#define STRIP_MAX 4096

struct strip {
    char held[STRIP_MAX]; /* bytes that may still turn out to be (part of) a marker */
    size_t n_held;
    bool after_marker; /* the newline behind a marker belongs to it */
};

typedef void strip_out(void *ctx, const char *text, size_t n);

/* Start with a zeroed struct; out is called with what is surely text. */
void strip_push(struct strip *s, const char *text, size_t n, strip_out *out, void *ctx);
/* The text ended: what is still held is text after all, unless it is an unfinished marker. */
void strip_end(struct strip *s, strip_out *out, void *ctx);

#endif
