/* Jobs: documents that are read in the background, page by page, and survive whatever happens to the process.
 *
 * jobs_open starts a desk: it owns a data directory, feeds queued pages to an engine through its reader, keeps each finished
 * page as a file, and commits every change of state together with the event that tells of it. No connection is part of a job.
 *
 *     jobs_upload_begin -> file -> write ... -> commit        a job is queued (202)
 *     jobs_get, jobs_list, jobs_pages                          JSON objects, as the API answers them
 *     jobs_events, jobs_watch                                  the story so far, and what is committed from now on
 *     jobs_result, jobs_page_result, jobs_picture, jobs_input  files to be sent
 *     jobs_cancel, jobs_retry, jobs_edit, jobs_delete          happen entirely or not at all
 *
 * No HTTP in here, no SQL. Objects belong to an owner (the name of an API key; "" when there are no keys); another owner's do
 * not exist for the caller: JOBS_NOT_FOUND. Owner NULL: an administrator, who sees all.
 *
 * Words. State of a job: queued, running, done, failed, cancelled. State of a page: queued, rendering (handed to the page
 * workers), reading (in the engine), ended; an ended page has a status: ok, blank, suspect, loop, length, error, skipped,
 * cancelled. Page numbers run through the job's files in order, from 1, and never shift.
 *
 * Functions return 0 or a negative JOBS_*; jobs_last_error() is then the sentence for the human, jobs_last_param() the member
 * or option at fault (NULL: none), per thread. All of them are safe from any thread. Those marked "slow" start helper
 * processes or write large files: call them from a thread that may wait seconds; the others wait for a commit at most.
 * json_t results are owned by the caller (json_decref). */
#ifndef RECTO_SERVER_JOBS_H
#define RECTO_SERVER_JOBS_H

#include "reader.h"

#include <jansson.h>

/* Name, the API's code for it. */
#define JOBS_ERRORS(X)                                \
    X(INVALID_JSON, "invalid_json")                   \
    X(INVALID_VALUE, "invalid_value")                 \
    X(UNKNOWN_OPTION, "unknown_option")               \
    X(TOO_MANY_PAGES, "too_many_pages")               \
    X(NOT_FOUND, "not_found")                         \
    X(EXPIRED, "expired")                             \
    X(JOB_NOT_FINISHED, "job_not_finished")           \
    X(JOB_FINISHED, "job_finished")                   \
    X(IDEMPOTENCY_RUNNING, "idempotency_in_progress") \
    X(EDIT_CONFLICT, "edit_conflict")                 \
    X(BODY_TOO_LARGE, "body_too_large")               \
    X(MEDIA_TYPE, "unsupported_media_type")           \
    X(UNREADABLE, "document_unreadable")              \
    X(PASSWORD_REQUIRED, "password_required")         \
    X(PASSWORD_WRONG, "password_wrong")               \
    X(PAGE_OUT_OF_RANGE, "page_out_of_range")         \
    X(IMAGE_TOO_LARGE, "image_too_large")             \
    X(IDEMPOTENCY_MISMATCH, "idempotency_mismatch")   \
    X(QUEUE_FULL, "queue_full")                       \
    X(QUOTA, "quota_exceeded")                        \
    X(FORBIDDEN, "forbidden")                         \
    X(DRAINING, "draining")                           \
    X(STORE, "store_unavailable")                     \
    X(STORAGE_FULL, "storage_full")                   \
    X(INTERNAL, "internal")

enum jobs_error {
    JOBS_OK = 0,
#define X(id, code) JOBS_MINUS_##id,
    JOBS_ERRORS(X)
#undef X
#define X(id, code) JOBS_##id = -JOBS_MINUS_##id,
        JOBS_ERRORS(X)
#undef X
};

const char *jobs_error_code(int rc); /* "not_found"; "ok" for 0 */
const char *jobs_last_error(void);
const char *jobs_last_param(void);

/* ---- the desk ------------------------------------------------------------------------------------------------------------ */
struct jobs;

