#include "result/html.h"

#include "base/mem.h"

static const char *const names[] = {
    NULL, "table", "thead", "tbody", "tr", "td", "th",     "caption", "br", "p", "ul",
    "ol", "li",    "sup",   "sub",   "b",  "i",  "strong", "em",      "u",  "s", "code",
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Does s begin with the lower-case word w, in any case? */
static bool starts_fold(str s, const char *w)
{
    size_t n = strlen(w);

    if (s.n < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (lower(s.p[i]) != w[i])
            return false;
    return true;
}

const char *html_name_text(enum html_name n)
{
    return names[n];
}

bool html_looks_like_tag(str s)
{
    return s.n > 1 && (is_letter(s.p[1]) || s.p[1] == '/' || s.p[1] == '!' || s.p[1] == '?');
}

static enum html_name name_of(str s)
{
    for (size_t i = 1; i < COUNT(names); i++)
        if (strlen(names[i]) == s.n && starts_fold(s, names[i]))
            return (enum html_name)i;
    return HTML_NONE;
}

/* The number after rowspan= or colspan=, quoted or not; 1 unless it is 1..1000. */
static int span_value(str s)
{
    size_t i = 0, digits = 0;
    int v = 0;

    while (i < s.n && is_space(s.p[i]))
        i++;
    if (i == s.n || s.p[i++] != '=')
        return 1;
    while (i < s.n && (is_space(s.p[i]) || s.p[i] == '"' || s.p[i] == '\''))
        i++;
    for (; i < s.n && is_digit(s.p[i]) && digits < 5; i++, digits++)
        v = v * 10 + (s.p[i] - '0');
    if (i < s.n && (is_digit(s.p[i]) || s.p[i] == '.'))
        return 1;
    return v >= 1 && v <= 1000 ? v : 1;
}

static void read_attributes(str s, struct html_tag *t)
{
    for (size_t i = 0; i + 8 < s.n; i++) {
        str rest = {s.p + i + 8, s.n - i - 8};

        if (!is_space(s.p[i]))
            continue;
        if (starts_fold((str){s.p + i + 1, s.n - i - 1}, "rowspan"))
            t->rowspan = span_value(rest);
        else if (starts_fold((str){s.p + i + 1, s.n - i - 1}, "colspan"))
            t->colspan = span_value(rest);
    }
}

struct html_tag html_tag_at(str s)
{
    struct html_tag t = {.rowspan = 1, .colspan = 1}, no_tag = {0};
    size_t i = 1, from, end;

    if (!s.n || s.p[0] != '<')
        return no_tag;
    if (i < s.n && s.p[i] == '/')
        t.is_close = true, i++;
    for (from = i; i < s.n && is_letter(s.p[i]);)
        i++;
    t.name = name_of((str){s.p + from, i - from});
    if (!t.name || i == s.n || (!is_space(s.p[i]) && s.p[i] != '/' && s.p[i] != '>'))
        return no_tag;
    for (end = i; end < s.n && s.p[end] != '>' && s.p[end] != '<';)
        end++;
    if (end == s.n || s.p[end] == '<')
        return no_tag;
    if (!t.is_close)
        read_attributes((str){s.p + i, end - i}, &t);
    t.n = end + 1;
    return t;
}

/* Length of the entity that s, which begins with "&", begins with; 0 if none. */
static size_t entity_at(str s)
{
    size_t i = 1, from;

    if (i < s.n && s.p[i] == '#') {
        bool hex = ++i < s.n && (s.p[i] == 'x' || s.p[i] == 'X');

        i += hex;
        for (from = i; i < s.n && i - from < 7 &&
                       (is_digit(s.p[i]) || (hex && lower(s.p[i]) >= 'a' && lower(s.p[i]) <= 'f'));)
            i++;
    } else {
        for (from = i; i < s.n && i - from < 31 && (is_letter(s.p[i]) || is_digit(s.p[i]));)
            i++;
    }
    return i > from && i < s.n && s.p[i] == ';' ? i + 1 : 0;
}

void html_escape(struct buf *out, char c, str next)
{
    switch (c) {
    case '<':
        buf_text(out, "&lt;");
        break;
    case '>':
        buf_text(out, "&gt;");
        break;
    case '&':
        buf_text(out, entity_at((str){next.p - 1, next.n + 1}) ? "&" : "&amp;");
        break;
    default:
        buf_char(out, c);
    }
}

static uint32_t entity_number(str s)
{
    bool hex = s.n > 2 && lower(s.p[2]) == 'x';
    uint32_t v = 0;

    for (size_t i = hex ? 3 : 2; i + 1 < s.n; i++) {
        char c = lower(s.p[i]);

        v = v * (hex ? 16 : 10) + (uint32_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    return v < 0x20 && v != '\t' && v != '\n' ? 0xFFFD : v;
}

static bool decode_one(struct buf *out, str s)
{
    static const struct {
        str name;
        const char *text;
    } known[] = {
        {{"&lt;", 4}, "<"},    {{"&gt;", 4}, ">"},   {{"&amp;", 5}, "&"},
        {{"&quot;", 6}, "\""}, {{"&apos;", 6}, "'"}, {{"&nbsp;", 6}, "\xC2\xA0"},
    };

    if (s.p[1] == '#') {
        buf_utf8(out, entity_number(s));
        return true;
    }
    for (size_t i = 0; i < COUNT(known); i++)
        if (str_eq(s, known[i].name)) {
            buf_text(out, known[i].text);
            return true;
        }
    return false;
}

void html_decode(struct buf *out, str s)
{
    for (size_t i = 0; i < s.n;) {
        str rest = {s.p + i, s.n - i};
        size_t n = s.p[i] == '&' ? entity_at(rest) : 0;

        if (n && decode_one(out, (str){rest.p, n})) {
            i += n;
            continue;
        }
        buf_char(out, s.p[i++]);
    }
}

void html_put_closes(struct buf *out, struct html_stack *k, int down_to)
{
    while (k->n > down_to)
        buf_fmt(out, "</%s>", names[k->open[--k->n]]);
}

/* Index of the innermost open `name`, not looking past a list for a list item; -1 if there is
 * none. */
static int find_open(const struct html_stack *k, enum html_name name)
{
    for (int i = k->n - 1; i >= 0; i--) {
        if (k->open[i] == name)
            return i;
        if ((name == HTML_LI || name == HTML_P) && (k->open[i] == HTML_UL || k->open[i] == HTML_OL))
            return -1;
    }
    return -1;
}

bool html_put_inline(struct buf *out, struct html_stack *k, const struct html_tag *t)
{
    int at = find_open(k, t->name);

    if (t->name == HTML_BR) {
        if (!t->is_close)
            buf_text(out, "<br>");
        return true;
    }
    if (t->is_close) {
        if (at >= 0)
            html_put_closes(out, k, at);
        return true;
    }
    if ((t->name == HTML_P || t->name == HTML_LI) && at >= 0)
        html_put_closes(out, k, at);
    if (k->n == HTML_OPEN_MAX)
        return false;
    k->open[k->n++] = t->name;
    buf_fmt(out, "<%s>", names[t->name]);
    return true;
}
