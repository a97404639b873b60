#include "prompt/json_scan.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

char scan_peek(struct json_scan *s)
{
    while (s->p < s->end && is_space(*s->p))
        s->p++;
    return s->p < s->end ? *s->p : 0;
}

bool scan_char(struct json_scan *s, char c)
{
    if (scan_peek(s) != c || s->p == s->end)
        return false;
    s->p++;
    return true;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Consume characters up to a quote, an escape or the end; false at anything that may not stand in a
 * string. */
static bool plain_run(struct json_scan *s)
{
    while (s->p < s->end) {
        unsigned char c = (unsigned char)*s->p;
        uint32_t code;

        if (c == '"' || c == '\\')
            return true;
        if (c < 0x20)
            return false;
        if (c < 0x80) {
            s->p++;
            continue;
        }
        int len = utf8_next((str){s->p, (size_t)(s->end - s->p)}, &code);
        if (len <= 0)
            return false;
        s->p += len;
    }
    return true;
}

static bool hex4(struct json_scan *s, uint32_t *out)
{
    if (s->end - s->p < 4)
        return false;
    *out = 0;
    for (int i = 0; i < 4; i++) {
        char c = *s->p++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* What follows "\u": one unit, or a pair of surrogates. */
static bool unicode_escape(struct json_scan *s, struct buf *out)
{
    uint32_t high, low;

    if (!hex4(s, &high))
        return false;
    if (high >= 0xDC00 && high < 0xE000)
        return false;
    if (high >= 0xD800 && high < 0xDC00) {
        if (s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != 'u')
            return false;
        s->p += 2;
        if (!hex4(s, &low) || low < 0xDC00 || low >= 0xE000)
            return false;
        high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }
    buf_utf8(out, high);
    return true;
}

static bool escape(struct json_scan *s, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *hit;

    if (s->p == s->end)
        return false;
    char c = *s->p++;
    if (c == 'u')
        return unicode_escape(s, out);
    hit = c ? strchr(from, c) : NULL;
    if (!hit)
        return false;
    buf_char(out, to[hit - from]);
    return true;
}

bool scan_string(struct json_scan *s, struct buf *scratch, str *out)
{
    const char *start;

    if (!scan_char(s, '"'))
        return false;
    start = s->p;
    if (!plain_run(s) || s->p == s->end)
        return false;
    if (*s->p == '"') { /* the common case: no escape, no copy */
        *out = (str){start, (size_t)(s->p++ - start)};
        return true;
    }
    buf_clear(scratch);
    for (;;) {
        buf_add(scratch, start, (size_t)(s->p - start));
        if (*s->p++ == '"')
            break;
        if (!escape(s, scratch))
            return false;
        start = s->p;
        if (!plain_run(s) || s->p == s->end)
            return false;
    }
    *out = buf_view(scratch);
    return true;
}

/* ---- numbers and the rest -------------------------------------------------------------------- */

bool scan_number(struct json_scan *s, int64_t *out)
{
    int n_digit = 0;

    scan_peek(s);
    const char *start = s->p;
    for (*out = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9' && n_digit < 10; n_digit++)
        *out = *out * 10 + (*s->p++ - '0');
    return n_digit > 0 && n_digit < 10 && (n_digit == 1 || *start != '0');
}

/* From behind the opening quote to behind the closing one. */
static bool skip_string(struct json_scan *s)
{
    while (s->p < s->end) {
        char c = *s->p++;

        if (c == '"')
            return true;
        if (c == '\\' && s->p < s->end)
            s->p++;
    }
    return false;
}

static bool skip_scalar(struct json_scan *s)
{
    static const char stops[] = {',', ':', ']', '}', '[', '{', '"'};
    const char *start = s->p;

    while (s->p < s->end && !is_space(*s->p) && !memchr(stops, *s->p, sizeof stops))
        s->p++;
    return s->p > start;
}

bool scan_skip(struct json_scan *s)
{
    int64_t depth = 0;

    do {
        char c = scan_peek(s);

        if (s->p == s->end)
            return false;
        if (c == '"') {
            s->p++;
            if (!skip_string(s))
                return false;
        } else if (c == '{' || c == '[') {
            s->p++, depth++;
        } else if (c == '}' || c == ']') {
            s->p++, depth--;
        } else if (depth && (c == ',' || c == ':')) {
            s->p++;
        } else if (!skip_scalar(s)) {
            return false;
        }
    } while (depth > 0);
    return depth == 0;
}
