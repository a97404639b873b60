/* A request on its way to its handler: the order of checks, before any byte of the body is read. */
#include "app.h"

#include "check.h"
#include "clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void server_log(const struct server *s, enum recto_log_level level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    if (!s->set.log)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    s->set.log(s->set.log_ctx, level, line);
}

bool app_is_loading(struct server *s, struct request *q)
{
    if (s->phase != PHASE_LOADING)
        return false;
    answer_retry(q, 1000);
    answer_fault(q, FAULT_loading, NULL, "the model is being loaded; ask again in a moment");
    return true;
}

bool app_is_draining(struct server *s, struct request *q)
{
    if (s->phase != PHASE_DRAINING)
        return false;
    answer_retry(q, 5000);
    answer_header(q, "Connection", "close");
    answer_fault(q, FAULT_draining, NULL,
                 "this server is being stopped; ask again, elsewhere or later");
    return true;
}

/* Off the front of the path, where a proxy has it. */
static void cut_base_path(const struct server *s, struct request *q)
{
    size_t n = strlen(s->set.base_path);

    while (n > 0 && s->set.base_path[n - 1] == '/')
        n--;
    if (n > 0 && strncmp(q->path, s->set.base_path, n) == 0 && q->path[n] == '/')
        memmove(q->path, q->path + n, strlen(q->path + n) + 1);
}

/* Is the route served on the listener that the call came by? */
static bool is_here(const struct server *s, const struct request *q, const struct route *r)
{
    bool on_admin = s->set.admin && q->listener == s->set.listen.n;

    if (!s->set.admin || (r->flags & ROUTE_PROBE))
        return true;
    return on_admin == ((r->flags & ROUTE_OPS) != 0);
}

static bool find_route(struct server *s, struct request *q, struct call *c)
{
    char allow[64];

    c->route = route_find(q->method, q->path, c->param, CALL_PARAMS, allow);
    if (c->route && is_here(s, q, c->route))
        return true;
    if (*allow && !c->route) {
        answer_header(q, "Allow", allow);
        answer_fault(q, FAULT_method_not_allowed, NULL, "%s is not for this path, only %s",
                     q->method, allow);
    } else {
        c->route = NULL;
        answer_fault(q, FAULT_not_found, NULL,
                     "there is nothing at this path; GET /openapi.json lists all");
    }
    return false;
}

static void on_head(void *ctx, struct request *q)
{
    struct server *s = ctx;
    struct call *c = q->app = server_zero(1, sizeof *c);

    c->server = s;
    check_address(s, q);
    cut_base_path(s, q);
    if (!check_host(s, q) || !check_origin(s, q) || !find_route(s, q, c) || !check_key(s, q) ||
        !check_rate(s, q))
        return;
    q->is_quick = c->route->flags & ROUTE_QUICK;
    if ((c->route->flags & ROUTE_WORK) && (app_is_loading(s, q) || app_is_draining(s, q)))
        return;
    if ((c->route->flags & ROUTE_STORE) && app_is_loading(s, q))
        return;
    body_open(s, q, &c->body);
}

static void on_body(void *ctx, struct request *q, const char *bytes, size_t n)
{
    body_add(q, &call_of(q)->body, bytes, n);
}

static enum run_result on_run(void *ctx, struct request *q)
{
    struct call *c = call_of(q);

    body_end(q, &c->body);
    return q->answer.status != 0 ? RUN_DONE : c->route->run(ctx, q);
}

/* One line for a call that changes something (S37); text of documents is never logged. */
static void audit(const struct server *s, const struct request *q, const struct call *c)
{
    bool is_write = strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0;

    server_log(s, is_write ? RECTO_LOG_INFO : RECTO_LOG_DEBUG,
               "call=%s %s key=%s object=%s status=%d id=%s from=%s", q->method,
               c->route ? c->route->pattern : "-", *c->key.name ? c->key.name : "-",
               *c->param[0] ? c->param[0] : "-", q->answer.status, q->id, c->address);
}

static void on_ended(void *ctx, struct request *q)
{
    struct server *s = ctx;
    struct call *c = call_of(q);

    if (!c)
        return;
    audit(s, q, c);
    metrics_request(s->metrics, c->route, q->answer.status,
                    (double)(clock_mono_ns() - q->start_ns) / 1e9);
    if (q->answer.fault)
        metrics_rejected(s->metrics, q->answer.fault);
    body_reset(&c->body);
    free(c);
    q->app = NULL;
}

static void on_fault(void *ctx, struct request *q, const char *code, const char *message)
{
    answer_fault(q, fault_find(code), NULL, "%s", message);
}

struct http_app app_callbacks(struct server *s)
{
    return (struct http_app){.head = on_head,
                             .body = on_body,
                             .run = on_run,
                             .ended = on_ended,
                             .fault = on_fault,
                             .ctx = s};
}
