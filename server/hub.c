#include "hub.h"

#include "app.h"
#include "clock.h"
#include "jobs.h"
#include "stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAP = 256 << 10, ROOM = 64 << 10, PIECE = 200, LOOK_MS = 50 };

struct client {
    struct hub *hub;
    struct stream *stream;
    struct jobs_watch *text; /* of the page whose text it follows; NULL: none */
    char owner[AUTH_OWNER_MAX], job[ROUTE_PARAM_MAX];
    bool all_owners, is_live, wants_stats, has_begun;
    uint64_t seq; /* told up to here; the pump's while not live */
    bool from_now;
    struct client *next;
};

struct waiter {
    struct request *q;
    char job[ROUTE_PARAM_MAX];
    uint64_t seq;
    int64_t until_ms;
    struct waiter *next;
};

struct hub {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t pump;
    struct server *server;
    struct jobs *jobs;
    struct jobs_watch *watch;
    struct client *client;
    struct waiter *waiter;
    uint64_t last_seq; /* of what was committed while we watched */
    bool is_stopping, has_pump;
};

/* ---- events as text -------------------------------------------------------------------------------------------------- */
static void put_event(struct text *t, const struct jobs_event *ev)
{
    text_fmt(t, "id: %llu\nevent: %s\ndata: %s\n\n", (unsigned long long)ev->seq, ev->type,
             ev->body);
}

static bool concerns(const struct client *c, const struct jobs_event *ev)
{
    return (c->all_owners || strcmp(c->owner, ev->owner) == 0) &&
           (!*c->job || strcmp(c->job, ev->job) == 0);
}

/* ---- what is committed: on the store's thread ------------------------------------------------------------------------ */
static void tell_clients(struct hub *h, const struct jobs_event *ev)
{
    struct text t = {0};

    put_event(&t, ev);
    for (struct client *c = h->client; c; c = c->next)
        if (c->is_live && ev->seq > c->seq && concerns(c, ev)) {
            c->seq = ev->seq;
            stream_write(c->stream, t.p, t.n);
        }
    text_reset(&t);
}

/* The lock is held: those whose time has come run their handler again. ev NULL: only time counts. */
static void let_waiters_go(struct hub *h, const struct jobs_event *ev)
{
    int64_t now = clock_ms();

    for (struct waiter **at = &h->waiter; *at;) {
        struct waiter *w = *at;
        bool is_meant = ev && ev->seq > w->seq && strcmp(w->job, ev->job) == 0;

        if (!is_meant && now < w->until_ms && !h->is_stopping) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        request_again(w->q);
        free(w);
    }
}

static void on_commit(void *ctx, const struct jobs_event *ev)
{
    struct hub *h = ctx;

    pthread_mutex_lock(&h->lock);
    h->last_seq = ev->seq;
    tell_clients(h, ev);
    let_waiters_go(h, ev);
    pthread_mutex_unlock(&h->lock);
}

/* ---- text of a page that is being read: on the reader's thread --------------------------------------------------------- */
static void on_text(void *ctx, const char *job, int page, int attempt, size_t offset,
                    const char *text, size_t n)
{
    json_t *v = json_pack("{s:s, s:i, s:i, s:I, s:s%}", "job", job, "page", page, "attempt",
                          attempt, "offset", (json_int_t)offset, "text", text, n);
    char *data = json_dumps(v, JSON_COMPACT);
    struct client *c = ctx;
    struct text t = {0};

    text_fmt(&t, "event: text\ndata: %s\n\n", data);
    stream_write(c->stream, t.p, t.n);
    text_reset(&t);
    free(data);
    json_decref(v);
}

/* ---- catching up: on the pump's thread -------------------------------------------------------------------------------- */
struct piece {
    struct client *client;
    struct text text;
    int n;
};

static void add_to_piece(void *ctx, const struct jobs_event *ev)
{
    struct piece *p = ctx;

    put_event(&p->text, ev);
    p->client->seq = ev->seq;
    p->n++;
}

/* The stream's first lines: how long to wait before asking again, and where the story stands. */
static void begin(struct client *c, uint64_t last)
{
    char line[80];
    int n;

    if (c->from_now)
        c->seq = last;
    n = snprintf(line, sizeof line, "retry: 2000\nid: %llu\n\n", (unsigned long long)c->seq);
    stream_write(c->stream, line, (size_t)n);
    c->has_begun = true;
}

static void tell_reset(struct client *c, uint64_t last)
{
    char line[120];
    int n = snprintf(line, sizeof line, "id: %llu\nevent: reset\ndata: {\"seq\":%llu}\n\n",
                     (unsigned long long)last, (unsigned long long)last);

    stream_write(c->stream, line, (size_t)n);
    c->seq = last;
}

/* One piece of the log. True: nothing is left of it for now. */
static bool catch_up(struct hub *h, struct client *c)
{
    struct piece p = {.client = c};
    bool is_gone = false;
    uint64_t last = 0;

    if (!c->has_begun) {
        if (c->from_now)
            jobs_events(h->jobs, NULL, NULL, INT64_MAX, 1, add_to_piece, &p, &is_gone, &last);
        begin(c, last);
        is_gone = false;
    }
    if (jobs_events(h->jobs, c->all_owners ? NULL : c->owner, *c->job ? c->job : NULL, c->seq,
                    PIECE, add_to_piece, &p, &is_gone, &last) < 0) {
        stream_cut(c->stream);
    } else if (is_gone) {
        tell_reset(c, last);
    } else {
        if (p.text.n > 0)
            stream_write(c->stream, p.text.p, p.text.n);
        if (p.n < PIECE && last > c->seq)
            c->seq = last;
    }
    text_reset(&p.text);
    return p.n < PIECE;
}

