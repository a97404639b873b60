/* What the desk does with pages: hands them out, commits what became of them, and takes up what a dead process has left. */
#include "store_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_ALONE = 2, LOST_MAX = 3 }; /* deaths after which a page comes alone; and is given up */

/* ---- handing out ---------------------------------------------------------------------------------------------------------------- */
int store_ready(struct store *s, int64_t job, store_ready_fn *fn, void *ctx)
{
    struct db *db;

    TRY(store_read(s, &db));
    db_query(
        db,
        job ? "SELECT p.class, j.owner, j.key, count(*) FROM page p JOIN job j ON j.key = p.job"
              " WHERE p.state = 0 AND p.job = ?1 GROUP BY p.class, j.key ORDER BY p.class, j.key"
            : "SELECT p.class, j.owner, j.key, count(*) FROM page p JOIN job j ON j.key = p.job"
              " WHERE p.state = 0 AND ?1 = 0 GROUP BY p.class, j.key ORDER BY p.class, j.key",
        "i", job);
    while (db_row(db))
        fn(ctx, (enum recto_class)db_int(db, 0), db_text(db, 1), db_int(db, 2), (int)db_int(db, 3));
    int rc = db_end(db);
    store_read_end(s, db);
    return rc;
}

struct claiming {
    int64_t job;
    enum recto_class class;
    int max;
    bool only_safe;
    struct job_row *j;
    struct page_row *page;
    int n;
};

static bool same_settings(const struct page_row *a, const struct page_row *b)
{
    if (!a->settings || !b->settings)
        return a->settings == b->settings;
    return strcmp(a->settings, b->settings) == 0;
}

/* How many of the candidates go together. */
static int group(const struct page_row *p, int n, bool only_safe)
{
    if (n == 0 || (only_safe && p[0].lost >= LOST_ALONE))
        return 0;
    for (int i = 1; i < n; i++)
        if (p[0].lost >= LOST_ALONE || p[i].lost >= LOST_ALONE || p[i].input != p[0].input ||
            p[i].input_page <= p[i - 1].input_page || !same_settings(&p[i], &p[0]))
            return i;
    return n;
}

static int claim(struct txn *t, void *arg)
{
    struct claiming *c = arg;
    struct page_row *all;
    int n_all;

    db_query(t->db,
             "SELECT " PAGE_COLUMNS
             " FROM page INDEXED BY page_queued WHERE job=?1 AND class=?2 AND state=0"
             " ORDER BY page LIMIT ?3",
             "iii", c->job, (int64_t)c->class, (int64_t)c->max);
    TRY(db_page_rows(t->db, &all, &n_all));
    c->n = group(all, n_all, c->only_safe);
    for (int i = c->n; i < n_all; i++)
        page_row_reset(&all[i]);
    c->page = all;
    if (c->n == 0)
        return 0;
    TRY(db_job_of_key(t->db, c->job, c->j));
    c->j->has_begun = true;
    for (int i = 0; i < c->n; i++) {
        txn_step(c->j, &all[i], STEP_CLAIM, RECTO_PAGE_OK);
        all[i].started_ms = t->now_ms;
        TRY(txn_save_page(t, &all[i]));
        TRY(txn_tell_page(t, c->j, &all[i], "page"));
    }
    return txn_settle(t, c->j);
}

int store_claim(struct store *s, int64_t job, enum recto_class class, int max, bool only_safe,
                struct job_row *j, struct page_row **out, int *n_out)
{
    struct claiming c = {.job = job, .class = class, .max = max, .only_safe = only_safe, .j = j};

    *j = (struct job_row){0};
    int rc = store_do(s, claim, &c);
    *out = c.page;
    *n_out = rc < 0 ? 0 : c.n;
    if (rc < 0) {
        store_rows_free(c.page, c.n);
        *out = NULL;
        job_row_reset(j);
    }
    return rc;
}

/* ---- what became of them -------------------------------------------------------------------------------------------------------- */
static int put_attempt(struct txn *t, const struct page_row *p, const struct store_change *c)
{
    return db_do(
        t->db,
        "INSERT INTO attempt VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
        " ?16, ?17, ?18)",
        "iiiissiiddiiiiissi", p->job, (int64_t)p->page, (int64_t)c->attempt, (int64_t)c->status,
        p->settings, c->readings, (int64_t)c->tok_image, (int64_t)c->n_tok, c->conf, c->min_logp,
        c->n_text, (int64_t)c->width, (int64_t)c->height, (int64_t)c->rotation, (int64_t)c->ms,
        c->timings, c->sha256, t->now_ms);
}

static void set_text(char **to, const char *from)
{
    free(*to);
    *to = from ? strdup(from) : NULL;
}

/* The page becomes this attempt's reading. */
static void adopt(struct page_row *p, const struct store_change *c)
{
    p->best = c->has_reading ? c->attempt : p->best;
    p->width = c->width ? c->width : p->width;
    p->height = c->height ? c->height : p->height;
    p->rotation = c->rotation;
    p->n_tok = c->n_tok;
    p->conf = c->conf;
    p->min_logp = c->min_logp;
    p->n_text = c->n_text;
}

