#include "result/lines.h"

#include "base/ink.h"
#include "base/mem.h"
#include "result/bands.h"
#include "result/markdown.h"
#include "result/model.h"
#include "result/plain.h"
#include "result/span.h"
#include "result/unicode.h"
#include "result/units.h"
#include "result/wrap.h"

#include <math.h>
#include <stdlib.h>

#define LINE_HEIGHT    1.2
#define VERTICAL_RATIO 2
#define VERTICAL_CJK   0.6

/* ---- ink of the block ------------------------------------------------------------------------ */

/* Turned so that columns from right to left are rows from top to bottom. Owned by the caller. */
static unsigned char *turned(const unsigned char *ink, int w, int h)
{
    unsigned char *out = mem_alloc((size_t)w * (size_t)h);

    for (int x = 0; x < w; x++)
        for (int y = 0; y < h; y++)
            out[(size_t)(w - 1 - x) * (size_t)h + (size_t)y] =
                ink[(size_t)y * (size_t)w + (size_t)x];
    return out;
}

/* Is the block written from top to bottom? Then b are its columns. */
static bool find_vertical(struct bands *b, const struct units *u, const unsigned char *ink, int w,
                          int h)
{
    unsigned char *t;

    if (h <= VERTICAL_RATIO * w || u->n_cjk < VERTICAL_CJK * u->n_code)
        return false;
    t = turned(ink, w, h);
    bands_find(b, t, h, w);
    free(t);
    if (b->n)
        return true;
    bands_reset(b);
    return false;
}

/* The bands of the block; none without pixels. */
static void find_bands(struct bands *b, bool *is_vertical, const struct units *u,
                       struct recto_box px, const struct recto_image *im)
{
    int w = px.x2 - px.x1, h = px.y2 - px.y1;
    unsigned char *ink;
    size_t n, stride;
    int t;

    *b = (struct bands){0};
    if (!im || w < 1 || h < 1)
        return;
    n = (size_t)w * (size_t)h;
    stride = (size_t)im->width * 3;
    ink = mem_big(n);
    if (!ink)
        return; /* equal lines, then */
    t = ink_differences(ink, im->rgb + (size_t)px.y1 * stride + (size_t)px.x1 * 3, stride, w, h);
    for (size_t i = 0; i < n; i++)
        ink[i] = ink[i] > t;
    *is_vertical = find_vertical(b, u, ink, w, h);
    if (!*is_vertical)
        bands_find(b, ink, w, h);
    free(ink);
}

static void make_equal(struct bands *b, int n, int w, int h)
{
    bands_reset(b);
    b->band = mem_alloc((size_t)n * sizeof *b->band);
    for (b->n = 0; b->n < n; b->n++) {
        int y1 = (int)((int64_t)h * b->n / n), y2 = (int)((int64_t)h * (b->n + 1) / n);

        b->band[b->n] = (struct band){y1, y2, 0, w};
    }
}

/* How many lines fit, when letters are as wide as text of this length in this area would be. */
static int count_fitting(const struct units *u, int w, int h)
{
    double s = sqrt((double)w * h / (LINE_HEIGHT * MAX(u->sum, SPACE_WIDTH)));
    double k = s > 0 ? round(h / (LINE_HEIGHT * s)) : 1;

    return k < 1 ? 1 : k > u->n ? u->n : (int)k;
}

/* ---- text into bands ------------------------------------------------------------------------- */

/* Where along the block a band lies: the frame of the bands back to that of the page. */
static struct recto_box on_page(const struct lines *k, struct recto_box px, double x1, double x2,
                                struct band b)
{
    int from = (int)lround(x1), to = (int)lround(x2);

    if (k->is_vertical)
        return (struct recto_box){px.x2 - b.y2, px.y1 + from, px.x2 - b.y1, px.y1 + to};
    return (struct recto_box){px.x1 + from, px.y1 + b.y1, px.x1 + to, px.y1 + b.y2};
}

