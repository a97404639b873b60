#include "result/markdown.h"

#include "base/mem.h"
#include "result/html.h"
#include "result/span.h"

/* A piece of Markdown under way. Text gathers behind `from`, so that what was there before is
 * never touched. */
struct md {
    struct buf *out;
    size_t from;
    unsigned flags;
    struct html_stack open; /* inline elements of the paragraph */
    bool escaped_tag;       /* a "<" was escaped, its ">" is still to come */
    bool after_display;     /* the line is ended already: the newline of the text is that one */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static char last(const struct md *m)
{
    return m->out->n > m->from ? m->out->p[m->out->n - 1] : '\n';
}

static size_t trim_spaces(struct md *m)
{
    size_t n = m->out->n;

    while (m->out->n > m->from && is_space(m->out->p[m->out->n - 1]))
        m->out->n--;
    return n - m->out->n;
}

/* End the line. `next` is what follows the newline in the text: a hard break before nothing is
 * no break. */
static void put_newline(struct md *m, str next)
{
    size_t spaces = trim_spaces(m), n = m->out->n;
    bool more = false;

    for (size_t i = 0; i < next.n && next.p[i] != '\n' && !more; i++)
        more = !is_space(next.p[i]);
    if (m->after_display) {
        m->after_display = false;
        return;
    }
    if (n == m->from || (n - m->from >= 2 && m->out->p[n - 1] == '\n' && m->out->p[n - 2] == '\n'))
        return;
    if (spaces >= 2 && more && last(m) != '\n')
        buf_char(m->out, '\\');
    buf_char(m->out, '\n');
}

/* Take off white space and a hard break at the end. */
static void trim_end(struct md *m)
{
    while (m->out->n > m->from && (last(m) == '\n' || is_space(last(m))))
        m->out->n--;
}

/* Tags that Markdown may keep in running text. A table's parts outside any table are not among
 * them. */
static bool put_tag(struct md *m, str s, size_t *n)
{
    struct html_tag tag = s.p[0] == '<' ? html_tag_at(s) : (struct html_tag){0};

    *n = tag.n;
    return tag.n && !html_is_table_part(tag.name) && html_put_inline(m->out, &m->open, &tag);
}

/* One character that Markdown or HTML would read as something else. s begins with it.  A tag
 * behind it may be dropped, and then what stands behind the tag comes next: so a "<" behind it
 * counts as what it could become. */
static void put_escaped(struct md *m, str s)
{
    char c = s.p[0], next = s.n > 1 ? s.p[1] : 0;
    str after = {s.p + 1, s.n - 1};

    if (c == '<' && (s.n == 1 || next == '<' || html_looks_like_tag(s))) {
        html_escape(m->out, c, after);
        m->escaped_tag = true;
    } else if (c == '>' && m->escaped_tag) {
        html_escape(m->out, c, after);
        m->escaped_tag = false;
    } else if (c == '$' || (c == ']' && (next == '(' || next == ':' || next == '<'))) {
        buf_char(m->out, '\\');
        buf_char(m->out, c);
    } else {
        buf_char(m->out, c);
    }
}

/* A backslash and what it escapes; s begins with it. TeX marks that open nothing must be seen,
 * not taken for escapes. */
static size_t put_backslash(struct md *m, str s)
{
    char next = s.n > 1 ? s.p[1] : 0;

    buf_char(m->out, '\\');
    if (next == '(' || next == ')' || next == '[' || next == ']' || next == '<')
        buf_char(m->out, '\\');
    else if (next == '$' || next == '\\') {
        buf_char(m->out, next);
        return 2;
    }
    return 1;
}

static void put_text(struct md *m, str s)
{
    for (size_t i = 0, n; i < s.n;) {
        str here = {s.p + i, s.n - i};

        if (s.p[i] == '\n') {
            put_newline(m, (str){s.p + i + 1, s.n - i - 1});
            i++;
            continue;
        }
        if (m->after_display && is_space(s.p[i])) {
            i++;
            continue;
        }
        m->after_display = false;
        if (s.p[i] == '\\') {
            i += put_backslash(m, here);
        } else if (put_tag(m, here, &n)) {
            i += n;
        } else {
            put_escaped(m, here);
            i++;
        }
    }
}

/* TeX on one line for $ $, on its own lines for $$. A reader without math must not see a tag or
 * a link in it, and to TeX a space after "<" or "]" is nothing. Blank lines cannot occur
 * (span.h); a "$" inside would end it. */
static void put_tex(struct md *m, str tex, bool on_one_line)
{
    size_t slashes = 0;

    for (size_t i = 0; i < tex.n; i++) {
        char c = tex.p[i];

        slashes = c == '\\' ? slashes + 1 : 0;

        if (c == '\n' && on_one_line)
            c = ' ';
        if (c == '$' && (i == 0 || tex.p[i - 1] != '\\'))
            buf_char(m->out, '\\');
        buf_char(m->out, c);
        if ((c == '<' && html_looks_like_tag((str){tex.p + i, tex.n - i})) ||
            (c == ']' && i + 1 < tex.n && tex.p[i + 1] == '('))
            buf_char(m->out, ' ');
    }
    if (slashes % 2) /* "\ " lost its space to trimming, and would escape the closing mark */
        buf_char(m->out, ' ');
}

static void put_display(struct md *m, str tex)
{
    trim_spaces(m);
    if (last(m) != '\n')
        buf_char(m->out, '\n');
    buf_text(m->out, "$$\n");
    put_tex(m, tex, false);
    buf_text(m->out, "\n$$\n");
    m->after_display = true;
}

static void put_math(struct md *m, const struct span *s)
{
    if (m->flags & MARKDOWN_TEX && s->all.p[0] == '\\') {
        bool display = s->kind == SPAN_DISPLAY;

        buf_text(m->out, display ? "\\[ " : "\\( ");
        put_tex(m, s->inner, true);
        buf_text(m->out, display ? " \\]" : " \\)");
    } else if (s->kind == SPAN_DISPLAY) {
        put_display(m, s->inner);
    } else {
        m->after_display = false;
        buf_char(m->out, '$');
        put_tex(m, s->inner, true);
        buf_char(m->out, '$');
    }
}

/* Can pipes say what this table says? */
static bool fits_pipes(const struct table *t)
{
    if (!t->n_row || !t->n_col || t->n_col > MARKDOWN_PIPE_COLS)
        return false;
    for (int i = 0; i < t->n_cell; i++) {
        str text = table_cell_text(t, &t->cell[i]);

        if (t->cell[i].rowspan > 1 || t->cell[i].colspan > 1 ||
            str_find(text, STR("\n"), 0) < text.n)
            return false;
    }
    return true;
}

/* A cell's text: Markdown itself, and no pipe of its own. */
static void put_pipe_cell(struct buf *out, str text, unsigned flags)
{
    struct buf cell = {0};

    markdown_put(&cell, text, flags);
    for (size_t i = 0; i < cell.n; i++) {
        if (cell.p[i] == '|')
            buf_char(out, '\\');
        buf_char(out, cell.p[i] == '\n' ? ' ' : cell.p[i]);
    }
    buf_reset(&cell);
}

/* The first row is the heading: without one there is no table. */
static void put_pipes(struct buf *out, const struct table *t, unsigned flags)
{
    if (t->caption_text.n) {
        put_pipe_cell(out, buf_view(&t->caption_text), flags);
        buf_text(out, "\n\n");
    }
    for (int r = 0; r < t->n_row; r++) {
        int col = 0;

        buf_text(out, r ? "\n|" : "|");
        for (int i = 0; i < t->row[r].n_cell; i++, col++) {
            const struct table_cell *c = &t->cell[t->row[r].cell + i];

            for (; col < c->col; col++)
                buf_text(out, "  |");
            buf_char(out, ' ');
            put_pipe_cell(out, table_cell_text(t, c), flags & MARKDOWN_TEX);
            buf_text(out, " |");
        }
        for (; col < t->n_col; col++)
            buf_text(out, "  |");
        for (int k = 0; r == 0 && k < t->n_col; k++)
            buf_text(out, k ? " --- |" : "\n| --- |");
    }
}

static void put_table(struct md *m, const struct table *t)
{
    html_put_closes(m->out, &m->open, 0);
    m->escaped_tag = m->after_display = false;
    trim_end(m);
    if (m->out->n > m->from)
        buf_text(m->out, "\n\n");
    if (m->flags & MARKDOWN_PIPES && fits_pipes(t))
        put_pipes(m->out, t, m->flags);
    else
        table_put_html(m->out, t);
    buf_text(m->out, "\n\n");
}

void markdown_put(struct buf *out, str text, unsigned flags)
{
    struct spans spans = spans_of(str_trim(text));
    struct md m = {.out = out, .from = out->n, .flags = flags};
    struct span s;

    while (span_next(&spans, &s)) {
        switch (s.kind) {
        case SPAN_TABLE:
            put_table(&m, s.table);
            table_free(s.table);
            break;
        case SPAN_MATH:
        case SPAN_DISPLAY:
            put_math(&m, &s);
            break;
        case SPAN_IMAGE:
            buf_text(out, "!\\[");
            put_text(&m, (str){s.all.p + 2, s.all.n - 2});
            break;
        case SPAN_TEXT:
            put_text(&m, s.all);
            break;
        }
    }
    html_put_closes(out, &m.open, 0);
    trim_end(&m);
}

str markdown_unfence(str s)
{
    size_t first, end;

    s = str_trim(s);
    if (s.n < 7 || !str_starts(s, STR("```")) || !str_ends(s, STR("\n```")))
        return s;
    first = str_find(s, STR("\n"), 0) + 1;
    end = s.n - 4;
    return first > end ? (str){s.p, 0} : (str){s.p + first, end - first};
}

void markdown_put_code(struct buf *out, str text)
{
    size_t run = 0, most = 2;

    text = markdown_unfence(text);
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        most = MAX(most, run);
    }
    for (size_t i = 0; i <= most; i++)
        buf_char(out, '`');
    buf_char(out, '\n');
    buf_str(out, text);
    buf_char(out, '\n');
    for (size_t i = 0; i <= most; i++)
        buf_char(out, '`');
}

void markdown_put_alt(struct buf *out, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '[' || c == ']' || c == '\\' || c == '`' || c == '$' || c == '*' || c == '_')
            buf_char(out, '\\');
        if (c == '\n' || c == '\t')
            c = ' ';
        if (c == '<' || c == '>')
            html_escape(out, c, (str){s.p + i + 1, s.n - i - 1});
        else
            buf_char(out, c);
    }
}

void markdown_put_comment(struct buf *out, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '>' || (c == '-' && i && s.p[i - 1] == '-'))
            c = ' ';
        buf_char(out, c == '\n' || c == '\t' || c == '\r' ? ' ' : c);
    }
}
