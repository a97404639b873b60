#include "watch.h"

#include "clock.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TICK_MS = 1000, LINGER_TICK_MS = 50, EVENTS = 64 };

struct leaver {
    int fd;
    int64_t until_ms;
    size_t n;
    struct leaver *next;
};

/* What an event is about: a slot with its generation, or the eventfd. */
static uint64_t tag_of(const struct http_conn *c)
{
    return (uint64_t)c->generation << 32 | (uint32_t)c->slot;
}
#define TAG_WAKE UINT64_MAX

/* ---- the table ------------------------------------------------------------------------------------------------------- */
static int free_slot(const struct watch *w)
{
    for (int i = 0; i < w->n_slot; i++)
        if (!w->slot[i])
            return i;
    return -1;
}

static int count_ip(const struct watch *w, const char *address)
{
    int n = 0;

    for (int i = 0; i < w->n_slot; i++)
        n += w->slot[i] && w->slot[i]->is_counted && strcmp(w->slot[i]->address, address) == 0;
    return n;
}

int watch_count_ip(struct watch *w, const char *address)
{
    pthread_mutex_lock(&w->lock);
    int n = count_ip(w, address);
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* The lock is held. */
static struct http_conn *place(struct watch *w, int slot, int fd, const char *address)
{
    struct http_conn *c = server_zero(1, sizeof *c);
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLET};

    *c = (struct http_conn){.fd = fd,
                            .slot = slot,
                            .generation = ++w->generation & 0x7fffffff,
                            .state = CONN_HEAD,
                            .since_ms = clock_ms()};
    memccpy(c->address, address, 0, sizeof c->address - 1);
    ev.data.u64 = tag_of(c);
    epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev);
    w->slot[slot] = c;
    w->n_conn++;
    return c;
}

struct http_conn *watch_add(struct watch *w, int fd, const char *address, int max_ip)
{
    struct http_conn *c = NULL;

    pthread_mutex_lock(&w->lock);
    int slot = free_slot(w);
    if (slot >= 0 && (max_ip == 0 || count_ip(w, address) < max_ip)) {
        c = place(w, slot, fd, address);
        c->is_counted = max_ip > 0;
    }
    pthread_mutex_unlock(&w->lock);
    return c;
}

/* The lock is held. */
static void forget_stream(struct http_conn *c)
{
    if (c->stream)
        stream_let_go(c->stream);
    c->stream = NULL;
}

void watch_remove(struct watch *w, struct http_conn *c)
{
    pthread_mutex_lock(&w->lock);
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    forget_stream(c);
    w->slot[c->slot] = NULL;
    w->n_conn--;
    pthread_mutex_unlock(&w->lock);
    free(c);
}

void watch_state(struct watch *w, struct http_conn *c, enum conn_state state)
{
    pthread_mutex_lock(&w->lock);
    c->state = state;
    c->since_ms = clock_ms();
    c->n_window = 0;
    pthread_mutex_unlock(&w->lock);
}

void watch_body(struct watch *w, struct http_conn *c, size_t n)
{
    pthread_mutex_lock(&w->lock);
    c->n_window += (int64_t)n;
    pthread_mutex_unlock(&w->lock);
}

void watch_request(struct watch *w, struct http_conn *c, struct request *q)
{
    pthread_mutex_lock(&w->lock);
    c->request = q;
    forget_stream(c);
    pthread_mutex_unlock(&w->lock);
}

void watch_stream(struct watch *w, struct http_conn *c, struct stream *s)
{
    pthread_mutex_lock(&w->lock);
    forget_stream(c);
    c->stream = s;
    stream_hold(s);
    if (c->is_gone)
        stream_cut(s);
    pthread_mutex_unlock(&w->lock);
}

