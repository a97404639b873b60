/* The model's output as a stream of text and markers, from ids or from text.
 *
 * From ids, a marker is structure only when it comes as its special id; the same characters
 * spelled by ordinary tokens are text.  From text (a file, an official script's output) the
 * spelling is all there is.
 *
 * Dropped, in both: the end of sequence, ids without text, and the other special tokens, which
 * mean nothing in a page: <image>, <|grounding|>, <|User|>, the ones in fullwidth bars.  <td>
 * and its like are special tokens too, and text. Source of the lists: tokenizer.json of
 * DeepSeek-OCR-2, added_tokens. */
#ifndef RECTO_RESULT_LEX_H
#define RECTO_RESULT_LEX_H

#include "base/str.h"

enum lex_kind {
    LEX_END,
    LEX_TEXT,
    LEX_REF_OPEN,
    LEX_REF_CLOSE,
    LEX_DET_OPEN,
    LEX_DET_CLOSE,
    LEX_DROPPED, /* bytes that belong to the raw text of the page (perhaps none), and to no block */
    LEX_EOS,     /* belongs to nothing */
};

/* Marker ids, as the model's tokenizer has them; -1 where it has none. */
struct parse_markers {
    int32_t ref_open, ref_close, det_open, det_close, eos;
};

struct lex {
    const int32_t *id; /* NULL: lex text */
    size_t n_id;
    const str *piece; /* bytes of each id, empty where it has none */
    int n_piece;
    struct parse_markers marker;
    str text;
    size_t at; /* next id, or next byte */
};

/* The next token and its bytes, which stay valid as long as the input does. */
enum lex_kind lex_next(struct lex *x, str *bytes);

#endif
