#include "result/docx_text.h"

#include "base/mem.h"
#include "result/html.h"
#include "result/rich.h"
#include "result/xml.h"

#include <stdlib.h>

#define TEXT_W_TWIPS 9026 /* A4 with margins of an inch, in twentieths of a point */

/* Properties of a run, in the order in which the schema wants them. */
enum run_property {
    RUN_CODE = 1 << 0,
    RUN_BOLD = 1 << 1,
    RUN_ITALIC = 1 << 2,
    RUN_STRUCK = 1 << 3,
    RUN_UNDERLINED = 1 << 4,
    RUN_SUPER = 1 << 5,
    RUN_SUB = 1 << 6,
};

static const struct {
    unsigned property;
    const char *element;
} properties[] = {
    {RUN_CODE, "<w:rFonts w:ascii=\"Courier New\" w:hAnsi=\"Courier New\"/>"},
    {RUN_BOLD, "<w:b/>"},
    {RUN_ITALIC, "<w:i/>"},
    {RUN_STRUCK, "<w:strike/>"},
    {RUN_UNDERLINED, "<w:u w:val=\"single\"/>"},
    {RUN_SUPER, "<w:vertAlign w:val=\"superscript\"/>"},
    {RUN_SUB, "<w:vertAlign w:val=\"subscript\"/>"},
};

/* ---- paragraphs and runs ----------------------------------------------------------------------- */

static void open_paragraph(struct docx_text *d, const char *style)
{
    buf_text(d->out, "<w:p>");
    if (style || d->breaks_page) {
        buf_text(d->out, "<w:pPr>");
        if (style)
            buf_fmt(d->out, "<w:pStyle w:val=\"%s\"/>", style);
        buf_fmt(d->out, "%s</w:pPr>", d->breaks_page ? "<w:pageBreakBefore/>" : "");
    }
    d->breaks_page = false;
}

static void close_paragraph(struct docx_text *d)
{
    buf_text(d->out, "</w:p>\n");
}

static void put_run(struct docx_text *d, str text, unsigned property)
{
    buf_text(d->out, "<w:r>");
    if (property)
        buf_text(d->out, "<w:rPr>");
    for (size_t i = 0; i < COUNT(properties); i++)
        if (property & properties[i].property)
            buf_text(d->out, properties[i].element);
    buf_fmt(d->out, "%s<w:t xml:space=\"preserve\">", property ? "</w:rPr>" : "");
    xml_put(d->out, text);
    buf_text(d->out, "</w:t></w:r>");
}

static void put_line_end(struct docx_text *d)
{
    buf_text(d->out, "<w:r><w:br/></w:r>");
}

void docx_put_plain(struct docx_text *d, str text, const char *style)
{
    open_paragraph(d, style);
    for (size_t from = 0, end; from <= text.n; from = end + 1) {
        end = str_find(text, STR("\n"), from);
        if (from)
            put_line_end(d);
        if (end > from)
            put_run(d, (str){text.p + from, end - from}, 0);
    }
    close_paragraph(d);
}

void docx_put_break(struct docx_text *d)
{
    if (d->breaks_page)
        docx_put_plain(d, STR(""), NULL);
}

/* ---- from clean HTML ----------------------------------------------------------------------------- */

/* HTML that we have made (rich.h, table.h): well-formed, of few elements. */
struct walk {
    struct docx_text *d;
    const char *style;
    bool is_open;   /* a paragraph */
    bool is_one;    /* all in one paragraph of the caller's */
    bool needs_end; /* a line ends before what comes next */
    bool is_list;   /* within <ul> */
    int depth[7];   /* how many elements give each property of a run */
};

static unsigned property_now(const struct walk *k)
{
    unsigned property = 0;

    for (size_t i = 0; i < COUNT(k->depth); i++)
        property |= k->depth[i] > 0 ? 1u << i : 0;
    return property;
}

static void close_it(struct walk *k)
{
    if (k->is_open && !k->is_one)
        close_paragraph(k->d);
    k->needs_end = k->is_one && k->is_open;
    k->is_open = k->is_open && k->is_one;
}

static void open_it(struct walk *k)
{
    if (!k->is_open && !k->is_one)
        open_paragraph(k->d, k->is_list ? "ListBullet" : k->style);
    if (k->needs_end)
        put_line_end(k->d);
    k->needs_end = false;
    k->is_open = true;
}

/* Text between two tags; line ends in it are spaces, and none stands at the beginning of a line. */
static void put_text(struct walk *k, str html)
{
    struct buf text = {0};
    str s;

    html_decode(&text, html);
    for (size_t i = 0; i < text.n; i++)
        text.p[i] = text.p[i] == '\n' || text.p[i] == '\t' ? ' ' : text.p[i];
    s = buf_view(&text);
    for (; s.n && *s.p == ' ' && (!k->is_open || k->needs_end); s.p++)
        s.n--;
    if (s.n) {
        open_it(k);
        put_run(k->d, s, property_now(k));
    }
    buf_reset(&text);
}

static bool is_named(str name, const char *one)
{
    return str_eq(name, str_of(one));
}

/* Which run property an element gives; -1: none. */
static int property_of(str name)
{
    static const struct {
        const char *name;
        int bit;
    } elements[] = {{"code", 0}, {"strong", 1}, {"b", 1},   {"em", 2}, {"i", 2},
                    {"s", 3},    {"u", 4},      {"sup", 5}, {"sub", 6}};

    for (size_t i = 0; i < COUNT(elements); i++)
        if (is_named(name, elements[i].name))
            return elements[i].bit;
    return -1;
}

