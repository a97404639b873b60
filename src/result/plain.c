#include "result/plain.h"

#include "result/html.h"
#include "result/span.h"
#include "result/stars.h"

struct plain {
    struct buf *out;
    size_t from;
    struct stars stars;
    bool after_display; /* the line is ended already: the newline of the text is that one */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool at_line_start(const struct plain *k)
{
    return k->out->n == k->from || k->out->p[k->out->n - 1] == '\n';
}

static void trim_spaces(struct plain *k)
{
    while (k->out->n > k->from &&
           (k->out->p[k->out->n - 1] == ' ' || k->out->p[k->out->n - 1] == '\t'))
        k->out->n--;
}

static void put_newline(struct plain *k)
{
    size_t n;

    trim_spaces(k);
    n = k->out->n;
    stars_forget(&k->stars);
    if (n == k->from || (n - k->from >= 2 && k->out->p[n - 1] == '\n' && k->out->p[n - 2] == '\n'))
        return;
    buf_char(k->out, '\n');
}

static void need_line_start(struct plain *k)
{
    trim_spaces(k);
    if (!at_line_start(k))
        put_newline(k);
}

/* Length of "### " at the beginning of a line. */
static size_t heading_mark(const struct plain *k, str s)
{
    size_t n = 0;

    if (!at_line_start(k))
        return 0;
    while (n < s.n && s.p[n] == '#')
        n++;
    if (n == 0 || n > 6 || n == s.n || (s.p[n] != ' ' && s.p[n] != '\t'))
        return 0;
    while (n < s.n && (s.p[n] == ' ' || s.p[n] == '\t'))
        n++;
    return n;
}

static bool is_escape(str s)
{
    return s.n > 1 && (s.p[1] == '$' || s.p[1] == '*' || s.p[1] == '_' || s.p[1] == '#');
}

static void put_tag(struct plain *k, const struct html_tag *tag)
{
    if (tag->name == HTML_BR || (html_breaks_line(tag->name) && !at_line_start(k)))
        put_newline(k);
}

/* Put what s begins with at i; returns its length. */
static size_t put_next(struct plain *k, str s, size_t i)
{
    str here = {s.p + i, s.n - i};
    struct html_tag tag = {0};
    size_t n;

    switch (*here.p) {
    case '\n':
        put_newline(k);
        return 1;
    case '#':
        n = heading_mark(k, here);
        if (n)
            return n;
        break;
    case '*':
        n = stars_run(s, i);
        if (!stars_mark(&k->stars, s, i, n))
            buf_add(k->out, here.p, n);
        return n;
    case '\\':
        if (is_escape(here)) {
            buf_char(k->out, here.p[1]);
            return 2;
        }
        break;
    case '<':
        tag = html_tag_at(here);
        if (tag.n && !html_is_table_part(tag.name)) {
            put_tag(k, &tag);
            return tag.n;
        }
        break;
    default:
        break;
    }
    buf_char(k->out, *here.p);
    return 1;
}

static void put_text(struct plain *k, str s)
{
    size_t i = 0;

    stars_forget(&k->stars);
    if (k->after_display) {
        while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
            i++;
        i += i < s.n && s.p[i] == '\n';
    }
    k->after_display = false;
    while (i < s.n)
        i += put_next(k, s, i);
}

/* A table's cell: only math loses its delimiters, the rest was HTML and is decoded already. */
void plain_put_cell(struct buf *out, str text)
{
    struct spans spans = spans_of(text);
    struct span s;

    while (span_next(&spans, &s)) {
        bool is_math = s.kind == SPAN_MATH || s.kind == SPAN_DISPLAY;

        buf_str(out, is_math ? s.inner : s.all);
        table_free(s.table);
    }
}

static void put_table(struct plain *k, const struct table *t)
{
    k->after_display = false;
    need_line_start(k);
    if (k->out->n > k->from)
        put_newline(k);
    table_put_rows(k->out, t, plain_put_cell);
    put_newline(k);
    put_newline(k);
}

static void put_display(struct plain *k, str tex)
{
    need_line_start(k);
    buf_str(k->out, tex);
    buf_char(k->out, '\n');
    k->after_display = true;
}

static void put_inner(struct plain *k, str s)
{
    k->after_display = false;
    buf_str(k->out, s);
}

void plain_put(struct buf *out, str text)
{
    struct spans spans = spans_of(str_trim(text));
    struct plain k = {.out = out, .from = out->n};
    struct span s;

    while (span_next(&spans, &s)) {
        if (s.kind == SPAN_TABLE)
            put_table(&k, s.table);
        else if (s.kind == SPAN_DISPLAY)
            put_display(&k, s.inner);
        else if (s.kind == SPAN_TEXT)
            put_text(&k, s.all);
        else
            put_inner(&k, s.inner);
        table_free(s.table);
    }
    while (out->n > k.from && is_space(out->p[out->n - 1]))
        out->n--;
}
