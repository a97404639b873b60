/* Inside the store: the writing thread, transactions, and what the store_*.c files share. */
#ifndef RECTO_SERVER_STORE_IN_H
#define RECTO_SERVER_STORE_IN_H

#include "db.h"
#include "store.h"

#include <pthread.h>

enum { STORE_READERS = 8, STORE_VERSION = 1, DAY_MS = 86400000 };

/* An event of the transaction under way, told after its commit. */
struct told {
    struct told *next;
    uint64_t seq;
    int64_t time_ms;
    char owner[OWNER_BYTES], job[ID_BYTES], type[16];
    char *body;
};

/* A transaction: part of a commit. */
struct txn {
    struct db *db;
    int64_t now_ms;
    struct told **last; /* where the next event is hung */
};
typedef int store_op(struct txn *t, void *arg);

struct waiting_op {
    struct waiting_op *next;
    store_op *op;
    void *arg;
    bool is_done;
    int rc;
    struct fault_note why;
};

struct store {
    char *path;
    struct db writer; /* writing thread only */
    pthread_t thread;
    jobs_event_fn *fn;
    void *fn_ctx;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t has_op, has_done;
    struct waiting_op *first, *last;
    bool is_closing, can_write;
    int64_t n_commit, n_row;
    double commit_ms;
    pthread_cond_t has_reader;
    struct db reader[STORE_READERS];
    bool is_open[STORE_READERS], is_taken[STORE_READERS];
};

/* Run op in a transaction on the writing thread, and wait until it is on the disk. */
int store_do(struct store *s, store_op *op, void *arg);
/* A connection for reading; give it back. */
int store_read(struct store *s, struct db **db);
void store_read_end(struct store *s, struct db *db);

/* ---- within a transaction --------------------------------------------------------------------------------------------------- */
/* Append to the log; body is taken over. Sets the job's seq. */
int txn_tell(struct txn *t, const char *owner, const char *job, const char *type, char *body);
/* The job's event, with its object: after a change of its state. */
int txn_tell_job(struct txn *t, struct job_row *j);
int txn_tell_page(struct txn *t, const struct job_row *j, const struct page_row *p,
                  const char *type);
/* Write the job's changing columns. */
int txn_save_job(struct txn *t, const struct job_row *j);
int txn_save_page(struct txn *t, const struct page_row *p);
/* Move a page, and its job's counters with it, to what `step` makes of it, with that status if it ends; p and j are changed, not
 * saved. */
void txn_step(struct job_row *j, struct page_row *p, enum page_step step, enum recto_status status);
/* The job's state follows its counters: times, expiry; tells and saves it when the state has changed, else only saves. */
int txn_settle(struct txn *t, struct job_row *j);
/* JOBS_QUEUE_FULL when n_page more would be too many. */
int txn_check_queue(struct txn *t, int n_page, int64_t max_queued);
int txn_idem_put(struct txn *t, const char *owner, const struct store_idem *idem,
                 const struct job_row *j);

/* ---- rows ---------------------------------------------------------------------------------------------------------------------- */
/* By any of: id (and owner, NULL: anybody's), or key. JOBS_NOT_FOUND, JOBS_EXPIRED. */
int db_job(struct db *db, const char *owner, const char *id, struct job_row *j);
int db_job_of_key(struct db *db, int64_t key, struct job_row *j);
#define JOB_COLUMNS                                                                                   \
    "job.key, job.id, job.owner, job.name, job.state, job.class, job.options, job.counts, job.begun," \
    " job.cancelled, job.error, job.created_ms, job.started_ms, job.ended_ms, job.expires_ms,"        \
    " job.deadline_ms, job.retain_s, job.seq, job.rev, job.inputs"
void db_job_row(const struct db *db, struct job_row *j); /* JOB_COLUMNS of the row */
#define PAGE_COLUMNS                                                                                   \
    "job, page, input, input_page, state, status, class, n_attempt, best, lost, settings, is_replace," \
    " width, height, rotation, n_tok, ms, conf, min_logp, n_text, edited, error, error_text,"          \
    " started_ms, ended_ms"
void db_page_row(const struct db *db, struct page_row *p);
int db_page(struct db *db, int64_t job, int page, struct page_row *p);
/* All rows of an open query over PAGE_COLUMNS; ends it. */
int db_page_rows(struct db *db, struct page_row **out, int *n);

int schema_bring_up(struct db *db); /* make or migrate; a newer one: JOBS_STORE */
int recover(struct txn *t, void *unused);

#endif
