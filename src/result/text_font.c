/* Sources: OpenType specification 1.9 (head, hhea, hmtx, maxp, loca, glyf, cmap, post; table checksums); ISO 32000-1, 9.7.4
 * (CIDFonts, W, CIDToGIDMap), 9.10.3 (ToUnicode); Adobe Technical Note 5411. */
#include "result/text_font.h"

#include "base/mem.h"
#include "result/unicode.h"

#include <stdlib.h>

#define N_GLYPH     3
#define CID_MAX     65534
#define REPLACEMENT 0xFFFD
#define BFCHAR_MAX  100 /* lines in one list */
#define MAGIC       0xB1B0AFBAu

/* ---- characters ------------------------------------------------------------------------------- */

static int number_anew(struct text_font *f, uint32_t code)
{
    if (f->n + 2 > f->cap) {
        f->cap = f->cap ? f->cap * 2 : 256;
        f->code = mem_grow(f->code, (size_t)f->cap, sizeof *f->code);
    }
    f->code[++f->n] = code;
    return f->n;
}

int text_font_cid(struct text_font *f, uint32_t code)
{
    uint16_t **row = &f->cid[code < 0x110000 ? code >> 8 : REPLACEMENT >> 8];
    uint16_t *cid;

    if (code >= 0x110000)
        code = REPLACEMENT;
    if (!*row)
        *row = mem_zero(256, sizeof **row);
    cid = &(*row)[code & 0xFF];
    if (!*cid && f->n >= CID_MAX - 1 && code != REPLACEMENT)
        return text_font_cid(f, REPLACEMENT);
    if (!*cid)
        *cid = (uint16_t)number_anew(f, code);
    return *cid;
}

int text_font_advance(uint32_t code)
{
    return code_is_wide(code) ? TEXT_FONT_FULL : TEXT_FONT_HALF;
}

void text_font_reset(struct text_font *f)
{
    for (size_t i = 0; i < COUNT(f->cid); i++)
        free(f->cid[i]);
    free(f->code);
    *f = (struct text_font){0};
}

/* ---- the file --------------------------------------------------------------------------------- */

static void put16(struct buf *b, int v)
{
    buf_char(b, (char)(v >> 8 & 0xFF));
    buf_char(b, (char)(v & 0xFF));
}

static void put32(struct buf *b, uint32_t v)
{
    put16(b, (int)(v >> 16));
    put16(b, (int)(v & 0xFFFF));
}

static void put_all(struct buf *b, const int *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put16(b, v[i]);
}

static void pad(struct buf *b)
{
    while (b->n % 4)
        buf_char(b, 0);
}

/* A box of 4 points on the line, from the left edge to `right`, 0 to 700. */
static void put_glyph(struct buf *b, int right)
{
    const int head[] = {1, 0, 0, right, 700, 3, 0}; /* contours, box, last point, no instructions */
    const int deltas[] = {0, 0, right, 0, 0, 700, 0, -700};

    put_all(b, head, COUNT(head));
    for (int i = 0; i < 4; i++)
        buf_char(b, 1); /* on the curve; x and y as two bytes */
    put_all(b, deltas, COUNT(deltas));
    pad(b);
}

static void put_glyf(struct buf *b)
{
    put_glyph(b, 450);
    put_glyph(b, 450);
    put_glyph(b, 950);
}

/* Where glyphs begin, halved; all are of one size. */
static void put_loca(struct buf *b)
{
    struct buf one = {0};

    put_glyph(&one, 450);
    for (int i = 0; i <= N_GLYPH; i++)
        put16(b, (int)(one.n / 2) * i);
    buf_reset(&one);
}

static void put_head(struct buf *b)
{
    const int rest[] = {0x000B, 1000,                       /* flags, units an em */
                        0,      0,    0,   0,   0, 0, 0, 0, /* no dates: the same bytes always */
                        0,      0,    950, 700, 0, 8, 2, 0,
                        0}; /* box, style, least size, direction, loca */

    put32(b, 0x00010000);
    put32(b, 0x00010000);
    put32(b, 0); /* the file's checksum, later */
    put32(b, 0x5F0F3CF5);
    put_all(b, rest, COUNT(rest));
}

static void put_hhea(struct buf *b)
{
    const int rest[] = {800, -200, 0, 1000, 0, 0, 950, 1, 0, 0, 0, 0, 0, 0, 0, N_GLYPH};

    put32(b, 0x00010000);
    put_all(b, rest, COUNT(rest));
}

