/* PNG by libspng, JPEG by libjpeg. */
#include "raster.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <spng.h>

/* ---- PNG ------------------------------------------------------------------------------------- */

/* Bits a pixel without loss: 1, 8 (grey) or 24. */
static int depth_of(const struct raster *r)
{
    size_t n = (size_t)r->width * (size_t)r->height;
    int depth = 1;

    for (const unsigned char *p = r->px; n--; p += 3) {
        if (p[0] != p[1] || p[1] != p[2])
            return 24;
        if (p[0] != 0 && p[0] != 255)
            depth = 8;
    }
    return depth;
}

static unsigned char *pack(const struct raster *r, int depth, size_t *n)
{
    size_t w = (size_t)r->width, row = (w * (size_t)depth + 7) / 8;
    unsigned char *out = mem_zero(row * (size_t)r->height, 1);

    *n = row * (size_t)r->height;
    for (size_t y = 0; y < (size_t)r->height; y++)
        for (size_t x = 0; x < w; x++) {
            const unsigned char *p = r->px + (y * w + x) * 3;

            if (depth == 24)
                memcpy(out + y * row + x * 3, p, 3);
            else if (depth == 8)
                out[y * row + x] = p[0];
            else
                out[y * row + x / 8] |= (unsigned char)((p[0] >> 7) << (7 - x % 8));
        }
    return out;
}

int raster_png(const struct raster *r, struct buf *out)
{
    int depth = depth_of(r), rc;
    size_t n, n_png;
    unsigned char *rows = pack(r, depth, &n);
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    struct spng_ihdr head = {.width = (uint32_t)r->width,
                             .height = (uint32_t)r->height,
                             .bit_depth = depth == 1 ? 1 : 8,
                             .color_type = depth == 24 ? SPNG_COLOR_TYPE_TRUECOLOR
                                                       : SPNG_COLOR_TYPE_GRAYSCALE};

    spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1);
    spng_set_option(png, SPNG_IMG_COMPRESSION_LEVEL, 6);
    spng_set_ihdr(png, &head);
    rc = spng_encode_image(png, rows, n, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
    void *bytes = rc ? NULL : spng_get_png_buffer(png, &n_png, &rc);
    if (bytes)
        buf_add(out, bytes, n_png);
    free(bytes);
    free(rows);
    spng_ctx_free(png);
    return rc ? err(RECTO_EOUTPUT, "cannot make a PNG: %s", spng_strerror(rc)) : 0;
}

/* ---- JPEG ------------------------------------------------------------------------------------ */

int raster_jpeg(const struct raster *r, int quality, struct buf *out)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;

    c.err = jpeg_std_error(&errors); /* ends the program; only a lack of memory can come here */
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &n);
    c.image_width = (JDIMENSION)r->width;
    c.image_height = (JDIMENSION)r->height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, quality, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = r->px + (size_t)c.next_scanline * (size_t)r->width * 3;

        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    buf_add(out, bytes, n);
    free(bytes);
    return 0;
}
