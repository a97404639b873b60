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

enum markdown_flag {
    MARKDOWN_TEX = 1 << 0, /* \( \) and \[ \] stay as they are */
    MARKDOWN_PIPES =
        1 << 1, /* tables with pipes, where those can say it: no spans, no lines in cells, at most
                                MARKDOWN_PIPE_COLS columns */
};
#define MARKDOWN_PIPE_COLS 20

/* Append text, without blank lines at its ends and without a newline at the end. flags: markdown_flag. */
void markdown_put(struct buf *out, str text, unsigned flags);
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
