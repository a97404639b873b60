/* BMP: 1, 4, 8, 16, 24, 32 bits, run lengths, bit fields; from Windows 2 to V5 headers. Rows lie
 * from the bottom up unless the height is negative. Source: Microsoft, "Bitmap Storage", the
 * structures BITMAPCOREHEADER to BITMAPV5HEADER, and "Bitmap Compression" (RLE4, RLE8). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define FILE_HEADER 14
#define CORE_HEADER 12
#define INFO_HEADER 40
#define RLE_MAX     ((int64_t)64 << 20) /* pixels: run lengths are drawn into memory first */

enum compression { BI_RGB, BI_RLE8, BI_RLE4, BI_BITFIELDS, BI_JPEG, BI_PNG, BI_ALPHABITFIELDS };

struct job {
    struct file_bytes file;
    uint32_t header, compression, pixels_at; /* bytes of the header; where the pixels start */
    int64_t w, h;
    int bits;
    bool is_top_down, has_mask;
    uint32_t mask[4]; /* red, green, blue, alpha */
    size_t palette_at;
    int palette_entry, n_palette; /* bytes of one; how many */
    unsigned char *index;         /* of run lengths: [h][w] palette entries, top row first */
    int n_drawn;                  /* its rows that came, counted as stored */
    struct raster raster;
};

