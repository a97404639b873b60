/* A growing buffer of bytes.  A NUL stands behind its last byte once something was added, so .p may be printed.
 * Like all of server/ it knows recto.h and the system only.  Memory for a few kilobytes is taken as given: when there
 * is none left, the process ends with one line; what a client can make large is bounded by whoever adds it. */
#ifndef RECTO_SERVER_TEXT_H
#define RECTO_SERVER_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct text {
    char *p; /* NULL while empty */
    size_t n, cap;
};

void text_add(struct text *t, const void *bytes, size_t n);
void text_str(struct text *t, const char *s);
void text_char(struct text *t, char c);
void text_fmt(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vfmt(struct text *t, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Drop the first n bytes. */
void text_drop(struct text *t, size_t n);
/* Forget the content, keep the memory. */
void text_clear(struct text *t);
/* Free; empty and usable afterwards. */
void text_reset(struct text *t);
/* Take the string out (never NULL, ends in NUL); t is empty afterwards, the caller frees. */
char *text_take(struct text *t);

/* malloc, calloc, strdup that end the process when there is no memory. */
void *server_alloc(size_t n);
void *server_zero(size_t n, size_t size);
char *server_strdup(const char *s);

#endif
