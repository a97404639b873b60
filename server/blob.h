/* Files of a data directory. One contract; blob_file.c keeps it on a local file system.
 *
 *     lock                                held by flock while a process serves the directory
 *     recto.db (-wal, -shm)               the store's
 *     incoming/RANDOM                     uploads that are not accepted yet; emptied at the start
 *     blob/ab/SHA256                      inputs, by what is in them
 *     job/ID/page/000014/N.json           attempt N of page 14: the reading, the truth
 *     job/ID/page/000014/edit-SHA256.md   the user's text
 *     cache/ID/NAME                       pictures and results: derived, may vanish at any time
 *
 * Nothing that a client sends becomes a path. What is written is whole or absent: a temporary name, fsync, rename, fsync of the
 * folder; only then may a row name it. So a row never names a missing file, and a file that no row names is rubbish.
 * Functions return 0 or a negative JOBS_* (fault.h): JOBS_STORAGE_FULL, JOBS_INTERNAL. Any thread. */
#ifndef RECTO_SERVER_BLOB_H
#define RECTO_SERVER_BLOB_H

#include "rows.h"

#include <stddef.h>

struct blob {
    char *data; /* the directory */
    int lock;   /* -1: not held */
};

/* Make what is missing, lock, empty incoming/. JOBS_STORE: another process serves it (its number is named), or it lies on a
 * network file system, where SQLite's log cannot be shared. blob_close in any case. */
int blob_open(struct blob *b, const char *data);
void blob_close(struct blob *b);

/* Paths; the caller frees. */
char *blob_database(const struct blob *b);
char *blob_input(const struct blob *b, const char *sha256);
char *blob_page(const struct blob *b, const char *job, int page, int attempt);
char *blob_edit(const struct blob *b, const char *job, int page, const char *sha256);
char *blob_cached(const struct blob *b, const char *job, const char *name);

/* A new file in incoming/, mode 0600. */
int blob_incoming(const struct blob *b, char **path, int *fd);
/* Give an incoming file its place (it is flushed here); it is there already: the incoming one goes. */
int blob_accept(const struct blob *b, const char *incoming, const char *sha256);
/* Write a file of blob_page or blob_edit, with the folders it needs. */
int blob_write(const char *path, const void *bytes, size_t n);
/* Read a whole file; a NUL stands behind it. JOBS_NOT_FOUND. The caller frees. */
int blob_read(const char *path, char **bytes, size_t *n);
/* A temporary file for something derived, beside its place; blob_cache_put names it. *fd stays open. */
int blob_cache_new(const struct blob *b, const char *job, char **tmp, int *fd);
int blob_cache_put(const char *tmp, const char *path);

void blob_remove_job(const struct blob *b, const char *job); /* pages and what is derived */
void blob_remove_cached(const struct blob *b, const char *job);
int64_t blob_free_bytes(const struct blob *b); /* of the file system; -1: unknown */

/* For each input and each job folder older than an hour: fn says whether it may stay. *bytes: those of inputs. */
typedef bool blob_stays_fn(void *ctx, const char *sha256, const char *job);
void blob_sweep(const struct blob *b, blob_stays_fn *fn, void *ctx, int64_t *bytes);
/* Remove what was derived, the longest unused first, until at most `max` bytes are left; how many are. */
int64_t blob_trim_cache(const struct blob *b, int64_t max);

#endif
