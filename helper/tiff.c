/* TIFF by libtiff's RGBA interface, strip by strip; 16-bit grey row by row, since it is to be
 * rounded. Source: libtiff TIFFRGBAImage(3), TIFFClientOpen(3); TIFF 6.0 (tags 254 NewSubfileType,
 * 274 Orientation). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <tiffio.h>

#define STRIP_PIXELS ((uint32_t)64 << 20) /* held at once, 4 bytes each */
#define PREVIEW      1u                   /* bits of NewSubfileType */
#define MASK         4u

/* ---- the file in memory -------------------------------------------------------------------- */

struct source {
    struct file_bytes file;
    uint64_t at;
};

static tmsize_t source_read(thandle_t h, void *to, tmsize_t n)
{
    struct source *s = h;
    uint64_t left = s->at < s->file.n ? s->file.n - s->at : 0;

    n = (tmsize_t)MIN((uint64_t)n, left);
    memcpy(to, s->file.p + (left ? s->at : 0), (size_t)n);
    s->at += (uint64_t)n;
    return n;
}

static tmsize_t source_write(thandle_t h, void *from, tmsize_t n)
{
    return -1;
}

static toff_t source_seek(thandle_t h, toff_t to, int whence)
{
    struct source *s = h;

    s->at = whence == SEEK_SET ? to : whence == SEEK_CUR ? s->at + to : s->file.n + to;
    return s->at;
}

static int source_close(thandle_t h)
{
    return 0;
}

static toff_t source_size(thandle_t h)
{
    return ((struct source *)h)->file.n;
}

static char message[160];

static void keep_message(const char *module, const char *fmt, va_list ap)
{
    if (!message[0])
        vsnprintf(message, sizeof message, fmt, ap);
}

static TIFF *tiff_open(struct source *s)
{
    message[0] = 0;
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandler(keep_message);
    return TIFFClientOpen("page", "rm", s, source_read, source_write, source_seek, source_close,
                          source_size, NULL, NULL);
}

static int damaged(void)
{
    return err(RECTO_EDAMAGED, "damaged: %s", message[0] ? message : "no picture in the TIFF");
}

/* ---- directories ----------------------------------------------------------------------------- */

static bool is_page(TIFF *t)
{
    uint32_t type = 0;

    TIFFGetField(t, TIFFTAG_SUBFILETYPE, &type);
    return !(type & (PREVIEW | MASK));
}

/* Go to page `frame`; *n is how many there are. False when there are fewer. */
static bool find_page(TIFF *t, int frame, int *n)
{
    tdir_t dir = 0, found = 0;
    bool has_found = false;

    *n = 0;
    do {
        if (!is_page(t))
            continue;
        if (*n == frame) {
            found = TIFFCurrentDirectory(t);
            has_found = true;
        }
        ++*n;
    } while (*n < DECODE_FRAMES_MAX && ++dir < 4 * DECODE_FRAMES_MAX && TIFFReadDirectory(t));
    return has_found && (TIFFCurrentDirectory(t) == found || TIFFSetDirectory(t, found));
}

int tiff_count(struct file_bytes file)
{
    struct source s = {file, 0};
    TIFF *t = tiff_open(&s);
    int n = 0;

    if (!t)
        return damaged();
    find_page(t, 0, &n);
    TIFFClose(t);
    return n ? n : damaged();
}

/* ---- pixels ---------------------------------------------------------------------------------- */

struct job {
    TIFF *tiff;
    uint32_t w, h, rows_per_strip;
    uint16_t bits, samples, format, photometric, orientation, planar;
    struct raster raster;
    TIFFRGBAImage image;
    bool has_image;
    bool is_cut; /* grey of 16 bits is cut at 255 */
    uint32_t *strip;
    const char *fault;
};

static int read_tags(struct job *job, const struct decode_request *q, struct decode_answer *out)
{
    TIFF *t = job->tiff;
    float x = 0, y = 0;
    uint16_t unit = RESUNIT_INCH;

    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &job->w);
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &job->h);
    TRY(check_size(job->w, job->h, q));
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &job->bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &job->samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &job->format);
    TIFFGetFieldDefaulted(t, TIFFTAG_ORIENTATION, &job->orientation);
    TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &job->planar);
    TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &job->rows_per_strip);
    TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &job->photometric);
    TIFFGetFieldDefaulted(t, TIFFTAG_RESOLUTIONUNIT, &unit);
    if (TIFFGetField(t, TIFFTAG_XRESOLUTION, &x) && TIFFGetField(t, TIFFTAG_YRESOLUTION, &y) &&
        unit != RESUNIT_NONE && x > 0 && y > 0 && x < 100000 && y < 100000) {
        out->dpi_x = (int)(x * (unit == RESUNIT_CENTIMETER ? 2.54f : 1) + 0.5f);
        out->dpi_y = (int)(y * (unit == RESUNIT_CENTIMETER ? 2.54f : 1) + 0.5f);
    }
    if (job->format != SAMPLEFORMAT_UINT && job->format != SAMPLEFORMAT_VOID)
        return err(RECTO_EKIND, "a TIFF of signed or real numbers; save it with 8 or 16 bits");
    if (job->bits > 16)
        return err(RECTO_EKIND, "a TIFF of %u bits a sample; save it with 8 or 16", job->bits);
    out->orientation = job->orientation >= 1 && job->orientation <= 8 ? job->orientation : 1;
    out->declared_width = (int)job->w;
    out->declared_height = (int)job->h;
    return 0;
}