static uint32_t le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static unsigned le16(const unsigned char *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static int damaged(const char *what)
{
    return err(RECTO_EDAMAGED, "damaged: %s of the BMP makes no sense", what);
}

/* ---- header ---------------------------------------------------------------------------------- */

static void read_masks(struct job *j, const unsigned char *p)
{
    static const uint32_t of_16[] = {0x7C00, 0x03E0, 0x001F, 0};
    static const uint32_t of_32[] = {0xFF0000, 0xFF00, 0xFF, 0};

    j->has_mask = j->compression == BI_BITFIELDS || j->compression == BI_ALPHABITFIELDS;
    memcpy(j->mask, j->bits == 16 ? of_16 : of_32, sizeof j->mask);
    if (!j->has_mask || j->file.n < FILE_HEADER + INFO_HEADER + 16)
        return;
    for (int i = 0; i < 3; i++)
        j->mask[i] = le32(p + INFO_HEADER + 4 * i);
    if (j->header >= 56 || j->compression == BI_ALPHABITFIELDS)
        j->mask[3] = le32(p + INFO_HEADER + 12);
}

static void read_palette(struct job *j, uint32_t n_used)
{
    int n_masks = j->header != INFO_HEADER              ? 0
                  : j->compression == BI_BITFIELDS      ? 3
                  : j->compression == BI_ALPHABITFIELDS ? 4
                                                        : 0;

    j->palette_entry = j->header == CORE_HEADER ? 3 : 4;
    j->palette_at = FILE_HEADER + (size_t)j->header + 4 * (size_t)n_masks;
    j->n_palette = j->bits > 8 ? 0 : n_used && n_used <= 256 ? (int)n_used : 1 << j->bits;
}

static int read_header(struct job *j, const struct decode_request *q, struct decode_answer *out)
{
    const unsigned char *p = j->file.p + FILE_HEADER;
    uint32_t n_used = 0;
    bool is_core;

    if (j->file.n < FILE_HEADER + CORE_HEADER)
        return err(RECTO_ETRUNCATED, "cut short: the file ends inside its header");
    j->pixels_at = le32(j->file.p + 10);
    j->header = le32(p);
    is_core = j->header == CORE_HEADER;
    if (!is_core &&
        (j->header < INFO_HEADER || j->header > 256 || j->file.n < FILE_HEADER + INFO_HEADER))
        return damaged("the header");
    j->w = is_core ? (int64_t)le16(p + 4) : (int32_t)le32(p + 4);
    j->h = is_core ? (int64_t)le16(p + 6) : (int32_t)le32(p + 8);
    j->bits = (int)le16(p + (is_core ? 10 : 14));
    if (!is_core) {
        j->compression = le32(p + 16);
        n_used = le32(p + 32);
        out->dpi_x = (int)fmin(le32(p + 24) * 0.0254 + 0.5, 1e6);
        out->dpi_y = (int)fmin(le32(p + 28) * 0.0254 + 0.5, 1e6);
    }
    j->is_top_down = j->h < 0;
    j->h = llabs(j->h);
    if (j->w < 0)
        return damaged("the width");
    read_masks(j, p);
    read_palette(j, n_used);
    return check_size((uint64_t)j->w, (uint64_t)j->h, q);
}

static int check_variety(const struct job *j)
{
    bool is_rle = j->compression == BI_RLE8 || j->compression == BI_RLE4;

    if (j->compression == BI_JPEG || j->compression == BI_PNG)
        return err(RECTO_EKIND, "a BMP around a JPEG or PNG; convert it to PNG");
    if (j->compression > BI_ALPHABITFIELDS)
        return damaged("the compression");
    if (j->bits != 1 && j->bits != 4 && j->bits != 8 && j->bits != 16 && j->bits != 24 &&
        j->bits != 32)
        return damaged("the number of bits");
    if (is_rle && (j->bits != (j->compression == BI_RLE8 ? 8 : 4) || j->is_top_down))
        return damaged("the compression");
    if (j->has_mask && j->bits != 16 && j->bits != 32)
        return damaged("the compression");
    if (is_rle && j->w * j->h > RLE_MAX)
        return err(RECTO_ETOOLARGE, "%lld x %lld is over the limit of run-length BMP",
                   (long long)j->w, (long long)j->h);
    return 0;
}

/* ---- run lengths ----------------------------------------------------------------------------- */

struct pen {
    size_t at;    /* in the file */
    int64_t x, y; /* y counts from the bottom */
};

static void dot(struct job *j, struct pen *p, unsigned char index)
{
    if (p->x < j->w && p->y < j->h)
        j->index[(size_t)(j->h - 1 - p->y) * (size_t)j->w + (size_t)p->x] = index;
    p->x++;
}

/* n pixels of the byte (RLE8), or of its two halves in turn (RLE4). */
static void run(struct job *j, struct pen *p, int n, unsigned char v)
{
    for (int i = 0; i < n && p->x < j->w; i++)
        dot(j, p, j->bits == 8 ? v : (unsigned char)(i & 1 ? v & 15 : v >> 4));
}

/* n pixels as they stand, then to an even place; false at the end of the file. */
static bool literal(struct job *j, struct pen *p, int n)
{
    size_t bytes = j->bits == 8 ? (size_t)n : ((size_t)n + 1) / 2;

    if (bytes > j->file.n - p->at)
        return false;
    for (int i = 0; i < n; i++) {
        unsigned char v = j->file.p[p->at + (size_t)(j->bits == 8 ? i : i / 2)];

        dot(j, p, j->bits == 8 ? v : (unsigned char)(i & 1 ? v & 15 : v >> 4));
    }
    p->at += bytes + (bytes & 1);
    return p->at <= j->file.n;
}

/* Every step takes two bytes at least, and draws no more than a row's rest. */
static int draw_runs(struct job *j)
{
    struct pen p = {.at = j->pixels_at};

    j->index = calloc((size_t)(j->w * j->h), 1);
    if (!j->index)
        return err(RECTO_ETOOLARGE, "the BMP needs more memory than the decoder may use");
    while (p.at + 2 <= j->file.n && p.y < j->h) {
        unsigned char n = j->file.p[p.at], v = j->file.p[p.at + 1];

        p.at += 2;
        if (n)
            run(j, &p, n, v);
        else if (v == 0)
            p.x = 0, p.y++;
        else if (v == 1)
            p.y = j->h; /* the end, wherever it stands */
        else if (v == 2 && p.at + 2 <= j->file.n) {
            p.x += j->file.p[p.at];
            p.y += j->file.p[p.at + 1];
            p.at += 2;
        } else if (v > 2 && !literal(j, &p, v))
            break;
    }
    j->n_drawn = (int)MIN(p.y, j->h);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_index(const struct job *j, unsigned i, unsigned char *out)
{
    size_t at = j->palette_at + (size_t)i * (size_t)j->palette_entry;

    if ((int)i >= j->n_palette || at + 3 > j->file.n) {
        memset(out, 0, 3);
        return;
    }
    for (int c = 0; c < 3; c++)
        out[c] = j->file.p[at + 2 - (size_t)c];
}

/* The bits of a mask, as 0..255. */
static unsigned char field(uint32_t v, uint32_t mask)
{
    uint32_t most = mask;

    if (!mask)
        return 0;
    while (!(most & 1))
        most >>= 1, v >>= 1;
    return (unsigned char)((uint64_t)(v & most) * 255 / most);
}

static void put_pixel(const struct job *j, const unsigned char *row, int64_t x, unsigned char *out)
{
    uint32_t v;

    switch (j->bits) {
    case 24:
        for (int c = 0; c < 3; c++)
            out[c] = row[x * 3 + 2 - c];
        return;
    case 16:
    case 32:
        v = j->bits == 16 ? le16(row + x * 2) : le32(row + x * 4);
        for (int c = 0; c < j->raster.channels; c++)
            out[c] = field(v, j->mask[c]);
        return;
    default:
        v = (unsigned)row[x * j->bits / 8] >> (8 - j->bits - x * j->bits % 8);
        put_index(j, v & ((1u << j->bits) - 1), out);
    }
}

/* Row y from the top; false when the file does not have it. */
static bool read_row(const struct job *j, int64_t y, unsigned char *out)
{
    size_t bytes = ((size_t)j->w * (size_t)j->bits + 31) / 32 * 4;
    size_t stored = (size_t)(j->is_top_down ? y : j->h - 1 - y);
    size_t used = ((size_t)j->w * (size_t)j->bits + 7) / 8, at = j->pixels_at + stored * bytes;

    if (at > j->file.n || used > j->file.n - at)
        return false;
    for (int64_t x = 0; x < j->w; x++, out += j->raster.channels)
        put_pixel(j, j->file.p + at, x, out);
    return true;
}

static void read_drawn_row(const struct job *j, int64_t y, unsigned char *out)
{
    for (int64_t x = 0; x < j->w; x++, out += 3)
        put_index(j, j->index[(size_t)y * (size_t)j->w + (size_t)x], out);
}

/* Most files are stored from the bottom, so a cut one lacks its upper rows: grey, and damaged. */
static int read_rows(struct job *j, struct decode_answer *out)
{
    int64_t n_missing = 0;

    for (int64_t y = 0; y < j->h; y++) {
        unsigned char *row = raster_next_row(&j->raster);

        if (j->index)
            read_drawn_row(j, y, row);
        else if (!read_row(j, y, row)) {
            n_missing++;
            memset(row, 127, (size_t)j->w * (size_t)j->raster.channels);
        }
        raster_put_row(&j->raster);
    }
    if (j->index)
        n_missing = j->h - j->n_drawn;
    if (2 * n_missing > j->h)
        return err(RECTO_ETRUNCATED, "cut short: %lld of %lld rows", (long long)(j->h - n_missing),
                   (long long)j->h);
    if (n_missing)
        out->flags |= DECODE_CORRUPT;
    return 0;
}

static int decode(struct job *j, const struct decode_request *q, struct decode_answer *out)
{
    int w, h, channels;

    TRY(read_header(j, q, out));
    TRY(check_variety(j));
    w = out->declared_width = (int)j->w;
    h = out->declared_height = (int)j->h;
    channels = j->bits == 32 && j->mask[3] ? 4 : 3;
    TRY(raster_open(&j->raster, w, h, raster_factor(w, h, q->keep_pixels), channels));
    if (j->compression == BI_RLE8 || j->compression == BI_RLE4)
        TRY(draw_runs(j));
    return read_rows(j, out);
}

int decode_bmp(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb)
{
    struct job job = {.file = file};
    int rc = decode(&job, q, out);

    if (rc == 0)
        rc = finish_raster(&job.raster, NULL, q, out, rgb);
    free(job.index);
    raster_reset(&job.raster);
    return rc;
}
