/* Where the lines and words of a block stand on the page. The model says where a block is, no
 * more, so these are estimates: from the block's ink when there are pixels, else lines of equal
 * height.
 *
 *   1. The block's ink gives bands of rows (bands.h).
 *   2. As many hard lines in the text as bands: they are paired.  Else the words (of CJK text: the
 *      characters) are broken into as many lines as there are bands (wrap.h); t = text width is 1
 *      for each East-Asian wide character and 0.5 for others, b = the width of a band's ink.
 *   3. No bands, more bands than words, or more than one column: k = max(1, round(h / (1.2 s)))
 *      equal lines, s = sqrt(w h / (1.2 sum t)).
 *   4. A block higher than twice its width, of at least 60 % CJK, with columns of ink is read from
 *      top to bottom, columns from right to left.
 *   5. A table: a line for each row, paired with the bands when there are as many, else of equal
 *      height; columns are as wide as their widest text.
 * Words share a line by their text width.  All boxes are in pixels of the page, exclusive ends. */
#ifndef RECTO_RESULT_LINES_H
#define RECTO_RESULT_LINES_H

#include "base/str.h"
#include "recto.h"

struct line_word {
    size_t text, n_text; /* in lines.text */
    struct recto_box px;
};

struct line {
    size_t text, n_text; /* in lines.text: its words, one space between two */
    int word, n_word;    /* first, count */
    struct recto_box px; /* x: its ink, y: its band */
};

struct lines {
    struct buf text; /* one line after the other, "\n" behind each */
    struct line *line;
    struct line_word *word;
    int n_line, n_word;
    bool is_vertical;
};

/* The lines of a block as plain text (plain.h); none of a figure without text. A block without a box is looked for
 * on the whole page. im: the page's pixels, of the page's size, or NULL. */
void lines_of_block(struct lines *out, const struct recto_page *p, const struct recto_block *b,
                    const struct recto_image *im);
/* Text in an area of the page. */
void lines_of_text(struct lines *out, str text, struct recto_box px, const struct recto_image *im);
void lines_reset(struct lines *k);

/* The smallest box around all boxes of a block, in pixels; the whole page when it has none. */
struct recto_box block_area(const struct recto_page *p, const struct recto_block *b);

static inline str lines_text(const struct lines *k, size_t from, size_t n)
{
    return (str){buf_view(&k->text).p + from, n};
}

#endif