/* Grey of 16 bits in rows, not in tiles. */
static bool is_grey_16(const struct job *job)
{
    return job->bits == 16 && job->samples == 1 && !TIFFIsTiled(job->tiff) &&
           (job->photometric == PHOTOMETRIC_MINISBLACK ||
            job->photometric == PHOTOMETRIC_MINISWHITE);
}

static int read_grey_16(struct job *job)
{
    bool is_white_0 = job->photometric == PHOTOMETRIC_MINISWHITE;
    tmsize_t bytes = TIFFScanlineSize(job->tiff);
    uint16_t *row = bytes >= (tmsize_t)job->w * 2 ? malloc((size_t)bytes) : NULL;

    if (!row)
        return damaged();
    for (uint32_t y = 0; y < job->h; y++) {
        unsigned char *out = raster_next_row(&job->raster);

        if (TIFFReadScanline(job->tiff, row, y, 0) < 0) {
            job->fault = message;
            break;
        }
        for (uint32_t x = 0; x < job->w; x++, out += 3) {
            unsigned v = job->is_cut ? MIN(row[x], 255u) : (row[x] + 128u) / 257u;

            out[0] = out[1] = out[2] = (unsigned char)(is_white_0 ? 255 - v : v);
        }
        raster_put_row(&job->raster);
    }
    free(row);
    return 0;
}

/* A row of packed pixels; colours come multiplied by alpha. */
static void put_row(struct job *job, const uint32_t *in)
{
    unsigned char *out = raster_next_row(&job->raster);
    int channels = job->raster.channels;

    for (uint32_t x = 0; x < job->w; x++, out += channels) {
        unsigned a = channels == 4 ? TIFFGetA(in[x]) : 255;
        unsigned c[3] = {TIFFGetR(in[x]), TIFFGetG(in[x]), TIFFGetB(in[x])};

        for (int i = 0; i < 3; i++)
            out[i] = (unsigned char)(a == 255 || a == 0 ? c[i] : MIN(c[i] * 255 / a, 255));
        if (channels == 4)
            out[3] = (unsigned char)a;
    }
    raster_put_row(&job->raster);
}

/* As many rows at once as a strip or a row of tiles has. */
static uint32_t rows_at_once(const struct job *job)
{
    uint32_t rows = job->rows_per_strip, most = MAX(STRIP_PIXELS / job->w, 1u);

    if (TIFFIsTiled(job->tiff))
        TIFFGetField(job->tiff, TIFFTAG_TILELENGTH, &rows);
    rows = rows ? MIN(rows, job->h) : job->h;
    return MIN(rows, most);
}

static int read_rgba(struct job *job)
{
    uint32_t rows = rows_at_once(job), n;

    job->strip = malloc((size_t)rows * job->w * sizeof *job->strip);
    if (!job->strip)
        return err(RECTO_ETOOLARGE, "%u x %u needs more memory than the decoder may use", job->w,
                   job->h);
    job->image.req_orientation = job->image.orientation; /* as stored: turning is the reader's */
    for (uint32_t y = 0; y < job->h; y += n) {
        n = MIN(rows, job->h - y);
        job->image.row_offset = (int)y;
        job->image.col_offset = 0;
        if (!TIFFRGBAImageGet(&job->image, job->strip, job->w, n)) {
            job->fault = message[0] ? message : "no more rows";
            break;
        }
        for (uint32_t i = 0; i < n; i++)
            put_row(job, job->strip + (size_t)i * job->w);
    }
    return 0;
}

static int decode(struct job *job, const struct decode_request *q, struct decode_answer *out)
{
    bool is_grey = false;
    int w, h, channels = 3;

    TRY(read_tags(job, q, out));
    is_grey = is_grey_16(job);
    if (!is_grey) {
        char why[1024] = "";

        if (!TIFFRGBAImageOK(job->tiff, why) || !TIFFRGBAImageBegin(&job->image, job->tiff, 1, why))
            return err(RECTO_EKIND, "a TIFF that cannot be read: %.100s", why);
        job->has_image = true;
        channels = job->image.alpha ? 4 : 3;
    }
    w = (int)job->w, h = (int)job->h;
    TRY(raster_open(&job->raster, w, h, raster_factor(w, h, q->keep_pixels), channels));
    return is_grey ? read_grey_16(job) : read_rgba(job);
}

int decode_tiff(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                unsigned char **rgb)
{
    struct source s = {file, 0};
    struct job job = {.tiff = tiff_open(&s), .is_cut = q->how & DECODE_AS_PILLOW};
    void *icc;
    uint32_t n_icc;
    int rc;

    if (!job.tiff)
        return damaged();
    if (!find_page(job.tiff, q->frame, &out->n_frame)) {
        rc = out->n_frame ? check_frame(q, out->n_frame) : damaged();
    } else {
        rc = decode(&job, q, out);
        if (TIFFGetField(job.tiff, TIFFTAG_ICCPROFILE, &n_icc, &icc))
            out->flags |= DECODE_ICC;
    }
    if (rc == 0)
        rc = finish_raster(&job.raster, job.fault, q, out, rgb);
    if (job.has_image)
        TIFFRGBAImageEnd(&job.image);
    TIFFClose(job.tiff);
    free(job.strip);
    raster_reset(&job.raster);
    return rc;
}
