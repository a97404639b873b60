/* From events to documents: pages are kept until their document is done, then written; standard
 * output in input order. */
#include "json_lines.h"
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void read_cancel(struct run *r, bool started_too)
{
    for (int i = 0; i < r->n_submitted; i++)
        if (r->doc[i].state == DOC_ACTIVE && (started_too || !r->doc[i].is_started))
            recto_cancel(r->engine, r->doc[i].request);
}

void read_end(struct run *r, int exit)
{
    if (r->exit == 0)
        r->exit = exit;
    read_cancel(r, true);
}

int read_failed(const struct run *r)
{
    return r->n_page[RECTO_PAGE_ERROR] + r->n_page[RECTO_PAGE_LOOP] + r->n_page[RECTO_PAGE_LENGTH] +
           (r->is_strict ? r->n_page[RECTO_PAGE_SUSPECT] : 0);
}

/* --- output ----------------------------------------------------------------------------------- */
void read_print(struct run *r, const char *text, size_t n)
{
    if (r->exit || n == 0)
        return;
    progress_clear();
    if (put_text(text, n) == 0)
        return;
    if (errno != EPIPE)
        say(SAY_ERROR, "cannot write to standard output: %s (%s)", strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
    read_end(r, errno == EPIPE ? EXIT_PIPE : EXIT_OUTPUT);
}

/* What parts one document from the next where several share standard output. */
static void print_parting(struct run *r, int doc)
{
    const char *format = r->plan.format[0];
    char line[600];

    if (r->plan.n_doc == 1 || strcmp(format, "json") == 0)
        return;
    if (strcmp(format, "md") != 0) {
        if (doc > 0)
            read_print(r, "\f", 1);
        return;
    }
    int n = snprintf(line, sizeof line, "%s<!-- %.500s", doc > 0 ? "\n" : "",
                     r->plan.target[doc].name);
    for (char *p = line + (doc > 0) + 5; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == '>' || (p[0] == '-' && p[1] == '-'))
            *p = '_'; /* a name cannot close the comment */
    n += snprintf(line + n, sizeof line - (size_t)n, " -->\n");
    read_print(r, line, (size_t)n);
}

static void print_in_order(struct run *r)
{
    for (; r->n_printed < r->plan.n_doc && r->doc[r->n_printed].state == DOC_ENDED;
         r->n_printed++) {
        struct doc *d = &r->doc[r->n_printed];
        if (d->text) {
            print_parting(r, r->n_printed);
            read_print(r, d->text, d->n_text);
            if (d->n_text > 0 && d->text[d->n_text - 1] != '\n')
                read_print(r, "\n", 1);
        }
        recto_free(d->text);
        d->text = NULL;
        d->state = DOC_PRINTED;
    }
}

static void print_streamed(void *ctx, const char *text, size_t n)
{
    struct run *r = ctx;

    read_print(r, text, n);
    r->last_streamed = text[n - 1];
}

static void stream_text(struct run *r, const char *text, size_t n)
{
    if (strcmp(r->plan.format[0], "raw") == 0 && n > 0)
        print_streamed(r, text, n);
    else
        strip_push(&r->strip, text, n, print_streamed, r);
}

static void end_stream(struct run *r)
{
    strip_end(&r->strip, print_streamed, r);
    if (r->last_streamed && r->last_streamed != '\n')
        read_print(r, "\n", 1);
}

static void save_document(struct run *r, int doc, const struct recto_page *const *page, int n)
{
    for (int f = 0; f < r->plan.n_format && !r->exit; f++) {
        const char *file = r->plan.target[doc].file[f];
        char *text = NULL;
        size_t n_text = 0;
        int rc = recto_write(r->plan.format[f], page, n, &text, &n_text);

        if (rc < 0)
            read_end(r, report_failure(rc));
        else if (!file) {
            r->doc[doc].text = text;
            r->doc[doc].n_text = n_text;
            return;
        } else if (save_file(file, text, n_text) < 0) {
            say(SAY_ERROR, "cannot write %s: %s (%s)", file, strerror(errno),
                recto_error_name(RECTO_EOUTPUT));
            read_end(r, EXIT_OUTPUT);
        }
        recto_free(text);
    }
}

/* --- pages and documents ---------------------------------------------------------------------- */
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
static void count_page(struct run *r, struct doc *d, const struct recto_page *p)
{
    if (d->n_page == 0) {
        d->n_page = p->n_index > 1 ? p->n_index : 1;
        r->n_all_page += d->n_page - 1;
    }
}

void read_fault(struct run *r, int doc)
{
    const struct input *in = r->plan.target[doc].in;
    const struct recto_page p = {.status = RECTO_PAGE_ERROR,
                                 .n_index = 1,
                                 .error = in->error,
                                 .error_text = (char *)in->fault};

    say(SAY_ERROR, "%s: %s (%s)", in->path, in->fault, recto_error_name(in->error));
    r->n_page[RECTO_PAGE_ERROR]++;
    r->n_unread++;
    r->n_done_page++;
    r->n_ended++;
    r->doc[doc].state = DOC_ENDED;
    if (r->json.is_on) {
        json_page(r, doc, &p);
        json_document(r, doc);
    }
    print_in_order(r);
}

static void take_page(struct run *r, int doc, struct recto_event *ev)
{
    struct doc *d = &r->doc[doc];
    const struct recto_page *p = ev->page;

    r->n_page[p->status]++;
    r->n_token += p->n_token;
    r->n_done_page++;
    count_page(r, d, p);
    if (p->status == RECTO_PAGE_ERROR &&
        (p->error == RECTO_EUSAGE || p->error == RECTO_EDEVICE || p->error == RECTO_EMODEL))
        read_end(r, exit_of_error(p->error)); /* no other page would fare better */
    say_page(r, doc, p);
    if (r->json.is_on)
        json_page(r, doc, p);
    struct recto_event *grown = realloc(d->event, (size_t)(d->n_event + 1) * sizeof *grown);
    if (!grown) {
        read_end(r, EXIT_BUG);
        recto_event_reset(ev);
        return;
    }
    d->event = grown;
    d->event[d->n_event++] = *ev; /* its page is ours until the document is written */
}

static int by_index(const void *a, const void *b)
{
    const struct recto_event *x = a, *y = b;
    return (x->page->index > y->page->index) - (x->page->index < y->page->index);
}

/* The gravest, for one word about a whole document. */
static enum recto_status worst_status(const struct recto_page *const *page, int n)
{
    static const enum recto_status order[] = {RECTO_PAGE_ERROR,   RECTO_PAGE_LOOP,
                                              RECTO_PAGE_LENGTH,  RECTO_PAGE_CANCELLED,
                                              RECTO_PAGE_SUSPECT, RECTO_PAGE_OK};

    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (int i = 0; i < n; i++)
            if (page[i]->status == order[k])
                return order[k];
    return page[0]->status;
}

static void write_document(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    const struct recto_page **page = calloc((size_t)d->n_event + 1, sizeof *page);
    int n_good = 0, n_cancelled = 0, n_unread = 0;

    if (!page) {
        read_end(r, EXIT_BUG);
        return;
    }
    qsort(d->event, (size_t)d->n_event, sizeof *d->event, by_index);
    for (int i = 0; i < d->n_event; i++) {
        page[i] = d->event[i].page;
        n_good += page[i]->status != RECTO_PAGE_ERROR && page[i]->status != RECTO_PAGE_CANCELLED;
        n_cancelled += page[i]->status == RECTO_PAGE_CANCELLED;
        n_unread += page[i]->status == RECTO_PAGE_ERROR && is_input_error(page[i]->error);
    }
    if (n_unread == d->n_event)
        r->n_unread++;
    if (r->page.stream)
        end_stream(r);
    if (n_good > 0 && n_cancelled == 0 && (!r->page.stream || !r->plan.to_stdout))
        save_document(r, doc, page, d->n_event);
    if (d->n_event > 0)
        progress_document(r->plan.target[doc].name, d->n_event,
                          recto_status_name(worst_status(page, d->n_event)));
    free(page);
}

static void end_document(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];

    write_document(r, doc);
    if (r->json.is_on)
        json_document(r, doc);
    for (int i = 0; i < d->n_event; i++)
        recto_event_reset(&d->event[i]);
    free(d->event);
    d->event = NULL;
    d->n_event = 0;
    d->state = DOC_ENDED;
    r->n_ended++;
    print_in_order(r);
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

    if (doc >= 0 && ev->kind == RECTO_EVENT_PAGE) {
        take_page(r, doc, ev); /* keeps it */
        return;
    }
    if (doc >= 0 && ev->kind == RECTO_EVENT_STARTED) {
        r->doc[doc].is_started = true;
        if (ev->page)
            count_page(r, &r->doc[doc], ev->page);
    }
    if (doc >= 0 && ev->kind == RECTO_EVENT_TEXT)
        stream_text(r, ev->text, ev->n_text);
    if (doc >= 0 && ev->kind == RECTO_EVENT_DONE)
        end_document(r, doc);
    recto_event_reset(ev);
}