static struct line *add_line(struct lines *k, struct recto_box px)
{
    k->line = mem_grow(k->line, (size_t)k->n_line + 1, sizeof *k->line);
    k->line[k->n_line] = (struct line){.text = k->text.n, .word = k->n_word, .px = px};
    return &k->line[k->n_line++];
}

static void add_word(struct lines *k, size_t text, struct recto_box px)
{
    if ((k->n_word & (k->n_word - 1)) == 0)
        k->word = mem_grow(k->word, k->n_word ? 2 * (size_t)k->n_word : 1, sizeof *k->word);
    k->word[k->n_word++] = (struct line_word){text, k->text.n - text, px};
}

/* Units from..to as words between x1 and x2 of band b. */
static void put_words(struct lines *k, struct recto_box px, struct band b, double x1, double x2,
                      const struct units *u, int from, int to)
{
    double all = -u->unit[from].after_space * SPACE_WIDTH, seen = 0, scale;

    for (int i = from; i < to; i++)
        all += u->width[i];
    scale = (x2 - x1) / MAX(all, SPACE_WIDTH);
    for (int i = from; i < to;) {
        bool has_space = u->unit[i].after_space && i > from;
        double start = seen + (has_space ? SPACE_WIDTH : 0);
        size_t text;

        if (k->text.n > k->line[k->n_line - 1].text)
            buf_char(&k->text, ' ');
        text = k->text.n;
        seen = start;
        do {
            buf_str(&k->text, u->unit[i].text);
            seen += u->unit[i++].width;
        } while (i < to && !u->unit[i].after_space);
        add_word(k, text, on_page(k, px, x1 + start * scale, x1 + seen * scale, b));
    }
}

static void end_line(struct lines *k)
{
    struct line *l = &k->line[k->n_line - 1];

    l->n_text = k->text.n - l->text;
    l->n_word = k->n_word - l->word;
    buf_char(&k->text, '\n');
}

static void pair_lines(const struct units *u, int *first)
{
    for (int i = u->n; i-- > 0;)
        first[u->unit[i].hard_line] = i;
    first[u->n_hard] = u->n;
}

static void put_lines(struct lines *k, const struct units *u, const struct bands *b,
                      struct recto_box px)
{
    int *first = mem_alloc(((size_t)b->n + 1) * sizeof *first);
    double *ink = mem_alloc((size_t)b->n * sizeof *ink);

    for (int i = 0; i < b->n; i++)
        ink[i] = b->band[i].x2 - b->band[i].x1;
    if (u->n_hard == b->n)
        pair_lines(u, first);
    else
        wrap_text(u->width, u->n, ink, b->n, first);
    for (int i = 0; i < b->n; i++) {
        struct band at = b->band[i];

        add_line(k, on_page(k, px, at.x1, at.x2, at));
        put_words(k, px, at, at.x1, at.x2, u, first[i], first[i + 1]);
        end_line(k);
    }
    free(first);
    free(ink);
}

