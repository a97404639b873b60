/* Tables: cells made at random, columns as wide as their texts, rules or none. */
#include "pen.h"

#include <stdlib.h>

#define CELLS_MAX 512
enum rules { RULES_ALL, RULES_ROWS, RULES_HEAD, N_RULES };

struct cell {
    int row, col, rowspan, colspan;
    char *text;
};

struct grid {
    int n_row, n_col, n_cell;
    struct cell cell[CELLS_MAX];
    double width[16]; /* of columns, points */
    enum rules rules;
    double row_height, pad;
};

/* ---- content --------------------------------------------------------------------------------- */

static char *cell_value(struct rng *r, int column_kind, const char *const *nouns, int n_noun)
{
    struct buf b = {0};

    switch (column_kind) {
    case 0:
        buf_text(&b, nouns[rng_below(r, n_noun)]);
        break;
    case 1:
        buf_fmt(&b, "%d", rng_in(r, 1, 9999));
        break;
    case 2:
        buf_fmt(&b, "%d.%02d", rng_in(r, 0, 999), rng_below(r, 100));
        break;
    case 3:
        buf_fmt(&b, "%d-%02d-%02d", rng_in(r, 1950, 2024), rng_in(r, 1, 12), rng_in(r, 1, 28));
        break;
    default:
        buf_fmt(&b, "%c%c-%d", 'A' + rng_below(r, 26), 'A' + rng_below(r, 26), rng_in(r, 100, 999));
    }
    return b.p;
}

static void add_cell(struct grid *g, int row, int col, int rowspan, int colspan, char *text)
{
    g->cell[g->n_cell++] = (struct cell){row, col, rowspan, colspan, text};
}

/* Rows from `row` to the end; now and then the first column of two rows is one cell. */
static void fill_rows(struct grid *g, struct rng *r, int row, const int *kind, bool has_spans,
                      const char *const *nouns, int n_noun)
{
    int covered = -1; /* row whose first column belongs to the cell above */

    for (; row < g->n_row; row++)
        for (int c = 0; c < g->n_col; c++) {
            bool is_tall = has_spans && c == 0 && row > 0 && row + 1 < g->n_row && row != covered &&
                           rng_below(r, 5) == 0;

            if (c == 0 && row == covered)
                continue;
            if (is_tall)
                covered = row + 1;
            add_cell(g, row, c, is_tall ? 2 : 1, 1, cell_value(r, kind[c], nouns, n_noun));
        }
}

static void fill_random(struct grid *g, struct rng *r, const char *const *nouns, int n_noun,
                        bool is_plain)
{
    bool has_spans = !is_plain && rng_below(r, 2);
    int kind[16], row = 0;

    for (int c = 0; c < g->n_col; c++)
        kind[c] = c == 0 ? 0 : rng_in(r, is_plain, 4);
    if (has_spans && g->n_col >= 3) { /* a heading over two columns */
        add_cell(g, 0, 0, 1, 1, cell_value(r, 0, nouns, n_noun));
        add_cell(g, 0, 1, 1, 2, cell_value(r, 0, nouns, n_noun));
        for (int c = 3; c < g->n_col; c++)
            add_cell(g, 0, c, 1, 1, cell_value(r, 0, nouns, n_noun));
        row = 1;
    }
    fill_rows(g, r, row, kind, has_spans, nouns, n_noun);
    g->rules = (enum rules)rng_below(r, N_RULES);
    if (has_spans && g->rules == RULES_ROWS) /* they would cross tall cells */
        g->rules = RULES_ALL;
}

/* ---- truth ----------------------------------------------------------------------------------- */

static void grid_html(const struct grid *g, struct buf *out)
{
    int row = -1;

    buf_text(out, "<table>");
    for (int i = 0; i < g->n_cell; i++) {
        const struct cell *c = &g->cell[i];

        while (row < c->row)
            buf_text(out, row++ < 0 ? "<tr>" : "</tr><tr>");
        buf_text(out, "<td");
        if (c->rowspan > 1)
            buf_fmt(out, " rowspan=\"%d\"", c->rowspan);
        if (c->colspan > 1)
            buf_fmt(out, " colspan=\"%d\"", c->colspan);
        buf_fmt(out, ">%s</td>", c->text); /* no text here has & or < */
    }
    buf_text(out, "</tr></table>");
}

