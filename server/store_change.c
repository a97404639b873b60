/* What an owner does to a job: cancel, retry, edit, keep, rename, delete. Each is one transaction. */
#include "store_in.h"

#include <stdlib.h>
#include <string.h>

struct changing {
    const char *owner, *id;
    struct job_row *j; /* NULL: not wanted */
    int (*what)(struct txn *t, struct job_row *j, const struct changing *c);
    const int *pages;
    int n, page, attempt;
    const char *text, *was;
    bool flag;
    int64_t max_queued;
    const struct store_idem *idem;
};

static int change(struct txn *t, void *arg)
{
    struct changing *c = arg;
    struct job_row j;

    int rc = db_job(t->db, c->owner, c->id, &j);
    if (rc == 0)
        rc = c->what(t, &j, c);
    if (rc == 0 && c->j)
        *c->j = j;
    else
        job_row_reset(&j);
    return rc;
}

static int run(struct store *s, struct changing c)
{
    if (c.j)
        *c.j = (struct job_row){0};
    return store_do(s, change, &c);
}

/* ---- cancel -------------------------------------------------------------------------------------------------------------------- */
static int cancel_queued(struct txn *t, struct job_row *j)
{
    struct page_row *page;
    int n, rc = 0;

    db_query(t->db,
             "SELECT " PAGE_COLUMNS " FROM page INDEXED BY page_queued WHERE job=?1 AND state=0",
             "i", j->key);
    TRY(db_page_rows(t->db, &page, &n));
    for (int i = 0; i < n && rc == 0; i++) {
        txn_step(j, &page[i], STEP_CANCEL, page[i].best ? page[i].status : RECTO_PAGE_CANCELLED);
        page[i].ended_ms = t->now_ms;
        rc = txn_save_page(t, &page[i]);
        if (rc == 0)
            rc = txn_tell_page(t, j, &page[i], "page");
    }
    store_rows_free(page, n);
    return rc;
}

static int cancel(struct txn *t, struct job_row *j, const struct changing *c)
{
    (void)c;
    if (job_left(j->count) == 0)
        return fault(JOBS_JOB_FINISHED, NULL, "job %s has ended: there is nothing to cancel",
                     j->id);
    j->is_cancelled = true;
    TRY(cancel_queued(t, j));
    return txn_settle(t, j);
}

int store_cancel(struct store *s, const char *owner, const char *id, struct job_row *j)
{
    return run(s, (struct changing){.owner = owner, .id = id, .j = j, .what = cancel});
}

/* ---- deadlines ------------------------------------------------------------------------------------------------------------------ */
struct late {
    int64_t *job;
    int max, n;
};

static int end_late(struct txn *t, void *arg)
{
    struct late *l = arg;

    l->n = 0;
    db_query(t->db,
             "SELECT key FROM job WHERE n_left > 0 AND deadline_ms < ?1 AND cancelled = 0 LIMIT ?2",
             "ii", t->now_ms, (int64_t)l->max);
    while (db_row(t->db))
        l->job[l->n++] = db_int(t->db, 0);
    TRY(db_end(t->db));
    for (int i = 0; i < l->n; i++) {
        struct job_row j;
        int rc = db_job_of_key(t->db, l->job[i], &j);
        if (rc == 0) {
            free(j.error);
            j.error = strdup("deadline_exceeded");
            rc = cancel(t, &j, NULL);
        }
        job_row_reset(&j);
        TRY(rc);
    }
    return 0;
}

/* A look first, so that nothing is committed when nothing is late. */
int store_end_late(struct store *s, int64_t now, int64_t *job, int max, int *n)
{
    struct late l = {.job = job, .max = max};
    struct db *db;

    *n = 0;
    TRY(store_read(s, &db));
    int64_t any = db_one(
        db, "SELECT 1 FROM job WHERE n_left > 0 AND deadline_ms < ?1 AND cancelled = 0", 0, "i",
        now);
    store_read_end(s, db);
    if (any)
        TRY(store_do(s, end_late, &l));
    *n = l.n;
    return 0;
}

/* ---- retry --------------------------------------------------------------------------------------------------------------------- */
enum { FIRST_CLASS_PAGES = 4 };

static bool wants_retry(const struct page_row *p)
{
    return p->state == PAGE_ENDED &&
           (p->status == RECTO_PAGE_LOOP || p->status == RECTO_PAGE_LENGTH ||
            p->status == RECTO_PAGE_ERROR || p->status == RECTO_PAGE_CANCELLED);
}

