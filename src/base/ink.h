/* Ink of a picture: the pixels that differ from its paper.
 *
 * Background, per channel: centre of the fullest of 64 bins.  d = max over channels |value - background|; sigma =
 * 1.4826 times the median of the d up to 40; ink is d > T = max(16, 4 sigma). */
#ifndef RECTO_BASE_INK_H
#define RECTO_BASE_INK_H

#include <stddef.h>

/* diff [h][w] = d of each pixel of rgb, whose h rows of [w][3] are `stride` bytes apart. Returns T. */
int ink_differences(unsigned char *diff, const unsigned char *rgb, size_t stride, int w, int h);

#endif
