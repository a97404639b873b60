/* Rows of the database to structs and back, and the log. */
#include "store_in.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counts: "3 0 1 12 ..." ------------------------------------------------------------------------------------------------- */
static void counts_text(const int count[JOB_COUNTS], char *out, size_t size)
{
    size_t n = 0;

    for (int i = 0; i < JOB_COUNTS; i++)
        n += (size_t)snprintf(out + n, size - n, i ? " %d" : "%d", count[i]);
}

static void counts_read(int count[JOB_COUNTS], const char *text)
{
    char *at = (char *)text;

    for (int i = 0; i < JOB_COUNTS; i++)
        count[i] = at ? (int)strtol(at, &at, 10) : 0;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

/* ---- jobs --------------------------------------------------------------------------------------------------------------------- */
void db_job_row(const struct db *db, struct job_row *j)
{
    *j = (struct job_row){.key = db_int(db, 0), .name = db_copy(db, 3)};
    copy_text(j->id, sizeof j->id, db_text(db, 1));
    copy_text(j->owner, sizeof j->owner, db_text(db, 2));
    j->state = (enum job_state)db_int(db, 4);
    j->class = (enum recto_class)db_int(db, 5);
    j->options = db_copy(db, 6);
    counts_read(j->count, db_text(db, 7));
    j->has_begun = db_int(db, 8) != 0;
    j->is_cancelled = db_int(db, 9) != 0;
    j->error = db_copy(db, 10);
    j->created_ms = db_int(db, 11);
    j->started_ms = db_int(db, 12);
    j->ended_ms = db_int(db, 13);
    j->expires_ms = db_int(db, 14);
    j->deadline_ms = db_int(db, 15);
    j->retain_s = db_int(db, 16);
    j->seq = db_int(db, 17);
    j->rev = db_int(db, 18);
    j->inputs = db_copy(db, 19);
}

static int not_found(struct db *db, const char *owner, const char *id)
{
    if (db_one(db, "SELECT 1 FROM tombstone WHERE id=?1 AND (?2 IS NULL OR owner=?2)", 0, "ss", id,
               owner))
        return fault(JOBS_EXPIRED, NULL, "job %s was deleted, or its time was over", id);
    return fault(JOBS_NOT_FOUND, NULL, "there is no job %.40s", id);
}

int db_job(struct db *db, const char *owner, const char *id, struct job_row *j)
{
    *j = (struct job_row){0};
    db_query(db, "SELECT " JOB_COLUMNS " FROM job WHERE id=?1 AND (?2 IS NULL OR owner=?2)", "ss",
             id, owner);
    bool is_there = db_row(db);
    if (is_there)
        db_job_row(db, j);
    TRY(db_end(db));
    return is_there ? 0 : not_found(db, owner, id);
}

int db_job_of_key(struct db *db, int64_t key, struct job_row *j)
{
    *j = (struct job_row){0};
    db_query(db, "SELECT " JOB_COLUMNS " FROM job WHERE key=?1", "i", key);
    bool is_there = db_row(db);
    if (is_there)
        db_job_row(db, j);
    TRY(db_end(db));
    return is_there ? 0 : fault(JOBS_NOT_FOUND, NULL, "there is no such job any more");
}

int txn_save_job(struct txn *t, const struct job_row *j)
{
    char counts[JOB_COUNTS * 12];

    counts_text(j->count, counts, sizeof counts);
    return db_do(
        t->db,
        "UPDATE job SET name=?2, state=?3, counts=?4, n_left=?5, begun=?6, cancelled=?7, error=?8,"
        " started_ms=?9, ended_ms=?10, expires_ms=?11, deadline_ms=?12, rev=?13 WHERE key=?1",
        "isisiiiszzzzi", j->key, j->name, (int64_t)j->state, counts, (int64_t)job_left(j->count),
        (int64_t)j->has_begun, (int64_t)j->is_cancelled, j->error, j->started_ms, j->ended_ms,
        j->expires_ms, j->deadline_ms, j->rev);
}

/* ---- pages -------------------------------------------------------------------------------------------------------------------- */
void db_page_row(const struct db *db, struct page_row *p)
{
    *p = (struct page_row){.job = db_int(db, 0), .page = (int)db_int(db, 1)};
    p->input = (int)db_int(db, 2);
    p->input_page = (int)db_int(db, 3);
    p->state = (enum page_state)db_int(db, 4);
    p->has_status = db_text(db, 5) != NULL;
    p->status = (enum recto_status)db_int(db, 5);
    p->class = (enum recto_class)db_int(db, 6);
    p->n_attempt = (int)db_int(db, 7);
    p->best = (int)db_int(db, 8);
    p->lost = (int)db_int(db, 9);
    p->settings = db_copy(db, 10);
    p->is_replace = db_int(db, 11) != 0;
    p->width = (int)db_int(db, 12);
    p->height = (int)db_int(db, 13);
    p->rotation = (int)db_int(db, 14);
    p->n_tok = (int)db_int(db, 15);
    p->ms = (int)db_int(db, 16);
    p->conf = db_real(db, 17);
    p->min_logp = db_real(db, 18);
    p->n_text = db_int(db, 19);
    copy_text(p->edited, sizeof p->edited, db_text(db, 20));
    p->error = db_copy(db, 21);
    p->error_text = db_copy(db, 22);
    p->started_ms = db_int(db, 23);
    p->ended_ms = db_int(db, 24);
}

int db_page(struct db *db, int64_t job, int page, struct page_row *p)
{
    *p = (struct page_row){0};
    db_query(db, "SELECT " PAGE_COLUMNS " FROM page WHERE job=?1 AND page=?2", "ii", job,
             (int64_t)page);
    bool is_there = db_row(db);
    if (is_there)
        db_page_row(db, p);
    TRY(db_end(db));
    return is_there ? 0 : fault(JOBS_NOT_FOUND, NULL, "the job has no page %d", page);
}

int db_page_rows(struct db *db, struct page_row **out, int *n)
{
    int cap = 0;

    *out = NULL;
    *n = 0;
    while (db_row(db)) {
        if (*n == cap) {
            cap = cap ? 2 * cap : 16;
            *out = realloc(*out, (size_t)cap * sizeof **out);
            if (!*out)
                abort();
        }
        db_page_row(db, &(*out)[(*n)++]);
    }
    int rc = db_end(db);
    if (rc < 0) {
        store_rows_free(*out, *n);
        *out = NULL;
        *n = 0;
    }
    return rc;
}

void store_rows_free(struct page_row *row, int n)
{
    for (int i = 0; i < n; i++)
        page_row_reset(&row[i]);
    free(row);
}

int txn_save_page(struct txn *t, const struct page_row *p)
{
    char status[12] = "";

    snprintf(status, sizeof status, "%d", (int)p->status);
    return db_do(
        t->db,
        "UPDATE page SET state=?3, status=CAST(?4 AS INTEGER), class=?5, n_attempt=?6, best=?7, lost=?8,"
        " settings=?9, is_replace=?10, width=?11, height=?12, rotation=?13, n_tok=?14, ms=?15, conf=?16,"
        " min_logp=?17, n_text=?18, edited=?19, error=?20, error_text=?21, started_ms=?22,"
        " ended_ms=?23 WHERE job=?1 AND page=?2",
        "iiisiiiisiiiiiiddissszz", p->job, (int64_t)p->page, (int64_t)p->state,
        p->has_status ? status : NULL, (int64_t)p->class, (int64_t)p->n_attempt, (int64_t)p->best,
        (int64_t)p->lost, p->settings, (int64_t)p->is_replace, (int64_t)p->width,
        (int64_t)p->height, (int64_t)p->rotation, (int64_t)p->n_tok, (int64_t)p->ms, p->conf,
        p->min_logp, p->n_text, p->edited, p->error, p->error_text, p->started_ms, p->ended_ms);
}

/* ---- the log ------------------------------------------------------------------------------------------------------------------- */
int txn_tell(struct txn *t, const char *owner, const char *job, const char *type, char *body)
{
    struct told *e = calloc(1, sizeof *e);

    if (!e || !body)
        abort();
    *t->last = e;
    t->last = &e->next;
    e->body = body;
    e->time_ms = t->now_ms;
    copy_text(e->owner, sizeof e->owner, owner);
    copy_text(e->job, sizeof e->job, job);
    copy_text(e->type, sizeof e->type, type);
    TRY(db_do(t->db, "INSERT INTO event(ts_ms, owner, job, type, body) VALUES(?1, ?2, ?3, ?4, ?5)",
              "issss", t->now_ms, owner, job, type, body));
    e->seq = (uint64_t)sqlite3_last_insert_rowid(t->db->conn);
    return db_do(t->db, "UPDATE job SET seq=?2 WHERE id=?1", "si", job, (int64_t)e->seq);
}

static char *dump(json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));

    json_decref(o);
    return text;
}

