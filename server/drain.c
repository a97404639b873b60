#include "app.h"

#include "chat.h"
#include "clock.h"
#include "drain.h"
#include "hub.h"
#include "jobs.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TICK_MS = 200, LAST_MS = 3000 };

void signals_block(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void notify(const char *state)
{
    const char *where = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = where ? strlen(where) : 0;
    int fd;

    if (n == 0 || n >= sizeof a.sun_path)
        return;
    memcpy(a.sun_path, where, n);
    if (where[0] == '@')
        a.sun_path[0] = 0; /* of the abstract name space */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}

/* ---- signals that do not end it ---------------------------------------------------------------------------------------- */
static void reread(struct server *s)
{
    char error[512];

    if (auth_reread(s->auth, error, sizeof error) < 0)
        server_log(s, RECTO_LOG_ERROR, "%s; the keys stay as they were", error);
    else
        server_log(s, RECTO_LOG_INFO, "reread keys");
}

static void log_figures(struct server *s)
{
    struct recto_stats e = {.size = sizeof e};
    struct jobs_stats j = {0};
    struct http_counts c;

    http_get_counts(s->http, &c);
    if (s->phase != PHASE_LOADING) {
        recto_get_stats(s->engine, &e);
        jobs_get_stats(s->jobs, &j);
    }
    server_log(
        s, RECTO_LOG_INFO,
        "figures queue=%lld,%lld,%lld in_flight=%lld running=%d waiting=%d kv_free=%d/%d conns=%d "
        "busy=%d disk_free=%lld",
        (long long)j.queued_pages[0], (long long)j.queued_pages[1], (long long)j.queued_pages[2],
        (long long)j.pages_in_flight, e.n_running, e.n_waiting, e.n_block_free, e.n_block, c.conns,
        c.busy, (long long)j.disk_free);
}

/* The next signal within so many ms; 0: none came. What does not end the server is done here. */
static int next_signal(struct server *s, const sigset_t *set, int ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
    int got = sigtimedwait(set, NULL, &wait);

    if (got == SIGHUP)
        reread(s);
    if (got == SIGUSR1)
        log_figures(s);
    return got == SIGTERM || got == SIGINT ? got : 0;
}

/* ---- draining ------------------------------------------------------------------------------------------------------------ */
struct draining {
    struct server *server;
    _Atomic bool is_done;
};

static void *drain_jobs(void *ctx)
{
    struct draining *d = ctx;

    jobs_drain(d->server->jobs, d->server->set.drain_timeout_s * 1000);
    d->is_done = true;
    return NULL;
}

/* A second signal: leave now; leases of pages end by themselves, as after a crash. */
static void leave_now(struct server *s)
{
    server_log(s, RECTO_LOG_WARN, "second signal: leaving at once; pages under way are read again");
    _exit(1);
}

/* True: it is over before the time was. */
static bool wait_until(struct server *s, const sigset_t *set, int64_t until_ms,
                       const _Atomic bool *is_done)
{
    while (clock_ms() < until_ms) {
        if (is_done && *is_done && chat_count(s) == 0)
            return true;
        if (next_signal(s, set, TICK_MS))
            leave_now(s);
    }
    return false;
}

static void drain(struct server *s, const sigset_t *set)
{
    struct draining d = {.server = s};
    int64_t now = clock_ms();
    pthread_t thread;

    s->phase = PHASE_LEAVING;
    notify("STOPPING=1");
    server_log(s, RECTO_LOG_INFO, "signal: draining; new work is refused in %d s",
               s->set.drain_grace_s);
    wait_until(s, set, now + s->set.drain_grace_s * 1000LL, NULL);
    s->phase = PHASE_DRAINING;
    hub_bye(s->hub);
    if (pthread_create(&thread, NULL, drain_jobs, &d) != 0)
        return;
    wait_until(s, set, clock_ms() + s->set.drain_timeout_s * 1000LL, &d.is_done);
    chat_cancel_all(s);
    wait_until(s, set, clock_ms() + LAST_MS, &d.is_done);
    pthread_join(thread, NULL);
}

int signals_serve(struct server *s, const sigset_t *set, const _Atomic bool *has_failed)
{
    int64_t said_ms = 0;

    while (!*has_failed && !next_signal(s, set, TICK_MS))
        if (clock_ms() - said_ms > 1000) {
            said_ms = clock_ms();
            notify("WATCHDOG=1");
        }
    if (*has_failed)
        return 0;
    if (s->phase == PHASE_LOADING)
        _exit(0); /* nothing is under way, and a model cannot be stopped while it is loaded */
    drain(s, set);
    return 0;
}
