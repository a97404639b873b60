/* From events to documents: pages go to the work file as they end, and from there in page order to where they belong;
 * standard output in input order. */
#include "json_lines.h"
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void read_cancel(struct run *r, bool begun_too)
{
    for (int i = 0; i < r->n_submitted; i++)
        if (r->doc[i].state == DOC_ACTIVE && begun_too)
            recto_cancel(r->engine, r->doc[i].request);
        else if (r->doc[i].state == DOC_ACTIVE)
            recto_stop(r->engine, r->doc[i].request);
}

void read_end(struct run *r, int exit)
{
    if (r->exit == 0)
        r->exit = exit;
    read_cancel(r, true);
}

static int failed(const struct run *r, const int *n_status)
{
    return n_status[RECTO_PAGE_ERROR] + n_status[RECTO_PAGE_LOOP] + n_status[RECTO_PAGE_LENGTH] +
           (r->is_strict ? n_status[RECTO_PAGE_SUSPECT] : 0);
}

int read_failed(const struct run *r)
{
    return failed(r, r->n_page);
}

/* --- pages ------------------------------------------------------------------------------------ */
static void say_page(const struct run *r, int doc, const struct recto_page *p)
{
    static const char *const told[N_STATUS] = {
        [RECTO_PAGE_SUSPECT] = "the text may be wrong",
        [RECTO_PAGE_LOOP] = "the model repeated itself; the text ends there",
        [RECTO_PAGE_LENGTH] = "the limit of tokens was reached; the text is cut",
    };
    const char *file = r->plan.target[doc].name, *text = p->error_text ? p->error_text : "";
    char name[1024];
    size_t n;

    if (p->n_index > 1)
        snprintf(name, sizeof name, "%.1000s:%d", file, p->number);
    else
        snprintf(name, sizeof name, "%.1000s", file);
    n = strlen(name);
    for (int i = 0; i < p->n_warning; i++)
        say(SAY_WARN, "%s: warning: %s", name, p->warning[i]);
    if (told[p->status])
        say(SAY_WARN, "%s: %s (%s)", name, told[p->status], recto_status_name(p->status));
    if (p->status != RECTO_PAGE_ERROR)
        return;
    if (strncmp(text, name, n) == 0 && strncmp(text + n, ": ", 2) == 0)
        text += n + 2;
    say(SAY_ERROR, "%s: %s (%s)", name, *text ? text : recto_error_text(p->error),
        recto_error_name(p->error));
}

/* How many pages there are is known with the first of them. */
static void count_pages(struct run *r, struct doc *d, const struct recto_page *p)
{
    if (d->n_page == 0) {
        d->n_page = p->n_index > 1 ? p->n_index : 1;
        r->n_all_page += d->n_page - 1;
    }
}

static void count(struct run *r, struct doc *d, enum recto_status status)
{
    r->n_page[status]++;
    r->n_done_page++;
    d->n_status[status]++;
    d->n_come++;
}

void read_count(struct run *r, int doc, enum recto_status status)
{
    count(r, &r->doc[doc], status);
    r->n_before++;
}

static void take_page(struct run *r, int doc, const struct recto_page *p)
{
    struct doc *d = &r->doc[doc];

    count(r, d, p->status);
    count_pages(r, d, p);
    r->n_token += p->n_token;
    r->n_retried += p->n_attempt > 1;
    d->n_unread += p->status == RECTO_PAGE_ERROR && is_input_error(p->error);
    snprintf(r->current, sizeof r->current, p->n_index > 1 ? "%.480s p.%d" : "%.480s",
             r->plan.target[doc].name, p->number);
    if (p->status == RECTO_PAGE_ERROR &&
        (p->error == RECTO_EUSAGE || p->error == RECTO_EDEVICE || p->error == RECTO_EMODEL))
        read_end(r, exit_of_error(p->error)); /* no other page would fare better */
    say_page(r, doc, p);
    if (p->status == RECTO_PAGE_CANCELLED) {
        d->has_cancelled = true;
        work_note(&d->work, p);
    } else if (work_put(&d->work, p) < 0 || work_sync(&d->work, progress_seconds()) < 0)
        read_cannot_write(r, d->work.path ? d->work.path : "a temporary file");
    if (r->json.as_they_come)
        json_page(r, doc, p);
    out_pump(r, doc);
    if (r->fails_fast && failed(r, d->n_status) > 0 && !r->exit)
        read_end(r, EXIT_PAGES);
}

void read_fault(struct run *r, int doc)
{
    const struct input *in = r->plan.target[doc].in;
    struct doc *d = &r->doc[doc];
    const struct recto_page p = {.status = RECTO_PAGE_ERROR,
                                 .n_index = 1,
                                 .error = in->error,
                                 .error_text = (char *)in->fault};

    d->state = DOC_ACTIVE;
    r->n_submitted = doc + 1;
    if (work_open(&d->work, NULL, "", false) < 0)
        read_cannot_write(r, "a temporary file");
    else
        take_page(r, doc, &p);
    read_ended(r, doc);
}

/* --- documents -------------------------------------------------------------------------------- */
/* The gravest, for one word about a whole document. */
static enum recto_status worst_status(const struct doc *d)
{
    static const enum recto_status order[] = {RECTO_PAGE_ERROR,   RECTO_PAGE_LOOP,
                                              RECTO_PAGE_LENGTH,  RECTO_PAGE_CANCELLED,
                                              RECTO_PAGE_SUSPECT, RECTO_PAGE_OK};

    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (d->n_status[order[k]] > 0)
            return order[k];
    return RECTO_PAGE_BLANK;
}

void read_ended(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];

    if (d->n_unread > 0 && d->n_unread == d->n_come)
        r->n_unread++;
    if (r->page.stream)
        out_stream_end(r);
    if (!d->is_done_before) {
        out_pump(r, doc);
        if (!r->plan.to_stdout)
            out_finish(r, doc);
    }
    if (r->json.as_they_come)
        json_document(r, doc);
    if (d->n_come > 0)
        progress_document(r->plan.target[doc].name, d->n_come, recto_status_name(worst_status(d)));
    if (!out_is_in_order(r))
        out_release(r, doc);
    d->state = DOC_ENDED;
    r->n_ended++;
    out_print(r);
}

static int find_doc(const struct run *r, uint64_t request)
{
    for (int i = r->n_printed; i < r->n_submitted; i++)
        if (r->doc[i].state == DOC_ACTIVE && r->doc[i].request == request)
            return i;
    return -1;
}

void read_take(struct run *r, struct recto_event *ev)
{
    int doc = find_doc(r, ev->request);

    if (doc >= 0 && ev->kind == RECTO_EVENT_PAGE)
        take_page(r, doc, ev->page);
    if (doc >= 0 && ev->kind == RECTO_EVENT_STARTED && ev->page)
        count_pages(r, &r->doc[doc], ev->page);
    if (doc >= 0 && ev->kind == RECTO_EVENT_TEXT)
        out_stream(r, ev->text, ev->n_text);
    if (doc >= 0 && ev->kind == RECTO_EVENT_DONE)
        read_ended(r, doc);
    recto_event_reset(ev);
}
