/* Tables as RFC 4180: quoted where it must be, CRLF at line ends. A file for each table,
 * p0007-t2.csv; without side files all of them one after the other, an empty line between.
 *
 * A cell that spans has its text in its upper left corner and blanks elsewhere, or everywhere
 * with csv_fill. Tables inside a cell are text, "a; b". */
#include "base/err.h"
#include "base/mem.h"
#include "result/plain.h"
#include "result/span.h"
#include "result/writer.h"

#include <stdio.h>
#include <stdlib.h>

static void put_field(struct buf *out, str text, bool is_safe)
{
    struct buf s = {0};

    plain_put_cell(&s, text);
    if (is_safe && s.n && strchr("=+-@\t", s.p[0]))
        buf_char(out, '\'');
    if (!s.n || !strpbrk(s.p, ",\"\n\r")) {
        buf_str(out, buf_view(&s));
        buf_reset(&s);
        return;
    }
    buf_char(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            buf_char(out, '"');
        buf_char(out, s.p[i]);
    }
    buf_char(out, '"');
    buf_reset(&s);
}

/* Which cell has each place of the grid; -1: none. Owned by the caller. */
static int *grid_of(const struct table *t, bool fill)
{
    size_t n = (size_t)t->n_row * (size_t)t->n_col;
    int *grid = mem_alloc(n * sizeof *grid);

    for (size_t i = 0; i < n; i++)
        grid[i] = -1;
    for (int i = 0; i < t->n_cell; i++) {
        const struct table_cell *c = &t->cell[i];
        int rows = fill ? c->rowspan : 1, cols = fill ? c->colspan : 1;

        for (int r = c->row; r < c->row + rows && r < t->n_row; r++)
            for (int k = c->col; k < c->col + cols && k < t->n_col; k++)
                grid[(size_t)r * (size_t)t->n_col + (size_t)k] = i;
    }
    return grid;
}

static void put_table(struct buf *out, const struct table *t,
                      const struct recto_write_options *opts)
{
    int *grid = grid_of(t, opts->csv_fill);

    for (int r = 0; r < t->n_row; r++) {
        for (int c = 0; c < t->n_col; c++) {
            int i = grid[(size_t)r * (size_t)t->n_col + (size_t)c];

            if (c)
                buf_char(out, ',');
            if (i >= 0)
                put_field(out, table_cell_text(t, &t->cell[i]), opts->csv_safe);
        }
        buf_text(out, "\r\n");
    }
    free(grid);
}

static int write_table(struct recto_writer *w, const struct recto_page *p, const struct table *t,
                       int *n_table)
{
    struct buf csv = {0};
    char name[32];
    int rc = 0;

    put_table(&csv, t, &w->opts);
    snprintf(name, sizeof name, "p%04d-t%d.csv", p->number, ++*n_table);
    if (w->opts.stem) {
        rc = writer_side(w, name, buf_view(&csv));
    } else {
        if (w->has_output)
            buf_text(&w->out, "\r\n");
        buf_str(&w->out, buf_view(&csv));
        w->has_output = true;
    }
    buf_reset(&csv);
    return rc;
}

static int csv_page(struct recto_writer *w, const struct recto_page *p)
{
    int n_table = 0, rc = 0;

    for (int i = 0; i < p->n_block; i++) {
        struct spans spans = spans_of((str){p->block[i].text, p->block[i].n_text});
        struct span s;

        if (p->block[i].kind == RECTO_BLOCK_CODE)
            continue;
        while (span_next(&spans, &s)) {
            if (s.kind == SPAN_TABLE && s.table->n_row && rc == 0)
                rc = write_table(w, p, s.table, &n_table);
            table_free(s.table);
        }
    }
    return rc;
}

const struct writer writer_csv = {
    .format = {.name = "csv", .is_text = true, .has_side_files = true},
    .page = csv_page,
};