static void drop(struct hub *h, struct client *c)
{
    jobs_unwatch(c->text);
    pinger_remove(h->server->pinger, c->stream);
    stream_release(c->stream);
    metrics_sse(h->server->metrics, -1);
    free(c);
}

/* Take the clients that have left out of the list; the lock is held. */
static struct client *take_gone(struct hub *h)
{
    struct client *gone = NULL;

    for (struct client **at = &h->client; *at;) {
        struct client *c = *at;
        if (!h->is_stopping && !stream_is_gone(c->stream)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        c->next = gone;
        gone = c;
    }
    return gone;
}

static void drop_all(struct hub *h, struct client *gone)
{
    static const char bye[] = "event: bye\nretry: 3000\ndata: {}\n\n";

    for (struct client *next; gone; gone = next) {
        next = gone->next;
        if (!stream_is_gone(gone->stream))
            stream_write(gone->stream, bye, sizeof bye - 1);
        drop(h, gone);
    }
}

/* Only the pump takes clients out of the list, and new ones come in front: a client stays while it is looked at. */
static bool serve_client(struct hub *h, struct client *c)
{
    bool is_through = false;

    if (c->is_live || stream_waiting(c->stream) > ROOM)
        return c->is_live;
    if (catch_up(h, c)) {
        pthread_mutex_lock(&h->lock);
        is_through = c->is_live = c->seq >= h->last_seq;
        pthread_mutex_unlock(&h->lock);
    }
    return is_through;
}

static void *pump(void *ctx)
{
    struct hub *h = ctx;
    bool is_idle = true;

    pthread_mutex_lock(&h->lock);
    while (!h->is_stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += is_idle;
        until.tv_nsec += is_idle ? 0 : LOOK_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&h->wake, &h->lock, &until);
        struct client *gone = take_gone(h), *first = h->client;
        pthread_mutex_unlock(&h->lock);
        drop_all(h, gone);
        is_idle = true;
        for (struct client *c = h->is_stopping ? NULL : first; c; c = c->next)
            is_idle &= serve_client(h, c);
        pthread_mutex_lock(&h->lock);
    }
    struct client *rest = take_gone(h);
    pthread_mutex_unlock(&h->lock);
    drop_all(h, rest);
    return NULL;
}

/* ---- opening and closing --------------------------------------------------------------------------------------------- */
struct hub *hub_open(struct server *s)
{
    struct hub *h = server_zero(1, sizeof *h);

    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    h->server = s;
    return h;
}

int hub_follow(struct hub *h, struct jobs *j)
{
    h->jobs = j;
    if (jobs_watch(j, on_commit, h, &h->watch) < 0)
        return -1;
    h->has_pump = pthread_create(&h->pump, NULL, pump, h) == 0;
    return h->has_pump ? 0 : -1;
}

void hub_bye(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    h->is_stopping = true;
    let_waiters_go(h, NULL);
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    if (h->has_pump)
        pthread_join(h->pump, NULL);
    h->has_pump = false;
    jobs_unwatch(h->watch);
    h->watch = NULL;
}

void hub_close(struct hub *h)
{
    if (!h)
        return;
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---- clients ----------------------------------------------------------------------------------------------------------- */
void hub_subscribe(struct hub *h, struct request *q, const struct hub_wish *wish)
{
    struct client *c = server_zero(1, sizeof *c);

    c->hub = h;
    c->stream = stream_open(CAP);
    c->all_owners = !wish->owner;
    snprintf(c->owner, sizeof c->owner, "%s", wish->owner ? wish->owner : "");
    snprintf(c->job, sizeof c->job, "%s", wish->job ? wish->job : "");
    c->seq = wish->after;
    c->from_now = wish->from_now;
    c->wants_stats = wish->stats;
    answer_stream(q, "text/event-stream", c->stream);
    metrics_sse(h->server->metrics, 1);
    pinger_add(h->server->pinger, c->stream);
    if (wish->watch_job) /* a failure: the job has gone, so nothing comes of it */
        jobs_watch_text(h->jobs, wish->owner, wish->watch_job, wish->watch_page, on_text, c,
                        &c->text);
    pthread_mutex_lock(&h->lock);
    c->next = h->client;
    h->client = c;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
}

void hub_wait(struct hub *h, struct request *q, const char *job, uint64_t seq, int seconds)
{
    struct waiter *w = server_zero(1, sizeof *w);

    w->q = q;
    snprintf(w->job, sizeof w->job, "%s", job);
    w->seq = seq;
    w->until_ms = clock_ms() + seconds * 1000LL;
    pthread_mutex_lock(&h->lock);
    w->next = h->waiter;
    h->waiter = w;
    pthread_mutex_unlock(&h->lock);
}

static void push_stats(struct hub *h)
{
    struct text t = {0};
    json_t *v = stats_json(h->server, false);
    char *line = json_dumps(v, JSON_COMPACT);

    text_fmt(&t, "event: stats\ndata: %s\n\n", line);
    pthread_mutex_lock(&h->lock);
    for (struct client *c = h->client; c; c = c->next)
        if (c->wants_stats)
            stream_write(c->stream, t.p, t.n);
    pthread_mutex_unlock(&h->lock);
    text_reset(&t);
    free(line);
    json_decref(v);
}

void hub_tick(void *ctx)
{
    struct hub *h = ctx;
    bool wants_stats = false;

    pthread_mutex_lock(&h->lock);
    let_waiters_go(h, NULL);
    for (struct client *c = h->client; c; c = c->next)
        wants_stats |= c->wants_stats;
    pthread_mutex_unlock(&h->lock);
    if (wants_stats)
        push_stats(h);
}
