/* JPEG files of pixels. */
#ifndef RECTO_SERVER_PICTURE_H
#define RECTO_SERVER_PICTURE_H

#include "recto.h"

/* Make it `width` pixels wide, if it is wider: each pixel is the mean of those it covers. False: no memory. */
bool picture_shrink(struct recto_image *image, int width);
/* Write as JPEG of quality 85 to fd. 0 or a negative JOBS_*. */
int picture_write(const struct recto_image *image, int fd);

#endif
