/* The desk's thread: notes in, page files and commits out. */
#include "desk.h"

#include "page_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 256, TICK_MS = 200, WAIT_MS = 1000, LAST_TRIES = 3 };

void desk_log(struct jobs *j, enum recto_log_level level, const char *fmt, ...)
{
    char line[600];
    va_list ap;

    if (!j->set.log)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (unsigned char *p = (unsigned char *)line; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
    j->set.log(j->set.log_ctx, level, line);
}

void desk_tell(struct jobs *j, struct note note)
{
    struct note *n = malloc(sizeof *n);

    if (!n)
        abort();
    *n = note;
    n->next = NULL;
    pthread_mutex_lock(&j->lock);
    if (j->last)
        j->last->next = n;
    else
        j->first = n;
    j->last = n;
    pthread_cond_signal(&j->has_note);
    pthread_mutex_unlock(&j->lock);
}

static void note_free(struct note *n)
{
    if (n->page) {
        recto_page_reset(n->page);
        free(n->page);
    }
    free(n);
}

/* ---- what a page's event means ----------------------------------------------------------------------------------------------------- */
const char *jobs_code_of_recto(int rc)
{
    switch (rc) {
    case RECTO_EPASSWORD:
        return "password_required";
    case RECTO_ETOOLARGE:
        return "image_too_large";
    case RECTO_EKIND:
        return "unsupported_media_type";
    case RECTO_EPAGERANGE:
        return "page_out_of_range";
    case RECTO_EDEADLINE:
        return "deadline_exceeded";
    case RECTO_EDEVICE:
        return "device_failed";
    case RECTO_ECANCELED:
        return "cancelled";
    case RECTO_EREAD:
    case RECTO_EEMPTY:
    case RECTO_EDAMAGED:
    case RECTO_ETRUNCATED:
    case RECTO_ERENDER:
    case RECTO_EFORMAT:
        return "document_unreadable";
    default:
        return "internal";
    }
}

/* What a change points to; lives until it is committed. */
struct pending {
    struct note *note;
    int at; /* in the flight */
    char sha256[SHA_BYTES];
    char *readings, *timings;
};

static double least_logp(const struct recto_page *p)
{
    double least = 0;

    for (int i = 0; p->logp && i < p->n_token; i++)
        least = p->logp[i] < least ? p->logp[i] : least;
    return least;
}

static size_t text_bytes(const struct recto_page *p)
{
    size_t n = 0;

    for (int i = 0; i < p->n_block; i++)
        n += p->block[i].n_text;
    return n;
}

static char *readings_json(const struct recto_page *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->n_attempt; i++)
        json_array_append_new(list,
                              json_pack("{sssssisb}", "rung", p->attempt[i].rung, "finish",
                                        recto_finish_name(p->attempt[i].finish), "n_tok",
                                        p->attempt[i].n_token, "chosen", p->attempt[i].is_chosen));
    char *text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

static char *timings_json(const struct recto_timing *t)
{
    json_t *o = json_pack("{sfsfsfsfsfsfsfsf}", "queue", t->queue, "render", t->decode_image,
                          "preprocess", t->preprocess, "vision", t->vision, "prefill", t->prefill,
                          "decode", t->decode, "post", t->post, "total", t->total);
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));

    json_decref(o);
    return text;
}

static void fill_end(struct store_change *c, struct pending *pe, const struct recto_page *p)
{
    c->step = STEP_END;
    c->width = p->width;
    c->height = p->height;
    c->status = p->status;
    c->rotation = p->rotate;
    c->n_tok = p->n_token;
    c->tok_image = p->n_visual;
    c->ms = (int)lround(p->timing.total);
    c->conf = p->conf;
    c->min_logp = least_logp(p);
    c->n_text = (int64_t)text_bytes(p);
    c->readings = pe->readings = readings_json(p);
    c->timings = pe->timings = timings_json(&p->timing);
    if (p->status == RECTO_PAGE_ERROR) {
        c->error = jobs_code_of_recto(p->error);
        c->error_text = p->error_text;
    }
    c->has_reading = p->status != RECTO_PAGE_ERROR && p->status != RECTO_PAGE_CANCELLED;
}

