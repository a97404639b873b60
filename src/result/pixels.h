/* The pixels of one page at a time, drawn when they are first asked for and shared by all writers of a document: text, searchable
 * copy and overlay of a page cost one drawing. One thread at a time. */
#ifndef RECTO_RESULT_PIXELS_H
#define RECTO_RESULT_PIXELS_H

#include "recto.h"

/* Draws a page of the source (1-based); recto_image_reset frees it. 0 or a negative code. */
typedef int draw_fn(void *ctx, int page, struct recto_image *image);

struct pixels {
    draw_fn *draw;
    void *ctx;
    /* the rest belongs to pixels.c; zero at first */
    int number; /* the page that was drawn last; 0: none yet */
    int error;  /* of drawing it, with its sentence */
    char *error_text;
    struct recto_image image;
};

/* Page `number`: *image is borrowed until another page is asked for. A page that could not be drawn is not tried again before
 * another was; it fails as it did. */
int pixels_get(struct pixels *x, int number, const struct recto_image **image);
void pixels_reset(struct pixels *x); /* free the picture; x can be used again */

#endif
