#include "server.h"

#include "app.h"
#include "chat.h"
#include "clock.h"
#include "drain.h"
#include "hub.h"
#include "jobs.h"
#include "listen.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void server_settings_init(struct server_settings *s)
{
    *s = (struct server_settings){
        .listen = {.item = {"127.0.0.1:8080"}, .n = 1},
        .base_path = "/",
        .max_conns = 1024,
        .max_conns_ip = 64,
        .max_json = 64 << 20,
        .max_upload = 512 << 20,
        .max_pages = 5000,
        .max_queued_pages = 200000,
        .rate = 20,
        .burst = 60,
        .request_timeout_s = 300,
        .retain_s = 7 * 86400,
        .disk_min = (int64_t)5 << 30,
        .image_cache = (int64_t)4 << 30,
        .drain_grace_s = 5,
        .drain_timeout_s = 30,
        .web = true,
    };
    recto_settings_init(&s->engine);
}

static int fail(char *error, size_t n, int code, const char *sentence)
{
    snprintf(error, n, "%s", sentence);
    return code;
}

static int open_http(struct server *s, char *error, size_t n)
{
    struct http_app app = app_callbacks(s);
    struct http_settings h = {.max_conns = s->set.max_conns,
                              .max_conns_ip = s->set.max_conns_ip,
                              .io_threads = 2,
                              .workers = 8};

    for (int i = 0; i < s->set.listen.n && h.n_listen < HTTP_LISTEN_MAX - 1; i++)
        h.listen[h.n_listen++] = s->set.listen.item[i];
    if (s->set.admin)
        h.listen[h.n_listen++] = s->set.admin;
    return http_open(&s->http, &h, &app, error, n);
}

static void say_where(struct server *s)
{
    for (int i = 0; i < s->set.listen.n; i++)
        if (strncmp(s->set.listen.item[i], "unix:", 5) == 0)
            server_log(s, RECTO_LOG_INFO, "listening on %s", s->set.listen.item[i]);
        else
            server_log(s, RECTO_LOG_INFO, "listening on http://%.*s:%d/",
                       (int)(strrchr(s->set.listen.item[i], ':') - s->set.listen.item[i]),
                       s->set.listen.item[i], http_port(s->http, i));
    if (s->set.admin)
        server_log(s, RECTO_LOG_INFO, "admin on http://%.*s:%d/",
                   (int)(strrchr(s->set.admin, ':') - s->set.admin), s->set.admin,
                   http_port(s->http, s->set.listen.n));
}

/* Without keys, whoever reaches the server may read and delete everything. */
static int check_address_open(const struct server *s, const char *where, char *error, size_t n)
{
    if (listen_is_local(where))
        return 0;
    if (!s->set.keys && !s->set.no_auth) {
        snprintf(
            error, n,
            "%s is open to other machines, and there are no keys: make one with recto key new NAME "
            "--keys FILE and give --keys FILE, or say --no-auth",
            where);
        return RECTO_EUSAGE;
    }
    if (s->set.keys)
        server_log(s, RECTO_LOG_WARN,
                   "%s: keys cross the network in the clear unless a proxy in front speaks TLS",
                   where);
    return 0;
}

static int check_open(const struct server *s, char *error, size_t n)
{
    int rc = s->set.admin ? check_address_open(s, s->set.admin, error, n) : 0;

    for (int i = 0; i < s->set.listen.n && rc == 0; i++)
        rc = check_address_open(s, s->set.listen.item[i], error, n);
    return rc;
}

static int open_rooms(struct server *s, char *error, size_t n)
{
    int rc = check_open(s, error, n);

    if (rc == 0 && auth_open(&s->auth, s->set.keys, error, n) < 0)
        rc = RECTO_EUSAGE;
    s->limit = limit_open();
    s->metrics = metrics_open();
    s->pinger = pinger_open();
    s->hub = hub_open(s);
    s->stats = stats_open(s, hub_tick, s->hub);
    if (rc == 0 && (!s->pinger || !s->stats))
        rc = fail(error, n, RECTO_ENOMEM, "cannot start a thread");
    return rc;
}

static void close_rooms(struct server *s)
{
    pinger_close(s->pinger);
    metrics_close(s->metrics);
    limit_close(s->limit);
    auth_close(s->auth);
}

