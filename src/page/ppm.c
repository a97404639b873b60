#include "page/ppm.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SIDE_MAX     100000
#define MISSING_GREY 127

struct cursor {
    const unsigned char *p;
    size_t n, at;
};

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool ppm_is(const void *data, size_t n)
{
    return n >= 3 && memcmp(data, "P6", 2) == 0 && is_space(((const unsigned char *)data)[2]);
}

/* White space and comments, of which there must be some, then a number of at most 7 digits. */
static int next_number(struct cursor *c, int *out)
{
    size_t start = c->at, digits;

    while (c->at < c->n && (is_space(c->p[c->at]) || c->p[c->at] == '#')) {
        if (c->p[c->at] == '#')
            while (c->at < c->n && c->p[c->at] != '\n')
                c->at++;
        else
            c->at++;
    }
    *out = 0;
    for (digits = 0; c->at < c->n && c->p[c->at] >= '0' && c->p[c->at] <= '9' && digits < 7;
         digits++)
        *out = *out * 10 + (c->p[c->at++] - '0');
    if (digits == 0 || c->at == start + digits || c->at == c->n ||
        !(is_space(c->p[c->at]) || c->p[c->at] == '#'))
        return err(RECTO_EDAMAGED,
                   "damaged: the header of the PPM is not P6, width, height, maxval");
    return 0;
}

static int parse_header(struct cursor *c, int *w, int *h, int64_t max_pixels)
{
    int maxval;

    TRY(next_number(c, w));
    TRY(next_number(c, h));
    TRY(next_number(c, &maxval));
    if (*w < 1 || *h < 1)
        return err(RECTO_EDAMAGED, "damaged: it claims a size of %d x %d", *w, *h);
    if (*w > SIDE_MAX || *h > SIDE_MAX || (int64_t)*w * *h > max_pixels)
        return err(RECTO_ETOOLARGE, "%d x %d is over the limit (--max-pixels)", *w, *h);
    if (maxval != 255)
        return err(RECTO_EKIND, "a PPM with maxval %d; only 255 can be read", maxval);
    if (!is_space(c->p[c->at]))
        return err(RECTO_EDAMAGED, "damaged: no white space after the PPM's header");
    c->at++;
    return 0;
}

int ppm_parse(struct recto_image *out, int *rows, const void *data, size_t n, int64_t max_pixels)
{
    struct cursor c = {data, n, 2};
    size_t row, have;
    int w, h;

    *out = (struct recto_image){0};
    TRY(parse_header(&c, &w, &h, max_pixels));
    row = (size_t)w * 3;
    have = n - c.at;
    if (have > row * (size_t)h)
        return err(RECTO_EDAMAGED, "damaged: %zu bytes after the PPM's picture",
                   have - row * (size_t)h);
    *rows = (int)(have / row);
    if (*rows * 2 < h)
        return err(RECTO_ETRUNCATED, "cut short: %d of %d rows", *rows, h);
    out->rgb = mem_big(row * (size_t)h);
    if (!out->rgb)
        return err(RECTO_ENOMEM, "no memory for a picture of %d x %d", w, h);
    out->width = w;
    out->height = h;
    memcpy(out->rgb, c.p + c.at, row * (size_t)*rows);
    memset(out->rgb + row * (size_t)*rows, MISSING_GREY, row * (size_t)(h - *rows));
    return 0;
}
