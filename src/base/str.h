/* Byte strings: `str` is a view that owns nothing, `struct buf` is a growing buffer that does.
 * Both may hold NUL bytes; a buf always has a NUL behind its last byte, so buf.p may be printed. */
#ifndef RECTO_BASE_STR_H
#define RECTO_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct str {
    const char *p;
    size_t n;
} str;

#define STR(literal) ((str){literal, sizeof(literal) - 1})

static inline str str_of(const char *s)
{
    return (str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_starts(str s, str prefix);
bool str_ends(str s, str suffix);
/* First occurrence of what in s at or after byte `from`; s.n if there is none. */
size_t str_find(str s, str what, size_t from);
/* Without leading and trailing white space (space, \t, \n, \r). */
str str_trim(str s);

struct buf {
    char *p;
    size_t n, cap;
};

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, str s);
void buf_text(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Append a code point as UTF-8; surrogates and values over 0x10FFFF become U+FFFD. */
void buf_utf8(struct buf *b, uint32_t code);
/* Forget the content, keep the memory. */
void buf_clear(struct buf *b);
/* Free; the buf is empty and usable afterwards. */
void buf_reset(struct buf *b);
static inline str buf_view(const struct buf *b)
{
    return (str){b->p ? b->p : "", b->n};
}

/* One code point from the front of s.  Returns its length in bytes (1-4) and *code, or
 *    0  s is a proper prefix of a valid sequence (more bytes may complete it), or s is empty
 *   -k  the first k bytes are invalid and stand for one U+FFFD (Unicode's "maximal subpart" practice)            */
int utf8_next(str s, uint32_t *code);

#endif
