#include "result/span.h"

#define DOLLAR_MAX 1000 /* bytes in $ ... $ */
#define ALT_MAX    1000

/* Is there an empty line at s, which begins with a newline? */
static bool empty_line_at(str s)
{
    size_t i = 1;

    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
        i++;
    return i == s.n || s.p[i] == '\n';
}

static struct span math(enum span_kind kind, str s, size_t mark, size_t n)
{
    return (struct span){kind, {s.p, n}, str_trim((str){s.p + mark, n - 2 * mark}), NULL};
}

/* \( or \[ at the front of s up to its closing mark. The length of the search is that of the
 * text up to the next opening mark of the same kind, so that many unclosed marks do not cost a
 * search to the end each. */
static bool tex_at(str s, struct span *out)
{
    char open = s.p[1], close = open == '(' ? ')' : ']';

    for (size_t i = 2; i + 1 < s.n; i++) {
        if (s.p[i] == '\n' && empty_line_at((str){s.p + i, s.n - i}))
            return false;
        if (s.p[i] != '\\')
            continue;
        if (s.p[i + 1] == open)
            return false;
        if (s.p[i + 1] == close) {
            *out = math(open == '(' ? SPAN_MATH : SPAN_DISPLAY, s, 2, i + 2);
            return out->inner.n > 0;
        }
        i++; /* an escaped character, "\\" before all */
    }
    return false;
}

/* $$ ... $$ */
static bool double_dollar_at(str s, struct span *out)
{
    for (size_t i = 2; i + 1 < s.n; i++) {
        if (s.p[i] == '\n' && empty_line_at((str){s.p + i, s.n - i}))
            return false;
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == '$' && s.p[i + 1] == '$') {
            *out = math(SPAN_DISPLAY, s, 2, i + 2);
            return out->inner.n > 0;
        }
    }
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool has_tex(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\\' || s.p[i] == '^' || s.p[i] == '_' || s.p[i] == '{' || s.p[i] == '=')
            return true;
    return false;
}

static bool dollar_at(str s, struct span *out)
{
    size_t i = 1;

    if (s.n < 3 || is_space(s.p[1]))
        return false;
    for (; i < s.n && i < DOLLAR_MAX && s.p[i] != '$' && s.p[i] != '\n'; i++)
        i += s.p[i] == '\\' && i + 1 < s.n;
    if (i >= s.n || i < 2 || s.p[i] != '$' || is_space(s.p[i - 1]))
        return false;
    if (i + 1 < s.n && (is_digit(s.p[i + 1]) || s.p[i + 1] == '$'))
        return false;
    if (is_digit(s.p[1]) && !has_tex((str){s.p + 1, i - 1}))
        return false;
    *out = math(SPAN_MATH, s, 1, i + 1);
    return true;
}

/* ![alt](address) on one line */
static bool image_at(str s, struct span *out)
{
    size_t i = 2, alt_end;

    if (s.n < 5 || s.p[1] != '[')
        return false;
    while (i < s.n && i < ALT_MAX && s.p[i] != ']' && s.p[i] != '[' && s.p[i] != '\n')
        i++;
    alt_end = i;
    if (i + 1 >= s.n || s.p[i] != ']' || s.p[i + 1] != '(')
        return false;
    for (i += 2; i < s.n && s.p[i] != ')' && s.p[i] != '[' && s.p[i] != '\n';)
        i++;
    if (i >= s.n || s.p[i] != ')')
        return false;
    *out = (struct span){SPAN_IMAGE, {s.p, i + 1}, {s.p + 2, alt_end - 2}, NULL};
    return true;
}

static bool special_at(str s, struct span *out)
{
    switch (s.p[0]) {
    case '\\':
        return s.n > 3 && (s.p[1] == '(' || s.p[1] == '[') && tex_at(s, out);
    case '$':
        return (s.n > 1 && s.p[1] == '$' ? double_dollar_at : dollar_at)(s, out);
    case '!':
        return image_at(s, out);
    case '<':
        if (!table_at(s))
            return false;
        *out = (struct span){.kind = SPAN_TABLE};
        out->all = out->inner = (str){s.p, table_read(s, &out->table)};
        return true;
    default:
        return false;
    }
}

/* Bytes to pass where no span begins: a backslash takes what it escapes along ("\$", and the "\\"
 * before a "("), and "$$" is not two times "$". */
static size_t step_over(str s)
{
    bool is_pair = s.p[0] == '\\' || (s.p[0] == '$' && s.n > 1 && s.p[1] == '$');

    return is_pair && s.n > 1 ? 2 : 1;
}

bool span_next(struct spans *k, struct span *out)
{
    size_t i = 0;

    if (k->has_held) {
        *out = k->held;
        k->has_held = false;
        return true;
    }
    if (!k->rest.n)
        return false;
    while (i < k->rest.n && !k->has_held) {
        str here = {k->rest.p + i, k->rest.n - i};

        k->has_held = special_at(here, &k->held);
        i += k->has_held ? 0 : step_over(here);
    }
    *out = (struct span){SPAN_TEXT, {k->rest.p, i}, {k->rest.p, i}, NULL};
    k->rest.p += i, k->rest.n -= i;
    if (k->has_held)
        k->rest.p += k->held.all.n, k->rest.n -= k->held.all.n;
    return i ? true : k->has_held ? span_next(k, out) : false;
}

void spans_close(struct spans *k)
{
    if (k->has_held)
        table_free(k->held.table);
    *k = (struct spans){0};
}