struct jobs_settings {
    const char *data; /* directory: made with mode 0700 when missing, locked for this process */
    struct recto *recto;
    struct reader *reader;
    /* The engine's own settings, for opening documents beside it (helper, sandbox, limits). Borrowed until jobs_close. */
    const struct recto_settings *engine;
    int max_pages;            /* of a job; default 5000 */
    int64_t max_queued_pages; /* of the server; default 200000, then JOBS_QUEUE_FULL */
    int64_t max_upload;       /* bytes of a job's files together; default 512 MiB */
    int64_t retain_s;         /* jobs live so long after their end; default 7 days */
    int64_t disk_min;         /* free bytes below which uploads are refused; default 5 GiB */
    int64_t image_cache;      /* bytes of derived pictures and results; default 4 GiB */
    int ahead_pages;   /* pages handed to the engine at once; 0: one and a half times its places */
    recto_log_fn *log; /* one line per page and per fault; NULL: silent */
    /* Each page that has ended, after its commit, on the desk's thread; NULL: nobody counts. */
    void (*page_ended)(void *ctx, const struct recto_page *page);
    void *page_ctx;
    void *log_ctx;
};
void jobs_settings_init(struct jobs_settings *s);

/* Lock, migrate, take up what an earlier process has left, start. Errors: JOBS_STORE (the sentence says who holds the lock, or
 * what is wrong with the database), JOBS_STORAGE_FULL. Strings are copied. */
int jobs_open(struct jobs **out, const struct jobs_settings *s);
/* No further page begins; pages in flight have so many ms to end, then they are given back to the queue. Uploads are refused
 * with JOBS_DRAINING from now on. jobs_close follows. */
void jobs_drain(struct jobs *j, int grace_ms);
/* Drains without grace. The reader must still run. NULL is fine. */
void jobs_close(struct jobs *j);

/* ---- uploads ------------------------------------------------------------------------------------------------------------- */
struct jobs_upload;

/* What a caller's key allows; 0: no limit. */
struct jobs_limits {
    int64_t pages_day;    /* pages of jobs since midnight UTC */
    int64_t jobs;         /* queued or running */
    int64_t bytes;        /* stored inputs */
    bool may_interactive; /* class "interactive" */
};

/* A place for a job's files on disk. JOBS_STORAGE_FULL, JOBS_DRAINING, JOBS_QUEUE_FULL. */
int jobs_upload_begin(struct jobs *j, const char *owner, const struct jobs_limits *limits,
                      struct jobs_upload **out);
/* The next file begins; name is for people (any bytes; never a path). */
int jobs_upload_file(struct jobs_upload *u, const char *name);
/* More bytes of it. JOBS_BODY_TOO_LARGE, JOBS_STORAGE_FULL, and, when its first bytes are of no kind that is read,
 * JOBS_MEDIA_TYPE; after a failure only abort is left. */
int jobs_upload_write(struct jobs_upload *u, const void *bytes, size_t n);
/* Options as JSON text (an object as in the API; unknown members are refused), or one of them as text, say from a query:
 * "pages", "1-5". May be called in any order; a member given twice: the later wins. JOBS_INVALID_JSON, JOBS_INVALID_VALUE,
 * JOBS_UNKNOWN_OPTION. The option "password" is kept in memory only. */
int jobs_upload_options(struct jobs_upload *u, const char *json, size_t n);
int jobs_upload_option(struct jobs_upload *u, const char *name, const char *value);
/* Slow. Open the files, count their pages, make the job; *job is its object. After success u is gone.
 * idempotency_key NULL: none; else the answer to the same key, files and options within 24 h is given again and *is_replayed
 * set. JOBS_UNREADABLE, JOBS_PASSWORD_*, JOBS_PAGE_OUT_OF_RANGE, JOBS_IMAGE_TOO_LARGE, JOBS_TOO_MANY_PAGES, JOBS_QUOTA,
 * JOBS_QUEUE_FULL, JOBS_FORBIDDEN (class), JOBS_IDEMPOTENCY_*, JOBS_STORE, JOBS_STORAGE_FULL, JOBS_INVALID_VALUE (no file). */
int jobs_upload_commit(struct jobs_upload *u, const char *idempotency_key, json_t **job,
                       bool *is_replayed);
/* Leave nothing; NULL is fine. */
void jobs_upload_abort(struct jobs_upload *u);