void lines_of_text(struct lines *k, str text, struct recto_box px, const struct recto_image *im)
{
    int w = px.x2 - px.x1, h = px.y2 - px.y1;
    struct bands b;
    struct units u;

    *k = (struct lines){0};
    units_of(&u, text);
    if (u.n == 0) {
        units_reset(&u);
        return;
    }
    find_bands(&b, &k->is_vertical, &u, px, im);
    if (b.n == 0 || b.n > u.n || b.is_multi_column) {
        k->is_vertical = false;
        make_equal(&b, count_fitting(&u, w, h), w, h);
    }
    put_lines(k, &u, &b, px);
    bands_reset(&b);
    units_reset(&u);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* x [n_col + 1]: where the columns begin, by the widest text of cells that span one. */
static double *column_edges(const struct table *t, int w)
{
    double *x = mem_zero((size_t)t->n_col + 1, sizeof *x), all = 0, seen = 0;

    for (int i = 0; i < t->n_cell; i++) {
        const struct table_cell *c = &t->cell[i];
        struct buf text = {0};

        plain_put_cell(&text, table_cell_text(t, c));
        if (c->colspan == 1)
            x[c->col] = MAX(x[c->col], text_width(buf_view(&text)));
        buf_reset(&text);
    }
    for (int i = 0; i < t->n_col; i++)
        all += x[i] = MAX(x[i], 1);
    for (int i = 0; i <= t->n_col; i++) {
        double width = x[i];

        x[i] = seen / all * w;
        seen += width;
    }
    return x;
}

static void put_row(struct lines *k, const struct table *t, int row, struct band b,
                    const double *edge, struct recto_box px)
{
    const struct table_row *r = &t->row[row];

    add_line(k, on_page(k, px, b.x1, b.x2, b));
    for (int i = 0; i < r->n_cell; i++) {
        const struct table_cell *c = &t->cell[r->cell + i];
        struct buf text = {0};
        struct units u;

        plain_put_cell(&text, table_cell_text(t, c));
        units_of(&u, buf_view(&text));
        if (u.n)
            put_words(k, px, b, edge[c->col], edge[c->col + c->colspan], &u, 0, u.n);
        units_reset(&u);
        buf_reset(&text);
    }
    end_line(k);
}

static void lines_of_table(struct lines *k, const struct table *t, struct recto_box px,
                           const struct recto_image *im)
{
    int w = px.x2 - px.x1, h = px.y2 - px.y1;
    struct units none = {.n_code = 1};
    struct bands b;
    double *edge;

    *k = (struct lines){0};
    if (!t->n_row || !t->n_col)
        return;
    find_bands(&b, &k->is_vertical, &none, px, im);
    if (b.n != t->n_row)
        make_equal(&b, t->n_row, w, h);
    edge = column_edges(t, w);
    for (int r = 0; r < t->n_row; r++)
        put_row(k, t, r, b.band[r], edge, px);
    free(edge);
    bands_reset(&b);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct recto_box block_area(const struct recto_page *p, const struct recto_block *b)
{
    struct recto_box all = {0, 0, p->width, p->height};

    for (int i = 0; i < b->n_box; i++) {
        struct recto_box px = box_px(b->box[i], p->width, p->height);

        all = i == 0 ? px
                     : (struct recto_box){MIN(all.x1, px.x1), MIN(all.y1, px.y1),
                                          MAX(all.x2, px.x2), MAX(all.y2, px.y2)};
    }
    return all;
}

/* The body's table, if it is nothing else; the caller's. */
static struct table *only_table(const struct recto_block *b)
{
    struct spans spans = spans_of((str){b->text, b->n_text});
    struct span s;
    struct table *t;

    if (b->kind == RECTO_BLOCK_CODE || !b->n_text || !span_next(&spans, &s))
        return NULL;
    t = s.kind == SPAN_TABLE && s.all.n == b->n_text ? s.table : NULL;
    if (!t)
        table_free(s.table);
    spans_close(&spans);
    return t;
}

void lines_of_block(struct lines *k, const struct recto_page *p, const struct recto_block *b,
                    const struct recto_image *im)
{
    struct recto_box px = block_area(p, b);
    struct table *t = only_table(b);
    struct buf text = {0};

    if (t) {
        lines_of_table(k, t, px, im);
        table_free(t);
        return;
    }
    if (b->kind == RECTO_BLOCK_CODE)
        buf_str(&text, markdown_unfence((str){b->text, b->n_text}));
    else
        plain_put(&text, (str){b->text, b->n_text});
    lines_of_text(k, buf_view(&text), px, im);
    buf_reset(&text);
}

void lines_reset(struct lines *k)
{
    free(k->line);
    free(k->word);
    buf_reset(&k->text);
    *k = (struct lines){0};
}