/* Page `at` of the note's flight has changed. Writes its file if it was read. */
static int change_of(struct jobs *j, struct pending *pe, struct store_change *c)
{
    struct flight *f = pe->note->flight;
    struct recto_page *p = pe->note->page;
    const struct page_row *row = &f->page[pe->at];

    *c = (struct store_change){.job = row->job, .page = row->page, .attempt = row->n_attempt + 1};
    if (pe->note->what == NOTE_STARTED) {
        c->step = STEP_START;
        c->width = p ? p->width : 0;
        c->height = p ? p->height : 0;
        return 0;
    }
    if (p->status == RECTO_PAGE_CANCELLED && f->is_given_back) {
        c->step = STEP_BACK;
        return 0;
    }
    fill_end(c, pe, p);
    if (!c->has_reading || f->is_gone)
        return 0;
    p->number = row->page;
    TRY(page_file_write(&j->blob, f->job.id, row->page, c->attempt, f->options, f->retry, p,
                        pe->sha256));
    c->sha256 = pe->sha256;
    return 0;
}

/* ---- a batch ---------------------------------------------------------------------------------------------------------------------- */
struct batch {
    struct pending pending[BATCH];
    struct store_change change[BATCH];
    int n;
};

static void batch_reset(struct batch *b)
{
    for (int i = 0; i < b->n; i++) {
        free(b->pending[i].readings);
        free(b->pending[i].timings);
    }
    b->n = 0;
}

/* Which of the flight's pages has that number in its document; -1: none. */
static int index_in_flight(const struct flight *f, int number)
{
    for (int i = 0; i < f->n_page; i++)
        if (f->page[i].input_page == number)
            return i;
    return -1;
}

/* Page 0 stands for all that have not ended: the document could not be opened. */
static int add_note(struct jobs *j, struct batch *b, struct note *n)
{
    int only = n->number ? index_in_flight(n->flight, n->number) : -1;

    for (int i = 0; i < n->flight->n_page; i++) {
        if (n->flight->has_ended[i] || (n->number && i != only))
            continue;
        b->pending[b->n] = (struct pending){.note = n, .at = i};
        b->n++; /* also after a failure: batch_reset frees what it has */
        TRY(change_of(j, &b->pending[b->n - 1], &b->change[b->n - 1]));
    }
    return 0;
}

static void count_end(struct jobs *j, const struct store_change *c)
{
    int64_t now = now_ms() / 1000;

    pthread_mutex_lock(&j->lock);
    if (c->has_effect && c->step == STEP_END) {
        int at = (int)(now % RATE_S);
        j->page_status[c->status]++;
        j->n_attempt++;
        if (j->ended_at[at] != now)
            j->ended_n[at] = 0;
        j->ended_at[at] = now;
        j->ended_n[at]++;
    }
    pthread_mutex_unlock(&j->lock);
}

static void log_end(struct jobs *j, const struct flight *f, const struct store_change *c,
                    const struct recto_page *p)
{
    const struct recto_timing *t = &p->timing;

    desk_log(
        j, RECTO_LOG_INFO,
        "page job=%s n=%d attempt=%d status=%s tok=%d ms=%d render=%.0f vision=%.0f prefill=%.0f decode=%.0f%s%s",
        f->job.id, c->page, c->attempt, recto_status_name(c->status), c->n_tok, c->ms,
        t->decode_image, t->vision, t->prefill, t->decode, c->error ? " error=" : "",
        c->error ? c->error : "");
}

/* It is committed: the flight knows, the figures know, the log is told. */
static void land(struct jobs *j, struct pending *pe, const struct store_change *c)
{
    struct flight *f = pe->note->flight;

    if (c->step == STEP_START)
        return;
    f->has_ended[pe->at] = true;
    f->n_left--;
    count_end(j, c);
    if (c->step == STEP_END)
        log_end(j, f, c, pe->note->page);
    if (c->step == STEP_END && c->has_effect && j->set.page_ended)
        j->set.page_ended(j->set.page_ctx, pe->note->page);
    pthread_mutex_lock(&j->lock);
    j->n_flight--;
    pthread_cond_broadcast(&j->has_landed);
    pthread_mutex_unlock(&j->lock);
}

