/* Files and faults of an evaluation. */
#ifndef RECTO_EVAL_FILES_H
#define RECTO_EVAL_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* What went wrong, for the human. */
struct eval_fault {
    int code; /* RECTO_* */
    char text[600];
};
/* Fill it (printf style); returns the code. */
int eval_fail(struct eval_fault *f, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A string, printf style; free it. */
char *eval_string(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *eval_copy(const char *s); /* NULL stays NULL */

/* All of a file, with a NUL behind it; free it. NULL and errno when it cannot be read or has more than a GiB. *n may be
 * NULL. */
char *eval_read_file(const char *path, size_t *n);
bool eval_is_file(const char *path);
bool eval_is_dir(const char *path);
/* Write it under a hidden name, then give it its own. 0, or RECTO_EOUTPUT. */
int eval_write_file(const char *path, const void *bytes, size_t n, struct eval_fault *f);
int eval_make_dir(const char *path, struct eval_fault *f); /* that it is there is fine */

/* Names in a folder, without hidden ones, in the order of their bytes. names_reset frees. */
struct names {
    char **name;
    int n;
};
/* RECTO_EREAD or 0. */
int names_list(struct names *list, const char *dir, struct eval_fault *f);
void names_reset(struct names *list);
/* Is it among them? Its index, or -1. */
int names_index(const struct names *list, const char *name);

/* A report or a result as text that grows; buf->p is valid and NUL-terminated after the first print. */
struct page_text {
    char *p;
    size_t n, cap;
};
void print(struct page_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void print_bytes(struct page_text *t, const char *s, size_t n);
/* & < > " ' as HTML entities, control characters as U+FFFD. */
void print_escaped(struct page_text *t, const char *s, size_t n);

/* Call work(ctx, i) for i in 0 ... n-1 on `threads` threads (0: as many as there are processors). */
void eval_each(int n, int threads, void (*work)(void *ctx, int i), void *ctx);

#endif
