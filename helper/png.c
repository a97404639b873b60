/* PNG by libspng, row by row.  Pictures of 16 bits are fetched with 16 bits, since grey is to be
 * rounded (v / 257) while colour keeps its high byte; everything else comes as 8 bits, with alpha
 * only where there is some. Source: libspng docs/decode.md; PNG specification (W3C, third edition)
 * 5, 8, 11. */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"
#include "helper/exif.h"

#include <spng.h>
#include <stdlib.h>

#define CHUNK_MAX  ((size_t)16 << 20) /* one chunk that is not picture data */
#define CHUNKS_MAX ((size_t)64 << 20) /* all of them */
#define IHDR_END   29                 /* signature 8, length 4, "IHDR" 4, 13 bytes of fields */

struct job {
    spng_ctx *png;
    struct spng_ihdr head;
    struct raster raster;
    bool is_cut; /* grey of 16 bits is cut at 255 */
    bool has_alpha, is_16;
    int format; /* enum spng_format */
    unsigned char
        *wide;        /* 16 bits: one row; interlaced: the whole picture, in the format's layout */
    size_t row_bytes; /* of a row in the format's layout */
    unsigned char *mended; /* a copy of the file, see mend_cut; NULL: not needed */
    const char *fault;     /* why rows stopped coming */
};

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int damaged(int spng_code)
{
    if (spng_code == SPNG_EMEM)
        return err(RECTO_ETOOLARGE, "the PNG needs more memory than the decoder may use");
    if (spng_code == SPNG_EOF || spng_code == SPNG_IO_EOF)
        return err(RECTO_ETRUNCATED, "cut short: the file ends before its picture");
    return err(RECTO_EDAMAGED, "damaged: %s", spng_strerror(spng_code));
}

/* The size is read by hand, so that an absurd one is refused before the library sees the file. */
static int check_header(struct file_bytes f, const struct decode_request *q)
{
    if (f.n < IHDR_END)
        return err(RECTO_ETRUNCATED, "cut short: the file ends inside its header");
    if (memcmp(f.p, "\x89PNG\r\n\x1A\n", 8) != 0 || be32(f.p + 8) != 13 ||
        memcmp(f.p + 12, "IHDR", 4) != 0)
        return err(RECTO_EDAMAGED, "damaged: the PNG does not start with its header");
    return check_size(be32(f.p + 16), be32(f.p + 20), q);
}

/* The library wants a chunk whole before it uses any of it, and many files have one chunk of
 * picture data only. So when the file ends inside such a chunk, a copy is made in which the chunk
 * ends there too; its checksum is then not asked for. */
static int mend_cut(struct job *job, struct file_bytes *f)
{
    size_t at = 8, len = 0;

    while (f->n - at >= 12 && (len = be32(f->p + at)) <= f->n - at - 12)
        at += len + 12;
    if (f->n - at <= 8 || memcmp(f->p + at + 4, "IDAT", 4) != 0 || len <= f->n - at - 8)
        return 0;
    job->mended = malloc(f->n + 4);
    if (!job->mended)
        return damaged(SPNG_EMEM);
    len = f->n - at - 8;
    memcpy(job->mended, f->p, f->n);
    memset(job->mended + f->n, 0, 4);
    for (int i = 0; i < 4; i++)
        job->mended[at + (size_t)i] = (unsigned char)(len >> (24 - 8 * i));
    *f = (struct file_bytes){job->mended, f->n + 4};
    return 0;
}

static int job_open(struct job *job, struct file_bytes f)
{
    struct spng_trns trns;
    int rc;

    TRY(mend_cut(job, &f));
    job->png = spng_ctx_new(0);
    if (!job->png)
        return err(RECTO_ETOOLARGE, "no memory for the PNG decoder");
    spng_set_image_limits(job->png, DECODE_SIDE_MAX, DECODE_SIDE_MAX);
    spng_set_chunk_limits(job->png, CHUNK_MAX, CHUNKS_MAX);
    spng_set_crc_action(job->png, job->mended ? SPNG_CRC_USE : SPNG_CRC_ERROR, SPNG_CRC_DISCARD);
    rc = spng_set_png_buffer(job->png, f.p, f.n);
    if (rc == 0)
        rc = spng_get_ihdr(job->png, &job->head);
    if (rc)
        return damaged(rc);
    job->is_16 = job->head.bit_depth == 16;
    job->has_alpha = job->head.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                     job->head.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA ||
                     spng_get_trns(job->png, &trns) == 0;
    job->format = job->is_16 ? SPNG_FMT_RGBA16 : job->has_alpha ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8;
    job->row_bytes = (size_t)job->head.width * (job->is_16 ? 8 : job->has_alpha ? 4 : 3);
    return 0;
}

