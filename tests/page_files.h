/* Files for tests of the page room: read from disk, cut, or made here (PNG without compression,
 * EXIF blocks). */
#ifndef RECTO_TESTS_PAGE_FILES_H
#define RECTO_TESTS_PAGE_FILES_H

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "page/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HELPER   BIN_DIR "/recto-decode"
#define SAMPLES  SOURCE_DIR "/samples/"
#define FIXTURES TEST_DIR "/fixtures/page/"

static inline struct buf load(const char *path)
{
    struct buf b = {0};

    if (file_read(&b, path, (size_t)64 << 20) < 0)
        fail_msg("%s", err_text());
    return b;
}

static inline struct page_source *open_source(const char *helper, int64_t keep_pixels,
                                              int timeout_ms)
{
    struct page_source_options o = {
        .helper = helper, .keep_pixels = keep_pixels, .timeout_ms = timeout_ms};
    struct page_source *s;

    if (helper && strcmp(helper, HELPER) == 0 && !file_exists(HELPER))
        skip(); /* built without the helper */
    assert_int_equal(page_source_open_with(&s, &o), 0);
    return s;
}

/* A helper that is a shell script; path has room for 64 bytes; unlink it. */
static inline void helper_script(char *path, const char *body)
{
    struct buf b = {0};
    int fd;

    strcpy(path, "/tmp/recto-helper-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    buf_fmt(&b, "#!/bin/sh\n%s\n", body);
    assert_int_equal(write(fd, b.p, b.n), (ssize_t)b.n);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    buf_reset(&b);
}

/* Decode what must be decodable. */
static inline struct recto_image decode_ok(struct page_source *s, const struct buf *b,
                                           struct page_note *note)
{
    struct recto_image im;

    if (page_decode(s, NULL, b->p, b->n, &im, note) < 0)
        fail_msg("%s", err_text());
    assert_non_null(im.rgb);
    return im;
}

/* Decode what must fail with this code, with `text` somewhere in the sentence. */
static inline void decode_fails(struct page_source *s, str bytes, int code, const char *text)
{
    struct recto_image im;
    int rc = page_decode(s, "page", bytes.p, bytes.n, &im, NULL);

    if (rc != code || !strstr(err_text(), text) || strncmp(err_text(), "page: ", 6) != 0)
        fail_msg("got %s \"%s\", expected %s with \"%s\"", recto_error_name(rc), err_text(),
                 recto_error_name(code), text);
    assert_null(im.rgb);
}

static inline const unsigned char *pixel(const struct recto_image *im, int x, int y)
{
    return im->rgb + ((size_t)y * (size_t)im->width + (size_t)x) * 3;
}

/* ---- PNG ---- */

static inline void be32_put(struct buf *b, uint32_t v)
{
    unsigned char p[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 8), (unsigned char)v};

    buf_add(b, p, 4);
}

static inline uint32_t crc_of(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint32_t c = ~0u;

    while (n--) {
        c ^= *p++;
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
    }
    return ~c;
}

static inline void png_chunk(struct buf *b, const char *type, const void *data, size_t n)
{
    size_t at;

    be32_put(b, (uint32_t)n);
    at = b->n;
    buf_add(b, type, 4);
    buf_add(b, data, n);
    be32_put(b, crc_of(b->p + at, n + 4));
}

static inline void png_start(struct buf *b, uint32_t w, uint32_t h, int depth, int colour)
{
    struct buf head = {0};
    unsigned char rest[5] = {(unsigned char)depth, (unsigned char)colour, 0, 0, 0};

    buf_add(b, "\x89PNG\r\n\x1A\n", 8);
    be32_put(&head, w);
    be32_put(&head, h);
    buf_add(&head, rest, 5);
    png_chunk(b, "IHDR", head.p, head.n);
    buf_reset(&head);
}

/* rows: h rows of row_bytes bytes, unfiltered here; stored in blocks that are not compressed. */
static inline void png_rows(struct buf *b, const void *rows, size_t row_bytes, size_t h)
{
    struct buf z = {0};
    uint32_t s1 = 1, s2 = 0;

    buf_add(&z, "\x78\x01", 2);
    for (size_t y = 0; y < h; y++) {
        size_t n = row_bytes + 1;
        unsigned char head[6] = {
            y == h - 1,        (unsigned char)n,         (unsigned char)(n >> 8),
            (unsigned char)~n, (unsigned char)(~n >> 8), 0};

        buf_add(&z, head, 6);
        buf_add(&z, (const char *)rows + y * row_bytes, row_bytes);
        for (size_t i = 0; i < n; i++) {
            s1 = (s1 + (unsigned char)z.p[z.n - n + i]) % 65521;
            s2 = (s2 + s1) % 65521;
        }
    }
    be32_put(&z, s2 << 16 | s1);
    png_chunk(b, "IDAT", z.p, z.n);
    buf_reset(&z);
}

static inline struct buf png_make(int w, int h, int depth, int colour, const void *rows,
                                  size_t row_bytes)
{
    struct buf b = {0};

    png_start(&b, (uint32_t)w, (uint32_t)h, depth, colour);
    png_rows(&b, rows, row_bytes, (size_t)h);
    png_chunk(&b, "IEND", "", 0);
    return b;
}

/* ---- EXIF ---- */

/* A TIFF header and a directory with the orientation only. */
static inline size_t exif_make(unsigned char out[32], int orientation, bool is_big)
{
    static const unsigned char little[] = {'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                           0,   1,   0,   0, 0, 0, 0, 0, 0, 0, 0,    0, 0};
    static const unsigned char big[] = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                        3,   0,   0, 0,   1, 0, 0, 0, 0, 0, 0, 0,    0};

    memcpy(out, is_big ? big : little, sizeof little);
    out[is_big ? 19 : 18] = (unsigned char)orientation;
    return sizeof little;
}

/* The JPEG with an EXIF block put behind its first marker. */
static inline struct buf jpeg_with_exif(const struct buf *jpeg, int orientation, bool is_big)
{
    unsigned char exif[32];
    size_t n = exif_make(exif, orientation, is_big);
    unsigned char head[10] = {0xFF, 0xE1, 0, (unsigned char)(n + 8), 'E', 'x', 'i', 'f', 0, 0};
    struct buf b = {0};

    buf_add(&b, jpeg->p, 2);
    buf_add(&b, head, sizeof head);
    buf_add(&b, exif, n);
    buf_add(&b, jpeg->p + 2, jpeg->n - 2);
    return b;
}

#endif