/* The rows to be read again. */
static int choose(struct txn *t, const struct job_row *j, const struct changing *c,
                  struct page_row **out, int *n_out)
{
    db_query(t->db, "SELECT " PAGE_COLUMNS " FROM page WHERE job=?1 ORDER BY page", "i", j->key);
    TRY(db_page_rows(t->db, out, n_out));
    int n = 0, k = 0;
    for (int i = 0; i < *n_out; i++) {
        struct page_row *p = &(*out)[i];
        while (c->n && k < c->n && c->pages[k] < p->page)
            k++;
        bool is_chosen = c->n ? k < c->n && c->pages[k] == p->page : wants_retry(p);
        if (is_chosen)
            (*out)[n++] = *p;
        else
            page_row_reset(p);
    }
    *n_out = n;
    return 0;
}

static int retry_page(struct txn *t, struct job_row *j, struct page_row *p, int n,
                      const struct changing *c)
{
    if (p->state != PAGE_ENDED)
        return fault(JOBS_JOB_NOT_FINISHED, "pages", "page %d is %s: wait until it has ended",
                     p->page, page_state_name(p->state));
    txn_step(j, p, STEP_RETRY, RECTO_PAGE_OK);
    p->class = n <= FIRST_CLASS_PAGES ? RECTO_CLASS_INTERACTIVE : j->class;
    free(p->settings);
    p->settings = c->text ? strdup(c->text) : NULL;
    p->is_replace = c->flag;
    p->started_ms = p->ended_ms = 0;
    p->lost = 0;
    free(p->error);
    free(p->error_text);
    p->error = p->error_text = NULL;
    TRY(txn_save_page(t, p));
    return txn_tell_page(t, j, p, "page");
}

/* A job whose retry is asked for is no longer cancelled or late; a deadline that has passed does not hold for it. */
static int retry(struct txn *t, struct job_row *j, const struct changing *c)
{
    struct page_row *page;
    int n, rc;

    TRY(choose(t, j, c, &page, &n));
    if (n == 0)
        rc = fault(JOBS_INVALID_VALUE, "pages", "no page of the job needs a retry: name some");
    else if (c->n && n < c->n)
        rc = fault(JOBS_PAGE_OUT_OF_RANGE, "pages", "%d of the pages do not belong to the job",
                   c->n - n);
    else
        rc = txn_check_queue(t, n, c->max_queued);
    for (int i = 0; i < n && rc == 0; i++)
        rc = retry_page(t, j, &page[i], n, c);
    store_rows_free(page, n);
    TRY(rc);
    j->is_cancelled = false;
    j->deadline_ms = j->deadline_ms && j->deadline_ms < t->now_ms ? 0 : j->deadline_ms;
    free(j->error);
    j->error = NULL;
    TRY(txn_settle(t, j));
    return txn_idem_put(t, j->owner, c->idem, j);
}

int store_retry(struct store *s, const char *owner, const char *id, const int *pages, int n,
                const char *settings, bool replace, int64_t max_queued,
                const struct store_idem *idem, struct job_row *j)
{
    return run(s, (struct changing){.owner = owner,
                                    .id = id,
                                    .j = j,
                                    .what = retry,
                                    .pages = pages,
                                    .n = n,
                                    .text = settings,
                                    .flag = replace,
                                    .max_queued = max_queued,
                                    .idem = idem});
}

/* ---- edit ---------------------------------------------------------------------------------------------------------------------- */
static int edit(struct txn *t, struct job_row *j, const struct changing *c)
{
    struct page_row p;
    int rc = db_page(t->db, j->key, c->page, &p);

    if (rc == 0 && c->was && (strcmp(c->was, p.edited) != 0 || c->attempt != p.best))
        rc = fault(JOBS_EDIT_CONFLICT, NULL,
                   "page %d has another text by now: look at it, then save again", c->page);
    if (rc == 0) {
        memset(p.edited, 0, sizeof p.edited);
        memcpy(p.edited, c->text, strnlen(c->text, SHA_BYTES - 1));
        j->rev++;
        rc = txn_save_page(t, &p);
    }
    if (rc == 0)
        rc = txn_tell_page(t, j, &p, "edit");
    page_row_reset(&p);
    TRY(rc);
    return txn_save_job(t, j);
}

