#include "result/hyphen.h"

#include "result/span.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_small(char c)
{
    return (c >= 'a' && c <= 'z') || (c & 0x80);
}

/* Bytes from the hyphen at s.p[i] to the second half of the word; 0 if it parts none. */
static size_t parting_at(str s, size_t i)
{
    size_t k = i + 1;

    if (s.p[i] != '-' || i == 0 || !is_letter(s.p[i - 1]))
        return 0;
    while (k < s.n && (s.p[k] == ' ' || s.p[k] == '\t'))
        k++;
    if (k + 1 >= s.n || s.p[k] != '\n' || !is_small(s.p[k + 1]))
        return 0;
    return k + 1 - i;
}

static void join(struct buf *out, str s)
{
    for (size_t i = 0, n; i < s.n; i += n ? n : 1) {
        n = parting_at(s, i);
        if (!n)
            buf_char(out, s.p[i]);
    }
}

void hyphen_join(struct buf *out, str text)
{
    struct spans spans = spans_of(text);
    struct span s;

    while (span_next(&spans, &s)) {
        if (s.kind == SPAN_TEXT)
            join(out, s.all);
        else
            buf_str(out, s.all);
        table_free(s.table);
    }
}
