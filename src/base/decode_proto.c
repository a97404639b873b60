#include "base/decode_proto.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/wire.h"

#include <string.h>

#define HELLO_MAGIC   0x31484452u /* "RDH1" */
#define REQUEST_MAGIC 0x31514452u /* "RDQ1" */
#define ANSWER_MAGIC  0x31414452u /* "RDA1" */
#define KIND_IMAGE    1

/* A field of n bytes that ends with at least one NUL; what is not printable ASCII becomes '?'. */
static void put_text(unsigned char **p, const char *s, size_t n)
{
    size_t i = 0;

    for (; i < n - 1 && s[i]; i++)
        (*p)[i] = (unsigned char)(s[i] >= ' ' && s[i] <= '~' ? s[i] : '?');
    memset(*p + i, 0, n - i);
    *p += n;
}

static int get_text(const unsigned char **p, char *s, size_t n)
{
    size_t i = 0;

    memcpy(s, *p, n);
    *p += n;
    while (i < n && s[i] >= ' ' && s[i] <= '~')
        i++;
    return i < n && s[i] == 0 ? 0 : err(RECTO_EFORMAT, "its text is not printable");
}

static int get_int(const unsigned char **p, const char *what, int lo, int hi, int *out)
{
    uint32_t v = wire_get32(p);

    if (v > INT32_MAX || (int)v < lo || (int)v > hi)
        return err(RECTO_EFORMAT, "its %s is %u, expected %d to %d", what, (unsigned)v, lo, hi);
    *out = (int)v;
    return 0;
}

void decode_hello_pack(unsigned char out[DECODE_HELLO_BYTES], const struct decode_hello *h)
{
    wire_put32(&out, HELLO_MAGIC);
    wire_put32(&out, DECODE_VERSION);
    wire_put32(&out, h->flags);
}

int decode_hello_unpack(struct decode_hello *h, const unsigned char in[DECODE_HELLO_BYTES])
{
    if (wire_get32(&in) != HELLO_MAGIC)
        return err(RECTO_EFORMAT, "it does not greet as recto-decode does");
    if (wire_get32(&in) != DECODE_VERSION)
        return err(RECTO_EFORMAT,
                   "it is of another version: install recto and recto-decode together");
    h->flags = wire_get32(&in);
    if (h->flags & ~(unsigned)(DECODE_NO_LANDLOCK | DECODE_NO_SECCOMP | DECODE_REFUSED))
        return err(RECTO_EFORMAT, "its greeting has unknown flags %#x", h->flags);
    return 0;
}

void decode_request_pack(unsigned char out[DECODE_REQUEST_BYTES], const struct decode_request *q)
{
    wire_put32(&out, REQUEST_MAGIC);
    wire_put32(&out, KIND_IMAGE);
    wire_put64(&out, q->n_bytes);
    wire_put64(&out, (uint64_t)q->max_pixels);
    wire_put64(&out, (uint64_t)q->keep_pixels);
    wire_put32(&out, (uint32_t)q->frame);
    wire_put32(&out, q->how);
}

int decode_request_unpack(struct decode_request *q, const unsigned char in[DECODE_REQUEST_BYTES])
{
    uint64_t max_pixels, keep_pixels;

    if (wire_get32(&in) != REQUEST_MAGIC)
        return err(RECTO_EFORMAT, "not a request");
    if (wire_get32(&in) != KIND_IMAGE)
        return err(RECTO_EFORMAT, "a request of unknown kind");
    q->n_bytes = wire_get64(&in);
    max_pixels = wire_get64(&in);
    keep_pixels = wire_get64(&in);
    TRY(get_int(&in, "frame", 0, DECODE_COUNT_ONLY, &q->frame));
    q->how = wire_get32(&in);
    if (q->how & ~(unsigned)DECODE_HOW_ALL)
        return err(RECTO_EFORMAT, "a request with unknown flags");
    if (q->n_bytes > DECODE_FILE_MAX)
        return err(RECTO_EFORMAT, "a file of more than %llu bytes",
                   (unsigned long long)DECODE_FILE_MAX);
    if (max_pixels < 1 || max_pixels > (uint64_t)DECODE_PIXELS_MAX || keep_pixels < 1 ||
        keep_pixels > (uint64_t)DECODE_PIXELS_MAX)
        return err(RECTO_EFORMAT, "a pixel limit outside 1..%lld", (long long)DECODE_PIXELS_MAX);
    q->max_pixels = (int64_t)max_pixels;
    q->keep_pixels = (int64_t)keep_pixels;
    return 0;
}