/* ---- reading --------------------------------------------------------------------------------------------------------------- */
struct jobs_query {
    int limit;          /* 1..200; 0: 50 */
    const char *before; /* a job's id: only older ones; NULL: from the newest */
    const char *state;  /* NULL: any */
    const char *text;   /* in the name; NULL: any */
};
int jobs_list(struct jobs *j, const char *owner, const struct jobs_query *q, json_t **list);
/* The job's object. JOBS_EXPIRED for 30 days after its rows have gone. */
int jobs_get(struct jobs *j, const char *owner, const char *id, json_t **job);
/* {"object":"list","data":[page rows],"has_more":…}: from page number `from` on, at most limit (0: 200, up to 1000). */
int jobs_pages(struct jobs *j, const char *owner, const char *id, int from, int limit,
               json_t **pages);

/* A committed event. Borrowed for the call. type: "job", "page", "edit", "deleted"; body: JSON text, one line. */
struct jobs_event {
    uint64_t seq;
    int64_t time_ms;
    const char *owner, *job, *type, *body;
};
typedef void jobs_event_fn(void *ctx, const struct jobs_event *ev);
/* Call fn for committed events with seq > after, in order, at most `max`; of one job, or of all the owner's (job NULL).
 * *is_gone: events after `after` were thinned out: send reset. *last: the newest seq there is, of anybody. */
int jobs_events(struct jobs *j, const char *owner, const char *job, uint64_t after, int max,
                jobs_event_fn *fn, void *ctx, bool *is_gone, uint64_t *last);
/* From now on call fn for every event of every owner, after its commit, in order, on the store's thread: it must not block and
 * not call jobs_*. To follow without a gap: jobs_watch, then jobs_events up to its end, then drop watched ones already seen. */
struct jobs_watch;
int jobs_watch(struct jobs *j, jobs_event_fn *fn, void *ctx, struct jobs_watch **out);
/* No call of fn runs or follows when it returns. NULL is fine. Not from within fn. */
void jobs_unwatch(struct jobs_watch *w);

/* Text of a page while it is read: a piece that begins at byte `offset` of all the text so far (0: it begins anew). */
typedef void jobs_text_fn(void *ctx, const char *job, int page, int attempt, size_t offset,
                          const char *text, size_t n);
/* Follow a page: at once what there is, then each piece as it comes, on the reader's thread: fn must not block and not call
 * jobs_*. Nothing is said of a page that is not being read. jobs_unwatch ends it. */
int jobs_watch_text(struct jobs *j, const char *owner, const char *id, int page, jobs_text_fn *fn,
                    void *ctx, struct jobs_watch **out);

/* A file to send: fd is open at its start and the receiver's to close (jobs_body_reset does). */
struct jobs_body {
    int fd;
    int64_t size;
    char media_type[64];
    char etag[80]; /* strong, without quotes: same etag, same bytes */
    char *
        name; /* for Content-Disposition: "report.md"; UTF-8, may hold anything but control characters */
};
void jobs_body_reset(struct jobs_body *b);

/* Slow. The whole document: md txt html json jsonl pdf zip. Unfinished: JOBS_JOB_NOT_FINISHED unless partial (finished pages;
 * the others are marked where the format can). JOBS_INVALID_VALUE: no such format, or not to be had of this document. */
int jobs_result(struct jobs *j, const char *owner, const char *id, const char *format, bool partial,
                struct jobs_body *out);
/* One page: md txt html json. by_model: the text before edits. JOBS_JOB_NOT_FINISHED: it has no reading yet. The etag is what
 * jobs_edit compares. attempt: that reading instead of the page's own, as the model wrote it; 0: the page's own. */
int jobs_page_result(struct jobs *j, const char *owner, const char *id, int page,
                     const char *format, bool by_model, int attempt, struct jobs_body *out);
/* Slow unless cached. JPEG of the page as it was read: width 160, 800, 1600, or 0: as it is. Works before it was read too. */
int jobs_page_image(struct jobs *j, const char *owner, const char *id, int page, int width,
                    struct jobs_body *out);
/* Slow unless cached. The page with its boxes drawn; figure k (1, 2, ...) of the page. */
int jobs_page_overlay(struct jobs *j, const char *owner, const char *id, int page,
                      struct jobs_body *out);
