/* Files that are whole or absent, and standard output. Functions return 0, or -1 with errno. */
#ifndef RECTO_CLI_SAVE_H
#define RECTO_CLI_SAVE_H

#include <stddef.h>

/* A file being written: as .NAME.tmp-PID beside its final name until save_commit. */
struct save {
    int fd;           /* -1: closed */
    const char *path; /* borrowed */
    char *tmp;        /* NULL: not a regular file, written in place */
    size_t n_dir;     /* of path, the folder with its slash */
};

int save_open(struct save *s, const char *path);
int save_put(struct save *s, const void *bytes, size_t n);
/* fsync, rename, fsync of the folder: the file is there, whole, also after a power cut. After a failure nothing is. */
int save_commit(struct save *s);
/* Leave no trace. Fine after anything; errno stays. */
void save_abort(struct save *s);

/* All of it at once. */
int save_file(const char *path, const void *bytes, size_t n);

/* Remove temporary files of `path` that ended runs have left. The caller knows that no run is at work on it. */
void save_sweep(const char *path);

/* To standard output, at once; on a terminal control characters other than newline, tab and form
 * feed become '?'. EPIPE when the reader has gone. */
int put_text(const char *text, size_t n);

#endif
