#include "result/picture.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <spng.h>

/* libjpeg ends the process on an error unless the handler jumps. */
struct jpeg_fault {
    struct jpeg_error_mgr base;
    jmp_buf back;
};

static void leave(j_common_ptr c)
{
    longjmp(((struct jpeg_fault *)c->err)->back, 1);
}

static void compress_all(struct jpeg_compress_struct *c, const unsigned char *rgb, size_t stride,
                         int quality)
{
    c->input_components = 3;
    c->in_color_space = JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        JSAMPROW row = (JSAMPROW)(rgb + c->next_scanline * stride);

        jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
}

int picture_jpeg(struct buf *out, const unsigned char *rgb, size_t stride, int w, int h,
                 int quality)
{
    struct jpeg_compress_struct c;
    struct jpeg_fault fault;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    volatile bool is_done = false; /* longjmp must not lose it */

    c.err = jpeg_std_error(&fault.base);
    fault.base.error_exit = leave;
    jpeg_create_compress(&c);
    if (setjmp(fault.back) == 0) {
        jpeg_mem_dest(&c, &bytes, &n);
        c.image_width = (JDIMENSION)w;
        c.image_height = (JDIMENSION)h;
        compress_all(&c, rgb, stride, quality);
        buf_add(out, bytes, n);
        is_done = true;
    }
    jpeg_destroy_compress(&c);
    free(bytes);
    return is_done ? 0 : err(RECTO_ENOMEM, "no memory for a picture of %d x %d as JPEG", w, h);
}

static int encode_png(struct buf *out, spng_ctx *ctx, const unsigned char *rgb, size_t n, int w,
                      int h)
{
    struct spng_ihdr head = {
        .width = (uint32_t)w,
        .height = (uint32_t)h,
        .bit_depth = 8,
        .color_type = SPNG_COLOR_TYPE_TRUECOLOR,
    };
    size_t n_png = 0;
    void *png;
    int rc = 0;

    if (spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1) || spng_set_ihdr(ctx, &head) ||
        spng_encode_image(ctx, rgb, n, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE))
        return -1;
    png = spng_get_png_buffer(ctx, &n_png, &rc);
    if (png)
        buf_add(out, png, n_png);
    free(png);
    return png && !rc ? 0 : -1;
}

int picture_png(struct buf *out, const unsigned char *rgb, size_t stride, int w, int h)
{
    size_t row = (size_t)w * 3;
    unsigned char *dense = malloc(row * (size_t)h);
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    int rc = -1;

    for (int y = 0; dense && y < h; y++)
        memcpy(dense + (size_t)y * row, rgb + (size_t)y * stride, row);
    if (dense && ctx)
        rc = encode_png(out, ctx, dense, row * (size_t)h, w, h);
    spng_ctx_free(ctx);
    free(dense);
    return rc == 0 ? 0 : err(RECTO_ENOMEM, "no memory for a picture of %d x %d as PNG", w, h);
}

bool picture_has_few_colours(const unsigned char *rgb, size_t stride, int w, int h, int limit)
{
    uint32_t seen[256];
    int n = 0;

    for (int y = 0; y < h; y++)
        for (const unsigned char *p = rgb + (size_t)y * stride, *end = p + (size_t)w * 3; p < end;
             p += 3) {
            uint32_t colour = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
            int i = n - 1; /* the latest is the likeliest */

            while (i >= 0 && seen[i] != colour)
                i--;
            if (i < 0 && n + 1 >= limit)
                return false;
            if (i < 0)
                seen[n++] = colour;
        }
    return true;
}
