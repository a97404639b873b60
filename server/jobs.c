/* The handle: opening, closing, and what is read of jobs. */
#include "desk.h"

#include "job_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void jobs_settings_init(struct jobs_settings *s)
{
    *s = (struct jobs_settings){
        .max_pages = 5000,
        .max_queued_pages = 200000,
        .max_upload = (int64_t)512 << 20,
        .retain_s = 7 * 86400,
        .disk_min = (int64_t)5 << 30,
        .image_cache = (int64_t)4 << 30,
    };
}

/* ---- watching ---------------------------------------------------------------------------------------------------------------- */
static void tell_watchers(void *ctx, const struct jobs_event *ev)
{
    struct jobs *j = ctx;

    pthread_mutex_lock(&j->watch_lock);
    for (struct jobs_watch *w = j->watch; w; w = w->next)
        w->fn(w->ctx, ev);
    pthread_mutex_unlock(&j->watch_lock);
}

int jobs_watch(struct jobs *j, jobs_event_fn *fn, void *ctx, struct jobs_watch **out)
{
    struct jobs_watch *w = malloc(sizeof *w);

    if (!w)
        abort();
    *w = (struct jobs_watch){.jobs = j, .fn = fn, .ctx = ctx};
    pthread_mutex_lock(&j->watch_lock);
    w->next = j->watch;
    j->watch = w;
    pthread_mutex_unlock(&j->watch_lock);
    *out = w;
    return 0;
}

void jobs_unwatch(struct jobs_watch *w)
{
    if (!w)
        return;
    pthread_mutex_t *lock = w->fn ? &w->jobs->watch_lock : &w->jobs->text_lock;
    struct jobs_watch **at = w->fn ? &w->jobs->watch : &w->jobs->text_watch;

    pthread_mutex_lock(lock);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    pthread_mutex_unlock(lock);
    free(w);
}

/* ---- passwords ---------------------------------------------------------------------------------------------------------------- */
char *jobs_password(struct jobs *j, const char *id)
{
    char *found = NULL;

    pthread_mutex_lock(&j->secret_lock);
    for (struct secret *s = j->secret; s && !found; s = s->next)
        if (strcmp(s->id, id) == 0)
            found = strdup(s->password);
    pthread_mutex_unlock(&j->secret_lock);
    return found;
}

static void secret_free(struct secret *s)
{
    explicit_bzero(s->password, strlen(s->password));
    free(s->password);
    free(s);
}

void jobs_set_password(struct jobs *j, const char *id, const char *password)
{
    pthread_mutex_lock(&j->secret_lock);
    for (struct secret **at = &j->secret; *at; at = &(*at)->next)
        if (strcmp((*at)->id, id) == 0) {
            struct secret *old = *at;
            *at = old->next;
            secret_free(old);
            break;
        }
    if (password) {
        struct secret *s = calloc(1, sizeof *s);
        if (!s || !(s->password = strdup(password)))
            abort();
        strcpy(s->id, id);
        s->next = j->secret;
        j->secret = s;
    }
    pthread_mutex_unlock(&j->secret_lock);
}

/* ---- open and close -------------------------------------------------------------------------------------------------------------- */
static pthread_mutex_t *lock_at(struct jobs *j, int i)
{
    pthread_mutex_t *all[] = {&j->blob_lock, &j->watch_lock, &j->secret_lock, &j->idem_lock,
                              &j->make_lock, &j->lock,       &j->text_lock};

    return i < (int)(sizeof all / sizeof *all) ? all[i] : NULL;
}

