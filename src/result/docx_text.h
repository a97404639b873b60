/* Text as WordprocessingML: paragraphs (w:p) of runs (w:r), and tables.
 * Source: ECMA-376 part 1, 17.3 (paragraphs and runs), 17.4 (tables). */
#ifndef RECTO_RESULT_DOCX_TEXT_H
#define RECTO_RESULT_DOCX_TEXT_H

#include "result/table.h"

struct docx_text {
    struct buf *out;
    bool breaks_page; /* the next paragraph begins a new page */
};

/* Append a paragraph of plain text; "\n" ends a line in it. style: a style's id, or NULL. */
void docx_put_plain(struct docx_text *d, str text, const char *style);
/* Append text as a model writes it: what rich.h makes of it, with paragraphs, lists, emphasis; formulas as their TeX. */
void docx_put_blocks(struct docx_text *d, str text, const char *style);
/* The same as one paragraph. */
void docx_put_inline(struct docx_text *d, str text, const char *style);
/* Append a table and an empty paragraph, which keeps it from growing together with the next. */
void docx_put_table(struct docx_text *d, const struct table *t);
/* Append an empty paragraph, if the next would begin a page. */
void docx_put_break(struct docx_text *d);

#endif