void decode_answer_pack(unsigned char out[DECODE_ANSWER_BYTES], const struct decode_answer *a)
{
    wire_put32(&out, ANSWER_MAGIC);
    wire_put32(&out, (uint32_t)-a->code);
    wire_put32(&out, (uint32_t)a->width);
    wire_put32(&out, (uint32_t)a->height);
    wire_put32(&out, (uint32_t)a->declared_width);
    wire_put32(&out, (uint32_t)a->declared_height);
    wire_put32(&out, (uint32_t)a->reduce);
    wire_put32(&out, (uint32_t)a->rows);
    wire_put32(&out, (uint32_t)a->orientation);
    wire_put32(&out, a->flags);
    wire_put32(&out, (uint32_t)a->dpi_x);
    wire_put32(&out, (uint32_t)a->dpi_y);
    wire_put32(&out, (uint32_t)a->n_frame);
    wire_put64(&out, a->n_rgb);
    put_text(&out, a->kind, DECODE_KIND_MAX);
    put_text(&out, a->text, DECODE_TEXT_MAX);
}

static int check_failure(const struct decode_answer *a)
{
    if (recto_error_name(a->code)[0] != 'E' || strcmp(recto_error_name(a->code), "E_UNKNOWN") == 0)
        return err(RECTO_EFORMAT, "its error code is %d", a->code);
    if (a->width | a->height | a->declared_width | a->declared_height | a->reduce | a->rows ||
        a->n_rgb)
        return err(RECTO_EFORMAT, "it reports an error and a picture at once");
    if (!a->text[0])
        return err(RECTO_EFORMAT, "it reports an error without saying which");
    return 0;
}

static int check_empty(const struct decode_answer *a)
{
    if (a->width | a->height | a->rows || a->n_rgb)
        return err(RECTO_EFORMAT, "it gives a picture that was not asked for");
    return 0;
}

static int check_picture(const struct decode_answer *a, const struct decode_request *q)
{
    if ((int64_t)a->declared_width * a->declared_height > q->max_pixels)
        return err(RECTO_EFORMAT, "it accepts a picture over the limit");
    if ((int64_t)a->width * a->height > q->keep_pixels)
        return err(RECTO_EFORMAT, "its picture is larger than what was asked for");
    if (a->width < 1 || a->height < 1 || a->reduce < 1 ||
        a->width != div_up(a->declared_width, a->reduce) ||
        a->height != div_up(a->declared_height, a->reduce))
        return err(RECTO_EFORMAT, "its sizes contradict each other");
    if (a->n_rgb != (uint64_t)a->width * (uint64_t)a->height * 3)
        return err(RECTO_EFORMAT, "its length is not that of its picture");
    if (a->rows > a->declared_height || a->orientation < 1 || a->orientation > 8 || !a->kind[0])
        return err(RECTO_EFORMAT, "its rows, orientation or kind cannot be");
    return 0;
}

int decode_answer_unpack(struct decode_answer *a, const unsigned char in[DECODE_ANSWER_BYTES],
                         const struct decode_request *q)
{
    int minus_code;

    if (wire_get32(&in) != ANSWER_MAGIC)
        return err(RECTO_EFORMAT, "it does not answer as recto-decode does");
    TRY(get_int(&in, "error code", 0, 1000, &minus_code));
    a->code = -minus_code;
    TRY(get_int(&in, "width", 0, DECODE_SIDE_MAX, &a->width));
    TRY(get_int(&in, "height", 0, DECODE_SIDE_MAX, &a->height));
    TRY(get_int(&in, "declared width", 0, DECODE_SIDE_MAX, &a->declared_width));
    TRY(get_int(&in, "declared height", 0, DECODE_SIDE_MAX, &a->declared_height));
    TRY(get_int(&in, "reduction", 0, DECODE_SIDE_MAX, &a->reduce));
    TRY(get_int(&in, "row count", 0, DECODE_SIDE_MAX, &a->rows));
    TRY(get_int(&in, "orientation", 0, 8, &a->orientation));
    TRY(get_int(&in, "flag set", 0, DECODE_FLAGS_ALL, (int *)&a->flags));
    TRY(get_int(&in, "resolution", 0, DECODE_DPI_MAX, &a->dpi_x));
    TRY(get_int(&in, "resolution", 0, DECODE_DPI_MAX, &a->dpi_y));
    TRY(get_int(&in, "frame count", 0, DECODE_FRAMES_MAX, &a->n_frame));
    a->n_rgb = wire_get64(&in);
    TRY(get_text(&in, a->kind, DECODE_KIND_MAX));
    TRY(get_text(&in, a->text, DECODE_TEXT_MAX));
    if (a->code)
        return check_failure(a);
    if (a->n_frame < 1)
        return err(RECTO_EFORMAT, "it reports neither an error nor a picture");
    return q->frame == DECODE_COUNT_ONLY ? check_empty(a) : check_picture(a, q);
}
