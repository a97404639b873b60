/* A request on its way to its handler: the order of checks, before any byte of the body is read. */
#include "app.h"

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

static bool find_route(struct request *q, struct call *c)
{
    char allow[64];

    c->route = route_find(q->method, q->path, c->param, CALL_PARAMS, allow);
    if (c->route)
        return true;
    if (*allow) {
        answer_header(q, "Allow", allow);
        answer_fault(q, FAULT_method_not_allowed, NULL, "%s is not for this path, only %s",
                     q->method, allow);
    } else {
        answer_fault(q, FAULT_not_found, NULL,
                     "there is nothing at this path; GET /openapi.json lists all");
    }
    return false;
}

static void on_head(void *ctx, struct request *q)
{
    struct call *c = q->app = server_zero(1, sizeof *c);

    c->server = ctx;
    if (!find_route(q, c))
        return;
    q->is_quick = c->route->flags & ROUTE_QUICK;
    if (c->route->body == BODY_NONE && q->length != 0)
        answer_fault(q, FAULT_bad_request, NULL, "this call has no body");
}

static void on_body(void *ctx, struct request *q, const char *bytes, size_t n)
{
}

static enum run_result on_run(void *ctx, struct request *q)
{
    return call_of(q)->route->run(ctx, q);
}

static void on_ended(void *ctx, struct request *q)
{
    free(q->app);
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
