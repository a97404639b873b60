/* From the queue to the engine. */
#include "desk.h"

#include "job_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERACTIVE_MORE = 16, PLACE_MS = 250, PLACE_STEPS = 2000 };

void flight_free(struct flight *f)
{
    if (!f)
        return;
    store_rows_free(f->page, f->n_page);
    job_row_reset(&f->job);
    json_decref(f->options);
    json_decref(f->retry);
    free(f->has_ended);
    free(f);
}

/* ---- events, on the reader's thread --------------------------------------------------------------------------------------------- */
/* Which page of the job that is, and its attempt; 0: none of the flight's. */
static int page_of(const struct flight *f, int number, int *attempt)
{
    for (int i = 0; i < f->n_page; i++)
        if (f->page[i].input_page == number) {
            *attempt = f->page[i].n_attempt + 1;
            return f->page[i].page;
        }
    return 0;
}

static void on_text(struct flight *f, const struct recto_event *ev)
{
    int attempt, page = page_of(f, ev->number, &attempt);

    if (page)
        preview_add(f->jobs, f->job.id, page, attempt, ev->text, ev->n_text);
}

static void on_event(void *ctx, struct recto_event *ev)
{
    struct flight *f = ctx;
    struct note note = {.flight = f, .number = ev->number};
    int attempt;

    switch (ev->kind) {
    case RECTO_EVENT_STARTED:
        note.what = NOTE_STARTED;
        break;
    case RECTO_EVENT_PAGE:
        note.what = NOTE_PAGE;
        preview_end(f->jobs, f->job.id, page_of(f, ev->number, &attempt));
        break;
    case RECTO_EVENT_DONE:
        note.what = NOTE_DONE;
        for (int i = 0; i < f->n_page; i++) /* of pages that have not ended by themselves */
            preview_end(f->jobs, f->job.id, f->page[i].page);
        break;
    case RECTO_EVENT_TEXT:
        on_text(f, ev);
        return;
    }
    note.page = ev->page;
    ev->page = NULL;
    desk_tell(f->jobs, note);
}

/* ---- submitting ----------------------------------------------------------------------------------------------------------------- */
static char *page_list(const struct flight *f)
{
    char *list = malloc((size_t)f->n_page * 8 + 1);
    size_t n = 0;

    if (!list)
        abort();
    for (int i = 0; i < f->n_page; i++)
        n += (size_t)sprintf(list + n, i ? ",%d" : "%d", f->page[i].input_page);
    return list;
}

static uint64_t hash_of(const char *s)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

static int submit_to_engine(struct flight *f, const char *path, const char *name,
                            const char *password)
{
    char *pages = page_list(f);
    struct recto_input in = {.name = name, .path = path, .pages = pages, .password = password};
    struct recto_options o;

    recto_options_init(&o);
    options_apply(f->options, f->retry, &o, &in);
    o.priority = f->page[0].class;
    o.caller = hash_of(f->job.owner);
    o.job = (uint64_t)f->job.key;
    o.preview = true;
    int rc = reader_submit(f->jobs->set.reader, &in, &o, on_event, f, &f->request);
    free(pages);
    return rc;
}

/* All its pages end in the same way, as if the engine had said so. */
static void fail_flight(struct flight *f, int rc, const char *text)
{
    struct recto_page *page = calloc(1, sizeof *page);

    if (!page)
        abort();
    *page = (struct recto_page){
        .status = RECTO_PAGE_ERROR, .error = rc, .error_text = strdup(text)};
    desk_tell(f->jobs, (struct note){.what = NOTE_PAGE, .flight = f, .page = page});
    desk_tell(f->jobs, (struct note){.what = NOTE_DONE, .flight = f});
}

static const char *input_name(const struct flight *f, struct input_row *in, int n)
{
    return f->page[0].input < n ? in[f->page[0].input].name : "document";
}

/* False: the engine takes no more at the moment. */
static bool submit(struct flight *f)
{
    struct jobs *j = f->jobs;
    struct input_row *in;
    int n_in, rc = store_inputs(j->store, f->job.key, &in, &n_in);

    if (rc == 0 && f->page[0].input < n_in) {
        char *path = blob_input(&j->blob, in[f->page[0].input].sha256);
        char *password = jobs_password(j, f->job.id);
        rc = submit_to_engine(f, path, input_name(f, in, n_in), password);
        if (password)
            explicit_bzero(password, strlen(password));
        free(password);
        free(path);
        f->is_submitted = rc != RECTO_EAGAIN;
        if (rc < 0 && rc != RECTO_EAGAIN)
            fail_flight(f, rc, recto_last_error());
    } else if (rc == 0) { /* its job was deleted meanwhile */
        f->is_submitted = true;
        fail_flight(f, RECTO_ECANCELED, "deleted");
    }
    for (int i = 0; i < n_in; i++)
        input_row_reset(&in[i]);
    free(in);
    return f->is_submitted;
}

