#include "helper/decode.h"

#include "base/err.h"

#include <stdlib.h>

int check_size(uint64_t width, uint64_t height, const struct decode_request *q)
{
    if (width == 0 || height == 0)
        return err(RECTO_EDAMAGED, "damaged: it claims a size of %llu x %llu",
                   (unsigned long long)width, (unsigned long long)height);
    if (width > DECODE_SIDE_MAX || height > DECODE_SIDE_MAX ||
        (int64_t)(width * height) > q->max_pixels)
        return err(RECTO_ETOOLARGE, "%llu x %llu is over the limit (--max-pixels)",
                   (unsigned long long)width, (unsigned long long)height);
    return 0;
}

int decode_image(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                 unsigned char **rgb)
{
    const char *kind = kind_of(file);
    int rc;

    *out = (struct decode_answer){.orientation = 1};
    *rgb = NULL;
    if (file.n == 0)
        return err(RECTO_EEMPTY, "empty file");
    if (strcmp(kind, "JPEG") == 0)
        rc = decode_jpeg(file, q, out, rgb);
    else if (strcmp(kind, "PNG") == 0)
        rc = decode_png(file, q, out, rgb);
    else
        rc = err(RECTO_EKIND,
                 "not an image or PDF (looks like %s); this build reads JPEG, PNG and binary PPM",
                 kind);
    if (rc < 0) {
        free(*rgb);
        *rgb = NULL;
        *out = (struct decode_answer){.code = rc};
        return rc;
    }
    /* A file may claim any resolution; an absurd one counts as none. */
    if (out->dpi_x > DECODE_DPI_MAX || out->dpi_y > DECODE_DPI_MAX)
        out->dpi_x = out->dpi_y = 0;
    strcpy(out->kind, kind);
    return 0;
}