static void put_tag(struct walk *k, str name, bool is_close)
{
    int bit = property_of(name);

    if (bit >= 0)
        k->depth[bit] += is_close ? -1 : 1;
    else if (is_named(name, "br"))
        k->needs_end = k->is_open;
    else if (is_named(name, "p") || is_named(name, "li") || is_named(name, "ul") ||
             is_named(name, "ol"))
        close_it(k);
    if (is_named(name, "ul") || is_named(name, "ol"))
        k->is_list = !is_close;
}

/* The tag at the front of s; its length, 0: there is none. */
static size_t tag_at(str s, str *name, bool *is_close)
{
    size_t end = str_find(s, STR(">"), 0), from = 1;

    if (end == s.n)
        return 0;
    *is_close = s.n > 1 && s.p[1] == '/';
    from += *is_close;
    for (*name = (str){s.p + from, 0}; from < end && s.p[from] != ' '; from++)
        name->n++;
    return end + 1;
}

static void put_html(struct walk *k, str html)
{
    while (html.n) {
        size_t n = str_find(html, STR("<"), 0);
        bool is_close = false;
        str name = {0};

        if (n == 0) {
            n = tag_at(html, &name, &is_close);
            if (n == 0)
                n = html.n;
            else
                put_tag(k, name, is_close);
        } else {
            put_text(k, (str){html.p, n});
        }
        html = (str){html.p + n, html.n - n};
    }
    close_it(k);
}

void docx_put_blocks(struct docx_text *d, str text, const char *style)
{
    struct walk k = {.d = d, .style = style};
    struct buf html = {0};

    rich_put_blocks(&html, text, "");
    put_html(&k, buf_view(&html));
    buf_reset(&html);
}

void docx_put_inline(struct docx_text *d, str text, const char *style)
{
    struct walk k = {.d = d, .is_one = true};
    struct buf html = {0};

    open_paragraph(d, style);
    rich_put_inline(&html, text);
    put_html(&k, buf_view(&html));
    close_paragraph(d);
    buf_reset(&html);
}

/* ---- tables -------------------------------------------------------------------------------------- */

static void open_cell(struct docx_text *d, int colspan, const char *merge)
{
    buf_text(d->out, "<w:tc><w:tcPr>");
    if (colspan > 1)
        buf_fmt(d->out, "<w:gridSpan w:val=\"%d\"/>", colspan);
    buf_fmt(d->out, "%s</w:tcPr>", merge);
}

static void put_cell(struct docx_text *d, const struct table *t, const struct table_cell *c)
{
    struct walk k = {.d = d, .is_one = true};

    open_cell(d, c->colspan, c->rowspan > 1 ? "<w:vMerge w:val=\"restart\"/>" : "");
    open_paragraph(d, NULL);
    k.depth[1] = c->is_header;
    if (c->nested)
        put_run(d, table_cell_text(t, c), property_now(&k));
    else
        put_html(&k, (str){buf_view(&t->html).p + c->html, c->n_html});
    close_paragraph(d);
    buf_text(d->out, "</w:tc>");
}

/* One row; above[col] is the last cell that began at or above it in this column. Cells that reach down are repeated as
 * merged ones, holes are empty cells. */
static void put_row(struct docx_text *d, const struct table *t, int row,
                    const struct table_cell **above)
{
    const struct table_row *r = &t->row[row];

    for (int i = r->cell; i < r->cell + r->n_cell; i++)
        for (int c = 0; c < t->cell[i].colspan; c++)
            above[t->cell[i].col + c] = &t->cell[i];
    buf_text(d->out, "<w:tr>");
    if (r->section == TABLE_HEAD)
        buf_text(d->out, "<w:trPr><w:tblHeader/></w:trPr>");
    for (int col = 0; col < t->n_col;) {
        const struct table_cell *c = above[col];
        bool is_here = c && c->row + c->rowspan > row;

        if (is_here && c->row == row) {
            put_cell(d, t, c);
        } else {
            open_cell(d, is_here ? c->colspan : 1, is_here ? "<w:vMerge/>" : "");
            buf_text(d->out, "<w:p/></w:tc>");
        }
        col += is_here ? c->colspan : 1;
    }
    buf_text(d->out, "</w:tr>\n");
}

void docx_put_table(struct docx_text *d, const struct table *t)
{
    const struct table_cell **above = mem_zero((size_t)MAX(t->n_col, 1), sizeof *above);

    docx_put_break(d);
    if (t->caption_text.n)
        docx_put_plain(d, buf_view(&t->caption_text), "Caption");
    if (t->n_row && t->n_col) {
        buf_text(d->out, "<w:tbl><w:tblPr><w:tblStyle w:val=\"TableGrid\"/><w:tblW w:w=\"0\" "
                         "w:type=\"auto\"/></w:tblPr><w:tblGrid>");
        for (int i = 0; i < t->n_col; i++)
            buf_fmt(d->out, "<w:gridCol w:w=\"%d\"/>", MAX(TEXT_W_TWIPS / t->n_col, 1));
        buf_text(d->out, "</w:tblGrid>\n");
        for (int row = 0; row < t->n_row; row++)
            put_row(d, t, row, above);
        buf_text(d->out, "</w:tbl>\n<w:p/>\n");
    }
    free(above);
}