static int commit_batch(struct jobs *j, struct batch *b)
{
    if (b->n == 0)
        return 0;
    TRY(store_commit(j->store, b->change, b->n));
    for (int i = 0; i < b->n; i++)
        land(j, &b->pending[i], &b->change[i]);
    return 0;
}

/* ---- notes that are no pages ------------------------------------------------------------------------------------------------------- */
static void unlink_flight(struct jobs *j, struct flight *f)
{
    struct flight **at = &j->flights;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    flight_free(f);
}

/* The engine says that a request is done. Pages that it has said nothing of end as errors first, and n comes again. */
static bool is_said(struct note *n)
{
    struct note *again;
    struct recto_page *p;

    if (n->flight->n_left == 0)
        return true;
    again = malloc(sizeof *again);
    p = calloc(1, sizeof *p);
    if (!again || !p)
        abort();
    *again = *n;
    p->status = RECTO_PAGE_ERROR;
    p->error = RECTO_EINTERNAL;
    p->error_text = strdup("the engine has said nothing of this page: please report it");
    n->what = NOTE_PAGE;
    n->number = 0;
    n->page = p;
    n->next = again;
    return false;
}

static void add_ready(void *ctx, enum recto_class class, const char *owner, int64_t job, int n)
{
    struct jobs *j = ctx;

    fair_add(j->fair, class, owner, job, n);
}

/* What is queued of the job is as the store says. */
static int look_for_work(struct jobs *j, int64_t job)
{
    fair_drop(j->fair, job);
    return store_ready(j->store, job, add_ready, j);
}

static int do_note(struct jobs *j, struct note *n)
{
    switch (n->what) {
    case NOTE_DONE:
        unlink_flight(j, n->flight);
        return 0;
    case NOTE_WORK:
        return look_for_work(j, n->job);
    case NOTE_CANCEL:
        desk_cancel(j, n->job, false);
        return 0;
    case NOTE_DELETE:
        desk_cancel(j, n->job, true);
        desk_remove_files(j, n->id);
        return 0;
    case NOTE_STARTED:
    case NOTE_PAGE:
        break;
    }
    return 0;
}

/* ---- the loop --------------------------------------------------------------------------------------------------------------------- */
/* Page notes from the head of the backlog, as many as fit a batch; *behind: the first that is not in it. */
static int gather(struct jobs *j, struct batch *b, struct note **behind)
{
    struct note *n = j->backlog;

    b->n = 0;
    for (; n && (n->what == NOTE_PAGE || n->what == NOTE_STARTED); n = n->next) {
        if (b->n + n->flight->n_page > BATCH)
            break;
        TRY(add_note(j, b, n));
    }
    *behind = n;
    return 0;
}

static void drop_until(struct jobs *j, const struct note *end)
{
    while (j->backlog != end) {
        struct note *n = j->backlog;
        j->backlog = n->next;
        note_free(n);
    }
}

/* Work the backlog off; a failure leaves the rest for later. */
static int work_off(struct jobs *j)
{
    static _Thread_local struct batch batch;

    while (j->backlog) {
        struct note *behind = NULL;
        int rc = gather(j, &batch, &behind);
        if (rc == 0)
            rc = commit_batch(j, &batch);
        batch_reset(&batch);
        TRY(rc);
        bool was_pages = behind != j->backlog;
        drop_until(j, behind);
        if (was_pages || (j->backlog->what == NOTE_DONE && !is_said(j->backlog)))
            continue;
        TRY(do_note(j, j->backlog));
        drop_until(j, j->backlog->next);
    }
    return 0;
}

