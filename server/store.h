/* The store: what is queued, what has ended, and the log that tells of it. One contract; store_sqlite.c keeps it with SQLite.
 *
 * A change of state and the event that tells of it are one transaction, on the disk when the call returns: whoever can read the
 * store can replay the story. Calls that change something hand it to the store's one writing thread, which commits whatever has
 * gathered in one transaction (no timer), each call whole or not at all; calls that read have connections of their own.
 *
 * All functions are safe from any thread and return 0 or a negative JOBS_* with its sentence (fault.h): JOBS_STORE and
 * JOBS_STORAGE_FULL from any of them. owner NULL: anybody's. Rows are owned by the caller (rows.h). */
#ifndef RECTO_SERVER_STORE_H
#define RECTO_SERVER_STORE_H

#include "jobs.h"
#include "rows.h"

struct store;

/* path: the database file, made when missing. fn is called for each event after its commit, in order, on the writing thread.
 * A schema that is newer than this program: JOBS_STORE. Pages that were in flight when an earlier process died are queued
 * again, or end as error "worker_lost" when it was the third in a row. */
int store_open(struct store **out, const char *path, jobs_event_fn *fn, void *ctx);
/* No call may run or follow. NULL is fine. */
void store_close(struct store *s);

/* ---- jobs ------------------------------------------------------------------------------------------------------------------ */
struct store_idem {           /* an Idempotency-Key; key NULL: none */
    const char *key, *sha256; /* of what was asked for */
    int64_t expires_ms;
};
/* The answer that was kept for a key: JOBS_NOT_FOUND: none; JOBS_IDEMPOTENCY_MISMATCH: it was for something else. */
int store_idem(struct store *s, const char *owner, const struct store_idem *idem, json_t **answer);

/* j: name, owner, id, class, options, created_ms, deadline_ms, retain_s, inputs set; key, seq and counts are filled in.
 * page: [n_page] with page, input, input_page. limits are checked in the transaction: JOBS_QUOTA, JOBS_QUEUE_FULL. */
int store_add(struct store *s, struct job_row *j, const struct input_row *in, int n_in,
              const struct page_row *page, int n_page, const struct jobs_limits *limits,
              int64_t max_queued, const struct store_idem *idem);
/* JOBS_NOT_FOUND; JOBS_EXPIRED when only a tombstone is left. */
int store_job(struct store *s, const char *owner, const char *id, struct job_row *j);
/* Newest first; at most n; *n_out rows, one more than n means there are more. before 0: from the newest. */
int store_jobs(struct store *s, const char *owner, const struct jobs_query *q, struct job_row **out,
               int *n_out, bool *has_more);
int store_inputs(struct store *s, int64_t job, struct input_row **out, int *n_out);
/* At most n pages with number >= from. */
int store_pages(struct store *s, int64_t job, int from, int n, struct page_row **out, int *n_out);
int store_page(struct store *s, int64_t job, int page, struct page_row *out); /* JOBS_NOT_FOUND */
void store_rows_free(struct page_row *row, int n);

/* ---- the desk's -------------------------------------------------------------------------------------------------------------- */
typedef void store_ready_fn(void *ctx, enum recto_class class, const char *owner, int64_t job,
                            int n_page);
/* Jobs with queued pages, by class and age; of one job only, if it is not 0. */
int store_ready(struct store *s, int64_t job, store_ready_fn *fn, void *ctx);
/* Hand out the first queued pages of a job in that class: at most max, of one input, with the same settings, in order; a page
 * that was in flight when two processes died comes alone. They are rendering when it returns. *j: the job after that. None:
 * *n_out 0. only_safe: pages that were in flight at two deaths are left out (*n_out 0). */
int store_claim(struct store *s, int64_t job, enum recto_class class, int max, bool only_safe,
                struct job_row *j, struct page_row **out, int *n_out);

