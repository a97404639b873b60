/* CCITT group 4 through libtiff, which writes a TIFF of one strip into memory; the strip is what PDF wants.
 * Source: tiffio.h and TIFFOpen(3tiff) of libtiff 4.5. */
#include "helper/pdfout/file.h"

#include "base/err.h"
#include "base/mem.h"

#include <tiffio.h>

struct memory {
    struct buf b;
    size_t at;
};

static tsize_t memory_read(thandle_t h, tdata_t p, tsize_t n)
{
    struct memory *m = h;
    size_t some = MIN((size_t)n, m->b.n - MIN(m->at, m->b.n));

    if (some)
        memcpy(p, m->b.p + m->at, some);
    m->at += some;
    return (tsize_t)some;
}

static tsize_t memory_write(thandle_t h, tdata_t p, tsize_t n)
{
    struct memory *m = h;

    while (m->b.n < m->at + (size_t)n)
        buf_char(&m->b, 0);
    memcpy(m->b.p + m->at, p, (size_t)n);
    m->at += (size_t)n;
    return n;
}

static toff_t memory_seek(thandle_t h, toff_t to, int whence)
{
    struct memory *m = h;

    m->at = (size_t)to + (whence == SEEK_CUR ? m->at : whence == SEEK_END ? m->b.n : 0);
    return m->at;
}

static int memory_close(thandle_t h)
{
    (void)h;
    return 0;
}

static toff_t memory_size(thandle_t h)
{
    return ((struct memory *)h)->b.n;
}

static void set_fields(TIFF *t, int width, int height)
{
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, (uint32_t)width);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, (uint32_t)height);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, (uint32_t)height);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 1);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t, TIFFTAG_COMPRESSION, COMPRESSION_CCITTFAX4);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
    TIFFSetField(t, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB);
}

int g4_encode(struct buf *out, str rows, int width, int height)
{
    struct memory m = {0};
    uint64_t *at = NULL, *n = NULL;
    int rc = 0;
    TIFF *t;

    if (rows.n != (size_t)(width + 7) / 8 * (size_t)height)
        return err(RECTO_EFORMAT, "a bitmap of %zu bytes", rows.n);
    t = TIFFClientOpen("g4", "wm", &m, memory_read, memory_write, memory_seek, memory_close,
                       memory_size, NULL, NULL);
    if (!t)
        return err(RECTO_EINTERNAL, "libtiff cannot begin");
    set_fields(t, width, height);
    if (TIFFWriteEncodedStrip(t, 0, (void *)rows.p, (tmsize_t)rows.n) < 0 ||
        !TIFFGetField(t, TIFFTAG_STRIPOFFSETS, &at) ||
        !TIFFGetField(t, TIFFTAG_STRIPBYTECOUNTS, &n) || at[0] + n[0] > m.b.n)
        rc = err(RECTO_EINTERNAL, "libtiff cannot write group 4");
    else
        buf_add(out, m.b.p + at[0], n[0]);
    TIFFClose(t);
    buf_reset(&m.b);
    return rc;
}