/* Cells by tabs, rows by newlines; what a span covers is empty. */
static void grid_plain(const struct grid *g, struct buf *out)
{
    const char *at[CELLS_MAX] = {NULL};

    for (int i = 0; i < g->n_cell; i++)
        at[g->cell[i].row * g->n_col + g->cell[i].col] = g->cell[i].text;
    for (int i = 0; i < g->n_row * g->n_col; i++) {
        if (i > 0)
            buf_char(out, i % g->n_col ? '\t' : '\n');
        buf_text(out, at[i] ? at[i] : "");
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

static double text_width(const struct pen *p, const struct face *f, const char *text)
{
    PangoLayout *l = pen_layout(p, f, text, 0);
    int w;

    pango_layout_get_size(l, &w, NULL);
    g_object_unref(l);
    return (double)w / PANGO_SCALE;
}

static double measure(const struct pen *p, const struct face *f, struct grid *g)
{
    double sum = 0;

    g->pad = f->size * 0.5;
    g->row_height = f->size * 1.25 + g->pad;
    memset(g->width, 0, sizeof g->width);
    for (int i = 0; i < g->n_cell; i++) {
        const struct cell *c = &g->cell[i];
        double each = (text_width(p, f, c->text) + 2 * g->pad) / c->colspan;

        for (int k = c->col; k < c->col + c->colspan; k++)
            g->width[k] = MAX(g->width[k], each);
    }
    for (int c = 0; c < g->n_col; c++)
        sum += g->width[c];
    return sum;
}

static void rule(struct pen *p, double x1, double y1, double x2, double y2)
{
    cairo_move_to(p->cr, x1, y1);
    cairo_line_to(p->cr, x2, y2);
    cairo_stroke(p->cr);
}

static void draw_cell(struct pen *p, const struct face *f, const struct grid *g,
                      const struct cell *c, double top, struct sheet_block *b)
{
    double x = p->x, w = 0, y = top + c->row * g->row_height, h = c->rowspan * g->row_height;

    for (int k = 0; k < c->col; k++)
        x += g->width[k];
    for (int k = c->col; k < c->col + c->colspan; k++)
        w += g->width[k];
    if (g->rules == RULES_ALL) {
        cairo_rectangle(p->cr, x, y, w, h);
        cairo_stroke(p->cr);
    }
    PangoLayout *l = pen_layout(p, f, c->text, 0);
    pen_draw(p, l, x + g->pad, y + (h - pen_height(l)) / 2, b);
    g_object_unref(l);
}

static void draw_grid(struct pen *p, const struct face *f, const struct grid *g, double width)
{
    struct buf html = {0}, plain = {0};
    double top = p->y;

    grid_html(g, &html);
    grid_plain(g, &plain);
    struct sheet_block *b = sheet_add(p->sheet, RECTO_BLOCK_TABLE, "table", html.p, plain.p);
    cairo_set_line_width(p->cr, 0.7);
    for (int i = 0; i < g->n_cell; i++)
        draw_cell(p, f, g, &g->cell[i], top, b);
    p->y += g->n_row * g->row_height;
    for (int row = 0; g->rules != RULES_ALL && row <= g->n_row; row++)
        if (g->rules == RULES_ROWS || row <= 1 || row == g->n_row)
            rule(p, p->x, top + row * g->row_height, p->x + width, top + row * g->row_height);
    area_join(&b->ink, (struct area){p->x, top, p->x + width, p->y});
    buf_reset(&html);
    buf_reset(&plain);
}

/* Shrink the print until the columns fit; draw; free the texts. */
static bool place(struct pen *p, struct face f, struct grid *g)
{
    double width = measure(p, &f, g);

    for (int i = 0; i < 4 && width > p->width; i++) {
        f.size *= p->width / width * 0.99;
        width = measure(p, &f, g);
    }
    bool fits = width <= p->width && p->y + g->n_row * g->row_height <= p->bottom;
    if (fits)
        draw_grid(p, &f, g, width);
    for (int i = 0; i < g->n_cell; i++)
        free(g->cell[i].text);
    return fits;
}

bool pen_table(struct pen *p, const char *family, double size, int rows, int cols,
               const char *const *nouns, int n_noun, bool is_plain)
{
    struct grid g = {.n_row = rng_in(p->rng, 2, rows), .n_col = rng_in(p->rng, 2, MIN(cols, 16))};

    fill_random(&g, p->rng, nouns, n_noun, is_plain);
    if (is_plain)
        g.rules = RULES_ALL;
    return place(p, (struct face){.family = family, .size = size}, &g);
}

bool pen_equal_cells(struct pen *p, const char *family, double size, int rows, int cols,
                     const char *text)
{
    struct grid g = {.n_row = rows, .n_col = cols};

    for (int i = 0; i < rows * cols; i++)
        add_cell(&g, i / cols, i % cols, 1, 1, mem_strdup(text));
    return place(p, (struct face){.family = family, .size = size}, &g);
}