/* What happened to a page in flight. */
struct store_change {
    enum page_step step; /* STEP_START, STEP_END, STEP_BACK */
    int64_t job;
    int page;
    int attempt;    /* which attempt it is about: a change of another one has no effect */
    bool was_death; /* STEP_BACK: counts as lost */
    /* STEP_START, STEP_END */
    int width, height;
    /* STEP_END */
    enum recto_status status;
    const char *error, *error_text;
    bool has_reading; /* a page file of this attempt exists */
    int rotation, n_tok, tok_image, ms;
    double conf, min_logp;
    int64_t n_text;
    const char *readings; /* JSON: the rungs of it */
    const char *timings;  /* JSON */
    const char *sha256;   /* of the page file */
    bool has_effect;      /* out */
};
/* All of them in one transaction. */
int store_commit(struct store *s, struct store_change *c, int n);

/* Jobs whose deadline has passed, pages left, at most max: they are cancelled, error "deadline_exceeded". */
int store_end_late(struct store *s, int64_t now_ms, int64_t *job, int max, int *n);
/* Ids of jobs that have outlived their retention, at most n. */
int store_expired(struct store *s, int64_t now_ms, char (*id)[ID_BYTES], int n, int *n_out);
/* Old events of ended jobs, tombstones, idempotency keys, sessions. */
int store_thin(struct store *s);
/* Does a row name this input? */
int store_has_blob(struct store *s, const char *sha256, bool *is_named);
int store_has_job(struct store *s, const char *id, bool *is_there);

/* ---- changes ------------------------------------------------------------------------------------------------------------------- */
/* In all of them *j is the job as of after (may be NULL). */
int store_cancel(struct store *s, const char *owner, const char *id, struct job_row *j);
/* pages: [n], numbers; n 0: those that ended as loop, length, error or cancelled. */
int store_retry(struct store *s, const char *owner, const char *id, const int *pages, int n,
                const char *settings, bool replace, int64_t max_queued,
                const struct store_idem *idem, struct job_row *j);
/* sha256: of the user's text, "" for none. was_best, was: the attempt and the user's text ("": none) that it is based on; NULL:
 * whatever is there. JOBS_EDIT_CONFLICT. */
int store_edit(struct store *s, const char *owner, const char *id, int page, int was_best,
               const char *was, const char *sha256, struct job_row *j);
int store_keep(struct store *s, const char *owner, const char *id, int page, int attempt,
               struct job_row *j);
int store_rename(struct store *s, const char *owner, const char *id, const char *name,
                 struct job_row *j);
/* Rows go, a tombstone and an event "deleted" stay. */
int store_delete(struct store *s, const char *owner, const char *id, struct job_row *j);

/* ---- the log -------------------------------------------------------------------------------------------------------------------- */
int store_events(struct store *s, const char *owner, const char *job, uint64_t after, int max,
                 jobs_event_fn *fn, void *ctx, bool *is_gone, uint64_t *last);

/* ---- the rest ------------------------------------------------------------------------------------------------------------------- */
int store_session_put(struct store *s, const char *token, const char *owner, int64_t expires_ms);
int store_session_get(struct store *s, const char *token, char owner[OWNER_BYTES]);
int store_session_end(struct store *s, const char *token);
struct store_usage {
    int64_t pages_today, active_jobs, bytes;
};
int store_usage(struct store *s, const char *owner, struct store_usage *u);
/* queued_pages, oldest_ms, job_state, commits, commit_rows, commit_ms, can_write. */
int store_stats(struct store *s, struct jobs_stats *out);

/* On a database that nobody serves. check: JOBS_STORE when something is wrong; has_file says whether an attempt's file exists. */
typedef bool store_file_fn(void *ctx, const char *job, int page, int attempt);
int store_check(const char *path, store_file_fn *has_file, void *file_ctx, recto_line_fn *print,
                void *ctx);
int store_vacuum(const char *path, recto_line_fn *print, void *ctx);
int store_migrate(const char *path, recto_line_fn *print, void *ctx);

#endif