int store_edit(struct store *s, const char *owner, const char *id, int page, int was_best,
               const char *was, const char *sha256, struct job_row *j)
{
    return run(s, (struct changing){.owner = owner,
                                    .id = id,
                                    .j = j,
                                    .what = edit,
                                    .page = page,
                                    .attempt = was_best,
                                    .was = was,
                                    .text = sha256});
}

/* ---- keep ---------------------------------------------------------------------------------------------------------------------- */
static int load_attempt(struct txn *t, struct page_row *p, enum recto_status *status, int attempt)
{
    db_query(
        t->db,
        "SELECT status, n_tok, conf, min_logp, n_text, width, height, rotation, ms FROM attempt"
        " WHERE job=?1 AND page=?2 AND n=?3 AND sha256 IS NOT NULL",
        "iii", p->job, (int64_t)p->page, (int64_t)attempt);
    bool is_there = db_row(t->db);
    if (is_there) {
        *status = (enum recto_status)db_int(t->db, 0);
        p->n_tok = (int)db_int(t->db, 1);
        p->conf = db_real(t->db, 2);
        p->min_logp = db_real(t->db, 3);
        p->n_text = db_int(t->db, 4);
        p->width = (int)db_int(t->db, 5);
        p->height = (int)db_int(t->db, 6);
        p->rotation = (int)db_int(t->db, 7);
        p->ms = (int)db_int(t->db, 8);
        p->best = attempt;
    }
    TRY(db_end(t->db));
    return is_there ? 0
                    : fault(JOBS_NOT_FOUND, "attempt", "page %d has no reading by attempt %d",
                            p->page, attempt);
}

static int keep(struct txn *t, struct job_row *j, const struct changing *c)
{
    enum recto_status status = RECTO_PAGE_OK;
    struct page_row p;
    int rc = db_page(t->db, j->key, c->page, &p);

    if (rc == 0 && p.state != PAGE_ENDED)
        rc = fault(JOBS_JOB_NOT_FINISHED, NULL, "page %d is being read: wait until it has ended",
                   c->page);
    if (rc == 0)
        rc = load_attempt(t, &p, &status, c->attempt);
    if (rc == 0) {
        j->count[job_count_of(p.state, p.status)]--;
        p.status = status;
        p.has_status = true;
        j->count[job_count_of(p.state, p.status)]++;
        j->rev++;
        rc = txn_save_page(t, &p);
    }
    if (rc == 0)
        rc = txn_tell_page(t, j, &p, "page");
    page_row_reset(&p);
    TRY(rc);
    return txn_settle(t, j);
}

int store_keep(struct store *s, const char *owner, const char *id, int page, int attempt,
               struct job_row *j)
{
    return run(
        s, (struct changing){
               .owner = owner, .id = id, .j = j, .what = keep, .page = page, .attempt = attempt});
}

/* ---- rename, delete -------------------------------------------------------------------------------------------------------------- */
static int give_name(struct txn *t, struct job_row *j, const struct changing *c)
{
    free(j->name);
    j->name = strdup(c->text);
    j->rev++; /* results name their source */
    TRY(txn_tell_job(t, j));
    return txn_save_job(t, j);
}

int store_rename(struct store *s, const char *owner, const char *id, const char *name,
                 struct job_row *j)
{
    return run(
        s, (struct changing){.owner = owner, .id = id, .j = j, .what = give_name, .text = name});
}

/* Its events go too, but for the last, which says that it is gone. */
static int remove_job(struct txn *t, struct job_row *j, const struct changing *c)
{
    json_t *body = json_pack("{ss}", "job", j->id);
    char *text = json_dumps(body, JSON_COMPACT);

    (void)c;
    json_decref(body);
    TRY(txn_tell(t, j->owner, j->id, "deleted", text));
    TRY(db_do(t->db, "DELETE FROM event WHERE job=?1 AND type<>'deleted'", "s", j->id));
    TRY(db_do(t->db, "INSERT OR REPLACE INTO tombstone VALUES(?1, ?2, ?3)", "ssi", j->id, j->owner,
              t->now_ms));
    return db_do(t->db, "DELETE FROM job WHERE key=?1", "i", j->key);
}

int store_delete(struct store *s, const char *owner, const char *id, struct job_row *j)
{
    return run(s, (struct changing){.owner = owner, .id = id, .j = j, .what = remove_job});
}
