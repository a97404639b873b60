#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (p)
        return p;
    fputs(
        "recto: not enough memory; give the server less to do at once (--max-conns, --max-json)\n",
        stderr);
    abort();
}

void *server_alloc(size_t n)
{
    return must(malloc(n ? n : 1));
}

void *server_zero(size_t n, size_t size)
{
    return must(calloc(n ? n : 1, size ? size : 1));
}

char *server_strdup(const char *s)
{
    return must(strdup(s));
}

static void reserve(struct text *t, size_t more)
{
    size_t need = t->n + more + 1, twice = t->cap * 2;

    if (need <= t->cap)
        return;
    t->cap = need > twice ? need : twice;
    t->cap = t->cap < 64 ? 64 : t->cap;
    t->p = must(realloc(t->p, t->cap));
}

void text_add(struct text *t, const void *bytes, size_t n)
{
    reserve(t, n);
    if (n)
        memcpy(t->p + t->n, bytes, n);
    t->n += n;
    t->p[t->n] = 0;
}

void text_str(struct text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_char(struct text *t, char c)
{
    text_add(t, &c, 1);
}

void text_vfmt(struct text *t, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        return;
    reserve(t, (size_t)n);
    vsnprintf(t->p + t->n, (size_t)n + 1, fmt, ap);
    t->n += (size_t)n;
}

void text_fmt(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    text_vfmt(t, fmt, ap);
    va_end(ap);
}

void text_drop(struct text *t, size_t n)
{
    if (n == 0)
        return;
    memmove(t->p, t->p + n, t->n - n);
    t->n -= n;
    t->p[t->n] = 0;
}

void text_clear(struct text *t)
{
    t->n = 0;
    if (t->p)
        t->p[0] = 0;
}

void text_reset(struct text *t)
{
    free(t->p);
    *t = (struct text){0};
}

char *text_take(struct text *t)
{
    char *p;

    reserve(t, 0);
    t->p[t->n] = 0;
    p = t->p;
    *t = (struct text){0};
    return p;
}
