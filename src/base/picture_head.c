/* Sources: PNG specification (third edition), 5.3 (chunks), 11.2; ITU-T T.81, B.1.1.3 (markers), B.2.2 (frame header); Adobe
 * Technical Note 5116, section 18 (APP14). */
#include "base/picture_head.h"

#define CHUNK   12 /* length, type, checksum */
#define SIDE    100000
#define M_EOI   0xD9
#define M_SOS   0xDA
#define M_APP14 0xEE

static size_t be(const char *p, int n)
{
    size_t v = 0;

    for (int i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* ---- PNG ------------------------------------------------------------------------------------- */

struct chunk {
    str type, data;
};

/* The chunk at *at, which moves behind it; false at the end, also that of a file cut short. */
static bool next_chunk(struct chunk *c, str file, size_t *at)
{
    size_t n;

    if (file.n < CHUNK || *at > file.n - CHUNK)
        return false;
    n = be(file.p + *at, 4);
    if (n > file.n - CHUNK - *at)
        return false;
    *c = (struct chunk){{file.p + *at + 4, 4}, {file.p + *at + 8, n}};
    *at += n + CHUNK;
    return true;
}

static bool is_depth(int colour, int depth)
{
    bool is_power = depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;

    return is_power && (colour == 0 || (colour == 2 && depth >= 8) || (colour == 3 && depth <= 8));
}

static bool take_header(struct png_head *h, str d)
{
    if (d.n != 13 || be(d.p, 4) - 1 >= SIDE || be(d.p + 4, 4) - 1 >= SIDE)
        return false;
    h->width = (int)be(d.p, 4);
    h->height = (int)be(d.p + 4, 4);
    h->depth = (int)be(d.p + 8, 1);
    h->colour = (int)be(d.p + 9, 1);
    return is_depth(h->colour, h->depth) && d.p[10] == 0 && d.p[11] == 0 && d.p[12] == 0;
}

bool png_head(struct png_head *h, str file)
{
    size_t at = 8, n_data = 0;
    struct chunk c;

    *h = (struct png_head){0};
    if (!str_starts(file, STR("\x89PNG\r\n\x1A\n")) || !next_chunk(&c, file, &at) ||
        !str_eq(c.type, STR("IHDR")) || !take_header(h, c.data))
        return false;
    while (next_chunk(&c, file, &at)) {
        if (str_eq(c.type, STR("tRNS")))
            return false;
        if (str_eq(c.type, STR("PLTE")))
            h->palette = c.data;
        if (str_eq(c.type, STR("IDAT")))
            n_data += c.data.n;
        if (str_eq(c.type, STR("IEND")))
            return n_data && (h->colour != 3 ||
                              (h->palette.n >= 3 && h->palette.n <= 768 && h->palette.n % 3 == 0));
    }
    return false;
}

void png_data(struct buf *out, str file)
{
    size_t at = 8;
    struct chunk c;

    while (next_chunk(&c, file, &at))
        if (str_eq(c.type, STR("IDAT")))
            buf_str(out, c.data);
}

/* ---- JPEG ------------------------------------------------------------------------------------ */

static bool is_frame(int marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static bool take_frame(struct jpeg_head *h, int marker, str d)
{
    if (d.n < 6)
        return false;
    h->precision = (int)be(d.p, 1);
    h->height = (int)be(d.p + 1, 2);
    h->width = (int)be(d.p + 3, 2);
    h->components = (int)be(d.p + 5, 1);
    h->is_huffman = marker <= 0xC2;
    return h->width > 0 && h->height > 0;
}

/* The marker at *at with what it carries; false when there is none there. */
static bool next_segment(str file, size_t *at, int *marker, str *data)
{
    size_t n;

    while (*at + 1 < file.n && (unsigned char)file.p[*at] == 0xFF &&
           (unsigned char)file.p[*at + 1] == 0xFF)
        ++*at; /* fill bytes */
    if (*at + 4 > file.n || (unsigned char)file.p[*at] != 0xFF)
        return false;
    *marker = (unsigned char)file.p[*at + 1];
    n = be(file.p + *at + 2, 2);
    if (n < 2 || n > file.n - *at - 2)
        return false;
    *data = (str){file.p + *at + 4, n - 2};
    *at += n + 2;
    return true;
}

bool jpeg_head(struct jpeg_head *h, str file)
{
    bool has_frame = false;
    size_t at = 2;
    int marker;
    str data;

    *h = (struct jpeg_head){0};
    if (!str_starts(file, STR("\xFF\xD8")))
        return false;
    while (next_segment(file, &at, &marker, &data) && marker != M_SOS && marker != M_EOI) {
        if (is_frame(marker) && !has_frame)
            has_frame = take_frame(h, marker, data);
        if (marker == M_APP14 && str_starts(data, STR("Adobe")) && data.n >= 12)
            h->is_adobe = true;
    }
    return has_frame;
}
