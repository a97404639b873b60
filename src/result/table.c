#include "result/table.h"

#include "base/mem.h"
#include "result/html.h"

#include <stdlib.h>

enum place { IN_TABLE, IN_ROW, IN_CELL, IN_CAPTION };

struct builder {
    struct table *t;
    int depth;
    enum place in;
    struct html_stack open; /* inline elements of the current cell or caption */
    enum table_section section;
    bool row_dropped, cell_dropped;
    int n_deep;                /* tables open beyond the depth that is read */
    int taken[TABLE_COLS_MAX]; /* for each column the first row below the cells placed so far */
    int col;                   /* where the next cell of this row is tried */
};

static size_t build(str s, int depth, struct table *t);

/* ---- rows, cells and their places ------------------------------------------------------------ */

/* The current cell; only while one is open. */
static struct table_cell *last_cell(struct builder *b)
{
    return &b->t->cell[b->t->n_cell - 1];
}

/* Leave one newline at most, and no line of spaces: a blank line would end the HTML block in
 * Markdown. */
static void put_newline(struct buf *out, size_t from)
{
    while (out->n > from && (out->p[out->n - 1] == ' ' || out->p[out->n - 1] == '\t'))
        out->n--;
    if (!out->n || out->p[out->n - 1] != '\n')
        buf_char(out, '\n');
}

static void trim_end(struct buf *b, size_t from)
{
    while (b->n > from && (b->p[b->n - 1] == ' ' || b->p[b->n - 1] == '\n'))
        b->n--;
}

/* Columns free in row r from b->col on for a cell of this width; a cell that does not fit is cut
 * at the edge of the grid, and one that begins past the edge gets no place (-1). */
static int free_column(struct builder *b, int r, int *width)
{
    int from = b->col, c;

    for (c = from; c < TABLE_COLS_MAX && c - from < *width; c++)
        if (b->taken[c] > r)
            from = c + 1;
    if (from >= TABLE_COLS_MAX)
        return -1;
    *width = MIN(*width, TABLE_COLS_MAX - from);
    return from;
}

static void open_row(struct builder *b)
{
    struct table *t = b->t;

    b->in = IN_ROW;
    b->col = 0;
    b->row_dropped = t->n_row == TABLE_ROWS_MAX;
    if (b->row_dropped) {
        t->capped = true;
        return;
    }
    if (t->n_row == t->cap_row) {
        t->cap_row = t->cap_row ? t->cap_row * 2 : 8;
        t->row = mem_grow(t->row, (size_t)t->cap_row, sizeof *t->row);
    }
    t->row[t->n_row++] = (struct table_row){t->n_cell, 0, b->section};
}

static void open_cell(struct builder *b, bool is_header, int rowspan, int colspan)
{
    struct table *t = b->t;
    int row = t->n_row - 1, col = b->row_dropped ? -1 : free_column(b, row, &colspan);

    b->in = IN_CELL;
    b->cell_dropped = col < 0;
    t->capped |= b->cell_dropped;
    if (t->n_cell == t->cap_cell) {
        t->cap_cell = t->cap_cell ? t->cap_cell * 2 : 16;
        t->cell = mem_grow(t->cell, (size_t)t->cap_cell, sizeof *t->cell);
    }
    t->cell[t->n_cell++] = (struct table_cell){.row = row,
                                               .col = col,
                                               .rowspan = rowspan,
                                               .colspan = colspan,
                                               .is_header = is_header,
                                               .html = t->html.n,
                                               .text = t->text.n};
    if (b->cell_dropped)
        return;
    for (int c = col; c < col + colspan; c++)
        b->taken[c] = row + rowspan;
    b->col = col + colspan;
    t->n_col = MAX(t->n_col, b->col);
    t->row[row].n_cell++;
}

