/* Figures of a page cut out of its pixels: files p0001-f1.jpg beside the document, linked by md
 * and html and written alone by the format "figures".
 *
 * They are numbered over the page by the boxes of its figure blocks, in order, that are at least
 * FIGURE_MIN_PX wide and high.  A crop with few colours (print, line art) is a PNG, else a JPEG of
 * quality FIGURE_QUALITY. */
#ifndef RECTO_RESULT_FIGURE_H
#define RECTO_RESULT_FIGURE_H

#include "result/writer.h"

#define FIGURE_MIN_PX  8
#define FIGURE_QUALITY 92
#define FIGURE_COLOURS 64

struct figure {
    int number;    /* on its page, from 1 */
    char name[32]; /* "p0001-f1.jpg" */
    bool is_png;
    struct buf bytes; /* the file */
};

/* Is there a picture to be cut out of this box? */
bool figure_is_there(const struct recto_page *p, struct recto_box box_999);

/* Cut box k of a figure block out of the page. *n_figure is the last number given on this page, from 0; f is zeroed
 * before the first call and reused. 1: f holds the next figure; 0: there is none here (too small, no pixels); < 0:
 * RECTO_ENOMEM. */
int figure_cut(struct recto_writer *w, const struct recto_page *p, struct recto_box box_999,
               int *n_figure, struct figure *f);
void figure_reset(struct figure *f);

/* Append STEM.files/NAME as an address: bytes that an address, Markdown or HTML would read otherwise
 * as %XX. */
void figure_put_address(struct buf *out, const char *stem, const char *name);

/* The caption of the figure at block i: the one after it, else the one before it; "" if none. */
str figure_caption(const struct recto_page *p, int i);

#endif
