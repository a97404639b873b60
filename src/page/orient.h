/* Turn and mirror an RGB picture as its EXIF orientation asks (CIPA DC-008, tag 0x0112): which
 * corner of the picture as displayed the stored first pixel is, and which way its first row runs.
 *     1 as stored    2 mirrored left-right    3 turned 180    4 mirrored top-bottom
 *     5 transposed   6 turn 90 clockwise      7 transversed   8 turn 90 counter-clockwise */
#ifndef RECTO_PAGE_ORIENT_H
#define RECTO_PAGE_ORIENT_H

#include "recto.h"

/* Replace im by what is to be displayed; 5 to 8 exchange width and height. An orientation
 * outside 1..8 counts as 1, as viewers do. im->rgb may become another block of memory, still owned
 * by im. RECTO_ENOMEM leaves im unchanged. */
int orient_apply(struct recto_image *im, int orientation);

#endif
