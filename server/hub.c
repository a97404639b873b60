#include "hub.h"

#include "app.h"
#include "clock.h"
#include "jobs.h"
#include "recent.h"
#include "stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A wave tells every client what has come since the one before: one write each, however many events that are. Waves begin at
 * least PACE_MS apart and leave half of the time to others; between PORTION clients the pump rests, so that the I/O
 * threads find time for other requests. */
enum {
    CAP = 256 << 10,
    ROOM = 64 << 10, /* waiting bytes of a client that is told no more for now */
    PIECE = 200,     /* events of the log at once */
    PACE_MS = 50,
    PORTION = 50,
    REST_US = 1000,
    IDLE_MS = 1000,
};

struct client {
    struct hub *hub;
    struct stream *stream;
    struct jobs_watch *text; /* of the page whose text it follows; NULL: none */
    char owner[AUTH_OWNER_MAX], job[ROUTE_PARAM_MAX];
    bool all_owners, wants_stats, has_begun;
    uint64_t seq;     /* told up to here; the pump's */
    uint64_t n_stats; /* which figures it was told last; the pump's */
    struct client *next;
};

struct waiter {
    struct request *q;
    char job[ROUTE_PARAM_MAX];
    uint64_t seq;
    int64_t until_ms;
    _Atomic bool is_gone; /* its client */
    struct waiter *next;
};

struct hub {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t pump;
    struct server *server;
    struct jobs *jobs;
    struct jobs_watch *watch;
    struct recent *recent;
    struct client *client;
    struct waiter *waiter;
    struct text stats; /* the last figures, as an event */
    uint64_t n_stats;
    bool has_news, is_stopping, has_pump;
};

static const char *owner_of(const struct client *c)
{
    return c->all_owners ? NULL : c->owner;
}

static const char *job_of(const struct client *c)
{
    return *c->job ? c->job : NULL;
}

/* The lock is held. */
static void wake_pump(struct hub *h)
{
    if (!h->has_news)
        pthread_cond_signal(&h->wake);
    h->has_news = true;
}

/* ---- what is committed: on the store's thread ------------------------------------------------------------------------ */
/* The lock is held: those whose time has come run their handler again. ev NULL: only time counts. */
static void let_waiters_go(struct hub *h, const struct jobs_event *ev)
{
    int64_t now = clock_ms();

    for (struct waiter **at = &h->waiter; *at;) {
        struct waiter *w = *at;
        bool is_meant = ev && ev->seq > w->seq && strcmp(w->job, ev->job) == 0;

        if (!is_meant && now < w->until_ms && !h->is_stopping && !w->is_gone) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        request_on_gone(w->q, NULL, NULL);
        request_again(w->q);
        free(w);
    }
}

static void on_commit(void *ctx, const struct jobs_event *ev)
{
    struct hub *h = ctx;

    recent_add(h->recent, ev);
    pthread_mutex_lock(&h->lock);
    wake_pump(h);
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

    text_fmt(&p->text, "id: %llu\nevent: %s\ndata: %s\n\n", (unsigned long long)ev->seq, ev->type,
             ev->body);
    p->client->seq = ev->seq;
    p->n++;
}

