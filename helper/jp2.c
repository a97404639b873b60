/* JPEG 2000 by openjpeg, by fewer resolution levels when it is large. Source: openjpeg
 * src/lib/openjp2/openjpeg.h; ISO/IEC 15444-1 annex G (component transform), I.5.3.3
 * (enumerated colour spaces). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"

#include <openjpeg.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP_PIXELS ((int64_t)32 << 20) /* each takes 4 bytes a component, twice */
#define LEVELS_MAX  6

struct job {
    struct file_bytes file;
    size_t at;
    opj_codec_t *codec;
    opj_stream_t *stream;
    opj_image_t *image;
    struct raster raster;
    char why[120];
};

static OPJ_SIZE_T source_read(void *to, OPJ_SIZE_T n, void *data)
{
    struct job *j = data;

    n = MIN(n, j->file.n - j->at);
    memcpy(to, j->file.p + j->at, n);
    j->at += n;
    return n ? n : (OPJ_SIZE_T)-1;
}

static OPJ_OFF_T source_skip(OPJ_OFF_T n, void *data)
{
    struct job *j = data;
    OPJ_OFF_T left = (OPJ_OFF_T)(j->file.n - j->at);

    if (n < 0)
        return -1;
    n = MIN(n, left);
    j->at += (size_t)n;
    return n;
}

static OPJ_BOOL source_seek(OPJ_OFF_T to, void *data)
{
    struct job *j = data;

    if (to < 0 || (size_t)to > j->file.n)
        return OPJ_FALSE;
    j->at = (size_t)to;
    return OPJ_TRUE;
}

static void keep_error(const char *text, void *data)
{
    struct job *j = data;

    if (!j->why[0])
        snprintf(j->why, sizeof j->why, "%.*s", (int)strcspn(text, "\n"), text);
}

static void ignore(const char *text, void *data)
{
}

static int damaged(const struct job *j)
{
    return err(RECTO_EDAMAGED, "damaged: %s", j->why[0] ? j->why : "no picture in the JPEG 2000");
}