static void put_hmtx(struct buf *b)
{
    const int metrics[] = {TEXT_FONT_HALF, 0, TEXT_FONT_HALF, 0, TEXT_FONT_FULL, 0};

    put_all(b, metrics, COUNT(metrics));
}

static void put_maxp(struct buf *b)
{
    const int rest[] = {N_GLYPH, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};

    put32(b, 0x00010000);
    put_all(b, rest, COUNT(rest));
}

/* Some readers want one, though a CIDFont does not need it: nothing is in it. */
static void put_cmap(struct buf *b)
{
    const int table[] = {0, 1, 3, 1};
    const int format4[] = {4, 24, 0, 2, 2, 0, 0, 0xFFFF, 0, 0xFFFF, 1, 0};

    put_all(b, table, COUNT(table));
    put32(b, 12);
    put_all(b, format4, COUNT(format4));
}

static void put_post(struct buf *b)
{
    put32(b, 0x00030000);
    for (int i = 0; i < 7; i++)
        put32(b, 0);
}

static uint32_t checksum(str s)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < s.n; i++)
        sum += (uint32_t)(unsigned char)s.p[i] << (24 - 8 * (i % 4));
    return sum;
}

static const struct table {
    const char *tag;
    void (*put)(struct buf *b);
} tables[] = {{"cmap", put_cmap}, {"glyf", put_glyf}, {"head", put_head}, {"hhea", put_hhea},
              {"hmtx", put_hmtx}, {"loca", put_loca}, {"maxp", put_maxp}, {"post", put_post}};

/* Offset of the table `tag` in the file. */
static size_t put_tables(struct buf *out, const char *tag)
{
    struct buf body = {0};
    size_t start = 12 + COUNT(tables) * 16, found = 0;

    for (size_t i = 0; i < COUNT(tables); i++) {
        struct buf t = {0};

        tables[i].put(&t);
        if (strcmp(tables[i].tag, tag) == 0)
            found = start + body.n;
        buf_text(out, tables[i].tag);
        put32(out, checksum(buf_view(&t)));
        put32(out, (uint32_t)(start + body.n));
        put32(out, (uint32_t)t.n);
        buf_str(&body, buf_view(&t));
        pad(&body);
        buf_reset(&t);
    }
    buf_str(out, buf_view(&body));
    buf_reset(&body);
    return found;
}

void text_font_file(struct buf *out)
{
    const int search[] = {COUNT(tables), 128, 3, 0}; /* for 8 tables */
    struct buf sum = {0};
    size_t head;

    put32(out, 0x00010000);
    put_all(out, search, COUNT(search));
    head = put_tables(out, "head");
    put32(&sum, MAGIC - checksum(buf_view(out)));
    memcpy(out->p + head + 8, sum.p, 4);
    buf_reset(&sum);
}

/* ---- what belongs to it ----------------------------------------------------------------------- */

void text_font_map(struct buf *out, const struct text_font *f)
{
    put16(out, 0);
    for (int i = 1; i <= f->n; i++)
        put16(out, text_font_advance(f->code[i]) == TEXT_FONT_FULL ? 2 : 1);
}

static void put_utf16(struct buf *out, uint32_t code)
{
    if (code >= 0x10000)
        buf_fmt(out, "%04X%04X", (unsigned)(0xD800 + ((code - 0x10000) >> 10)),
                (unsigned)(0xDC00 + (code & 0x3FF)));
    else
        buf_fmt(out, "%04X", (unsigned)code);
}

void text_font_unicode(struct buf *out, const struct text_font *f)
{
    buf_text(out, "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
                  "/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n"
                  "/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"
                  "1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n");
    for (int i = 1; i <= f->n; i++) {
        if (i % BFCHAR_MAX == 1)
            buf_fmt(out, "%d beginbfchar\n", MIN(BFCHAR_MAX, f->n - i + 1));
        buf_fmt(out, "<%04X> <", (unsigned)i);
        put_utf16(out, f->code[i]);
        buf_text(out, ">\n");
        if (i % BFCHAR_MAX == 0 || i == f->n)
            buf_text(out, "endbfchar\n");
    }
    buf_text(out, "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n");
}

void text_font_widths(struct buf *out, const struct text_font *f)
{
    buf_char(out, '[');
    for (int i = 1, last; i <= f->n; i = last + 1) {
        last = i;
        if (text_font_advance(f->code[i]) != TEXT_FONT_FULL)
            continue;
        while (last < f->n && text_font_advance(f->code[last + 1]) == TEXT_FONT_FULL)
            last++;
        buf_fmt(out, "%s%d %d %d", out->n > 1 ? " " : "", i, last, TEXT_FONT_FULL);
    }
    buf_char(out, ']');
}
