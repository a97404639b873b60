/* Sessions, usage, figures, what is old; and `recto store`. */
#include "store_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions ------------------------------------------------------------------------------------------------------------------- */
struct session {
    const char *token, *owner;
    int64_t expires_ms;
};

static int session_put(struct txn *t, void *arg)
{
    const struct session *s = arg;

    return db_do(t->db, "INSERT OR REPLACE INTO session VALUES(?1, ?2, ?3)", "ssi", s->token,
                 s->owner, s->expires_ms);
}

static int session_end(struct txn *t, void *arg)
{
    const struct session *s = arg;

    return db_do(t->db, "DELETE FROM session WHERE token=?1", "s", s->token);
}

int store_session_put(struct store *s, const char *token, const char *owner, int64_t expires_ms)
{
    struct session a = {token, owner, expires_ms};

    return store_do(s, session_put, &a);
}

int store_session_end(struct store *s, const char *token)
{
    struct session a = {.token = token};

    return store_do(s, session_end, &a);
}

int store_session_get(struct store *s, const char *token, char owner[OWNER_BYTES])
{
    struct db *db;

    TRY(store_read(s, &db));
    db_query(db, "SELECT owner FROM session WHERE token=?1 AND expires_ms > ?2", "si", token,
             now_ms());
    bool is_there = db_row(db);
    if (is_there)
        snprintf(owner, OWNER_BYTES, "%s", db_text(db, 0));
    int rc = db_end(db);
    store_read_end(s, db);
    TRY(rc);
    return is_there ? 0 : fault(JOBS_NOT_FOUND, NULL, "no such session: log in again");
}

/* ---- figures -------------------------------------------------------------------------------------------------------------------- */
int store_usage(struct store *s, const char *owner, struct store_usage *u)
{
    struct db *db;

    TRY(store_read(s, &db));
    u->pages_today = db_one(db, "SELECT pages FROM quota WHERE owner=?1 AND day=?2", 0, "si", owner,
                            now_ms() / DAY_MS);
    u->active_jobs = db_one(db, "SELECT count(*) FROM job WHERE n_left > 0 AND owner=?1", 0, "s",
                            owner);
    u->bytes = db_one(db, "SELECT sum(bytes) FROM job WHERE owner=?1", 0, "s", owner);
    store_read_end(s, db);
    return 0;
}

int store_stats(struct store *s, struct jobs_stats *out)
{
    struct db *db;
    int64_t now = now_ms();

    pthread_mutex_lock(&s->lock);
    out->can_write = s->can_write;
    out->commits = s->n_commit;
    out->commit_rows = s->n_row;
    out->commit_ms = s->commit_ms;
    pthread_mutex_unlock(&s->lock);
    TRY(store_read(s, &db));
    db_query(db,
             "SELECT p.class, count(*), min(j.created_ms) FROM page p JOIN job j ON j.key = p.job"
             " WHERE p.state = 0 GROUP BY p.class",
             "");
    while (db_row(db)) {
        int64_t class = db_int(db, 0);
        out->queued_pages[class] = db_int(db, 1);
        out->oldest_ms[class] = now - db_int(db, 2);
    }
    int rc = db_end(db);
    db_query(db, "SELECT state, count(*) FROM job GROUP BY state", "");
    while (db_row(db))
        out->job_state[db_int(db, 0)] = db_int(db, 1);
    int rc2 = db_end(db);
    store_read_end(s, db);
    return rc < 0 ? rc : rc2;
}

/* ---- what is old ----------------------------------------------------------------------------------------------------------------- */
int store_expired(struct store *s, int64_t now, char (*id)[ID_BYTES], int n, int *n_out)
{
    struct db *db;

    *n_out = 0;
    TRY(store_read(s, &db));
    db_query(db, "SELECT id FROM job WHERE expires_ms IS NOT NULL AND expires_ms < ?1 LIMIT ?2",
             "ii", now, (int64_t)n);
    while (db_row(db))
        snprintf(id[(*n_out)++], ID_BYTES, "%s", db_text(db, 0));
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}

/* Page events of jobs that ended a day ago go; meta.gone remembers up to where the log has holes. */
static int thin(struct txn *t, void *arg)
{
    static const char *const old_events =
        "SELECT max(e.seq) FROM event e JOIN job j ON j.id = e.job WHERE e.type = 'page' AND j.n_left = 0"
        " AND j.ended_ms < ?1";
    int64_t day_ago = t->now_ms - DAY_MS, gone = db_one(t->db, old_events, 0, "i", day_ago);

    (void)arg;
    if (gone > 0) {
        TRY(db_do(t->db,
                  "DELETE FROM event WHERE type = 'page' AND job IN"
                  " (SELECT id FROM job WHERE n_left = 0 AND ended_ms < ?1)",
                  "i", day_ago));
        TRY(db_do(t->db,
                  "UPDATE meta SET v = CAST(max(CAST(v AS INTEGER), ?1) AS TEXT) WHERE k='gone'",
                  "i", gone));
    }
    TRY(db_do(t->db, "DELETE FROM event WHERE type = 'deleted' AND ts_ms < ?1", "i",
              t->now_ms - 30 * (int64_t)DAY_MS));
    TRY(db_do(t->db, "DELETE FROM tombstone WHERE ts_ms < ?1", "i",
              t->now_ms - 30 * (int64_t)DAY_MS));
    TRY(db_do(t->db, "DELETE FROM idem WHERE expires_ms < ?1", "i", t->now_ms));
    TRY(db_do(t->db, "DELETE FROM session WHERE expires_ms < ?1", "i", t->now_ms));
    return db_do(t->db, "DELETE FROM quota WHERE day < ?1", "i", t->now_ms / DAY_MS - 2);
}

