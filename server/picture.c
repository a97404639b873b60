#include "picture.h"

#include "fault.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>

enum { QUALITY = 85 };

/* The mean over rows y0..y1 and columns x0..x1 of one channel. */
static unsigned char mean(const struct recto_image *im, int x0, int x1, int y0, int y1, int channel)
{
    unsigned sum = 0, n = (unsigned)(x1 - x0) * (unsigned)(y1 - y0);

    for (int y = y0; y < y1; y++) {
        const unsigned char *row = im->rgb + ((size_t)y * (size_t)im->width + (size_t)x0) * 3;
        for (int x = x0; x < x1; x++, row += 3)
            sum += row[channel];
    }
    return (unsigned char)((sum + n / 2) / n);
}

/* Where cell i of n begins in a length; each cell has at least one. */
static int cell(int i, int n, int length)
{
    return (int)((int64_t)i * length / n);
}

bool picture_shrink(struct recto_image *im, int width)
{
    if (width <= 0 || im->width <= width)
        return true;
    int height = (int)((int64_t)im->height * width / im->width);
    height = height < 1 ? 1 : height;
    unsigned char *out = malloc((size_t)width * (size_t)height * 3);
    if (!out)
        return false;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++)
                out[((size_t)y * (size_t)width + (size_t)x) * 3 + (size_t)c] = mean(
                    im, cell(x, width, im->width), cell(x + 1, width, im->width),
                    cell(y, height, im->height), cell(y + 1, height, im->height), c);
    free(im->rgb);
    *im = (struct recto_image){.width = width, .height = height, .rgb = out};
    return true;
}

struct failing {
    struct jpeg_error_mgr base; /* first: libjpeg knows only this */
    jmp_buf out;
};

static void fail(j_common_ptr c)
{
    struct failing *f = (struct failing *)c->err;

    longjmp(f->out, 1);
}

int picture_write(const struct recto_image *im, int fd)
{
    struct jpeg_compress_struct c;
    struct failing failing;
    int copy = dup(fd);
    FILE *f = copy >= 0 ? fdopen(copy, "w") : NULL;

    if (!f)
        return fault_write("a picture");
    c.err = jpeg_std_error(&failing.base);
    failing.base.error_exit = fail;
    if (setjmp(failing.out)) {
        jpeg_destroy_compress(&c);
        fclose(f);
        return fault_write("a picture");
    }
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = (JDIMENSION)im->width;
    c.image_height = (JDIMENSION)im->height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, QUALITY, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = im->rgb + (size_t)c.next_scanline * (size_t)im->width * 3;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return fclose(f) == 0 ? 0 : fault_write("a picture");
}
