#include "helper/decode.h"

#include "base/err.h"
#include "base/kind.h"
#include "base/mem.h"

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

int finish_raster(struct raster *r, const char *fault, const struct decode_request *q,
                  struct decode_answer *out, unsigned char **rgb)
{
    out->rows = r->n_row;
    if (r->n_row == 0)
        return err(RECTO_ETRUNCATED, "cut short: 0 of %d rows (%s)", r->in_h,
                   fault ? fault : "no rows");
    if (r->n_row < r->in_h) {
        if (2 * (int64_t)r->n_row < r->in_h)
            return err(RECTO_ETRUNCATED, "cut short: %d of %d rows", r->n_row, r->in_h);
        raster_fill_rest(r);
        out->flags |= DECODE_TRUNCATED;
    }
    if (r->channels == 4) {
        out->flags |= DECODE_ALPHA;
        if (q->how & DECODE_AS_PILLOW)
            raster_drop_alpha(r);
        else if (raster_flatten(r))
            out->flags |= DECODE_BACKDROP;
    }
    out->width = r->w;
    out->height = r->h;
    out->reduce = r->f;
    out->n_rgb = (uint64_t)r->w * (uint64_t)r->h * 3;
    *rgb = r->px;
    r->px = NULL;
    return 0;
}

static const struct decoder {
    const char *kind;
    int (*run)(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb);
    int (*count)(struct file_bytes file); /* of pages or frames; NULL: always one */
} decoders[] = {
    {"JPEG", decode_jpeg, NULL},       {"PNG", decode_png, NULL},
    {"TIFF", decode_tiff, tiff_count}, {"BigTIFF", decode_tiff, tiff_count},
    {"WebP", decode_webp, webp_count}, {"GIF", decode_gif, gif_count},
    {"BMP", decode_bmp, NULL},         {"PNM", decode_pnm, NULL},
    {"JPEG 2000", decode_jp2, NULL},
};

static int count(const struct decoder *d, struct file_bytes file, struct decode_answer *out)
{
    int n = d->count ? d->count(file) : 1;

    out->n_frame = n;
    return n < 0 ? n : 0;
}

int check_frame(const struct decode_request *q, int n_frame)
{
    return q->frame < n_frame ? 0
                              : err(RECTO_EPAGERANGE, "no page %d (has %d)", q->frame + 1, n_frame);
}

static int run_decoder(struct file_bytes file, const char *kind, const struct decode_request *q,
                       struct decode_answer *out, unsigned char **rgb)
{
    if (file.n == 0)
        return err(RECTO_EEMPTY, "empty file");
    for (size_t i = 0; i < COUNT(decoders); i++)
        if (strcmp(kind, decoders[i].kind) == 0)
            return q->frame == DECODE_COUNT_ONLY ? count(&decoders[i], file, out)
                                                 : decoders[i].run(file, q, out, rgb);
    return err(RECTO_EKIND,
               "not an image or PDF (looks like %s); this build reads PDF, JPEG, PNG, TIFF, WebP, "
               "GIF, BMP, PNM and JPEG 2000",
               kind);
}

int decode_image(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                 unsigned char **rgb)
{
    const char *kind = kind_of(file.p, file.n);
    int rc;

    *out = (struct decode_answer){.orientation = 1, .n_frame = 1};
    *rgb = NULL;
    rc = run_decoder(file, kind, q, out, rgb);
    if (rc == 0 && q->frame != DECODE_COUNT_ONLY)
        rc = check_frame(q, out->n_frame);
    if (rc < 0) {
        free(*rgb);
        *rgb = NULL;
        *out = (struct decode_answer){.code = rc};
        return rc;
    }
    /* A file may claim any resolution; an absurd one counts as none. */
    if (out->dpi_x > DECODE_DPI_MAX || out->dpi_y > DECODE_DPI_MAX)
        out->dpi_x = out->dpi_y = 0;
    out->n_frame = MIN(out->n_frame, DECODE_FRAMES_MAX);
    strcpy(out->kind, kind);
    return 0;
}
