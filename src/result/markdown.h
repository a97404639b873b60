/* One block's text as Markdown. The text is Markdown already, as the model writes it; here it is
 * made safe and uniform.
 *
 *   math      \( x \) becomes $x$, \[ x \] becomes $$ on lines of their own; a $ that is none
 *             becomes \$
 *   breaks    two spaces and a newline become a backslash and a newline; other spaces at line
 *             ends and blank lines in a row go
 *   tables    clean HTML (table.h), apart from the text around by blank lines.  Inside, TeX and $
 *             stay as they are: Markdown does not read an HTML block
 *   HTML      elements of html.h that stand in text stay, balanced; all other markup is escaped
 *   links     "](", "]:" and images are escaped: no address of the model becomes one */
#ifndef RECTO_RESULT_MARKDOWN_H
#define RECTO_RESULT_MARKDOWN_H

#include "base/str.h"

/* Append text, without blank lines at its ends and without a newline at the end. */
void markdown_put(struct buf *out, str text, bool tex_math);
/* Append code between fences that the code itself does not contain; fences the model wrote are
 * taken off first. */
void markdown_put_code(struct buf *out, str text);
/* The first and last line taken off if they are fences: the code inside. */
str markdown_unfence(str text);
/* Append text for the place of an image's alt text: one line, no brackets, no markup. */
void markdown_put_alt(struct buf *out, str text);
/* Append text for an HTML comment: one line, no "--", no ">". */
void markdown_put_comment(struct buf *out, str text);

#endif
