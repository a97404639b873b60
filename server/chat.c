/* The reading of a chat call: submit its documents, take their events, finish when all are done. */
#include "chat.h"

#include "clock.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- going away ------------------------------------------------------------------------------------------------------ */
static void cancel_all(struct chat *c)
{
    for (int i = 0; i < c->ask.n_doc; i++) {
        uint64_t request = c->part[i].request;
        if (request)
            reader_cancel(c->server->reader, request);
    }
}

void chat_gone(void *ctx)
{
    struct chat *c = ctx;

    if (!c->is_gone)
        metrics_cancelled(c->server->metrics);
    c->is_gone = true;
    cancel_all(c);
}

int chat_count(struct server *s)
{
    int n = 0;

    pthread_mutex_lock(&s->chats_lock);
    for (const struct chat *c = s->chats; c; c = c->next)
        n++;
    pthread_mutex_unlock(&s->chats_lock);
    return n;
}

void chat_cancel_all(struct server *s)
{
    pthread_mutex_lock(&s->chats_lock);
    for (struct chat *c = s->chats; c; c = c->next) {
        c->is_gone = true;
        cancel_all(c);
    }
    pthread_mutex_unlock(&s->chats_lock);
}

static void enter_list(struct chat *c)
{
    pthread_mutex_lock(&c->server->chats_lock);
    c->next = c->server->chats;
    c->server->chats = c;
    pthread_mutex_unlock(&c->server->chats_lock);
}

