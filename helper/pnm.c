/* Netpbm's P1 to P6, in text or bytes, up to 16 bits. Source: Netpbm pbm(5), pgm(5), ppm(5). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

struct job {
    struct file_bytes file;
    size_t at;
    int kind; /* 1..6 */
    unsigned w, h, maxval;
    struct raster raster;
};

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(struct job *j)
{
    while (j->at < j->file.n && (is_space(j->file.p[j->at]) || j->file.p[j->at] == '#')) {
        if (j->file.p[j->at] == '#')
            while (j->at < j->file.n && j->file.p[j->at] != '\n')
                j->at++;
        else
            j->at++;
    }
}

/* A number of at most 9 digits; false when there is none. */
static bool take_number(struct job *j, unsigned *out)
{
    int digits = 0;

    skip_space(j);
    for (*out = 0;
         j->at < j->file.n && j->file.p[j->at] >= '0' && j->file.p[j->at] <= '9' && digits < 9;
         digits++)
        *out = *out * 10 + (unsigned)(j->file.p[j->at++] - '0');
    return digits > 0;
}

static int read_header(struct job *j, const struct decode_request *q)
{
    bool is_bits;

    j->kind = j->file.p[1] - '0';
    j->at = 2;
    j->maxval = 1;
    is_bits = j->kind == 1 || j->kind == 4;
    if (j->kind > 6)
        return err(RECTO_EKIND, "a PNM of kind P7 (PAM); convert it to PNG");
    if (!take_number(j, &j->w) || !take_number(j, &j->h) ||
        (!is_bits && !take_number(j, &j->maxval)))
        return err(RECTO_EDAMAGED, "damaged: the header of the PNM is not width, height, maxval");
    if (j->maxval < 1 || j->maxval > 65535)
        return err(RECTO_EDAMAGED, "damaged: maxval is %u, expected 1 to 65535", j->maxval);
    j->at += j->kind >= 4; /* one white space, then bytes */
    return check_size(j->w, j->h, q);
}

static unsigned char scaled(const struct job *j, unsigned v)
{
    v = MIN(v, j->maxval);
    return (unsigned char)((v * 255u + j->maxval / 2) / j->maxval);
}

/* One sample of a row in text; bits may stand without space between them. */
static bool take_sample(struct job *j, unsigned *v)
{
    if (j->kind != 1)
        return take_number(j, v);
    skip_space(j);
    if (j->at == j->file.n || (j->file.p[j->at] != '0' && j->file.p[j->at] != '1'))
        return false;
    *v = j->file.p[j->at++] == '0'; /* 1 is black */
    return true;
}

static bool read_text_row(struct job *j, unsigned char *out)
{
    unsigned v;

    for (unsigned x = 0; x < j->w; x++, out += 3)
        for (int c = 0; c < 3; c++) {
            if ((j->kind == 3 || c == 0) && !take_sample(j, &v))
                return false;
            out[c] = scaled(j, v);
        }
    return true;
}

static bool read_byte_row(struct job *j, unsigned char *out)
{
    size_t deep = j->maxval > 255 ? 2 : 1, samples = j->kind == 6 ? 3 : 1;
    size_t bytes = j->kind == 4 ? (j->w + 7) / 8 : j->w * samples * deep;
    const unsigned char *in = j->file.p + j->at;

    if (j->at > j->file.n || bytes > j->file.n - j->at)
        return false;
    j->at += bytes;
    for (unsigned x = 0; x < j->w; x++, out += 3)
        for (size_t c = 0; c < 3; c++) {
            size_t i = (x * samples + (samples == 3 ? c : 0)) * deep;

            if (j->kind == 4)
                out[c] = in[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
            else
                out[c] = scaled(j, deep == 2 ? (unsigned)in[i] << 8 | in[i + 1] : in[i]);
        }
    return true;
}

static int decode(struct job *j, const struct decode_request *q, struct decode_answer *out)
{
    int w, h;

    TRY(read_header(j, q));
    w = out->declared_width = (int)j->w;
    h = out->declared_height = (int)j->h;
    TRY(raster_open(&j->raster, w, h, raster_factor(w, h, q->keep_pixels), 3));
    for (int y = 0; y < h; y++) {
        unsigned char *row = raster_next_row(&j->raster);

        if (!(j->kind >= 4 ? read_byte_row(j, row) : read_text_row(j, row)))
            break;
        raster_put_row(&j->raster);
    }
    return 0;
}

int decode_pnm(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb)
{
    struct job job = {.file = file};
    int rc = decode(&job, q, out);

    if (rc == 0)
        rc = finish_raster(&job.raster, "the file ends early", q, out, rgb);
    raster_reset(&job.raster);
    return rc;
}