static int open_codec(struct job *j, int reduce)
{
    bool is_raw = j->file.p[0] == 0xFF;
    opj_dparameters_t p;

    j->at = 0;
    j->codec = opj_create_decompress(is_raw ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    j->stream = opj_stream_create(65536, OPJ_TRUE);
    if (!j->codec || !j->stream)
        return err(RECTO_ETOOLARGE, "no memory for the JPEG 2000 decoder");
    opj_stream_set_user_data(j->stream, j, NULL);
    opj_stream_set_user_data_length(j->stream, j->file.n);
    opj_stream_set_read_function(j->stream, source_read);
    opj_stream_set_skip_function(j->stream, source_skip);
    opj_stream_set_seek_function(j->stream, source_seek);
    opj_set_error_handler(j->codec, keep_error, j);
    opj_set_warning_handler(j->codec, ignore, j);
    opj_set_info_handler(j->codec, ignore, j);
    opj_set_default_decoder_parameters(&p);
    p.cp_reduce = (OPJ_UINT32)reduce;
    if (!opj_setup_decoder(j->codec, &p))
        return damaged(j);
    opj_decoder_set_strict_mode(j->codec, OPJ_FALSE); /* a cut file gives what there is */
    return opj_read_header(j->stream, j->codec, &j->image) ? 0 : damaged(j);
}

static void close_codec(struct job *j)
{
    if (j->image)
        opj_image_destroy(j->image);
    if (j->stream)
        opj_stream_destroy(j->stream);
    if (j->codec)
        opj_destroy_codec(j->codec);
    j->image = NULL;
    j->stream = NULL;
    j->codec = NULL;
}

/* ---- colours --------------------------------------------------------------------------------- */

/* Sample of component c at x, y of the picture, as 0..255. */
static int sample(const struct job *j, unsigned c, int x, int y)
{
    const opj_image_comp_t *k = &j->image->comps[c];
    int64_t v, most = ((int64_t)1 << k->prec) - 1;
    uint32_t u = MIN((uint32_t)x * k->w / (uint32_t)j->raster.in_w, k->w - 1);
    uint32_t w = MIN((uint32_t)((uint64_t)y * k->h / (uint32_t)j->raster.in_h), k->h - 1);

    v = k->data[(size_t)w * k->w + u] + (k->sgnd ? ((int64_t)1 << k->prec) / 2 : 0);
    return (int)(MIN(MAX(v, 0), most) * 255 / most);
}

static unsigned char clamp(double v)
{
    return (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

/* Rec. 601, full range, as sYCC has it. */
static void ycc_to_rgb(unsigned char *p)
{
    double y = p[0], b = p[1] - 128.0, r = p[2] - 128.0;

    p[0] = clamp(y + 1.402 * r);
    p[1] = clamp(y - 0.344136 * b - 0.714136 * r);
    p[2] = clamp(y + 1.772 * b);
}

static void put_row(struct job *j, int y)
{
    unsigned n = j->image->numcomps, n_colour = n >= 3 ? 3 : 1;
    bool is_cmyk = j->image->color_space == OPJ_CLRSPC_CMYK && n >= 4;
    bool is_ycc = j->image->color_space == OPJ_CLRSPC_SYCC && n >= 3;
    unsigned char *out = raster_next_row(&j->raster);

    for (int x = 0; x < j->raster.in_w; x++, out += j->raster.channels) {
        for (unsigned c = 0; c < 3; c++)
            out[c] = (unsigned char)sample(j, n_colour == 3 ? c : 0, x, y);
        if (is_ycc)
            ycc_to_rgb(out);
        if (is_cmyk) {
            int k = 255 - sample(j, 3, x, y);

            for (int c = 0; c < 3; c++)
                out[c] = (unsigned char)((255 - out[c]) * k / 255);
        } else if (j->raster.channels == 4)
            out[3] = (unsigned char)sample(j, n - 1, x, y);
    }
    raster_put_row(&j->raster);
}

static int check_components(const struct job *j)
{
    for (unsigned c = 0; c < MIN(j->image->numcomps, 4u); c++) {
        const opj_image_comp_t *k = &j->image->comps[c];

        if (!k->data || k->w < 1 || k->h < 1 || k->prec < 1 || k->prec > 31)
            return damaged(j);
    }
    return 0;
}

/* The smallest power of two that makes it fit. */
static int levels_for(int w, int h, int64_t keep)
{
    int level = 0;

    while (level < 31 && div_up(w, (int64_t)1 << level) * div_up(h, (int64_t)1 << level) > keep)
        level++;
    return level;
}

static int decode(struct job *j, const struct decode_request *q, struct decode_answer *out)
{
    int64_t keep = MIN(q->keep_pixels, KEEP_PIXELS);
    int w, h, level;
    bool has_alpha;

    TRY(open_codec(j, 0));
    if (j->image->x1 <= j->image->x0 || j->image->y1 <= j->image->y0)
        return damaged(j);
    TRY(check_size(j->image->x1 - j->image->x0, j->image->y1 - j->image->y0, q));
    w = out->declared_width = (int)(j->image->x1 - j->image->x0);
    h = out->declared_height = (int)(j->image->y1 - j->image->y0);
    level = levels_for(w, h, keep);
    if (level) {
        close_codec(j);
        if (level > LEVELS_MAX)
            return err(RECTO_ETOOLARGE, "%d x %d is over the limit of JPEG 2000", w, h);
        TRY(open_codec(j, level));
    }
    if (j->image->numcomps < 1 || j->image->numcomps > 8)
        return err(RECTO_EKIND, "a JPEG 2000 of %u components", j->image->numcomps);
    if (!opj_decode(j->codec, j->stream, j->image))
        return damaged(j);
    TRY(check_components(j));
    has_alpha = j->image->color_space != OPJ_CLRSPC_CMYK &&
                (j->image->numcomps == 2 || j->image->numcomps == 4);
    out->reduce = 1 << level;
    TRY(raster_open(&j->raster, (int)div_up(w, 1 << level), (int)div_up(h, 1 << level), 1,
                    has_alpha ? 4 : 3));
    for (int y = 0; y < j->raster.in_h; y++)
        put_row(j, y);
    return 0;
}

int decode_jp2(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb)
{
    struct job job = {.file = file};
    int rc = decode(&job, q, out), f = out->reduce;

    if (rc == 0) {
        if (job.image->icc_profile_len)
            out->flags |= DECODE_ICC;
        rc = finish_raster(&job.raster, NULL, q, out, rgb);
        out->reduce = f;
        out->rows = out->declared_height;
    }
    close_codec(&job);
    raster_reset(&job.raster);
    return rc;
}
