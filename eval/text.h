/* Texts as code points, normalised for comparison; words; the Levenshtein distance.
 *
 * Memory that cannot be had ends the program with one line: a comparison has no other use for it. */
#ifndef RECTO_EVAL_TEXT_H
#define RECTO_EVAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eval_text {
    int32_t *code; /* code points, or numbers of words */
    size_t n;
};
void eval_text_reset(struct eval_text *t);

/* EVAL_AS_IS  nothing changed
 * EVAL_N0  ends stripped of white space, else as it is
 * EVAL_N1  marks of Markdown, HTML and math removed as recto's txt format removes them; &lt; &gt; &amp; &quot; &#39; are their
 *          characters; NFC; runs of white space are one space; ends stripped.  The default.
 * EVAL_N2  N1, then NFKC, case folded, and quotes and dashes made plain: ' " -
 * White space: Unicode categories Zs, Zl, Zp and the controls TAB to CR. */
enum eval_norm { EVAL_AS_IS, EVAL_N0, EVAL_N1, EVAL_N2 };
/* "as is", "raw", "N1", "N2" */
const char *eval_norm_name(enum eval_norm norm);

/* From UTF-8; a byte that is not part of it counts as U+FFFD. Free with eval_text_reset. */
struct eval_text eval_text_of(const char *utf8, size_t n, enum eval_norm norm);
/* N1 to N2, in place. */
void eval_text_fold(struct eval_text *t);
/* NFC, in place. */
void eval_text_compose(struct eval_text *t);
/* Without white space: the texts of CER-ns, for scripts that have none. */
void eval_text_squeeze(struct eval_text *t);
/* Numbers of words, the same word the same number in both. Words are parted by white space; an ideograph or
 * kana is a word of its own. */
void eval_words_of(const struct eval_text *a, const struct eval_text *b, struct eval_text *words_a,
                   struct eval_text *words_b);

/* The least number of insertions, deletions and replacements that make b of a.  Bit-parallel, 64 cells of the
 * table at once: Myers, A fast bit-vector algorithm for approximate string matching based on dynamic
 * programming, JACM 46 (1999), in the form of Hyyro, A bit-vector algorithm for computing Levenshtein and
 * Damerau edit distances, Nordic J. Computing 10 (2003); texts that are alike are compared near the diagonal only.
 * O(n d / 64) time for texts of n codes that are d apart. */
size_t eval_lev(const struct eval_text *a, const struct eval_text *b);

/* The least distance of a to any part of b, the empty one among them: never more than to any window of b. O(n m / 64). */
size_t eval_lev_inside(const struct eval_text *a, const struct eval_text *b);

/* Memory: as the C functions, but they do not return without it. */
void *eval_alloc(size_t n, size_t size); /* zeroed; n 0 gives a valid pointer */
void *eval_grow(void *p, size_t n, size_t size);

#endif
