/* From the model's output to blocks: one forward pass that cannot fail.
 *
 *   page  = { gap | block }            gap  = text before the first block
 *   block = ref [ws] [det] body        body = text up to the next <|ref|> or the end
 *   ref   = "<|ref|>" label "<|/ref|>"
 *   det   = "<|det|>" list of boxes "<|/det|>"            (boxes.h)
 *
 * What breaks the grammar costs as little as possible: a stray marker is dropped and counted, an
 * unclosed label ends at its line, an unclosed list at its bracket, and an opening ref always
 * begins a block, even inside a table.  Time is linear, memory at most four times the input
 * (input that is not UTF-8 may come out three times as long) and the limits of model.h.  Blocks
 * are in the order of the output: it is the reading order.
 *
 * One newline after the boxes and up to two before the next block are separators; the rest of a
 * body is `raw`, and trimmed `text`.  A title or heading loses its # marks to `level`. */
#ifndef RECTO_RESULT_PARSE_H
#define RECTO_RESULT_PARSE_H

#include "base/str.h"
#include "recto.h"
#include "result/lex.h"

/* Fill page's raw, block, n_block and n_stray, which must be empty (a zeroed page, say); the
 * other fields are left alone and recto_page_reset frees what was made.
 *   id [n_id]        new ids; an end of sequence at the end is no stray
 *   piece [n_piece]  the bytes of each id, borrowed during the call
 *   finish           length or loop: the last block is incomplete */
void parse_ids(const int32_t *id, size_t n_id, const str *piece, int n_piece,
               const struct parse_markers *marker, enum recto_finish finish,
               struct recto_page *page);

/* The same where only text exists. */
void parse_text(str text, enum recto_finish finish, struct recto_page *page);

#endif
