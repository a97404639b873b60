#include "omni_items.h"

#include "files.h"
#include "regex.h"
#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void omni_add(struct omni_items *l, enum omni_kind kind, size_t at, char *text)
{
    if (l->n == l->cap)
        l->item = eval_grow(l->item, (size_t)(l->cap = 2 * l->cap + 32), sizeof *l->item);
    l->item[l->n++] = (struct omni_item){kind, at, text};
}

void omni_items_reset(struct omni_items *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->item[i].text);
    free(l->item);
    *l = (struct omni_items){0};
}

/* Take s[from ... to) out; spaces stay in its place, so that all else is where it was. */
static char *take(char *s, size_t from, size_t to)
{
    char *part = eval_string("%.*s", (int)(to - from), s + from);

    memset(s + from, ' ', to - from);
    return part;
}

/* ---- before anything is taken out ------------------------------------------------------------ */

static char *prepared(const char *md)
{
    static const char *const tags[] = {"<html>", "</html>", "<body>", "</body>"};
    char *s = regex_keep(eval_copy(md), "!\\[.*?\\]\\(.*?\\)", 0, -1);

    s = regex_keep(s, "^```markdown\\n?", REGEX_LINES, -1);
    s = regex_keep(s, "^```html\\n?", REGEX_LINES, -1);
    s = regex_keep(s, "^```latex\\n?", REGEX_LINES, -1);
    s = regex_keep(s, "```\\n?$", REGEX_LINES, -1);
    s = regex_put(s, "_{4,}", 0, "____");
    s = regex_put(s, " {4,}", 0, "    ");
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        s = regex_keep(s, tags[i], 0, -1);
    return s;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Outermost parts from a match of b to one of e, from `at` on. Where the first that stayed open began; n: none did. */
static size_t take_closed(struct omni_items *l, enum omni_kind kind, char *s, size_t n, size_t at,
                          struct regex *b, struct regex *e)
{
    size_t outer = 0;
    int depth = 0;
    struct regex_match mb, me;

    while (at < n) {
        bool has_b = regex_find(b, s, n, at, &mb), has_e = regex_find(e, s, n, at, &me);

        if (!has_b && !has_e)
            break;
        if (has_b && (!has_e || mb.from[0] < me.from[0])) {
            if (depth++ == 0)
                outer = mb.from[0];
            at = mb.to[0];
            continue;
        }
        at = me.to[0];
        if (depth > 0 && --depth == 0)
            omni_add(l, kind, outer, take(s, outer, me.to[0]));
    }
    return depth > 0 ? outer : n;
}

/* One that stays open is passed over, and those behind it are looked for anew; a page with a hundred such is left. */
static void take_nested(struct omni_items *l, enum omni_kind kind, char *s, const char *begin,
                        const char *end)
{
    struct regex *b = regex_make(begin, 0), *e = regex_make(end, 0);
    size_t n = strlen(s), from = 0;

    for (int i = 0; i < 100 && from < n; i++) {
        size_t open = take_closed(l, kind, s, n, from, b, e);

        from = open < n ? open + 1 : n;
    }
    regex_free(b);
    regex_free(e);
}

static void take_latex_tables(struct omni_items *l, char *s)
{
    struct regex *r = regex_make("\\\\begin\\{table\\}(.*?)\\\\end\\{table\\}", REGEX_DOTALL);
    struct regex_match m;
    size_t n = strlen(s);

    for (size_t at = 0; regex_find(r, s, n, at, &m); at = m.to[0])
        omni_add(l, OMNI_LATEX_TABLE, m.from[0], take(s, m.from[0], m.to[0]));
    regex_free(r);
    take_nested(l, OMNI_LATEX_TABLE, s, "\\\\begin\\{tabular\\}", "\\\\end\\{tabular\\}");
}

/* Cells of a row between bars. */
static void row_html(struct page_text *out, const char *line, size_t n)
{
    print(out, "<tr>");
    if (n > 0 && line[0] == '|')
        line++, n--;
    if (n > 0 && line[n - 1] == '|')
        n--;
    while (n > 0) {
        const char *bar = memchr(line, '|', n);
        size_t width = bar ? (size_t)(bar - line) : n, from = 0, to = width;

        while (from < to && line[from] == ' ')
            from++;
        while (to > from && line[to - 1] == ' ')
            to--;
        print(out, "<td>%.*s</td>", (int)(to - from), line + from);
        n -= width + (bar != NULL);
        line += width + (bar != NULL);
    }
    print(out, "</tr>");
}

static bool is_row(const char *line, size_t n)
{
    return n >= 2 && line[0] == '|' && line[n - 1] == '|';
}

/* |---|:-:| */
static bool is_rule(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("|-: ", line[i]))
            return false;
    return n > 0 && memchr(line, '-', n);
}

/* Lines between bars, the second of them dashes, become an HTML table. */
static void take_pipe_tables(struct omni_items *l, char *s)
{
    for (char *line = s, *next; *line; line = next) {
        size_t n = strcspn(line, "\n");
        struct page_text html = {0};
        char *rule = line + n + (line[n] == '\n');
        size_t n_rule = strcspn(rule, "\n");

        next = line + n + (line[n] == '\n');
        if (!is_row(line, n) || !is_rule(rule, n_rule))
            continue;
        print(&html, "<table>");
        row_html(&html, line, n);
        next = rule + n_rule + (rule[n_rule] == '\n');
        while (is_row(next, n = strcspn(next, "\n"))) {
            row_html(&html, next, n);
            next += n + (next[n] == '\n');
        }
        print(&html, "</table>");
        size_t to = (size_t)(next - s) - (next > s && next[-1] == '\n');
        omni_add(l, OMNI_HTML_TABLE, (size_t)(line - s), html.p);
        memset(line, ' ', to - (size_t)(line - s));
    }
}

