#include "result/stars.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

size_t stars_run(str s, size_t at)
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
        run = stars_run(s, at);
        if (run == n && !is_space(s.p[at - 1]) && (at + n == s.n || !is_word(s.p[at + n])))
            return at;
    }
    return s.n;
}

enum stars_role stars_mark(struct stars *k, str s, size_t i, size_t n)
{
    size_t end;

    if (n > 3)
        return STARS_NONE;
    if (k->closer[n] == s.p + i) {
        k->closer[n] = NULL;
        return STARS_CLOSE;
    }
    if (k->closer[n] || k->no_closer[n] || i + n == s.n || is_space(s.p[i + n]) ||
        (i > 0 && is_word(s.p[i - 1])))
        return STARS_NONE;
    end = find_closer(s, i + n, n);
    k->no_closer[n] = end == s.n;
    k->closer[n] = end < s.n ? s.p + end : NULL;
    return end < s.n ? STARS_OPEN : STARS_NONE;
}

void stars_forget(struct stars *k)
{
    *k = (struct stars){0};
}
