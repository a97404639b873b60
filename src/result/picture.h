/* Pixels as the bytes of a picture file, appended to out.
 *   rgb [h] rows of [w][3], `stride` bytes from one row to the next
 * The same pixels give the same bytes. RECTO_ENOMEM. */
#ifndef RECTO_RESULT_PICTURE_H
#define RECTO_RESULT_PICTURE_H

#include "base/str.h"

/* quality 1..100, libjpeg's scale; 4:2:0. */
int picture_jpeg(struct buf *out, const unsigned char *rgb, size_t stride, int w, int h,
                 int quality);
int picture_png(struct buf *out, const unsigned char *rgb, size_t stride, int w, int h);
/* Has the picture fewer than `limit` (at most 256) colours? */
bool picture_has_few_colours(const unsigned char *rgb, size_t stride, int w, int h, int limit);

#endif