/* The reading that is there stays unless the new one is better, or was asked for in any case. */
static bool is_adopted(const struct page_row *p, const struct store_change *c)
{
    struct reading_rank is = {c->status, c->conf, (size_t)c->n_text};
    struct reading_rank was = {p->status, p->conf, (size_t)p->n_text};

    if (p->best == 0)
        return true;
    return c->has_reading && (p->is_replace || reading_is_better(&is, &was));
}

static int end_page(struct txn *t, struct job_row *j, struct page_row *p,
                    const struct store_change *c)
{
    bool is_new = is_adopted(p, c);

    if (is_new)
        adopt(p, c);
    txn_step(j, p, STEP_END, is_new ? c->status : p->status);
    set_text(&p->error, c->error);
    set_text(&p->error_text, c->error_text);
    TRY(put_attempt(t, p, c));
    p->n_attempt = c->attempt;
    p->lost = 0;
    p->ended_ms = t->now_ms;
    p->ms = c->ms;
    set_text(&p->settings, NULL);
    p->is_replace = false;
    j->rev++;
    return 0;
}

static void back_page(struct txn *t, struct job_row *j, struct page_row *p, bool was_death)
{
    p->lost += was_death;
    p->started_ms = 0;
    if (p->lost < LOST_MAX) {
        txn_step(j, p, STEP_BACK, RECTO_PAGE_OK);
        return;
    }
    p->n_attempt++; /* nothing was kept of it */
    p->ended_ms = t->now_ms;
    j->rev++;
    txn_step(j, p, STEP_END, p->best ? p->status : RECTO_PAGE_ERROR);
    set_text(&p->error, "worker_lost");
    set_text(&p->error_text,
             "the program died three times while this page was in flight; retry it, or report it");
}

static int change(struct txn *t, struct job_row *j, struct page_row *p, struct store_change *c)
{
    if (c->step == STEP_START) {
        txn_step(j, p, STEP_START, RECTO_PAGE_OK);
        if (p->best == 0) {
            p->width = c->width;
            p->height = c->height;
        }
    } else if (c->step == STEP_BACK) {
        back_page(t, j, p, c->was_death);
    } else
        TRY(end_page(t, j, p, c));
    TRY(txn_save_page(t, p));
    return txn_tell_page(t, j, p, "page");
}

/* A change that comes too late (the job is gone, the page has another attempt by now) has no effect. */
static int apply(struct txn *t, struct job_row *j, struct store_change *c)
{
    struct page_row p;
    int rc = db_page(t->db, c->job, c->page, &p);

    if (rc == JOBS_NOT_FOUND)
        return 0;
    TRY(rc);
    bool is_current = p.n_attempt + 1 == c->attempt && page_step(p.state, c->step) >= 0;
    if (is_current)
        rc = change(t, j, &p, c);
    c->has_effect = is_current && rc == 0;
    page_row_reset(&p);
    return rc;
}

struct committing {
    struct store_change *c;
    int n;
};

/* Changes of one job after each other share its row. */
static int commit(struct txn *t, void *arg)
{
    struct committing *all = arg;
    int rc = 0;

    for (int i = 0; i < all->n && rc == 0;) {
        struct job_row j;
        int64_t key = all->c[i].job;
        rc = db_job_of_key(t->db, key, &j);
        bool is_there = rc == 0;
        if (rc == JOBS_NOT_FOUND)
            rc = 0;
        for (; i < all->n && all->c[i].job == key && rc == 0; i++)
            rc = is_there ? apply(t, &j, &all->c[i]) : 0;
        if (is_there && rc == 0)
            rc = txn_settle(t, &j);
        job_row_reset(&j);
    }
    return rc;
}

int store_commit(struct store *s, struct store_change *c, int n)
{
    struct committing all = {c, n};

    return store_do(s, commit, &all);
}

/* ---- after a death --------------------------------------------------------------------------------------------------------------- */
int recover(struct txn *t, void *unused)
{
    struct page_row *page;
    int n, rc = 0;

    (void)unused;
    db_query(t->db,
             "SELECT " PAGE_COLUMNS
             " FROM page INDEXED BY page_flight WHERE state IN (1, 2) ORDER BY job, page",
             "");
    TRY(db_page_rows(t->db, &page, &n));
    struct store_change *c = calloc((size_t)n + 1, sizeof *c);
    if (!c)
        abort();
    for (int i = 0; i < n; i++)
        c[i] = (struct store_change){.step = STEP_BACK,
                                     .job = page[i].job,
                                     .page = page[i].page,
                                     .attempt = page[i].n_attempt + 1,
                                     .was_death = true};
    struct committing all = {c, n};
    rc = commit(t, &all);
    free(c);
    store_rows_free(page, n);
    return rc;
}
