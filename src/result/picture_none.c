/* A build without recto-decode has no pixels to make pictures of, and needs no libraries for them. */
#include "base/err.h"
#include "result/picture.h"

int picture_jpeg(struct buf *out, const unsigned char *rgb, size_t stride, int w, int h,
                 int quality)
{
    return err(RECTO_EUSAGE, "this build makes no pictures: build with RECTO_HELPER");
}

int picture_png(struct buf *out, const unsigned char *rgb, size_t stride, int w, int h)
{
    return err(RECTO_EUSAGE, "this build makes no pictures: build with RECTO_HELPER");
}

bool picture_has_few_colours(const unsigned char *rgb, size_t stride, int w, int h, int limit)
{
    return false;
}