static void leave_list(struct chat *c)
{
    struct chat **at = &c->server->chats;

    pthread_mutex_lock(&c->server->chats_lock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_mutex_unlock(&c->server->chats_lock);
}

/* The lock is held. The first fault is the one that is told. */
static void fail(struct chat *c, enum fault f, const char *why)
{
    if (c->fault == FAULT_NONE) {
        c->fault = f;
        snprintf(c->fault_text, sizeof c->fault_text, "%s", why);
    }
    cancel_all(c);
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */
static int pages_of(const struct chat *c)
{
    int n = 0;

    for (int i = 0; i < c->ask.n_doc; i++)
        n += c->part[i].n_sheet;
    return n;
}

/* Once a document is open, it is known how many pages it has. */
static void lay_out(struct chat_part *p, int n)
{
    struct chat *c = p->chat;

    if (p->n_sheet > 0 || n <= 0)
        return;
    if (n > CHAT_PAGES) {
        fail(c, FAULT_too_many_pages,
             "more than 32 pages in one call; POST /v1/jobs takes documents of any length");
        return;
    }
    p->n_sheet = n;
    p->sheet = server_zero((size_t)n, sizeof *p->sheet);
    if (pages_of(c) > CHAT_PAGES)
        fail(c, FAULT_too_many_pages,
             "more than 32 pages in one call; POST /v1/jobs takes documents of any length");
}

static struct chat_sheet *sheet_numbered(struct chat_part *p, int number)
{
    for (int i = 0; i < p->n_sheet; i++)
        if (p->sheet[i].number == number)
            return &p->sheet[i];
    return NULL;
}

static void on_started(struct chat_part *p, const struct recto_page *page)
{
    lay_out(p, page->n_index);
    if (page->index >= 0 && page->index < p->n_sheet)
        p->sheet[page->index].number = page->number;
}

static void on_text(struct chat_part *p, const struct recto_event *ev)
{
    struct chat_sheet *s = sheet_numbered(p, ev->number);

    if (!s)
        return;
    text_add(&s->text, ev->text, ev->n_text);
    s->has_text |= ev->n_text > 0;
    chat_send(p->chat);
}

static enum fault fault_of(int code)
{
    switch (code) {
    case RECTO_EKIND:
        return FAULT_unsupported_media_type;
    case RECTO_EPASSWORD:
        return FAULT_password_required;
    case RECTO_EPAGERANGE:
        return FAULT_page_out_of_range;
    case RECTO_ETOOLARGE:
        return FAULT_image_too_large;
    case RECTO_EDEADLINE:
        return FAULT_deadline_exceeded;
    case RECTO_EUSAGE:
        return FAULT_invalid_value;
    case RECTO_EEMPTY:
    case RECTO_EREAD:
    case RECTO_EDAMAGED:
    case RECTO_ETRUNCATED:
    case RECTO_ERENDER:
    case RECTO_EFORMAT:
        return FAULT_document_unreadable;
    }
    return FAULT_internal;
}

/* A document that cannot be opened, or a page out of time, fails the call; a page that cannot be drawn is one of many. */
static bool fails_call(const struct chat *c, const struct recto_page *page)
{
    return page->status == RECTO_PAGE_ERROR &&
           (page->number == 0 || page->error == RECTO_EDEADLINE || page->error == RECTO_EUSAGE ||
            (c->ask.n_doc == 1 && page->n_index <= 1));
}

static void on_page(struct chat_part *p, struct recto_event *ev)
{
    struct chat *c = p->chat;
    struct recto_page *page = ev->page;

    on_started(p, page);
    if (fails_call(c, page))
        fail(c, fault_of(page->error), page->error_text ? page->error_text : "the page failed");
    if (page->index < 0 || page->index >= p->n_sheet || p->sheet[page->index].page)
        return;
    struct chat_sheet *s = &p->sheet[page->index];
    s->page = page;
    s->is_done = true;
    ev->page = NULL;
    if (!s->has_text &&
        page->n_raw > 0) /* nothing came while it was read: its text is the PDF's own */
        text_add(&s->text, page->raw, page->n_raw);
    chat_send(c);
}

static void free_chat(struct chat *c)
{
    leave_list(c);
    for (int i = 0; i < CHAT_DOCS; i++) {
        for (int k = 0; k < c->part[i].n_sheet; k++) {
            struct chat_sheet *s = &c->part[i].sheet[k];
            text_reset(&s->text);
            if (s->page)
                recto_page_reset(s->page);
            free(s->page);
        }
        free(c->part[i].sheet);
    }
    text_reset(&c->tail);
    chat_ask_reset(&c->ask);
    sieve_reset(&c->files);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* The lock is held, and let go. One of those that keep the call open is done. */
static void let_go(struct chat *c)
{
    bool is_last = --c->n_open == 0;

    if (is_last)
        chat_finish(c);
    pthread_mutex_unlock(&c->lock);
    if (is_last)
        free_chat(c);
}

static void on_event(void *ctx, struct recto_event *ev)
{
    struct chat_part *p = ctx;
    struct chat *c = p->chat;

    pthread_mutex_lock(&c->lock);
    if (ev->kind == RECTO_EVENT_DONE) {
        let_go(c);
        return;
    }
    if (ev->kind == RECTO_EVENT_STARTED && ev->page)
        on_started(p, ev->page);
    else if (ev->kind == RECTO_EVENT_TEXT)
        on_text(p, ev);
    else if (ev->kind == RECTO_EVENT_PAGE && ev->page)
        on_page(p, ev);
    pthread_mutex_unlock(&c->lock);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------- */
/* The lock is held. False: the call has failed. */
static bool submit(struct chat *c, int i)
{
    struct chat_doc *d = &c->ask.doc[i];
    char path[64];
    struct recto_input in = {
        .name = d->name, .path = path, .pages = c->ask.pages, .dpi = c->ask.dpi};
    uint64_t request = 0;
    int rc;

    snprintf(path, sizeof path, "/proc/self/fd/%d", c->files.fd[d->file]);
    c->part[i].chat = c;
    c->n_open++;
    pthread_mutex_unlock(&c->lock); /* events may come before submit returns */
    rc = reader_submit(c->server->reader, &in, &c->ask.options, on_event, &c->part[i], &request);
    pthread_mutex_lock(&c->lock);
    if (rc == 0) {
        c->part[i].request = request;
        if (c->is_gone || c->fault != FAULT_NONE)
            reader_cancel(c->server->reader, request);
        return true;
    }
    c->n_open--;
    c->retry_ms = rc == RECTO_EAGAIN ? 1000 : 0;
    fail(c, rc == RECTO_EAGAIN ? FAULT_queue_full : fault_of(rc),
         rc == RECTO_EAGAIN ? "too many calls wait; ask again in a moment" : recto_last_error());
    return false;
}

void chat_start(struct server *s, struct request *q, struct chat_ask *a)
{
    struct chat *c = server_zero(1, sizeof *c);

    pthread_mutex_init(&c->lock, NULL);
    c->server = s;
    c->q = q;
    c->ask = *a;
    *a = (struct chat_ask){0};
    c->files = call_of(q)->body.sieve;
    call_of(q)->body.sieve = (struct sieve){0};
    c->created_s = clock_wall_ms() / 1000;
    c->start_ns = clock_mono_ns();
    c->n_open = 1;
    auth_token("chatcmpl-", c->id);
    snprintf(c->request_id, sizeof c->request_id, "%s", q->id);
    enter_list(c);
    request_on_gone(q, chat_gone, c);
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->ask.n_doc && submit(c, i); i++) /* q may be answered meanwhile */
        ;
    let_go(c);
}