static void count_page(void *ctx, const struct recto_page *page)
{
    metrics_page(((struct server *)ctx)->metrics, FROM_JOB, page);
}

static int open_store(struct server *s, char *error, size_t n)
{
    struct jobs_settings j;
    int rc;

    jobs_settings_init(&j);
    j.data = s->set.data;
    j.recto = s->engine;
    j.reader = s->reader;
    j.engine = &s->set.engine;
    j.max_pages = s->set.max_pages;
    j.max_queued_pages = s->set.max_queued_pages;
    j.max_upload = s->set.max_upload;
    j.retain_s = s->set.retain_s;
    j.disk_min = s->set.disk_min;
    j.image_cache = s->set.image_cache;
    j.ahead_pages = s->set.ahead_pages;
    j.log = s->set.log;
    j.log_ctx = s->set.log_ctx;
    j.page_ended = count_page;
    j.page_ctx = s;
    rc = jobs_open(&s->jobs, &j);
    if (rc < 0)
        return fail(error, n, RECTO_EOUTPUT, jobs_last_error());
    snprintf(s->spool, sizeof s->spool, "%s/incoming", s->set.data); /* emptied at each start */
    return hub_follow(s->hub, s->jobs) == 0 ? 0
                                            : fail(error, n, RECTO_ENOMEM, "cannot start a thread");
}

static int load(struct server *s, char *error, size_t n)
{
    int rc = recto_open(&s->engine, &s->set.engine);

    if (rc < 0)
        return fail(error, n, rc, recto_last_error());
    rc = reader_start(&s->reader, s->engine);
    if (rc < 0)
        return fail(error, n, rc, recto_last_error());
    recto_get_info(s->engine, &s->info);
    rc = open_store(s, error, n);
    if (rc < 0)
        return rc;
    s->phase = PHASE_READY;
    server_log(s, RECTO_LOG_INFO, "ready model=%s backend=%s load_ms=%.0f", s->info.model_name,
               s->info.backend, s->info.load_ms);
    return 0;
}

struct loading {
    struct server *server;
    char error[1024];
    int rc;
    _Atomic bool has_failed;
};

static void *load_thread(void *ctx)
{
    struct loading *l = ctx;

    l->rc = load(l->server, l->error, sizeof l->error);
    l->has_failed = l->rc < 0;
    if (l->rc == 0)
        notify("READY=1");
    return NULL;
}

/* Listeners are open: load, serve, drain. */
static int serve(struct server *s, const sigset_t *signals, char *error, size_t n)
{
    struct loading l = {.server = s};
    pthread_t thread;
    int rc;

    say_where(s);
    if (pthread_create(&thread, NULL, load_thread, &l) != 0)
        return fail(error, n, RECTO_ENOMEM, "cannot start a thread");
    rc = signals_serve(s, signals, &l.has_failed);
    pthread_join(thread, NULL);
    if (l.rc < 0)
        snprintf(error, n, "%s", l.error);
    return l.rc < 0 ? l.rc : rc;
}

/* Each lets go of what the next ones still need: streams, handlers and uploads of the store, the store of the reader. */
static void close_all(struct server *s)
{
    if (s->phase != PHASE_LOADING)
        s->phase = PHASE_DRAINING;
    if (s->hub)
        hub_bye(s->hub);
    chat_cancel_all(s);
    http_close(s->http);
    stats_close(s->stats);
    jobs_close(s->jobs);
    reader_end(s->reader);
    hub_close(s->hub);
    recto_close(s->engine);
    close_rooms(s);
}

int server_run(const struct server_settings *set, char *error, size_t n)
{
    struct server s = {.set = *set, .start_ms = clock_wall_ms()};
    sigset_t signals;
    int rc;

    pthread_mutex_init(&s.chats_lock, NULL);
    signals_block(&signals);
    rc = open_rooms(&s, error, n);
    if (rc == 0)
        rc = open_http(&s, error, n);
    if (rc == 0)
        rc = serve(&s, &signals, error, n);
    close_all(&s);
    return rc;
}

int server_check(const struct server_settings *set, char *error, size_t n)
{
    struct server s = {.set = *set, .start_ms = clock_wall_ms()};
    int rc;

    pthread_mutex_init(&s.chats_lock, NULL);
    rc = open_rooms(&s, error, n);
    if (rc == 0)
        rc = load(&s, error, n);
    close_all(&s);
    return rc;
}
