#include "result/plain.h"

#include "result/html.h"
#include "result/span.h"

struct plain {
    struct buf *out;
    size_t from;
    const char *closer[4]; /* for 1..3 asterisks: where the pair that is open ends */
    bool no_closer[4];     /* none before the end of this line */
    bool after_display;    /* the line is ended already: the newline of the text is that one */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
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

static void forget_closers(struct plain *k)
{
    for (int i = 0; i < 4; i++)
        k->no_closer[i] = false, k->closer[i] = NULL;
}

static void put_newline(struct plain *k)
{
    size_t n;

    trim_spaces(k);
    n = k->out->n;
    forget_closers(k);
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

static size_t run_of_stars(str s, size_t at)
{
    size_t n = 0;

    while (at + n < s.n && s.p[at + n] == '*')
        n++;
    return n;
}

/* n asterisks that can close a pair opened before s.p[at], on the same line; s.n if none. */
static size_t find_closer(str s, size_t at, size_t n)
{
    for (size_t run; at < s.n && s.p[at] != '\n'; at += run ? run : 1) {
        run = run_of_stars(s, at);
        if (run == n && !is_space(s.p[at - 1]) && (at + n == s.n || !is_word(s.p[at + n])))
            return at;
    }
    return s.n;
}

/* Are the n asterisks at s.p[i] one of a pair? Then they go. One pair of each length is followed
 * at a time, which keeps the time linear. */
static bool is_mark(struct plain *k, str s, size_t i, size_t n)
{
    size_t end;

    if (n > 3)
        return false;
    if (k->closer[n] == s.p + i) {
        k->closer[n] = NULL;
        return true;
    }
    if (k->closer[n] || k->no_closer[n] || i + n == s.n || is_space(s.p[i + n]) ||
        (i > 0 && is_word(s.p[i - 1])))
        return false;
    end = find_closer(s, i + n, n);
    k->no_closer[n] = end == s.n;
    k->closer[n] = end < s.n ? s.p + end : NULL;
    return end < s.n;
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
        n = run_of_stars(s, i);
        if (!is_mark(k, s, i, n))
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

    forget_closers(k);
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
