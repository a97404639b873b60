/* One block's text as plain text: marks of Markdown, HTML elements and math delimiters removed.
 *
 * Removed are # at line beginnings, pairs of * ** *** around words, backslashes before $ * _ #,
 * the elements of html.h, and the delimiters of math, whose TeX stays.  Tables become
 * tab-separated lines, <br> a newline.  List marks stay, and so do _ and other HTML: on paper
 * they are rather text. */
#ifndef RECTO_RESULT_PLAIN_H
#define RECTO_RESULT_PLAIN_H

#include "base/str.h"

/* Append, without blank lines at the ends or in a row, without spaces at line ends, without a
 * newline at the end. */
void plain_put(struct buf *out, str text);
/* The same for the text of a table's cell, which is plain but for math. */
void plain_put_cell(struct buf *out, str text);

#endif