int watch_busy(struct watch *w, int *n_conn)
{
    int n = 0;

    pthread_mutex_lock(&w->lock);
    if (n_conn)
        *n_conn = w->n_conn;
    for (int i = 0; i < w->n_slot; i++)
        n += w->slot[i] && w->slot[i]->request;
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* ---- who leaves ------------------------------------------------------------------------------------------------------ */
/* The lock is held. */
static void tell_gone(struct http_conn *c)
{
    struct request *q = c->request;
    void (*fn)(void *) = q ? q->gone : NULL;

    if (fn) {
        q->gone = NULL;
        fn(q->gone_ctx);
    }
    if (c->stream)
        stream_cut(c->stream);
}

void watch_on_gone(struct watch *w, struct request *q, void (*fn)(void *), void *ctx)
{
    pthread_mutex_lock(&w->lock);
    q->gone = fn;
    q->gone_ctx = ctx;
    if (fn && q->conn->is_gone)
        tell_gone(q->conn);
    pthread_mutex_unlock(&w->lock);
}

/* The lock is held. */
static void hear(struct watch *w, uint64_t tag)
{
    uint32_t slot = (uint32_t)tag;
    struct http_conn *c = slot < (uint32_t)w->n_slot ? w->slot[slot] : NULL;

    if (!c || tag_of(c) != tag || c->is_gone)
        return;
    c->is_gone = true;
    tell_gone(c);
}

void watch_cut_all(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < w->n_slot; i++) {
        struct http_conn *c = w->slot[i];
        if (c && c->stream)
            stream_cut(c->stream);
        if (c && c->state == CONN_BODY)
            shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- who is slow ----------------------------------------------------------------------------------------------------- */
/* The lock is held. */
static void cut(struct watch *w, struct http_conn *c, const char *message)
{
    if (message)
        w->too_slow(c, "request_timeout", message);
    c->state = CONN_BUSY; /* told once */
    shutdown(c->fd, SHUT_RDWR);
}

static void look_at(struct watch *w, struct http_conn *c, int64_t now)
{
    int64_t ms = now - c->since_ms;

    if (c->state == CONN_HEAD && ms > HTTP_HEAD_MS) {
        cut(w, c, "the header did not arrive within 10 s");
    } else if (c->state == CONN_IDLE && ms > HTTP_IDLE_MS) {
        cut(w, c, NULL);
    } else if (c->state == CONN_BODY && ms > HTTP_BODY_WINDOW_MS) {
        if (c->n_window < HTTP_BODY_WINDOW_BYTES)
            cut(w, c, "the body came at less than 1 KiB/s for 10 s");
        c->since_ms = now;
        c->n_window = 0;
    } else if (c->stream && stream_stalled_ms(c->stream) > HTTP_STALL_MS) {
        stream_mark_slow(c->stream);
        tell_gone(c);
        shutdown(c->fd, SHUT_RDWR);
    }
}

static void look_at_all(struct watch *w)
{
    int64_t now = clock_ms();

    for (int i = 0; i < w->n_slot; i++)
        if (w->slot[i])
            look_at(w, w->slot[i], now);
}

/* ---- who is told to go ----------------------------------------------------------------------------------------------- */
void watch_linger(struct watch *w, int fd, const char *bytes, size_t n)
{
    struct leaver *l;
    int twin = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    if (twin < 0)
        return;
    ssize_t sent = send(twin, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 || (size_t)sent < n || shutdown(twin, SHUT_WR) < 0) {
        close(twin);
        return;
    }
    l = server_zero(1, sizeof *l);
    *l = (struct leaver){.fd = twin, .until_ms = clock_ms() + HTTP_LINGER_MS};
    pthread_mutex_lock(&w->lock);
    l->next = w->leaver;
    w->leaver = l;
    pthread_mutex_unlock(&w->lock);
    eventfd_write(w->wake, 1);
}

/* Is there more to come? */
static bool drain(struct leaver *l, int64_t now)
{
    static char waste[16 << 10]; /* the one thread writes, nobody reads */
    ssize_t n = 1;

    while (l->n < HTTP_LINGER_BYTES && (n = recv(l->fd, waste, sizeof waste, MSG_DONTWAIT)) > 0)
        l->n += (size_t)n;
    bool is_open = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
    return is_open && l->n < HTTP_LINGER_BYTES && now < l->until_ms;
}

/* The lock is held. True while any is left. */
static bool drain_all(struct watch *w, bool is_end)
{
    int64_t now = clock_ms();

    for (struct leaver **at = &w->leaver; *at;) {
        struct leaver *l = *at;

        if (!is_end && drain(l, now)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        close(l->fd);
        free(l);
    }
    return w->leaver != NULL;
}

/* ---- the thread ------------------------------------------------------------------------------------------------------ */
static void *run(void *ctx)
{
    struct watch *w = ctx;
    struct epoll_event ev[EVENTS];
    int64_t looked_ms = clock_ms();
    bool lingers = false;

    while (true) {
        int n = epoll_wait(w->epoll, ev, EVENTS, lingers ? LINGER_TICK_MS : TICK_MS);
        eventfd_t ignored;

        pthread_mutex_lock(&w->lock);
        if (w->is_stopping)
            break;
        for (int i = 0; i < n; i++)
            if (ev[i].data.u64 == TAG_WAKE)
                eventfd_read(w->wake, &ignored);
            else
                hear(w, ev[i].data.u64);
        if (clock_ms() - looked_ms >= TICK_MS) {
            look_at_all(w);
            looked_ms = clock_ms();
        }
        lingers = drain_all(w, false);
        pthread_mutex_unlock(&w->lock);
    }
    drain_all(w, true);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int watch_open(struct watch *w, int max_conns)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = TAG_WAKE};

    pthread_mutex_init(&w->lock, NULL);
    w->n_slot = max_conns;
    w->slot = server_zero((size_t)max_conns, sizeof *w->slot);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll < 0 || w->wake < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &ev) < 0)
        return -1;
    return pthread_create(&w->thread, NULL, run, w) == 0 ? 0 : -1;
}

void watch_close(struct watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_stopping = true;
    pthread_mutex_unlock(&w->lock);
    eventfd_write(w->wake, 1);
    pthread_join(w->thread, NULL);
    close(w->epoll);
    close(w->wake);
    free(w->slot);
    pthread_mutex_destroy(&w->lock);
}
