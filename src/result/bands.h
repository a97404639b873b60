/* Lines of print as bands of rows, from the ink of one block.
 *
 *   rows    with ink in at least max(2, 0.5 % of the width) pixels
 *   bands   maximal runs of them; gaps are not closed
 *   small   under 35 % of the median height: accents and dots.  They join the nearer band if that
 *           is closer than half the median, else they vanish
 *   large   over 1.6 times the median of what is left: lines that touch, cut into round(height / (1.15 median))
 *           equal ones */
#ifndef RECTO_RESULT_BANDS_H
#define RECTO_RESULT_BANDS_H

#include <stdbool.h>

struct band {
    int y1, y2; /* rows, y2 exclusive */
    int x1, x2; /* first and last column with ink in them, x2 exclusive */
};

struct bands {
    struct band *band; /* from top to bottom; owned */
    int n;
    /* Two bands or more, and a strip without ink, wider than 3 % of the width and longer than 80 % of the height,
     * with ink on both sides: bands go across columns and say nothing about lines. */
    bool is_multi_column;
};

/* ink [h][w]: 0 paper, else ink. */
void bands_find(struct bands *out, const unsigned char *ink, int w, int h);
void bands_reset(struct bands *b);

#endif