static struct timespec in_ms(int ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t ns = (int64_t)t.tv_nsec + (int64_t)ms * 1000000;
    return (struct timespec){.tv_sec = t.tv_sec + (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* Take new notes; wait for some, a tick at most. False: it is time to end. */
static bool take_notes(struct jobs *j, bool must_wait)
{
    struct timespec until = in_ms(must_wait ? WAIT_MS : TICK_MS);
    struct note **end = &j->backlog;

    while (*end)
        end = &(*end)->next;
    pthread_mutex_lock(&j->lock);
    while ((must_wait || !j->first) && !(j->is_ending && j->n_flight == 0 && !j->first))
        if (pthread_cond_timedwait(&j->has_note, &j->lock, &until) != 0)
            break;
    *end = j->first;
    j->first = j->last = NULL;
    bool goes_on = !j->is_ending || j->n_flight > 0 || j->backlog || j->flights;
    pthread_mutex_unlock(&j->lock);
    return goes_on;
}

/* The server stops: what is in the engine goes back to the queue. */
static void give_back(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    bool is_now = j->is_giving_back;
    pthread_mutex_unlock(&j->lock);
    for (struct flight *f = j->flights; is_now && f; f = f->next) {
        if (f->is_given_back)
            continue;
        f->is_given_back = true;
        if (f->is_submitted) {
            reader_cancel(j->set.reader, f->request);
            continue;
        }
        f->is_submitted = true; /* the engine never had it */
        struct recto_page *p = calloc(1, sizeof *p);
        if (!p)
            abort();
        p->status = RECTO_PAGE_CANCELLED;
        desk_tell(j, (struct note){.what = NOTE_PAGE, .flight = f, .page = p});
        desk_tell(j, (struct note){.what = NOTE_DONE, .flight = f});
    }
}

/* Each sentence once, until it works again. */
static void tell_fault(struct jobs *j, int rc)
{
    if (rc < 0 && strcmp(j->fault_told, jobs_last_error()) != 0) {
        snprintf(j->fault_told, sizeof j->fault_told, "%s", jobs_last_error());
        desk_log(j, RECTO_LOG_ERROR, "jobs wait: %s", j->fault_told);
    }
    if (rc == 0 && j->fault_told[0]) {
        desk_log(j, RECTO_LOG_INFO, "jobs go on");
        j->fault_told[0] = 0;
    }
}

/* The process ends and nothing can be written: what is in flight is let go, and is found as lost at the next start. */
static int let_go(struct jobs *j)
{
    for (struct note *n = j->backlog; n; n = n->next) {
        if (n->what != NOTE_DONE)
            continue;
        pthread_mutex_lock(&j->lock);
        j->n_flight -= n->flight->n_left;
        pthread_mutex_unlock(&j->lock);
        unlink_flight(j, n->flight);
    }
    drop_until(j, NULL);
    return 0;
}

static bool is_hopeless(struct jobs *j, int n_failed)
{
    pthread_mutex_lock(&j->lock);
    bool is_ending = j->is_ending;
    pthread_mutex_unlock(&j->lock);
    return is_ending && n_failed >= LAST_TRIES;
}

static void *desk_main(void *arg)
{
    struct jobs *j = arg;
    int rc = 0, n_failed = 0;
    bool has_given_up = false;

    while (take_notes(j, rc < 0)) {
        give_back(j);
        has_given_up = has_given_up || is_hopeless(j, n_failed);
        if (has_given_up) {
            rc = let_go(j);
            continue;
        }
        rc = work_off(j);
        n_failed = rc < 0 ? n_failed + 1 : 0;
        tell_fault(j, rc);
        if (rc < 0)
            continue;
        desk_fill(j);
        desk_place(j);
        desk_tidy(j);
    }
    return NULL;
}

int desk_start(struct jobs *j)
{
    j->fair = fair_new();
    TRY(store_ready(j->store, 0, add_ready, j));
    if (pthread_create(&j->thread, NULL, desk_main, j) != 0)
        return fault(JOBS_INTERNAL, NULL, "no thread for the desk; see the limits of this user");
    return 0;
}

void desk_end(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    j->is_draining = j->is_giving_back = j->is_ending = true;
    pthread_cond_signal(&j->has_note);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
    fair_free(j->fair);
}
