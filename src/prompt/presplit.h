/* The pre-tokeniser: regular expressions from the tokenizer's file cut a text into the pieces that
 * BPE sees.
 *
 * Steps apply in order, each to the pieces that the one before left; matches become pieces of their
 * own, and so does what lies between them ("Split" with behaviour "Isolated" in
 * huggingface/tokenizers). A match never looks beyond its piece.
 *
 * The patterns were written for Oniguruma and run here on PCRE2 with UTF and UCP, by its JIT where
 * the system allows it:
 *   - \s and \S become \p{White_Space} and \P{White_Space}: PCRE2's own \s also takes U+180E, which
 *     left that class in Unicode 6.3 (seen in PCRE2 10.42). White_Space as a property needs PCRE2
 *     10.40.
 *   - Escapes that mean something else there, or that real tokenizers do not use (\w \b \h, back
 *     references ...), are refused, not guessed at.
 *   - A match is never empty.
 * A hostile pattern cannot hang: steps of backtracking are limited by the length of the piece,
 * PCRE2 is called for a bounded number of start positions, and between calls a clock is looked at:
 * seconds at the worst, for a text of megabytes. */
#ifndef RECTO_PROMPT_PRESPLIT_H
#define RECTO_PROMPT_PRESPLIT_H

#include "base/str.h"

#define PRESPLIT_MAX_STEPS 16
#define PRESPLIT_MAX_REGEX 4096 /* bytes */
#define PRESPLIT_TIMEOUT_MS \
    10000 /* for one text; the released patterns need at most 50 ms per 100 KB */

struct pcre2_real_code_8;

struct presplit {
    struct pcre2_real_code_8 *step[PRESPLIT_MAX_STEPS];
    int n_step;
};

void presplit_reset(struct presplit *p);

/* Append a step. RECTO_EMODEL: unsupported, or not a regular expression; the sentence says why. */
int presplit_add(struct presplit *p, str regex);

/* Called for each piece, in order; the pieces joined are the text. */
typedef void presplit_fn(void *ctx, str piece);

/* text must be valid UTF-8. RECTO_EMODEL: a pattern needs too many steps or too long; some pieces
 * may have been handed out by then. p is only read: any number of threads may run it at once. */
int presplit_run(const struct presplit *p, str text, presplit_fn *each, void *ctx);

#endif
