/* Where results go: the plan made before any work. */
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
    char *file
        [MAX_FORMAT]; /* where each format goes; NULL on standard output, or if it has side files only */
    char *stem;       /* DIR/STEM: side files go into STEM.files; NULL on standard output */
    char *work;       /* STEM.recto-work; NULL: nothing is kept for another run */
    const char *key; /* STEM below -o DIR, for the manifest; NULL: there is none */
};

struct plan {
    int n_doc, n_format;
    const char *format[MAX_FORMAT]; /* "md", ... */
    bool to_stdout;
    const char *dir;       /* of -o DIR, as given; NULL: none */
    const char *official;  /* the script whose names "mmd" and "raw" have in -o DIR; NULL: none */
    bool json_lines;       /* standard output has those, not a text format */
    struct target *target; /* [n_doc], in the order of the inputs */
    struct inputs inputs;
};

/* Decide every name and refuse what would fail or destroy something: two results with one name,
 * an output that exists (without --force) or is an input, a folder that cannot be written.  0,
 * or an exit code after a message. */
int plan_make(struct plan *p, const struct options *o);
void plan_reset(struct plan *p);

/* names.c: fill in stem, work, key and file of every target, for -o DIR and for -o FILE. 0, or an exit code after a
 * message. */
int names_in_dir(struct plan *p, const char *dir);
int names_of_file(struct plan *p, const char *file);

#endif
