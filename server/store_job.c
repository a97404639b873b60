/* Jobs: added, found, listed; the log; idempotency keys. */
#include "store_in.h"

#include <stdlib.h>
#include <string.h>

/* ---- adding -------------------------------------------------------------------------------------------------------------------- */
struct adding {
    struct job_row *j;
    const struct input_row *in;
    int n_in;
    const struct page_row *page;
    int n_page;
    const struct jobs_limits *limits;
    int64_t max_queued;
    const struct store_idem *idem;
};

static int64_t stored_bytes(const struct input_row *in, int n)
{
    int64_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += in[i].bytes;
    return bytes;
}

int txn_check_queue(struct txn *t, int n_page, int64_t max_queued)
{
    int64_t queued = db_one(t->db, "SELECT sum(n_left) FROM job WHERE n_left > 0", 0, "");

    if (max_queued > 0 && queued + n_page > max_queued)
        return fault(JOBS_QUEUE_FULL, NULL,
                     "%lld pages are queued, the limit is %lld: try again when some have been read",
                     (long long)queued, (long long)max_queued);
    return 0;
}

static int over(const char *what, int64_t is, int64_t limit)
{
    return fault(JOBS_QUOTA, NULL, "this key's limit of %lld %s would be passed (%lld)",
                 (long long)limit, what, (long long)is);
}

static int check_limits(struct txn *t, const struct adding *a)
{
    static const struct jobs_limits none;
    const struct jobs_limits *l = a->limits ? a->limits : &none;
    const char *owner = a->j->owner;
    int64_t pages = db_one(t->db, "SELECT pages FROM quota WHERE owner=?1 AND day=?2", 0, "si",
                           owner, t->now_ms / DAY_MS) +
                    a->n_page;

    if (l->pages_day > 0 && pages > l->pages_day)
        return over("pages a day", pages, l->pages_day);
    int64_t jobs = db_one(t->db, "SELECT count(*) FROM job WHERE n_left > 0 AND owner=?1", 0, "s",
                          owner);
    if (l->jobs > 0 && jobs >= l->jobs)
        return over("jobs at once", jobs + 1, l->jobs);
    int64_t bytes = db_one(t->db, "SELECT sum(bytes) FROM job WHERE owner=?1", 0, "s", owner) +
                    stored_bytes(a->in, a->n_in);
    if (l->bytes > 0 && bytes > l->bytes)
        return over("stored bytes", bytes, l->bytes);
    return txn_check_queue(t, a->n_page, a->max_queued);
}

static int add_rows(struct txn *t, const struct adding *a)
{
    for (int i = 0; i < a->n_in; i++)
        TRY(db_do(t->db, "INSERT INTO input VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)", "iissisi",
                  a->j->key, (int64_t)i, a->in[i].name, a->in[i].media, a->in[i].bytes,
                  a->in[i].sha256, (int64_t)a->in[i].n_page));
    for (int i = 0; i < a->n_page; i++)
        TRY(db_do(t->db,
                  "INSERT INTO page(job, page, input, input_page, state, class)"
                  " VALUES(?1, ?2, ?3, ?4, 0, ?5)",
                  "iiiii", a->j->key, (int64_t)a->page[i].page, (int64_t)a->page[i].input,
                  (int64_t)a->page[i].input_page, (int64_t)a->j->class));
    return 0;
}

static int add(struct txn *t, void *arg)
{
    const struct adding *a = arg;
    struct job_row *j = a->j;

    TRY(check_limits(t, a));
    memset(j->count, 0, sizeof j->count);
    j->count[PAGE_QUEUED] = a->n_page;
    j->state = JOB_QUEUED;
    TRY(db_do(
        t->db,
        "INSERT INTO job(id, owner, name, state, class, options, counts, n_left, created_ms, deadline_ms,"
        " retain_s, bytes, inputs) VALUES(?1, ?2, ?3, 0, ?4, ?5, '', ?6, ?7, ?8, ?9, ?10, ?11)",
        "sssisiiziis", j->id, j->owner, j->name, (int64_t)j->class, j->options, (int64_t)a->n_page,
        j->created_ms, j->deadline_ms, j->retain_s, stored_bytes(a->in, a->n_in), j->inputs));
    j->key = sqlite3_last_insert_rowid(t->db->conn);
    TRY(add_rows(t, a));
    TRY(db_do(
        t->db,
        "INSERT INTO quota VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE SET pages = pages + excluded.pages",
        "sii", j->owner, t->now_ms / DAY_MS, (int64_t)a->n_page));
    TRY(txn_save_job(t, j));
    TRY(txn_tell_job(t, j));
    return txn_idem_put(t, j->owner, a->idem, j);
}

int store_add(struct store *s, struct job_row *j, const struct input_row *in, int n_in,
              const struct page_row *page, int n_page, const struct jobs_limits *limits,
              int64_t max_queued, const struct store_idem *idem)
{
    struct adding a = {j, in, n_in, page, n_page, limits, max_queued, idem};

    return store_do(s, add, &a);
}

int store_idem(struct store *s, const char *owner, const struct store_idem *idem, json_t **answer)
{
    struct db *db;
    bool is_there, is_same = false;

    *answer = NULL;
    TRY(store_read(s, &db));
    db_query(db, "SELECT sha256, answer FROM idem WHERE owner=?1 AND key=?2 AND expires_ms > ?3",
             "ssi", owner, idem->key, now_ms());
    is_there = db_row(db);
    if (is_there) {
        is_same = strcmp(db_text(db, 0), idem->sha256) == 0;
        *answer = is_same ? json_loads(db_text(db, 1), 0, NULL) : NULL;
    }
    int rc = db_end(db);
    store_read_end(s, db);
    TRY(rc);
    if (!is_there)
        return fault(JOBS_NOT_FOUND, NULL, "this Idempotency-Key is new");
    return is_same ? 0
                   : fault(JOBS_IDEMPOTENCY_MISMATCH, NULL,
                           "this Idempotency-Key was used for another request: take a new one");
}

