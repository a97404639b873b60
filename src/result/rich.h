/* One block's text as HTML: what the model wrote as Markdown and HTML becomes elements, the rest is
 * escaped.
 *
 *   p, ul li   by blank lines and by lines that begin with "- ", "* " or a bullet
 *   br         hard breaks; a line that begins with a number, "2. " or "2) "
 *   strong em  pairs of asterisks (stars.h)
 *   inline     the elements of html.h, balanced; its blocks outside tables become line ends
 *   span.math  \( tex \) and \[ tex \], the TeX escaped
 *   table      clean (table.h)
 * Images become their alternative text: nobody follows the address. */
#ifndef RECTO_RESULT_RICH_H
#define RECTO_RESULT_RICH_H

#include "base/str.h"

/* Append text as blocks. attributes (" class=..." or "") go into the first element. */
void rich_put_blocks(struct buf *out, str text, const char *attributes);
/* Append text as the content of one element: newlines are spaces, a table is its plain text. */
void rich_put_inline(struct buf *out, str text);

#endif
