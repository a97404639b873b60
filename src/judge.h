/* Is the reading of a page to be trusted? */
#ifndef RECTO_JUDGE_H
#define RECTO_JUDGE_H

#include "page/inkcheck.h"
#include "recto.h"

/* A page that ended well may still be blank (no text, hardly any ink) or suspect: text without ink, ink without text, or ids
 * that the model itself thought unlikely (mean probability under a half, greedy).  Sets its status and a warning.  Ink and
 * text are compared only where all the text of a page was asked for, and where the ink was looked at (ink->n_pixel > 0). */
void judge_page(struct recto_page *p, const struct ink *ink, const struct recto_options *o);

/* What a page gave: characters of text over all blocks. */
struct yield {
    size_t n_char;
    bool has_figure;
};
struct yield yield_of(const struct recto_page *p);
/* Was all the text of the page asked for? Only then can some be missing, or invented. */
bool wants_text(const struct recto_options *o);

#endif