/* The stream's first lines: how long to wait before asking again, and where the story stands. */
static void begin(struct client *c)
{
    char line[80];
    int n = snprintf(line, sizeof line, "retry: 2000\nid: %llu\n\n", (unsigned long long)c->seq);

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

/* One piece of the log. */
static void catch_up(struct hub *h, struct client *c)
{
    struct piece p = {.client = c};
    bool is_gone = false;
    uint64_t last = 0;

    if (jobs_events(h->jobs, owner_of(c), job_of(c), c->seq, PIECE, add_to_piece, &p, &is_gone,
                    &last) < 0) {
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
}

/* The figures, once each. */
static void add_stats(struct hub *h, struct client *c, struct text *out)
{
    pthread_mutex_lock(&h->lock);
    if (c->wants_stats && c->n_stats != h->n_stats)
        text_add(out, h->stats.p, h->stats.n);
    c->n_stats = h->n_stats;
    pthread_mutex_unlock(&h->lock);
}

/* True: something was written. A client that takes nothing is told no more until it does, and finds the rest in the log. */
static bool tell(struct hub *h, struct client *c)
{
    struct text out = {0};
    bool has_told = !c->has_begun;

    if (stream_waiting(c->stream) > ROOM)
        return false;
    if (!c->has_begun)
        begin(c);
    if (!recent_since(h->recent, &c->seq, owner_of(c), job_of(c), ROOM, &out)) {
        catch_up(h, c);
        has_told = true;
    }
    add_stats(h, c, &out);
    if (out.n > 0)
        stream_write(c->stream, out.p, out.n);
    has_told |= out.n > 0;
    text_reset(&out);
    return has_told;
}

static void drop(struct hub *h, struct client *c)
{
    jobs_unwatch(c->text);
    if (stream_is_slow(c->stream))
        metrics_sse_dropped(h->server->metrics);
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

/* Only the pump takes clients out of the list, and new ones come in front: a client stays while it is looked at.
 * True: some are behind. */
static bool wave(struct hub *h, struct client *first)
{
    uint64_t last = recent_last(h->recent);
    bool is_behind = false;
    int n = 0;

    for (struct client *c = first; c; c = c->next) {
        if (tell(h, c) && ++n % PORTION == 0)
            usleep(REST_US);
        is_behind |= c->seq < last;
    }
    return is_behind;
}

/* The lock is held. Until there is news and a wave may begin, or the look at who has left is due. */
static void wait_for_news(struct hub *h, int64_t from_ms, bool is_behind)
{
    while (!h->is_stopping) {
        int64_t ms = from_ms - clock_ms();
        bool is_ready = h->has_news || is_behind;
        struct timespec until;

        if (ms <= 0 && is_ready)
            return;
        if (!is_ready)
            ms = ms > IDLE_MS ? ms : IDLE_MS;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += ms / 1000;
        until.tv_nsec += ms % 1000 * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&h->wake, &h->lock, &until) == ETIMEDOUT)
            return;
    }
}

static void *pump(void *ctx)
{
    struct hub *h = ctx;
    int64_t next_ms = 0;
    bool is_behind = false;

    pthread_mutex_lock(&h->lock);
    while (!h->is_stopping) {
        wait_for_news(h, next_ms, is_behind);
        struct client *gone = take_gone(h), *first = h->client;
        h->has_news = false;
        pthread_mutex_unlock(&h->lock);
        int64_t start_ms = clock_ms();
        drop_all(h, gone);
        is_behind = wave(h, first);
        int64_t end_ms = clock_ms(), rest_ms = end_ms - start_ms;
        next_ms = end_ms + (rest_ms > PACE_MS ? rest_ms : PACE_MS);
        pthread_mutex_lock(&h->lock);
    }
    struct client *first = h->client;
    pthread_mutex_unlock(&h->lock);
    wave(h, first); /* what was committed before the good-bye */
    pthread_mutex_lock(&h->lock);
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
    h->recent = recent_open();
    return h;
}

static void ignore(void *ctx, const struct jobs_event *ev)
{
    (void)ctx;
    (void)ev;
}

int hub_follow(struct hub *h, struct jobs *j)
{
    uint64_t last = 0;
    bool is_gone;

    h->jobs = j;
    if (jobs_watch(j, on_commit, h, &h->watch) < 0 ||
        jobs_events(j, NULL, NULL, INT64_MAX, 1, ignore, NULL, &is_gone, &last) < 0)
        return -1;
    recent_begin(h->recent, last);
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
    recent_close(h->recent);
    text_reset(&h->stats);
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
    c->seq = wish->from_now ? recent_last(h->recent) : wish->after; /* now: not at the next wave */
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
    wake_pump(h);
    pthread_mutex_unlock(&h->lock);
}

static void waiter_is_gone(void *ctx)
{
    ((struct waiter *)ctx)->is_gone = true;
}

void hub_wait(struct hub *h, struct request *q, const char *job, uint64_t seq, int seconds)
{
    struct waiter *w = server_zero(1, sizeof *w);

    w->q = q;
    snprintf(w->job, sizeof w->job, "%s", job);
    w->seq = seq;
    w->until_ms = clock_ms() + seconds * 1000LL;
    request_on_gone(q, waiter_is_gone, w);
    pthread_mutex_lock(&h->lock);
    if (recent_has(h->recent, seq, job)) /* since the handler has looked */
        w->until_ms = 0;
    w->next = h->waiter;
    h->waiter = w;
    let_waiters_go(h, NULL);
    pthread_mutex_unlock(&h->lock);
}

static void make_stats(struct hub *h)
{
    json_t *v = stats_json(h->server, false);
    char *line = json_dumps(v, JSON_COMPACT);

    pthread_mutex_lock(&h->lock);
    text_clear(&h->stats);
    text_fmt(&h->stats, "event: stats\ndata: %s\n\n", line);
    h->n_stats++;
    wake_pump(h);
    pthread_mutex_unlock(&h->lock);
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
        make_stats(h);
}
