/* The text of a page as a content stream: every line one text object, invisible (rendering mode 3), where lines.h says that
 * it stands.
 *
 *     BT 3 Tr /Rct s Tf z Tz a b c d x y Tm <hex> Tj ET
 *
 * s = 0.8 of the line's height, its baseline a fifth of it above the lower edge; z stretches the line to its ink, but only
 * between 50 and 150 %: beyond, readers take words apart or together. Under 50 the size shrinks instead, over 150
 * the line just ends early. Tz is in each object, since one reader forgets it between two. a b c d turn the line with
 * the page. */
#ifndef RECTO_RESULT_TEXT_LAYER_H
#define RECTO_RESULT_TEXT_LAYER_H

#include "result/place.h"
#include "result/text_font.h"

struct text_layer {
    struct text_font font; /* of all pages */
    bool skips_math;       /* leave formulas out; else their TeX without delimiters */
};

/* One line: words with one space between, in a box of pixels; the box's long side is the upright one when is_vertical.
 * Nothing for a line without characters. */
void text_layer_line(struct text_layer *t, struct buf *out, const struct place *f, str text,
                     struct recto_box px, bool is_vertical);
/* All lines of a page; im: its pixels, or NULL. Figures have no text. */
void text_layer_page(struct text_layer *t, struct buf *out, const struct place *f,
                     const struct recto_page *p, const struct recto_image *im);

#endif