/* ---- formulas, code -------------------------------------------------------------------------- */

/* On one line, with \[ \] round it. */
static char *formula_text(const char *inner, size_t n)
{
    char *s = eval_string("\\[%.*s\\]", (int)n, inner);

    for (char *p = s; *p; p++)
        if (*p == '\n')
            *p = ' ';
    return s;
}

/* $$ $$ and \[ \] go; $ $ and \( \) are noted and stay. */
static void take_formulas(struct omni_items *l, char *s)
{
    static const char pattern[] =
        "\\$\\$(.*?)\\$\\$|\\\\\\[(.*?)\\\\\\]|\\$(.*?)\\$|\\\\\\((.*?)\\\\\\)";
    struct regex *r = regex_make(pattern, REGEX_DOTALL);
    struct regex_match m;
    size_t n = strlen(s);

    for (size_t at = 0; regex_find(r, s, n, at, &m); at = m.to[0]) {
        int g = 1;

        while (m.from[g] > m.to[g])
            g++;
        bool is_set_off = g <= 2 && (g == 2 || m.to[1] > m.from[1]);
        char *text = formula_text(s + m.from[g], m.to[g] - m.from[g]);
        omni_add(l, is_set_off ? OMNI_FORMULA : OMNI_INLINE, m.from[0], text);
        if (is_set_off)
            memset(s + m.from[0], ' ', m.to[0] - m.from[0]);
    }
    regex_free(r);
}

static void take_code(struct omni_items *l, char *s)
{
    struct regex *r = regex_make("```(\\w+)\\n(.*?)```", REGEX_DOTALL);
    struct regex_match m;
    size_t n = strlen(s);

    for (size_t at = 0; regex_find(r, s, n, at, &m); at = m.to[0]) {
        omni_add(l, OMNI_CODE, m.from[0],
                 eval_string("%.*s", (int)(m.to[2] - m.from[2]), s + m.from[2]));
        memset(s + m.from[0], ' ', m.to[0] - m.from[0]);
    }
    regex_free(r);
}

/* ---- paragraphs ------------------------------------------------------------------------------ */

static char *without_commands(char *s)
{
    s = regex_keep(s, "\\\\title\\s*\\{\\s*(.*?)\\s*\\}", REGEX_DOTALL, 1);
    s = regex_keep(s, "\\\\text\\s*\\{\\s*(.*?)\\s*\\}", REGEX_DOTALL, 1);
    return regex_keep(s, "\\\\section\\*?\\{\\s*(.*?)\\s*\\}", REGEX_DOTALL, 1);
}

/* Lines stripped, empty ones gone. */
static char *tidy(const char *s, size_t n)
{
    struct page_text out = {0};

    print_bytes(&out, "", 0);
    for (const char *end = s + n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t len = stop ? (size_t)(stop - s) : (size_t)(end - s);
        const char *from = s, *to = s + len;

        while (from < to && isspace((unsigned char)*from))
            from++;
        while (to > from && isspace((unsigned char)to[-1]))
            to--;
        if (to > from) {
            if (out.n > 0)
                print_bytes(&out, "\n", 1);
            print_bytes(&out, from, (size_t)(to - from));
        }
        s += len + 1;
    }
    return out.p;
}

static enum omni_kind kind_of(const char *s)
{
    size_t n = strlen(s);

    if (strncmp(s, "<table", 6) == 0 && n > 8 && strcmp(s + n - 8, "</table>") == 0)
        return OMNI_HTML_TABLE;
    return s[0] == '$' && s[n - 1] == '$' ? OMNI_FORMULA : OMNI_TEXT;
}

/* At empty lines, or if there are none at every line. */
static void add_paragraphs(struct omni_items *l, const char *s)
{
    const char *cut = strstr(s, "\n\n") ? "\n\n" : "\n";
    size_t sum = 0;

    while (s) {
        const char *end = strstr(s, cut);
        size_t n = end ? (size_t)(end - s) : strlen(s);
        char *text = tidy(s, n);
        bool is_bare = strspn(text, "$") == strlen(text); /* empty, or dollars only */

        if (!is_bare)
            omni_add(l, kind_of(text), sum, text);
        else
            free(text);
        sum += n;
        s = end ? end + strlen(cut) : NULL;
    }
}

/* Insertion: lists are short, and equal places keep their order. */
static void sort(struct omni_items *l)
{
    for (int i = 1; i < l->n; i++) {
        struct omni_item x = l->item[i];
        int k = i;

        for (; k > 0 && l->item[k - 1].at > x.at; k--)
            l->item[k] = l->item[k - 1];
        l->item[k] = x;
    }
}

struct omni_items omni_items_of(const char *md)
{
    struct omni_items l = {0};
    char *s = prepared(md);

    take_latex_tables(&l, s);
    take_nested(&l, OMNI_HTML_TABLE, s, "<table(?:[^>]*)>", "</table>");
    take_formulas(&l, s);
    take_pipe_tables(&l, s);
    take_code(&l, s);
    s = without_commands(s);
    add_paragraphs(&l, s);
    free(s);
    sort(&l);
    return l;
}