/* ---- finding ------------------------------------------------------------------------------------------------------------------- */
int store_job(struct store *s, const char *owner, const char *id, struct job_row *j)
{
    struct db *db;

    TRY(store_read(s, &db));
    int rc = db_job(db, owner, id, j);
    store_read_end(s, db);
    return rc;
}

int store_has_job(struct store *s, const char *id, bool *is_there)
{
    struct db *db;

    TRY(store_read(s, &db));
    db_query(db, "SELECT 1 FROM job WHERE id=?1", "s", id);
    *is_there = db_row(db);
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}

/* The key that lies before all jobs to be listed, or 0 when `before` is unknown. */
static int64_t key_before(struct db *db, const char *before)
{
    return before ? db_one(db, "SELECT key FROM job WHERE id=?1", 0, "s", before) : INT64_MAX;
}

int store_jobs(struct store *s, const char *owner, const struct jobs_query *q, struct job_row **out,
               int *n_out, bool *has_more)
{
    int limit = q->limit > 0 && q->limit <= 200 ? q->limit : 50;
    int64_t state = q->state ? job_state_of_name(q->state) : -1;
    struct db *db;

    *out = calloc((size_t)limit, sizeof **out);
    *n_out = 0;
    *has_more = false;
    if (!*out)
        abort();
    if (q->state && state < 0)
        return fault(JOBS_INVALID_VALUE, "state",
                     "state is '%.40s', expected queued, running, done, failed or cancelled",
                     q->state);
    TRY(store_read(s, &db));
    int64_t before = key_before(db, q->before);
    db_query(db,
             "SELECT " JOB_COLUMNS " FROM job WHERE (?1 IS NULL OR owner=?1) AND key < ?2"
             " AND (?3 < 0 OR state=?3) AND (?4 IS NULL OR instr(lower(name), lower(?4)) > 0)"
             " ORDER BY key DESC",
             "siis", owner, before, state, q->text);
    while (db_row(db)) {
        if (*n_out == limit) {
            *has_more = true;
            break;
        }
        db_job_row(db, &(*out)[(*n_out)++]);
    }
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}

int store_inputs(struct store *s, int64_t job, struct input_row **out, int *n_out)
{
    struct db *db;
    int cap = 0;

    *out = NULL;
    *n_out = 0;
    TRY(store_read(s, &db));
    db_query(db, "SELECT name, media, bytes, sha256, pages FROM input WHERE job=?1 ORDER BY idx",
             "i", job);
    while (db_row(db)) {
        if (*n_out == cap) {
            cap = cap ? 2 * cap : 4;
            *out = realloc(*out, (size_t)cap * sizeof **out);
            if (!*out)
                abort();
        }
        struct input_row *in = &(*out)[(*n_out)++];
        *in = (struct input_row){
            .name = db_copy(db, 0), .media = db_copy(db, 1), .bytes = db_int(db, 2)};
        memcpy(in->sha256, db_text(db, 3), SHA_BYTES - 1);
        in->n_page = (int)db_int(db, 4);
    }
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}

int store_pages(struct store *s, int64_t job, int from, int n, struct page_row **out, int *n_out)
{
    struct db *db;

    *out = NULL;
    *n_out = 0;
    TRY(store_read(s, &db));
    db_query(db,
             "SELECT " PAGE_COLUMNS " FROM page WHERE job=?1 AND page>=?2 ORDER BY page LIMIT ?3",
             "iii", job, (int64_t)from, (int64_t)n);
    int rc = db_page_rows(db, out, n_out);
    store_read_end(s, db);
    return rc;
}

int store_page(struct store *s, int64_t job, int page, struct page_row *out)
{
    struct db *db;

    TRY(store_read(s, &db));
    int rc = db_page(db, job, page, out);
    store_read_end(s, db);
    return rc;
}

/* ---- the log ------------------------------------------------------------------------------------------------------------------- */
int store_events(struct store *s, const char *owner, const char *job, uint64_t after, int max,
                 jobs_event_fn *fn, void *ctx, bool *is_gone, uint64_t *last)
{
    struct db *db;

    TRY(store_read(s, &db));
    int64_t gone = db_one(db, "SELECT CAST(v AS INTEGER) FROM meta WHERE k='gone'", 0, "");
    *is_gone = after > 0 && after < (uint64_t)gone;
    *last = (uint64_t)db_one(db, "SELECT seq FROM sqlite_sequence WHERE name='event'", 0, "");
    db_query(db,
             job ? "SELECT seq, ts_ms, owner, job, type, body FROM event WHERE job=?3 AND seq > ?1"
                   " AND (?2 IS NULL OR owner=?2) ORDER BY seq LIMIT ?4"
                 : "SELECT seq, ts_ms, owner, job, type, body FROM event WHERE seq > ?1"
                   " AND (?2 IS NULL OR owner=?2) AND ?3 IS NULL ORDER BY seq LIMIT ?4",
             "issi", (int64_t)after, owner, job, (int64_t)max);
    while (db_row(db)) {
        struct jobs_event ev = {.seq = (uint64_t)db_int(db, 0),
                                .time_ms = db_int(db, 1),
                                .owner = db_text(db, 2),
                                .job = db_text(db, 3),
                                .type = db_text(db, 4),
                                .body = db_text(db, 5)};
        fn(ctx, &ev);
    }
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}