int jobs_page_crop(struct jobs *j, const char *owner, const char *id, int page, int k,
                   struct jobs_body *out);
/* The k-th file (0, 1, ...) as it came. */
int jobs_input(struct jobs *j, const char *owner, const char *id, int k, struct jobs_body *out);

/* ---- changing -------------------------------------------------------------------------------------------------------------- */
/* Queued pages end as cancelled at once, those in the engine soon; finished ones stay. *job as of after. JOBS_JOB_FINISHED. */
int jobs_cancel(struct jobs *j, const char *owner, const char *id, json_t **job);
/* body: {"pages":"3,7","options":{...},"replace":false,"password":null}; pages missing: those that ended as loop, length,
 * error or cancelled. New attempts; the old reading stays until the new one is better, or in any case replaced with
 * "replace". Up to 4 pages go first (class interactive). JOBS_INVALID_*, JOBS_PAGE_OUT_OF_RANGE, JOBS_JOB_NOT_FINISHED (a page
 * of them is queued or under way), JOBS_QUEUE_FULL. */
int jobs_retry(struct jobs *j, const char *owner, const char *id, const char *body, size_t n,
               const char *idempotency_key, json_t **job, bool *is_replayed);
/* The user's Markdown for a page, beside the model's; n 0: back to the model's. if_match: the etag of what was edited (as
 * jobs_page_result gave it for md), NULL: whatever it is; JOBS_EDIT_CONFLICT when it is another by now. *etag: the new one.
 * At most 1 MiB of UTF-8. */
int jobs_edit(struct jobs *j, const char *owner, const char *id, int page, const char *if_match,
              const char *text, size_t n, char etag[80]);
/* Reading `attempt` becomes the page's own. *row: the page's row as in jobs_pages. */
int jobs_keep(struct jobs *j, const char *owner, const char *id, int page, int attempt,
              json_t **row);
/* Another name for people: 1 to 1024 bytes of UTF-8 without control characters. */
int jobs_rename(struct jobs *j, const char *owner, const char *id, const char *name, json_t **job);
/* Cancel, and remove rows and files; a tombstone stays for 30 days. */
int jobs_delete(struct jobs *j, const char *owner, const char *id);

/* ---- figures --------------------------------------------------------------------------------------------------------------- */
struct jobs_stats {
    int64_t queued_pages[3],
        oldest_ms[3];     /* by enum recto_class: waiting; age of the oldest, 0: none */
    int64_t job_state[5]; /* queued, running, done, failed, cancelled: that are kept now */
    int64_t pages_in_flight;
    int64_t page_status[RECTO_PAGE_CANCELLED + 1]; /* pages that have ended since the start */
    int64_t attempts, commits, commit_rows;        /* since the start */
    double commit_ms;                              /* in all */
    double pages_s;                                /* read, over the last minute */
    int64_t disk_free, disk_blob, disk_cache;      /* bytes; blob: as of the last sweep */
    bool can_write;                                /* the last commit worked */
    bool is_low;                                   /* disk_free < disk_min */
};
void jobs_get_stats(struct jobs *j, struct jobs_stats *s);
/* {"pages_today":…,"active_jobs":…,"stored_bytes":…} of an owner. */
int jobs_usage(struct jobs *j, const char *owner, json_t **usage);

/* ---- sessions of the page (rows of the store; the meaning is auth.c's) -------------------------------------------------------- */
/* token: SHA-256 of the cookie, 64 hex digits. */
int jobs_session_put(struct jobs *j, const char *token, const char *owner, int64_t expires_ms);
/* JOBS_NOT_FOUND: unknown or over. owner: at most 127 bytes. */
int jobs_session_get(struct jobs *j, const char *token, char owner[128]);
int jobs_session_end(struct jobs *j, const char *token);

/* ---- recto store --------------------------------------------------------------------------------------------------------------- */
/* On a data directory that no server holds; one line a finding. check: the database's own check, counters against rows, rows
 * against files; JOBS_STORE when something is wrong. */
int jobs_store_check(const char *data, recto_line_fn *print, void *ctx);
int jobs_store_vacuum(const char *data, recto_line_fn *print, void *ctx);
int jobs_store_migrate(const char *data, recto_line_fn *print, void *ctx);

#endif