static void init(struct jobs *j, const struct jobs_settings *s)
{
    int places = s->engine && s->engine->max_running > 0 ? s->engine->max_running : 8;
    pthread_condattr_t monotonic;

    j->set = *s;
    j->window = s->ahead_pages > 0 ? s->ahead_pages : (places * 3 + 1) / 2;
    j->blob.lock = -1;
    for (int i = 0; lock_at(j, i); i++)
        pthread_mutex_init(lock_at(j, i), NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&j->has_note, &monotonic);
    pthread_cond_init(&j->has_landed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    j->tidied_ms = j->swept_ms = now_ms();
}

static void reset(struct jobs *j)
{
    store_close(j->store);
    blob_close(&j->blob);
    preview_end_all(j);
    free(j->place);
    for (struct secret *s = j->secret, *next; s; s = next) {
        next = s->next;
        secret_free(s);
    }
    for (int i = 0; lock_at(j, i); i++)
        pthread_mutex_destroy(lock_at(j, i));
    pthread_cond_destroy(&j->has_note);
    pthread_cond_destroy(&j->has_landed);
    free(j);
}

int jobs_open(struct jobs **out, const struct jobs_settings *s)
{
    struct jobs *j = calloc(1, sizeof *j);
    struct fault_note why;

    *out = NULL;
    if (!j)
        abort();
    init(j, s);
    int rc = blob_open(&j->blob, s->data);
    if (rc == 0) {
        char *path = blob_database(&j->blob);
        rc = store_open(&j->store, path, tell_watchers, j);
        free(path);
    }
    if (rc == 0)
        rc = desk_start(j);
    if (rc == 0) {
        *out = j;
        return 0;
    }
    fault_save(&why, rc);
    reset(j);
    return fault_load(&why);
}

void jobs_drain(struct jobs *j, int grace_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += grace_ms / 1000;
    until.tv_nsec += (long)(grace_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&j->lock);
    j->is_draining = true;
    while (j->n_flight > 0)
        if (pthread_cond_timedwait(&j->has_landed, &j->lock, &until) != 0)
            break;
    j->is_giving_back = true;
    pthread_cond_signal(&j->has_note);
    pthread_mutex_unlock(&j->lock);
}

void jobs_close(struct jobs *j)
{
    if (!j)
        return;
    desk_end(j);
    reset(j);
}

/* ---- reading -------------------------------------------------------------------------------------------------------------------- */
/* Pages a second over the last whole seconds in which there were any, a minute at most. */
static double pages_per_second(struct jobs *j)
{
    int64_t now = now_ms() / 1000, first = now, n = 0;

    pthread_mutex_lock(&j->lock);
    for (int i = 0; i < RATE_S; i++)
        if (now - j->ended_at[i] < RATE_S && j->ended_at[i] > 0) {
            n += j->ended_n[i];
            first = j->ended_at[i] < first ? j->ended_at[i] : first;
        }
    pthread_mutex_unlock(&j->lock);
    return n ? (double)n / (double)(now - first + 1) : 0;
}

/* Speed, what is left and what is ahead are the desk's to know, not the store's. */
static void add_outlook(struct jobs *j, const struct job_row *row, json_t *o)
{
    double speed = pages_per_second(j);
    int n_ahead = row->state == JOB_QUEUED ? desk_ahead(j, row->key) : -1;

    if (n_ahead >= 0)
        json_object_set_new(o, "position", json_integer(n_ahead));
    if (row->state != JOB_RUNNING || speed <= 0)
        return;
    json_object_set_new(o, "speed_pages_s", json_real(round(speed * 100) / 100));
    json_object_set_new(o, "eta_s", json_integer((json_int_t)ceil(job_left(row->count) / speed)));
}

int jobs_get(struct jobs *j, const char *owner, const char *id, json_t **job)
{
    struct job_row row;
    int rc = store_job(j->store, owner, id, &row);

    *job = NULL;
    if (rc == 0) {
        *job = job_row_json(&row);
        add_outlook(j, &row, *job);
    }
    job_row_reset(&row);
    return rc;
}

static json_t *list_of(json_t *data, bool has_more)
{
    return json_pack("{sssosb}", "object", "list", "data", data, "has_more", has_more);
}

int jobs_list(struct jobs *j, const char *owner, const struct jobs_query *q, json_t **list)
{
    struct job_row *row;
    int n;
    bool has_more;
    int rc = store_jobs(j->store, owner, q, &row, &n, &has_more);
    json_t *data = json_array();

    for (int i = 0; i < n; i++) {
        json_t *o = job_row_json(&row[i]);
        add_outlook(j, &row[i], o);
        json_array_append_new(data, o);
        job_row_reset(&row[i]);
    }
    free(row);
    *list = rc == 0 ? list_of(data, has_more) : NULL;
    if (rc < 0)
        json_decref(data);
    return rc;
}

int jobs_pages(struct jobs *j, const char *owner, const char *id, int from, int limit,
               json_t **pages)
{
    struct page_row *page = NULL;
    struct job_row row;
    int n = 0, rc = store_job(j->store, owner, id, &row);

    *pages = NULL;
    limit = limit < 1 ? 200 : limit > 1000 ? 1000 : limit;
    if (rc == 0)
        rc = store_pages(j->store, row.key, from, limit + 1, &page, &n);
    job_row_reset(&row);
    TRY(rc);
    json_t *data = json_array();
    for (int i = 0; i < n && i < limit; i++)
        json_array_append_new(data, page_row_json(&page[i], NULL));
    store_rows_free(page, n);
    *pages = list_of(data, n > limit);
    return 0;
}

int jobs_events(struct jobs *j, const char *owner, const char *job, uint64_t after, int max,
                jobs_event_fn *fn, void *ctx, bool *is_gone, uint64_t *last)
{
    return store_events(j->store, owner, job, after, max, fn, ctx, is_gone, last);
}

/* ---- figures, sessions ------------------------------------------------------------------------------------------------------------- */
void jobs_get_stats(struct jobs *j, struct jobs_stats *s)
{
    *s = (struct jobs_stats){0};
    store_stats(j->store, s);
    s->pages_s = pages_per_second(j);
    s->disk_free = blob_free_bytes(&j->blob);
    s->is_low = s->disk_free >= 0 && s->disk_free < j->set.disk_min;
    pthread_mutex_lock(&j->lock);
    s->pages_in_flight = j->n_flight;
    memcpy(s->page_status, j->page_status, sizeof s->page_status);
    s->attempts = j->n_attempt;
    s->disk_blob = j->disk_blob;
    s->disk_cache = j->disk_cache;
    pthread_mutex_unlock(&j->lock);
}

int jobs_usage(struct jobs *j, const char *owner, json_t **usage)
{
    struct store_usage u;

    *usage = NULL;
    TRY(store_usage(j->store, owner, &u));
    *usage = json_pack("{sIsIsI}", "pages_today", (json_int_t)u.pages_today, "active_jobs",
                       (json_int_t)u.active_jobs, "stored_bytes", (json_int_t)u.bytes);
    return 0;
}

int jobs_session_put(struct jobs *j, const char *token, const char *owner, int64_t expires_ms)
{
    return store_session_put(j->store, token, owner, expires_ms);
}

int jobs_session_get(struct jobs *j, const char *token, char owner[128])
{
    return store_session_get(j->store, token, owner);
}

int jobs_session_end(struct jobs *j, const char *token)
{
    return store_session_end(j->store, token);
}
