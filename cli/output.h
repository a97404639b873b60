/* Where results go: the plan made before any work, files that are whole or absent, standard
 * output. */
#ifndef RECTO_CLI_OUTPUT_H
#define RECTO_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "inputs.h"
#include "options.h"

enum { MAX_FORMAT = 24 };

struct target {
    const char *name;       /* the input, for messages */
    const struct input *in; /* where it came from */
    char *file[MAX_FORMAT]; /* where each format goes; NULL on standard output */
};

struct plan {
    int n_doc, n_format;
    const char *format[MAX_FORMAT]; /* "md", ... */
    bool to_stdout;
    bool json_lines;       /* standard output has those, not a text format */
    struct target *target; /* [n_doc], in the order of the inputs */
    struct inputs inputs;
};

/* Decide every name and refuse what would fail or destroy something: two results with one name,
 * an output that exists (without --force) or is an input, a folder that cannot be written.  0,
 * or an exit code after a message. */
int plan_make(struct plan *p, const struct options *o);
void plan_reset(struct plan *p);

/* Write under a temporary name beside `path`, fsync, rename. What is not a regular file (a pipe,
 * /dev/null) is written in place. 0, or -1 with errno. */
int save_file(const char *path, const char *text, size_t n);

/* To standard output, at once; on a terminal control characters other than newline, tab and form
 * feed become '?'. 0, or -1 with errno: EPIPE when the reader has gone. */
int put_text(const char *text, size_t n);

#endif