/* The object names the event's own number as its seq: the next one that the log gives. */
int txn_tell_job(struct txn *t, struct job_row *j)
{
    j->seq = db_one(t->db, "SELECT seq FROM sqlite_sequence WHERE name='event'", 0, "") + 1;
    return txn_tell(t, j->owner, j->id, "job", dump(job_row_json(j)));
}

int txn_tell_page(struct txn *t, const struct job_row *j, const struct page_row *p,
                  const char *type)
{
    return txn_tell(t, j->owner, j->id, type, dump(page_row_json(p, j->id)));
}

/* ---- steps --------------------------------------------------------------------------------------------------------------------- */
void txn_step(struct job_row *j, struct page_row *p, enum page_step step, enum recto_status status)
{
    int to = page_step(p->state, step);

    assert(to >= 0); /* callers have looked at the page's state in this transaction */
    j->count[job_count_of(p->state, p->status)]--;
    p->state = (enum page_state)to;
    if (p->state == PAGE_ENDED) {
        p->status = status;
        p->has_status = true;
    }
    j->count[job_count_of(p->state, p->status)]++;
}

static void set_state(struct txn *t, struct job_row *j, enum job_state state)
{
    bool has_ended = state >= JOB_DONE;

    j->state = state;
    if (state == JOB_RUNNING && !j->started_ms)
        j->started_ms = t->now_ms;
    j->ended_ms = has_ended ? t->now_ms : 0;
    j->expires_ms = has_ended ? t->now_ms + j->retain_s * 1000 : 0;
}

int txn_settle(struct txn *t, struct job_row *j)
{
    enum job_state state = job_state_of(j->count, j->has_begun, j->is_cancelled);
    bool is_new = state != j->state;

    if (is_new)
        set_state(t, j, state);
    if (is_new)
        TRY(txn_tell_job(t, j));
    return txn_save_job(t, j);
}

int txn_idem_put(struct txn *t, const char *owner, const struct store_idem *idem,
                 const struct job_row *j)
{
    if (!idem || !idem->key)
        return 0;
    char *answer = dump(job_row_json(j));
    int rc = db_do(t->db, "INSERT OR REPLACE INTO idem VALUES(?1, ?2, ?3, ?4, ?5)", "ssssi", owner,
                   idem->key, idem->sha256, answer, idem->expires_ms);

    free(answer);
    return rc;
}
