#include "server.h"

#include "app.h"
#include "clock.h"

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
                              .io_threads = 1,
                              .workers = 8};

    for (int i = 0; i < s->set.listen.n && h.n_listen < HTTP_LISTEN_MAX; i++)
        h.listen[h.n_listen++] = s->set.listen.item[i];
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
}

static int load(struct server *s, char *error, size_t n)
{
    int rc = recto_open(&s->engine, &s->set.engine);

    if (rc < 0)
        return fail(error, n, rc, recto_last_error());
    recto_get_info(s->engine, &s->info);
    s->phase = PHASE_READY;
    server_log(s, RECTO_LOG_INFO, "ready model=%s backend=%s load_ms=%.0f", s->info.model_name,
               s->info.backend, s->info.load_ms);
    return 0;
}

/* The signals that the main thread waits for; every thread started later has them blocked. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int server_run(const struct server_settings *set, char *error, size_t n)
{
    struct server s = {.set = *set, .start_ms = clock_wall_ms()};
    sigset_t signals;
    int rc, got;

    block_signals(&signals);
    rc = open_http(&s, error, n);
    if (rc == 0)
        say_where(&s);
    if (rc == 0)
        rc = load(&s, error, n);
    if (rc == 0)
        sigwait(&signals, &got);
    s.phase = PHASE_DRAINING;
    http_close(s.http);
    recto_close(s.engine);
    return rc;
}