/* ---- claiming ------------------------------------------------------------------------------------------------------------------- */
static struct flight *flight_new(struct jobs *j, struct job_row job, struct page_row *page, int n)
{
    struct flight *f = calloc(1, sizeof *f);

    if (!f || !(f->has_ended = calloc((size_t)n, sizeof *f->has_ended)))
        abort();
    f->jobs = j;
    f->job = job;
    f->page = page;
    f->n_page = f->n_left = n;
    f->is_alone = page[0].lost >= 2;
    f->options = json_loads(job.options, 0, NULL);
    f->retry = page[0].settings ? json_loads(page[0].settings, 0, NULL) : NULL;
    f->next = j->flights;
    j->flights = f;
    return f;
}

/* Claims are not made one page at a time, since each opens its document: room for some has to be there. */
static bool has_room(const struct jobs *j, int n_flight, bool interactive)
{
    int enough = j->window / 2 < DESK_CLAIM_PAGES / 2 ? (j->window + 1) / 2 : DESK_CLAIM_PAGES / 2;

    if (interactive)
        return n_flight < j->window + INTERACTIVE_MORE;
    return n_flight == 0 || j->window - n_flight >= enough;
}

static bool is_alone(const struct jobs *j)
{
    for (const struct flight *f = j->flights; f; f = f->next)
        if (f->is_alone)
            return true;
    return false;
}

static int claim_size(const struct jobs *j, int n_flight)
{
    int room = j->window - n_flight;

    return room < 1 ? 1 : room > DESK_CLAIM_PAGES ? DESK_CLAIM_PAGES : room;
}

/* Claim for whoever is next, and submit; false: nothing more to do now. */
static bool fill_one(struct jobs *j, int n_flight)
{
    enum recto_class class;
    struct page_row *page;
    struct job_row job;
    int64_t key;
    int n;
    bool interactive_only = !has_room(j, n_flight, false);

    if (is_alone(j) || !has_room(j, n_flight, true) ||
        !fair_next(j->fair, interactive_only, &key, &class))
        return false;
    if (store_claim(j->store, key, class, claim_size(j, n_flight), n_flight > 0, &job, &page, &n) <
        0)
        return false; /* the store tells of it, and is asked again */
    if (n == 0) {
        free(page);
        job_row_reset(&job);
        if (n_flight == 0) /* nothing of it is queued; else it is a page that has to be alone */
            fair_served(j->fair, class, key, 0, 0);
        return n_flight == 0;
    }
    fair_served(j->fair, class, key, n, fair_waiting(j->fair, class, key) - n);
    pthread_mutex_lock(&j->lock);
    j->n_flight += n;
    pthread_mutex_unlock(&j->lock);
    return submit(flight_new(j, job, page, n));
}

/* One that the engine did not take stands in front. */
static bool submit_waiting(struct jobs *j)
{
    for (struct flight *f = j->flights; f; f = f->next)
        if (!f->is_submitted && !submit(f))
            return false;
    return true;
}

void desk_fill(struct jobs *j)
{
    int n_flight;
    bool goes_on = submit_waiting(j);

    while (goes_on) {
        pthread_mutex_lock(&j->lock);
        n_flight = j->n_flight;
        goes_on = !j->is_draining;
        pthread_mutex_unlock(&j->lock);
        goes_on = goes_on && fill_one(j, n_flight);
    }
}

void desk_cancel(struct jobs *j, int64_t job, bool is_gone)
{
    fair_drop(j->fair, job);
    for (struct flight *f = j->flights; f; f = f->next)
        if (f->job.key == job) {
            f->is_gone = f->is_gone || is_gone;
            if (f->is_submitted)
                reader_cancel(j->set.reader, f->request);
        }
}

/* ---- where jobs stand that wait --------------------------------------------------------------------------------------------------- */
static void add_place(void *ctx, int64_t job, int n_ahead)
{
    struct jobs *j = ctx;

    if (j->n_place == j->cap_place) {
        j->cap_place = j->cap_place ? 2 * j->cap_place : 16;
        j->place = realloc(j->place, (size_t)j->cap_place * sizeof *j->place);
        if (!j->place)
            abort();
    }
    j->place[j->n_place++] = (struct place){job, n_ahead};
}

void desk_place(struct jobs *j)
{
    int64_t now = now_ms();

    if (now - j->placed_ms < PLACE_MS && now >= j->placed_ms)
        return;
    j->placed_ms = now;
    pthread_mutex_lock(&j->lock);
    j->n_place = 0;
    fair_look_ahead(j->fair, DESK_CLAIM_PAGES, PLACE_STEPS, add_place, j);
    pthread_mutex_unlock(&j->lock);
}

int desk_ahead(struct jobs *j, int64_t job)
{
    int n = -1;

    pthread_mutex_lock(&j->lock);
    for (int i = 0; i < j->n_place && n < 0; i++)
        if (j->place[i].job == job)
            n = j->place[i].n_ahead;
    pthread_mutex_unlock(&j->lock);
    return n;
}
