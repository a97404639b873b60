/* HTML tables as models write them, read into a grid and written again clean.
 *
 * A table goes from "<table" to its matching "</table>", or to the end of the text.  Missing
 * </td>, </tr>, </table> are closed; text directly in a row or table becomes a cell; stray
 * closing tags vanish.  Cells are placed by the table algorithm of HTML (a cell takes the first
 * free column of its row; rowspans reach down and are cut at the last row), except that a cell
 * never overlaps another: it goes where its whole width is free.  More than TABLE_ROWS_MAX rows
 * or TABLE_COLS_MAX columns are dropped and `capped` is set; tables nested deeper than
 * TABLE_DEPTH_MAX are text. Source of the algorithm: HTML Living Standard, "Forming a table". */
#ifndef RECTO_RESULT_TABLE_H
#define RECTO_RESULT_TABLE_H

#include "base/str.h"

#define TABLE_ROWS_MAX  4000
#define TABLE_COLS_MAX  400
#define TABLE_DEPTH_MAX 3

enum table_section { TABLE_NO_SECTION, TABLE_HEAD, TABLE_BODY };

struct table_cell {
    int row, col, rowspan, colspan; /* place in the grid */
    bool is_header;                 /* <th> */
    size_t html, n_html;            /* clean content, in table->html */
    size_t text, n_text;            /* its text, entities decoded, lines at <br>; in table->text */
    struct table
        *nested; /* tables inside, linked by `next`; their text is also in `text`, as "a; b" */
};

struct table_row {
    int cell, n_cell; /* first, count: cells come in rows, by column */
    enum table_section section;
};

struct table {
    int n_row, n_col, n_cell;
    struct table_row *row;
    struct table_cell *cell;
    struct buf html, text;                 /* contents of all cells */
    struct buf caption_html, caption_text; /* empty without a <caption> */
    bool capped;
    struct table *next;
    int cap_row, cap_cell;
};

/* Does s begin with a table's opening tag? */
bool table_at(str s);
/* Read the table that s begins with (table_at holds) into a new table of the caller; returns its
 * length in bytes. Time and memory are linear in that length, with at most a row of the grid for
 * each cell. */
size_t table_read(str s, struct table **out);
void table_free(struct table *t);

static inline str table_cell_text(const struct table *t, const struct table_cell *c)
{
    return (str){buf_view(&t->text).p + c->text, c->n_text};
}

/* Append "<table><tr><td>...</table>" with the elements and attributes of html.h only; no blank
 * line in it, so that it stays one HTML block in Markdown. */
void table_put_html(struct buf *out, const struct table *t);
/* Append the caption, if any, and the rows as lines of tab-separated text; columns that a span
 * covers are empty.  put writes the text of one cell; white space in what it wrote becomes
 * spaces. No newline at the end. */
void table_put_rows(struct buf *out, const struct table *t, void (*put)(struct buf *out, str cell));

#endif
