/* The text that a page of a PDF brings along, by poppler's pdftotext and pdffonts in the same sandbox as its drawing. It may be
 * good, or lie: fonts whose codes stand for other letters, what another program once read off a scan. It is trusted when
 *
 *     it has 200 letters or more,
 *     U+FFFD and characters of private use are 1 % of its characters or less (white space is not counted),
 *     and every font of the page has a ToUnicode map or a standard encoding (ISO 32000-1, annex D: Standard, WinAnsi,
 *     MacRoman, MacExpert). */
#ifndef RECTO_PAGE_LAYER_H
#define RECTO_PAGE_LAYER_H

#include "base/str.h"
#include "page/pdf.h"

#define LAYER_MIN_LETTERS 200
#define LAYER_MAX_FOREIGN 100 /* one character in so many */

struct layer {
    struct buf text; /* UTF-8; what is not becomes U+FFFD */
    int n_char;      /* but white space */
    int n_letter;
    const char *doubt; /* why it is not trusted, static; NULL: it is */
};

/* layer_reset l after either. Errors as pdf_draw's. */
int layer_read(struct layer *l, const struct pdf *p, int page);
void layer_reset(struct layer *l);

/* The rules by themselves: what pdftotext and pdffonts have printed. The text is taken over into l->text. */
void layer_judge(struct layer *l, str text, str fonts);

#endif