static void close_cell(struct builder *b)
{
    struct table *t = b->t;
    struct table_cell *c = last_cell(b);

    html_put_closes(&t->html, &b->open, 0);
    trim_end(&t->text, c->text);
    c->n_html = t->html.n - c->html;
    c->n_text = t->text.n - c->text;
    b->in = IN_ROW;
    if (!b->cell_dropped)
        return;
    t->html.n = c->html;
    t->text.n = c->text;
    table_free(c->nested);
    t->n_cell--;
}

static void close_inner(struct builder *b)
{
    if (b->in == IN_CELL)
        close_cell(b);
    if (b->in == IN_CAPTION) {
        html_put_closes(&b->t->caption_html, &b->open, 0);
        trim_end(&b->t->caption_text, 0);
        b->in = IN_TABLE;
    }
}

/* Make sure that content has somewhere to go. */
static void need_cell(struct builder *b)
{
    if (b->in == IN_TABLE)
        open_row(b);
    if (b->in == IN_ROW)
        open_cell(b, false, 1, 1);
}

/* ---- content --------------------------------------------------------------------------------- */

/* Where the clean content of the current cell or caption goes, and where it began. */
static struct buf *html_of(struct builder *b, size_t *from)
{
    *from = b->in == IN_CAPTION ? 0 : last_cell(b)->html;
    return b->in == IN_CAPTION ? &b->t->caption_html : &b->t->html;
}

static struct buf *text_of(struct builder *b, size_t *from)
{
    *from = b->in == IN_CAPTION ? 0 : last_cell(b)->text;
    return b->in == IN_CAPTION ? &b->t->caption_text : &b->t->text;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void put_html_text(struct buf *out, size_t from, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\n')
            put_newline(out, from);
        else
            html_escape(out, s.p[i], (str){s.p + i + 1, s.n - i - 1});
    }
}

/* White space is one space, as a browser shows it, and none at the beginning of a line. */
static void put_plain_text(struct buf *out, size_t from, str s)
{
    for (size_t i = 0; i < s.n;) {
        size_t word = i;

        while (word < s.n && !is_space(s.p[word]))
            word++;
        html_decode(out, (str){s.p + i, word - i});
        for (i = word; i < s.n && is_space(s.p[i]);)
            i++;
        if (i > word && out->n > from && !is_space(out->p[out->n - 1]))
            buf_char(out, ' ');
    }
}

static void put_text(struct builder *b, str s)
{
    struct buf *out;
    size_t from;

    if (b->in != IN_CELL && b->in != IN_CAPTION && !str_trim(s).n)
        return;
    need_cell(b);
    out = html_of(b, &from);
    put_html_text(out, from, s);
    out = text_of(b, &from);
    put_plain_text(out, from, s);
}

static void put_inline(struct builder *b, const struct html_tag *tag, str spelled)
{
    struct buf *text;
    size_t from;

    if (tag->is_close && b->in != IN_CELL && b->in != IN_CAPTION)
        return;
    need_cell(b);
    if (!html_put_inline(html_of(b, &from), &b->open, tag)) {
        put_text(b, spelled);
        return;
    }
    text = text_of(b, &from);
    if (!html_breaks_line(tag->name))
        return;
    trim_end(text, from);
    if (text->n > from)
        buf_char(text, '\n');
}

/* All cells of a table inside a cell, as "a; b". */
static void put_nested_text(struct buf *out, size_t from, const struct table *t)
{
    if (out->n > from && !is_space(out->p[out->n - 1]))
        buf_char(out, ' ');
    for (int i = 0; i < t->n_cell; i++) {
        if (i)
            buf_text(out, "; ");
        buf_str(out, table_cell_text(t, &t->cell[i]));
    }
}

/* A table inside a cell, or where a cell would be. Returns its length. */
static size_t put_nested(struct builder *b, str s)
{
    struct table *t = mem_zero(1, sizeof *t), **at;
    struct buf *text;
    size_t n, from;

    if (b->in == IN_CAPTION)
        close_inner(b);
    need_cell(b);
    n = build(s, b->depth + 1, t);
    table_put_html(&b->t->html, t);
    text = text_of(b, &from);
    put_nested_text(text, from, t);
    for (at = &last_cell(b)->nested; *at;)
        at = &(*at)->next;
    *at = t;
    return n;
}

