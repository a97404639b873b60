/* recto serve: the process as a whole.
 *
 * server_run listens, loads the model meanwhile, answers until SIGTERM or SIGINT, drains, and returns. The rooms behind it:
 *
 *     http.c stream.c watch.c   bytes of HTTP               app.c route.c   the order of checks, the table of routes
 *     api_ops.c api_openai.c api_jobs.c sse.c   handlers    auth.c limit.c  who may, how much
 *     jobs.h                    documents in the background reader.h        pages, to the engine and back
 *
 * Contract for clients: docs/server.md and /openapi.json. */
#ifndef RECTO_SERVER_SERVER_H
#define RECTO_SERVER_SERVER_H

#include "http.h"
#include "recto.h"

enum { SERVER_LIST_MAX = 32 };

struct server_list {
    const char *item[SERVER_LIST_MAX];
    int n;
};

struct server_settings {
    struct recto_settings engine;
    struct server_list listen; /* default 127.0.0.1:8080 */
    const char *admin;         /* another listener for metrics and stats, NULL */
    const char *data;          /* directory of the store; NULL: no jobs (tests of the HTTP side) */
    const char *keys;          /* file of API keys; NULL: none are asked for */
    bool no_auth;              /* without keys, take calls from other machines too */
    struct server_list host_name; /* besides localhost and the addresses listened on */
    const char *base_path;        /* "/" */
    struct server_list trusted_proxy, cors_origin;
    int max_conns, max_conns_ip;
    int64_t max_json, max_upload; /* bytes */
    int max_pages;
    int64_t max_queued_pages;
    double rate; /* calls a second of one key or address; 0: any number */
    int burst;
    int request_timeout_s;
    int64_t retain_s, disk_min, image_cache;
    int ahead_pages;
    int drain_grace_s, drain_timeout_s;
    bool web;
    recto_log_fn *log;
    void *log_ctx;
};
void server_settings_init(struct server_settings *s);

/* Answer until a signal ends it: 0 after the first SIGTERM or SIGINT and a clean end, 1 after a second one; or a negative
 * RECTO_* code when it could not start, the sentence then in error[n]. Strings of s are borrowed. */
int server_run(const struct server_settings *s, char *error, size_t n);

/* What server_run begins with, without listening: keys, model, sandbox, store. 0 or as server_run. */
int server_check(const struct server_settings *s, char *error, size_t n);

#endif