int store_thin(struct store *s)
{
    return store_do(s, thin, NULL);
}

int store_has_blob(struct store *s, const char *sha256, bool *is_named)
{
    struct db *db;

    TRY(store_read(s, &db));
    db_query(db, "SELECT 1 FROM input WHERE sha256=?1", "s", sha256);
    *is_named = db_row(db);
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}

/* ---- recto store ------------------------------------------------------------------------------------------------------------------ */
struct checking {
    struct db db;
    recto_line_fn *print;
    void *ctx;
    int n_wrong;
};

static void wrong(struct checking *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct checking *c, const char *fmt, ...)
{
    char line[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    c->print(c->ctx, line);
    c->n_wrong++;
}

static int check_file(struct checking *c)
{
    db_query(&c->db, "PRAGMA integrity_check", "");
    while (db_row(&c->db))
        if (strcmp(db_text(&c->db, 0), "ok") != 0)
            wrong(c, "database: %s", db_text(&c->db, 0));
    return db_end(&c->db);
}

/* A job's counters against its pages, and the state they make. */
static int check_job(struct checking *c, const struct job_row *j)
{
    int count[JOB_COUNTS] = {0};

    db_query(&c->db, "SELECT state, status, count(*) FROM page WHERE job=?1 GROUP BY state, status",
             "i", j->key);
    while (db_row(&c->db))
        count[job_count_of((enum page_state)db_int(&c->db, 0),
                           (enum recto_status)db_int(&c->db, 1))] += (int)db_int(&c->db, 2);
    TRY(db_end(&c->db));
    if (memcmp(count, j->count, sizeof count) != 0)
        wrong(c, "%s: its counters differ from its pages", j->id);
    if (job_state_of(count, j->has_begun, j->is_cancelled) != j->state)
        wrong(c, "%s: it is %s, which its pages are not", j->id, job_state_name(j->state));
    return 0;
}

static int check_attempts(struct checking *c, const struct job_row *j, store_file_fn *has_file,
                          void *ctx)
{
    db_query(&c->db, "SELECT page, n FROM attempt WHERE job=?1 AND sha256 IS NOT NULL", "i",
             j->key);
    while (db_row(&c->db))
        if (!has_file(ctx, j->id, (int)db_int(&c->db, 0), (int)db_int(&c->db, 1)))
            wrong(c, "%s: page %d: the file of attempt %d is missing", j->id,
                  (int)db_int(&c->db, 0), (int)db_int(&c->db, 1));
    TRY(db_end(&c->db));
    db_query(
        &c->db,
        "SELECT page FROM page p WHERE job=?1 AND (SELECT count(*) FROM attempt a WHERE a.job=p.job AND"
        " a.page=p.page) > n_attempt",
        "i", j->key);
    while (db_row(&c->db))
        wrong(c, "%s: page %d has more attempts than it knows of", j->id, (int)db_int(&c->db, 0));
    return db_end(&c->db);
}

static int check_all(struct checking *c, store_file_fn *has_file, void *ctx)
{
    int64_t key = 0;

    TRY(check_file(c));
    while ((key = db_one(&c->db, "SELECT key FROM job WHERE key > ?1 ORDER BY key LIMIT 1", 0, "i",
                         key)) > 0) {
        struct job_row j;
        TRY(db_job_of_key(&c->db, key, &j));
        int rc = check_job(c, &j);
        if (rc == 0)
            rc = check_attempts(c, &j, has_file, ctx);
        job_row_reset(&j);
        TRY(rc);
    }
    return 0;
}

int store_check(const char *path, store_file_fn *has_file, void *file_ctx, recto_line_fn *print,
                void *ctx)
{
    struct checking c = {.print = print, .ctx = ctx};
    int rc = db_open(&c.db, path, true);

    if (rc == 0)
        rc = schema_bring_up(&c.db);
    if (rc == 0)
        rc = check_all(&c, has_file, file_ctx);
    if (rc == 0 && c.n_wrong)
        rc = fault(JOBS_STORE, NULL, "%s: %d findings", path, c.n_wrong);
    db_close(&c.db);
    return rc;
}

int store_vacuum(const char *path, recto_line_fn *print, void *ctx)
{
    struct db db;
    int rc = db_open(&db, path, true);
    int64_t was =
        rc == 0
            ? db_one(&db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                     0, "")
            : 0;

    if (rc == 0)
        rc = db_do(&db, "PRAGMA temp_store=DEFAULT", ""); /* the whole database once more */
    if (rc == 0)
        rc = db_do(&db, "VACUUM", "");
    if (rc == 0) {
        char line[100];
        int64_t is = db_one(
            &db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", 0, "");
        snprintf(line, sizeof line, "database: %lld bytes, were %lld", (long long)is,
                 (long long)was);
        print(ctx, line);
    }
    db_close(&db);
    return rc;
}

int store_migrate(const char *path, recto_line_fn *print, void *ctx)
{
    struct db db;
    int rc = db_open(&db, path, true);

    if (rc == 0)
        rc = schema_bring_up(&db);
    if (rc == 0) {
        char line[60];
        snprintf(line, sizeof line, "database: version %d", (int)STORE_VERSION);
        print(ctx, line);
    }
    db_close(&db);
    return rc;
}
