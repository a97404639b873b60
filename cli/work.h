/* The finished pages of one document, on disk, so that memory does not grow with their number and a killed run loses none.
 *
 * A work file STEM.recto-work is JSON lines: the identity of what is read (identity.h), then a line for each finished page,
 *
 *     {"index":4,"pages":120,"status":"ok","page":{ the page of the layout JSON }}
 *
 * appended in one write, in the order in which they finished; flushed to the disk every two seconds and at the end. Of two
 * lines about one page the last counts. The lines that a kill or a power cut has spoilt are dropped. While a run is at work
 * the file is locked.
 *
 * Results for standard output wait in an unlinked temporary file instead. Functions return 0, or -1 with errno. */
#ifndef RECTO_CLI_WORK_H
#define RECTO_CLI_WORK_H

#include <sys/types.h>

#include "recto.h"

struct work_page;

struct work {
    int fd; /* -1: closed */
    char *path;
    off_t size;
    double synced_at; /* seconds; and whether there is more since */
    bool is_dirty;
    bool was_there; /* the file existed, */
    bool was_other; /* but was about something else, or nothing */
    int n_page,
        n_known; /* of the document, 0 until it is known; work_put or work_note has told of */
    struct work_page *page;
};

/* Start, or with `resume` go on where a run with the same identity (a line, without newline) ended; pages whose status is
 * error, loop or length are then unknown again. path NULL: a temporary file. EWOULDBLOCK: another run is at work on it.
 * work_close w after either. */
int work_open(struct work *w, const char *path, const char *identity, bool resume);
/* The document has ended: with `remove` the file goes, else it is flushed and stays for the next run. Pages can still be
 * read until work_close, and so can those of a temporary file. */
int work_end(struct work *w, bool remove);
void work_close(struct work *w);

/* Keep page p->index of p->n_index. On failure the file is as before. */
int work_put(struct work *w, const struct recto_page *p);
/* Remember a cancelled page, for this run only. */
void work_note(struct work *w, const struct recto_page *p);
/* Is page `index` known, and how did it end? */
bool work_has(const struct work *w, int index, enum recto_status *status);
/* Give page `index`, which is known, back, with index and n_index; recto_page_reset it. EBADMSG: the file has changed. */
int work_get(const struct work *w, int index, struct recto_page *p);
/* Which pages are known: [n_page], to be freed; NULL if none is. */
bool *work_known(const struct work *w);
/* Flush if it is time to. */
int work_sync(struct work *w, double now);

/* Is a run at work on this file? 1, 0 if not, -1 if there is no such file. */
int work_is_locked(const char *path);

#endif
