/* From the operands of `recto read` to the documents: folders, globs that the shell left alone,
 * lists of paths, page ranges behind a path. */
#ifndef RECTO_CLI_INPUTS_H
#define RECTO_CLI_INPUTS_H

#include "options.h"

struct input {
    char *path;        /* "-" is standard input */
    char *pages;       /* "1-3" of "report.pdf#pages=1-3"; NULL: as --pages says */
    char *below;       /* "sub/" for dir/sub/a.png of -r dir, where results mirror it; else "" */
    int error;         /* RECTO_*: there is no document behind this operand, and why; else 0 */
    const char *fault; /* the sentence of that error */
};

struct inputs {
    struct input *in;
    int n;
    int cap;
};

/* Fill list, without a file twice. 0, or an exit code after a message: a list that cannot be read
 * or a bad page range. inputs_reset after either. */
int inputs_gather(struct inputs *list, const struct options *o);
void inputs_reset(struct inputs *list);

/* Used by inputs.c: every file (or folder) that the pattern names, in byte order; * ? [] within a
 * name, ** for any folders. `found` is called with a path it does not own. The number found. */
int glob_each(const char *pattern, void (*found)(void *ctx, const char *path), void *ctx);
bool glob_is(const char *path);

#endif
