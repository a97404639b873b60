#include "result/html.h"
#include "result/table.h"

static const char *const section_tag[] = {NULL, "thead", "tbody"};

static void put_cell(struct buf *out, const struct table *t, const struct table_cell *c)
{
    const char *tag = html_name_text(c->is_header ? HTML_TH : HTML_TD);

    buf_fmt(out, "<%s", tag);
    if (c->rowspan > 1)
        buf_fmt(out, " rowspan=\"%d\"", c->rowspan);
    if (c->colspan > 1)
        buf_fmt(out, " colspan=\"%d\"", c->colspan);
    buf_char(out, '>');
    buf_str(out, (str){buf_view(&t->html).p + c->html, c->n_html});
    buf_fmt(out, "</%s>", tag);
}

/* Close one section and open the next; nothing when they are the same. */
static void change_section(struct buf *out, enum table_section *now, enum table_section next)
{
    if (*now == next)
        return;
    if (section_tag[*now])
        buf_fmt(out, "</%s>", section_tag[*now]);
    if (section_tag[next])
        buf_fmt(out, "<%s>", section_tag[next]);
    *now = next;
}

void table_put_html(struct buf *out, const struct table *t)
{
    enum table_section section = TABLE_NO_SECTION;

    buf_text(out, "<table>");
    if (t->caption_html.n) {
        buf_text(out, "<caption>");
        buf_str(out, buf_view(&t->caption_html));
        buf_text(out, "</caption>");
    }
    for (int r = 0; r < t->n_row; r++) {
        const struct table_row *row = &t->row[r];

        change_section(out, &section, row->section);
        buf_text(out, "<tr>");
        for (int i = 0; i < row->n_cell; i++)
            put_cell(out, t, &t->cell[row->cell + i]);
        buf_text(out, "</tr>");
    }
    change_section(out, &section, TABLE_NO_SECTION);
    buf_text(out, "</table>");
}

typedef void put_text_fn(struct buf *out, str cell);

/* A line of the table may hold no tab or newline but its own. */
static void put_one_line(struct buf *out, put_text_fn *put, str s)
{
    size_t from = out->n;

    put(out, s);
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '\n' || out->p[i] == '\t' || out->p[i] == '\r' || out->p[i] == '\f')
            out->p[i] = ' ';
}

static void put_row(struct buf *out, const struct table *t, const struct table_row *row,
                    put_text_fn *put)
{
    int col = 0;

    for (int i = 0; i < row->n_cell; i++) {
        const struct table_cell *c = &t->cell[row->cell + i];

        for (; col < c->col; col++)
            buf_char(out, '\t');
        put_one_line(out, put, table_cell_text(t, c));
        for (; col < c->col + c->colspan - 1; col++)
            buf_char(out, '\t');
    }
}

void table_put_rows(struct buf *out, const struct table *t, put_text_fn *put)
{
    if (t->caption_text.n) {
        put_one_line(out, put, buf_view(&t->caption_text));
        buf_char(out, '\n');
    }
    for (int r = 0; r < t->n_row; r++) {
        if (r)
            buf_char(out, '\n');
        put_row(out, t, &t->row[r], put);
    }
}