/* RGBA of 16 bits to the raster's 8. */
static void narrow_row(const struct job *job, unsigned char *out, const unsigned char *in)
{
    bool is_grey = !(job->head.color_type & SPNG_COLOR_TYPE_TRUECOLOR);
    int channels = job->raster.channels;

    for (uint32_t x = 0; x < job->head.width; x++, in += 8, out += channels) {
        uint16_t v[4];

        memcpy(v, in, sizeof v);
        for (int c = 0; c < channels; c++)
            out[c] = (unsigned char)(!is_grey      ? v[c] >> 8
                                     : job->is_cut ? MIN(v[c], 255)
                                                   : (v[c] + 128) / 257);
    }
}

static void put_row(struct job *job, const unsigned char *row)
{
    unsigned char *out = raster_next_row(&job->raster);

    if (job->is_16)
        narrow_row(job, out, row);
    else if (row != out)
        memcpy(out, row, job->row_bytes);
    raster_put_row(&job->raster);
}

/* Rows one after the other, until they end or a fault stops them. */
static int read_straight(struct job *job)
{
    int rc = 0;

    if (job->is_16 && !(job->wide = malloc(job->row_bytes)))
        return damaged(SPNG_EMEM);
    while (rc == 0 && job->raster.n_row < job->raster.in_h) {
        unsigned char *row = job->is_16 ? job->wide : raster_next_row(&job->raster);

        rc = spng_decode_row(job->png, row, job->row_bytes);
        if (rc == 0 || rc == SPNG_EOI)
            put_row(job, row);
    }
    job->fault = rc && rc != SPNG_EOI ? spng_strerror(rc) : NULL;
    return 0;
}

/* Seven passes over the whole picture; a row is complete when the last pass is beyond it. */
static int read_interlaced(struct job *job)
{
    size_t bytes = job->row_bytes * job->head.height;
    struct spng_row_info info;
    int rc, complete = 0;

    if ((int64_t)job->head.width * job->head.height > ((int64_t)64 << 20))
        return err(RECTO_ETOOLARGE, "%u x %u is over the limit of interlaced PNG (64 Mpx)",
                   job->head.width, job->head.height);
    job->wide = calloc(bytes, 1);
    if (!job->wide)
        return damaged(SPNG_EMEM);
    while ((rc = spng_get_row_info(job->png, &info)) == 0) {
        if (info.pass == 6)
            complete =
                (int)info.row_num; /* all rows above: even ones are there since the pass before */
        rc = spng_decode_row(job->png, job->wide + info.row_num * job->row_bytes, job->row_bytes);
        if (rc)
            break;
    }
    if (rc == SPNG_EOI)
        complete = (int)job->head.height;
    else
        job->fault = spng_strerror(rc);
    for (int y = 0; y < complete; y++)
        put_row(job, job->wide + (size_t)y * job->row_bytes);
    return 0;
}

static void read_extras(struct job *job, struct decode_answer *out)
{
    struct spng_exif exif;
    struct spng_phys phys;
    struct spng_iccp icc;

    /* eXIf may stand behind the picture; a wrong checksum of the last picture data shows only now.
     */
    if (!job->fault && spng_decode_chunks(job->png) == SPNG_ECHUNK_CRC)
        out->flags |= DECODE_CORRUPT;
    if (spng_get_iccp(job->png, &icc) == 0)
        out->flags |= DECODE_ICC;
    if (spng_get_phys(job->png, &phys) == 0 && phys.unit_specifier == 1 && phys.ppu_x < 4000000 &&
        phys.ppu_y < 4000000) {
        out->dpi_x = (int)(phys.ppu_x * 0.0254 + 0.5);
        out->dpi_y = (int)(phys.ppu_y * 0.0254 + 0.5);
    }
    if (spng_get_exif(job->png, &exif) == 0)
        out->orientation = exif_read((const unsigned char *)exif.data, exif.length).orientation;
}

static int decode(struct job *job, struct file_bytes f, const struct decode_request *q,
                  struct decode_answer *out)
{
    int w, h, rc;

    TRY(check_header(f, q));
    TRY(job_open(job, f));
    w = out->declared_width = (int)job->head.width;
    h = out->declared_height = (int)job->head.height;
    TRY(raster_open(&job->raster, w, h, raster_factor(w, h, q->keep_pixels),
                    job->has_alpha ? 4 : 3));
    rc = spng_decode_image(job->png, NULL, 0, job->format,
                           SPNG_DECODE_PROGRESSIVE | (job->has_alpha ? SPNG_DECODE_TRNS : 0));
    if (rc)
        return damaged(rc);
    TRY(job->head.interlace_method ? read_interlaced(job) : read_straight(job));
    read_extras(job, out);
    return 0;
}

int decode_png(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb)
{
    struct job job = {.is_cut = q->how & DECODE_AS_PILLOW};
    int rc = decode(&job, file, q, out);

    if (rc == 0)
        rc = finish_raster(&job.raster, job.fault, q, out, rgb);
    spng_ctx_free(job.png);
    free(job.wide);
    free(job.mended);
    raster_reset(&job.raster);
    return rc;
}
