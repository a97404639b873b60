#include "base/str.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool str_starts(str s, str prefix)
{
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

bool str_ends(str s, str suffix)
{
    return s.n >= suffix.n && memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0;
}

size_t str_find(str s, str what, size_t from)
{
    const char *hit;

    if (from > s.n || what.n > s.n - from)
        return s.n;
    hit = memmem(s.p + from, s.n - from, what.p, what.n);
    return hit ? (size_t)(hit - s.p) : s.n;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

str str_trim(str s)
{
    while (s.n && is_space(s.p[0]))
        s.p++, s.n--;
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static void reserve(struct buf *b, size_t more)
{
    size_t need = b->n + more + 1;

    if (need <= b->cap)
        return;
    b->cap = MAX(need, MAX(b->cap * 2, (size_t)64));
    b->p = mem_grow(b->p, b->cap, 1);
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    reserve(b, n);
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

void buf_str(struct buf *b, str s)
{
    buf_add(b, s.p, s.n);
}

void buf_text(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    reserve(b, (size_t)n);
    va_start(ap, fmt);
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += (size_t)n;
}

void buf_utf8(struct buf *b, uint32_t c)
{
    char u[4];
    size_t n;

    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        c = 0xFFFD;
    if (c < 0x80) {
        u[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        u[0] = (char)(0xC0 | c >> 6);
        u[1] = (char)(0x80 | (c & 63));
        n = 2;
    } else if (c < 0x10000) {
        u[0] = (char)(0xE0 | c >> 12);
        u[1] = (char)(0x80 | (c >> 6 & 63));
        u[2] = (char)(0x80 | (c & 63));
        n = 3;
    } else {
        u[0] = (char)(0xF0 | c >> 18);
        u[1] = (char)(0x80 | (c >> 12 & 63));
        u[2] = (char)(0x80 | (c >> 6 & 63));
        u[3] = (char)(0x80 | (c & 63));
        n = 4;
    }
    buf_add(b, u, n);
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    if (b->p)
        b->p[0] = 0;
}

void buf_reset(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}

/* Ranges of the second byte are what keeps overlong forms, surrogates and > U+10FFFF out (Unicode, table 3-7). */
int utf8_next(str s, uint32_t *code)
{
    unsigned char lead, low = 0x80, high = 0xBF;
    uint32_t c;
    int len;

    *code = 0xFFFD;
    if (s.n == 0)
        return 0;
    lead = (unsigned char)s.p[0];
    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4)
        return -1;
    len = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    c = lead & (0x7F >> len);
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    for (int i = 1; i < len; i++) {
        unsigned char t;

        if ((size_t)i >= s.n)
            return 0;
        t = (unsigned char)s.p[i];
        if (t < low || t > high)
            return -i;
        low = 0x80, high = 0xBF;
        c = c << 6 | (t & 63);
    }
    *code = c;
    return len;
}
