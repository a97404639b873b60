/* Sources: ISO 32000-1, 9.3 (text state), 9.4 (text objects); the bounds of Tz were measured with poppler, MuPDF and
 * Ghostscript. */
#include "result/text_layer.h"

#include "base/mem.h"
#include "result/lines.h"
#include "result/span.h"
#include "result/turned.h"

#include <math.h>
#include <stdio.h>

#define SIZE       0.8 /* of the line's height */
#define BASELINE   0.2 /* of it, above the lower edge */
#define TZ_LEAST   50.0
#define TZ_MOST    150.0
#define LINE_LEAST 0.5 /* points: a line of no height or length is as small */
#define SPACE      0x20

/* At most two decimals, none that are 0. */
static void put_number(struct buf *out, double v)
{
    char s[32];
    size_t n;

    snprintf(s, sizeof s, "%.2f", fabs(v) < 0.005 ? 0.0 : v);
    n = strlen(s);
    while (s[n - 1] == '0')
        n--;
    buf_add(out, s, s[n - 1] == '.' ? n - 1 : n);
    buf_char(out, ' ');
}

/* Characters as hexadecimal CIDs, a space behind the last; their advance in ems. */
static double put_characters(struct text_layer *t, struct buf *out, str text)
{
    int advance = 0;
    uint32_t code;

    for (size_t at = 0; at < text.n;) {
        int n = utf8_next((str){text.p + at, text.n - at}, &code);

        at += n > 0 ? (size_t)n : 1;
        if (n <= 0 || code < SPACE || code == 0x7F)
            continue;
        buf_fmt(out, "%04X", (unsigned)text_font_cid(&t->font, code));
        advance += text_font_advance(code);
    }
    if (!advance)
        return 0;
    buf_fmt(out, "%04X", (unsigned)text_font_cid(&t->font, SPACE));
    return (advance + TEXT_FONT_HALF) / (double)TEXT_FONT_FULL;
}

struct fit {
    double size, tz;
};

static struct fit fit_to(double length, double height, double advance)
{
    struct fit k = {.size = SIZE * height};

    k.tz = 100 * length / (advance * k.size);
    if (k.tz < TZ_LEAST) {
        k.size *= k.tz / TZ_LEAST;
        k.tz = TZ_LEAST;
    }
    k.tz = fmin(k.tz, TZ_MOST);
    return k;
}

/* Text runs to the right on a page that is not turned; downwards in an upright line. */
static const int directions[4][4] = {{1, 0, 0, 1}, {0, 1, -1, 0}, {-1, 0, 0, -1}, {0, -1, 1, 0}};

void text_layer_line(struct text_layer *t, struct buf *out, const struct place *f, str text,
                     struct recto_box px, bool is_vertical)
{
    const int *d = directions[((is_vertical ? 270 : 0) + f->turn) / 90 % 4];
    double w = fmax((px.x2 - px.x1) * f->w / f->width, LINE_LEAST);
    double h = fmax((px.y2 - px.y1) * f->h / f->height, LINE_LEAST);
    struct buf hex = {0};
    double advance = put_characters(t, &hex, text);
    struct point at = is_vertical ? place_at(f, px.x1 + BASELINE * (px.x2 - px.x1), px.y1)
                                  : place_at(f, px.x1, px.y2 - BASELINE * (px.y2 - px.y1));

    if (advance > 0) {
        struct fit k = is_vertical ? fit_to(h, w, advance) : fit_to(w, h, advance);

        buf_text(out, "BT 3 Tr /Rct ");
        put_number(out, k.size);
        buf_text(out, "Tf ");
        put_number(out, k.tz);
        buf_fmt(out, "Tz %d %d %d %d ", d[0], d[1], d[2], d[3]);
        put_number(out, at.x);
        put_number(out, at.y);
        buf_fmt(out, "Tm <%s> Tj ET\n", hex.p);
    }
    buf_reset(&hex);
}

static void put_lines(struct text_layer *t, struct buf *out, const struct place *f,
                      const struct lines *k)
{
    for (int i = 0; i < k->n_line; i++)
        text_layer_line(t, out, f, lines_text(k, k->line[i].text, k->line[i].n_text), k->line[i].px,
                        k->is_vertical);
}

/* The body without its formulas. */
static void add_but_math(struct buf *out, str text)
{
    struct spans s = {.rest = text};
    struct span span;

    while (span_next(&s, &span)) {
        if (span.kind != SPAN_MATH && span.kind != SPAN_DISPLAY)
            buf_str(out, span.all);
        table_free(span.table);
    }
}

static void put_block(struct text_layer *t, struct buf *out, const struct place *f,
                      const struct recto_page *p, const struct recto_block *b,
                      const struct recto_image *im)
{
    struct recto_block block = *b;
    struct buf rest = {0};
    struct lines k = {0};

    if (t->skips_math) {
        add_but_math(&rest, (str){b->text, b->n_text});
        buf_add(&rest, "", 0);
        block.text = rest.p;
        block.n_text = rest.n;
    }
    lines_of_block(&k, p, &block, im);
    put_lines(t, out, f, &k);
    lines_reset(&k);
    buf_reset(&rest);
}

void text_layer_page(struct text_layer *t, struct buf *out, const struct place *f,
                     const struct recto_page *p, const struct recto_image *im)
{
    struct turned v;
    struct place upright = place_turned(f, p->rotate);

    turned_open(&v, p, im);
    for (int i = 0; i < v.page.n_block; i++)
        if (v.page.block[i].kind != RECTO_BLOCK_FIGURE && v.page.block[i].n_text)
            put_block(t, out, &upright, &v.page, &v.page.block[i], v.image);
    turned_close(&v);
}
