/* Inside the job system: the handle, and the desk, whose thread turns queued pages into readings.
 *
 * The desk claims pages in the store, hands them to the engine, and for each that ends writes its file and then commits it. While
 * the disk is full or the database held by another, finished pages wait and are tried again each second; nothing new is claimed. */
#ifndef RECTO_SERVER_DESK_H
#define RECTO_SERVER_DESK_H

#include "blob.h"
#include "fair.h"
#include "fault.h"
#include "store.h"

#include <pthread.h>
#include <stdatomic.h>

enum { DESK_CLAIM_PAGES = 16, RATE_S = 60 };

/* Pages of one input that were claimed together: one request of the engine. */
struct flight {
    struct flight *next;
    struct jobs *jobs;
    uint64_t request;
    bool is_submitted, is_gone; /* is_gone: its job was deleted */
    bool is_given_back;         /* cancelled because the server stops */
    struct job_row job;
    struct page_row *page; /* [n_page] */
    int n_page, n_left;
    bool *has_ended; /* [n_page] */
    bool is_alone;
    json_t *options, *retry;
};

/* What reaches the desk from other threads. */
struct note {
    struct note *next;
    enum { NOTE_STARTED, NOTE_PAGE, NOTE_DONE, NOTE_WORK, NOTE_CANCEL, NOTE_DELETE } what;
    struct flight *flight;
    int number;
    struct recto_page *page;
    int64_t job;
    char id[ID_BYTES];
};

struct place { /* of a job in the queue */
    int64_t job;
    int n_ahead; /* pages that are handed out before its first */
};

struct secret { /* a password, as long as its job may need it */
    struct secret *next;
    char id[ID_BYTES];
    char *password;
};

struct jobs_watch {
    struct jobs_watch *next;
    struct jobs *jobs;
    jobs_event_fn *fn; /* NULL: it follows the text of a page */
    void *ctx;
    jobs_text_fn *text_fn;
    char id[ID_BYTES];
    int page;
};

struct jobs {
    struct jobs_settings set; /* data is owned by blob */
    struct blob blob;
    struct store *store;
    int window; /* pages in flight at most, but for interactive ones */

    pthread_mutex_t
        blob_lock; /* from a blob's arrival to its row; from looking for rows to its removal */
    pthread_mutex_t watch_lock;
    struct jobs_watch *watch;
    pthread_mutex_t text_lock;
    struct jobs_watch *text_watch;
    struct live_text *live_text; /* of pages that are being read */
    pthread_mutex_t secret_lock;
    struct secret *secret;
    pthread_mutex_t idem_lock;
    struct idem_running *idem;
    pthread_mutex_t
        make_lock; /* one derived file at a time is made: each may need a lot of memory */

    pthread_t thread;
    pthread_mutex_t lock; /* the notes, and the figures */
    pthread_cond_t has_note, has_landed;
    struct note *first, *last;
    bool is_draining, is_giving_back, is_ending;
    int n_flight; /* pages */
    int64_t page_status[RECTO_PAGE_CANCELLED + 1], n_attempt;
    int64_t ended_at[RATE_S], ended_n[RATE_S]; /* pages in each of the last seconds */
    int64_t disk_blob, disk_cache;
    struct place *place; /* [n_place] of jobs that wait, as of the desk's last look */
    int n_place, cap_place;

    /* desk thread only */
    struct fair *fair;
    struct flight *flights;
    struct note *backlog; /* taken, not yet committed */
    int64_t swept_ms, tidied_ms, looked_ms, placed_ms;
    char fault_told[256];
};

int desk_start(struct jobs *j);
void desk_end(struct jobs *j);
/* Any thread: hand a note over. */
void desk_tell(struct jobs *j, struct note note);
void desk_log(struct jobs *j, enum recto_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* desk_claim.c, desk thread: hand out pages while there is room. */
void desk_fill(struct jobs *j);
void desk_cancel(struct jobs *j, int64_t job, bool is_gone);
/* Now and then: where the jobs stand that wait. */
void desk_place(struct jobs *j);
/* Any thread: pages before the job's first; -1: it does not wait, or nobody knows. */
int desk_ahead(struct jobs *j, int64_t job);
void flight_free(struct flight *f);
/* desk_tidy.c, desk thread: deadlines, retention, rubbish, when it is time to. */
void desk_tidy(struct jobs *j);
/* Files of a job that has no row any more, and inputs that none names. */
void desk_remove_files(struct jobs *j, const char *id);

char *jobs_password(struct jobs *j, const char *id); /* owned by the caller; NULL: none */
void jobs_set_password(struct jobs *j, const char *id, const char *password);
/* preview.c, reader's thread: more text of a page; it has ended; whatever text there is still (any thread, at the end). */
void preview_add(struct jobs *j, const char *id, int page, int attempt, const char *text, size_t n);
void preview_end(struct jobs *j, const char *id, int page);
void preview_end_all(struct jobs *j);
/* An Idempotency-Key's request begins: *answer is what was answered before; NULL: it is to be done, then jobs_idem_end. */
int jobs_idem_begin(struct jobs *j, const char *owner, const struct store_idem *idem,
                    json_t **answer);
void jobs_idem_end(struct jobs *j, const char *owner, const struct store_idem *idem);
/* The API's code for a page's or document's RECTO_*. */
const char *jobs_code_of_recto(int rc);

#endif
