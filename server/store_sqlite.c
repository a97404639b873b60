/* The store on SQLite: the writing thread and its group commit, and connections for reading. */
#include "store_in.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- a commit --------------------------------------------------------------------------------------------------------------- */
static int run(struct db *db, const char *sql)
{
    int rc = sqlite3_exec(db->conn, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : db_fault(db, rc, "database");
}

static void forget(struct told *list)
{
    for (struct told *next; list; list = next) {
        next = list->next;
        free(list->body);
        free(list);
    }
}

/* One call's part: whole or not at all, whatever becomes of the others. */
static int run_op(struct txn *t, struct waiting_op *w)
{
    struct told **mark = t->last;
    int rc = run(t->db, "SAVEPOINT op");

    if (rc == 0)
        rc = w->op(t, w->arg);
    if (rc < 0) {
        fault_save(&w->why, rc);
        sqlite3_exec(t->db->conn, "ROLLBACK TO op", NULL, NULL, NULL);
        forget(*mark);
        *mark = NULL;
        t->last = mark;
    }
    sqlite3_exec(t->db->conn, "RELEASE op", NULL, NULL, NULL);
    return w->rc = rc;
}

/* None of the calls has happened. Those that were refused for their own reason keep it. */
static void fail_all(struct waiting_op *list, int rc)
{
    for (struct waiting_op *w = list; w; w = w->next)
        if (w->rc >= 0) {
            w->rc = rc;
            fault_save(&w->why, rc);
        }
}

static int commit_all(struct store *s, struct waiting_op *list, struct told **told)
{
    struct txn t = {.db = &s->writer, .now_ms = now_ms(), .last = told};
    int rc = run(t.db, "BEGIN IMMEDIATE");

    if (rc == 0) {
        for (struct waiting_op *w = list; w; w = w->next)
            run_op(&t, w);
        rc = run(t.db, "COMMIT");
    }
    if (rc < 0) {
        fail_all(list, rc);
        if (!sqlite3_get_autocommit(t.db->conn))
            sqlite3_exec(t.db->conn, "ROLLBACK", NULL, NULL, NULL);
        forget(*told);
        *told = NULL;
    }
    return rc;
}

static void tell(struct store *s, const struct told *list)
{
    for (; list; list = list->next) {
        struct jobs_event ev = {.seq = list->seq,
                                .time_ms = list->time_ms,
                                .owner = list->owner,
                                .job = list->job,
                                .type = list->type,
                                .body = list->body};
        s->fn(s->fn_ctx, &ev);
    }
}

static double ms_since(const struct timespec *from)
{
    struct timespec to;

    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from->tv_sec) * 1e3 + (double)(to.tv_nsec - from->tv_nsec) / 1e6;
}

static void count(struct store *s, const struct waiting_op *list, int rc, double ms)
{
    int n = 0;

    for (; list; list = list->next)
        n++;
    s->can_write = rc == 0;
    s->n_commit += rc == 0;
    s->n_row += rc == 0 ? n : 0;
    s->commit_ms += rc == 0 ? ms : 0;
}

/* Events go out before the callers return, so that who has changed something finds it told. */
static void serve(struct store *s, struct waiting_op *list)
{
    struct told *told = NULL;
    struct timespec from;

    clock_gettime(CLOCK_MONOTONIC, &from);
    int rc = commit_all(s, list, &told);
    tell(s, told);
    forget(told);
    pthread_mutex_lock(&s->lock);
    count(s, list, rc, ms_since(&from));
    for (struct waiting_op *next; list; list = next) {
        next = list->next; /* the caller's stack holds it only until it is done */
        list->is_done = true;
    }
    pthread_cond_broadcast(&s->has_done);
    pthread_mutex_unlock(&s->lock);
}

static void *writer_main(void *arg)
{
    struct store *s = arg;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->first && !s->is_closing)
            pthread_cond_wait(&s->has_op, &s->lock);
        struct waiting_op *list = s->first;
        if (!list)
            break;
        s->first = s->last = NULL;
        pthread_mutex_unlock(&s->lock);
        serve(s, list);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int store_do(struct store *s, store_op *op, void *arg)
{
    struct waiting_op w = {.op = op, .arg = arg};

    pthread_mutex_lock(&s->lock);
    if (s->last)
        s->last->next = &w;
    else
        s->first = &w;
    s->last = &w;
    pthread_cond_signal(&s->has_op);
    while (!w.is_done)
        pthread_cond_wait(&s->has_done, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return w.rc < 0 ? fault_load(&w.why) : w.rc;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */
int store_read(struct store *s, struct db **db)
{
    int i, rc = 0;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        for (i = 0; i < STORE_READERS && s->is_taken[i]; i++)
            ;
        if (i < STORE_READERS)
            break;
        pthread_cond_wait(&s->has_reader, &s->lock);
    }
    s->is_taken[i] = true;
    pthread_mutex_unlock(&s->lock);
    if (!s->is_open[i])
        rc = db_open(&s->reader[i], s->path, false);
    s->is_open[i] = rc == 0;
    *db = &s->reader[i];
    if (rc < 0) {
        db_close(*db);
        store_read_end(s, *db);
    }
    return rc;
}

void store_read_end(struct store *s, struct db *db)
{
    pthread_mutex_lock(&s->lock);
    s->is_taken[db - s->reader] = false;
    pthread_cond_signal(&s->has_reader);
    pthread_mutex_unlock(&s->lock);
}

/* ---- open and close -------------------------------------------------------------------------------------------------------------- */
int store_open(struct store **out, const char *path, jobs_event_fn *fn, void *ctx)
{
    struct store *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s || !(s->path = strdup(path)))
        abort();
    s->fn = fn;
    s->fn_ctx = ctx;
    s->can_write = true;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->has_op, NULL);
    pthread_cond_init(&s->has_done, NULL);
    pthread_cond_init(&s->has_reader, NULL);
    rc = db_open(&s->writer, path, true);
    if (rc == 0)
        rc = schema_bring_up(&s->writer);
    if (rc == 0 && pthread_create(&s->thread, NULL, writer_main, s) != 0)
        rc = fault(JOBS_INTERNAL, NULL, "no thread for the store; see the limits of this user");
    bool has_thread = rc == 0;
    if (rc == 0)
        rc = store_do(s, recover, NULL);
    if (rc == 0) {
        *out = s;
        return 0;
    }
    struct fault_note why;
    fault_save(&why, rc);
    if (has_thread)
        store_close(s);
    else {
        db_close(&s->writer);
        free(s->path);
        free(s);
    }
    return fault_load(&why);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    pthread_cond_signal(&s->has_op);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < STORE_READERS; i++)
        if (s->is_open[i])
            db_close(&s->reader[i]);
    db_close(&s->writer);
    pthread_cond_destroy(&s->has_op);
    pthread_cond_destroy(&s->has_done);
    pthread_cond_destroy(&s->has_reader);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}