/* ---- tags ------------------------------------------------------------------------------------ */

static void on_open(struct builder *b, const struct html_tag *tag)
{
    close_inner(b);
    switch (tag->name) {
    case HTML_THEAD:
    case HTML_TBODY:
        b->in = IN_TABLE;
        b->section = tag->name == HTML_THEAD ? TABLE_HEAD : TABLE_BODY;
        break;
    case HTML_TR:
        open_row(b);
        break;
    case HTML_CAPTION:
        b->in = IN_CAPTION;
        if (b->t->caption_text.n) {
            buf_char(&b->t->caption_html, ' ');
            buf_char(&b->t->caption_text, ' ');
        }
        break;
    default: /* td, th */
        if (b->in == IN_TABLE)
            open_row(b);
        open_cell(b, tag->name == HTML_TH, tag->rowspan, tag->colspan);
    }
}

static void on_close(struct builder *b, const struct html_tag *tag)
{
    switch (tag->name) {
    case HTML_TD:
    case HTML_TH:
        if (b->in == IN_CELL)
            close_cell(b);
        break;
    case HTML_CAPTION:
        if (b->in == IN_CAPTION)
            close_inner(b);
        break;
    default: /* tr, thead, tbody */
        close_inner(b);
        b->in = IN_TABLE;
        if (tag->name != HTML_TR)
            b->section = TABLE_NO_SECTION;
    }
}

/* Tags of tables beyond the depth that is read are text. */
static bool is_too_deep(struct builder *b, const struct html_tag *tag)
{
    bool opens = tag->name == HTML_TABLE && !tag->is_close && b->depth == TABLE_DEPTH_MAX;
    bool deep = html_is_table_part(tag->name) && (b->n_deep || opens);

    if (deep && tag->name == HTML_TABLE)
        b->n_deep += tag->is_close ? -1 : 1;
    return deep;
}

/* Take what s begins with; returns its length. *done: it was the end of the table. */
static size_t take(struct builder *b, str s, bool *done)
{
    struct html_tag tag = html_tag_at(s);
    size_t n = tag.n;

    if (!n) {
        for (n = 1; n < s.n && s.p[n] != '<';)
            n++;
        put_text(b, (str){s.p, n});
    } else if (is_too_deep(b, &tag)) {
        put_text(b, (str){s.p, n});
    } else if (!html_is_table_part(tag.name)) {
        put_inline(b, &tag, (str){s.p, n});
    } else if (tag.name == HTML_TABLE) {
        *done = tag.is_close;
        return *done ? n : put_nested(b, s);
    } else if (tag.is_close) {
        on_close(b, &tag);
    } else {
        on_open(b, &tag);
    }
    return n;
}

/* Read a table from its opening tag on; returns its length. */
static size_t build(str s, int depth, struct table *t)
{
    struct builder b = {.t = t, .depth = depth};
    size_t i = html_tag_at(s).n;
    bool done = false;

    while (i < s.n && !done)
        i += take(&b, (str){s.p + i, s.n - i}, &done);
    close_inner(&b);
    for (int k = 0; k < t->n_cell; k++)
        t->cell[k].rowspan = MIN(t->cell[k].rowspan, t->n_row - t->cell[k].row);
    return i;
}

bool table_at(str s)
{
    struct html_tag tag = html_tag_at(s);

    return tag.n && tag.name == HTML_TABLE && !tag.is_close;
}

size_t table_read(str s, struct table **out)
{
    *out = mem_zero(1, sizeof **out);
    return build(s, 1, *out);
}

void table_free(struct table *t)
{
    while (t) {
        struct table *next = t->next;

        for (int i = 0; i < t->n_cell; i++)
            table_free(t->cell[i].nested);
        free(t->row);
        free(t->cell);
        buf_reset(&t->html);
        buf_reset(&t->text);
        buf_reset(&t->caption_html);
        buf_reset(&t->caption_text);
        free(t);
        t = next;
    }
}
