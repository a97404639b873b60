/* What the scripts published with DeepSeek-OCR-2 make of the model's text, byte for byte, so that
 * results can be compared and scored. Text to text; nothing is read or evaluated.
 *
 *   M = all matches, leftmost and non-greedy, of <|ref|>A<|/ref|><|det|>B<|/det|>, A and B being
 *   anything, taken once before any replacement.  A match that contains <|ref|>image<|/ref|> is
 *   an image.
 *
 *   image  the k-th image -> "![](images/k.jpg)\n"; every other match -> "", and with it \coloneqq
 *          -> ":=", \eqqcolon -> "=:"
 *   pdf    the same, with links images/PAGE_k.jpg and newlines collapsed after each other match
 *          ("\n\n\n\n" -> "\n\n", then "\n\n\n" -> "\n\n"); OFFICIAL_SPLIT behind each page
 *   eval   first, in every \[ ... \] on one line, \quad (...) goes and the rest is stripped; then
 *          every match -> "", newlines collapsed after each
 *
 * Each replacement is of all occurrences, left to right, as Python's str.replace. Source:
 * deepseek-ai/DeepSeek-OCR-2, run_dpsk_ocr2_{image,pdf,eval_batch}.py. */
#ifndef RECTO_RESULT_OFFICIAL_H
#define RECTO_RESULT_OFFICIAL_H

#include "base/str.h"

enum official { OFFICIAL_IMAGE, OFFICIAL_PDF, OFFICIAL_EVAL };

/* The pdf script puts this behind each page. */
#define OFFICIAL_SPLIT "\n\n<--- Page Split --->\n"

/* Append to out what the script makes of one page's text (without the end of sequence). page: of
 * OFFICIAL_PDF, its place among the pages that are kept, from 0. OFFICIAL_SPLIT is the caller's. */
void official_put(struct buf *out, enum official mode, str text, int page);

#endif
