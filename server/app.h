/* What the handlers share: the server, and the call that a request is.  See server.h for the rooms. */
#ifndef RECTO_SERVER_APP_H
#define RECTO_SERVER_APP_H

#include "answer.h"
#include "route.h"
#include "server.h"

#include <stdatomic.h>

enum phase {
    PHASE_LOADING, /* the model is being loaded: what needs it gets 503 */
    PHASE_READY,
    PHASE_LEAVING,  /* a signal came: /readyz says so, all else goes on */
    PHASE_DRAINING, /* new work gets 503 */
};

struct server {
    struct server_settings set;
    struct http *http;
    struct recto *engine; /* NULL while loading */
    struct recto_info info;
    _Atomic int phase;
    int64_t start_ms; /* wall clock */
};

enum { CALL_PARAMS = 4, CALL_PARAM_MAX = 128 };

/* request.app: a request that has found its route. */
struct call {
    struct server *server;
    const struct route *route;               /* NULL: none */
    char param[CALL_PARAMS][CALL_PARAM_MAX]; /* what the pattern's {names} stand for, in order */
};

static inline struct call *call_of(const struct request *q)
{
    return q->app;
}

/* The callbacks of http.h over a server. */
struct http_app app_callbacks(struct server *s);

void server_log(const struct server *s, enum recto_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
