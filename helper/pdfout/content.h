/* The content stream of a page (ISO 32000-1, 7.8.2), read only as far as is needed to lay text over it:
 *
 *   - does it show text that is invisible (text rendering mode 3, 9.3.6), as earlier OCR leaves it?
 *   - does it leave the graphics state as it was, each q with its Q (8.4.2)?
 *
 * The stream is from outside. Nothing in it can make this fail; what is not understood stays as it is. One pass, linear
 * time. */
#ifndef RECTO_HELPER_PDFOUT_CONTENT_H
#define RECTO_HELPER_PDFOUT_CONTENT_H

#include "base/str.h"

struct content_look {
    int n_invisible; /* text objects that show only invisible text */
    int n_open;      /* q without Q at the end */
    int n_early;     /* Q without q before it */
};

/* Look at `in`. out, if not NULL, gets a copy in which those text objects show nothing; what else they do (fonts, colours,
 * spacing, which outlast them) stays. */
void content_look(struct content_look *look, str in, struct buf *out);

#endif
