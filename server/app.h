/* What the handlers share: the server, and the call that a request is.  See server.h for the rooms. */
#ifndef RECTO_SERVER_APP_H
#define RECTO_SERVER_APP_H

#include "answer.h"
#include "auth.h"
#include "body.h"
#include "limit.h"
#include "metrics.h"
#include "pinger.h"
#include "reader.h"
#include "route.h"
#include "server.h"
#include "stats.h"

#include <pthread.h>
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
    struct recto *engine; /* NULL while loading, like all down to info */
    struct reader *reader;
    struct jobs *jobs; /* NULL: without --data */
    struct recto_info info;
    struct auth *auth;
    struct limit *limit;
    struct metrics *metrics;
    struct pinger *pinger;
    struct stats *stats;
    struct hub *hub;
    struct chat *chats; /* under way, under chats_lock */
    pthread_mutex_t chats_lock;
    _Atomic int phase;
    int64_t start_ms; /* wall clock */
    char spool[1100]; /* DATA/incoming: for the files of calls */
};

enum { CALL_PARAMS = 4 };

/* request.app: what is known of a request beyond HTTP. */
struct call {
    struct server *server;
    const struct route *route;                /* NULL: none */
    char param[CALL_PARAMS][ROUTE_PARAM_MAX]; /* what the pattern's {names} stand for, in order */
    struct auth_key key; /* whose call it is; name "" where there are no keys */
    char address[64];    /* of the client, behind trusted proxies */
    bool is_https, by_cookie;
    bool has_waited; /* jobs_get_one: for something newer */
    struct body body;
};

/* Whose objects the caller sees; NULL: everybody's. */
const char *call_owner(const struct request *q);
/* Answer with what jobs.h has just refused. */
void jobs_answer_fault(struct server *s, struct request *q, int rc);

static inline struct call *call_of(const struct request *q)
{
    return q->app;
}

/* The callbacks of http.h over a server. */
struct http_app app_callbacks(struct server *s);

/* What needs the model is refused while it is being loaded, and new work while draining: true after an answer. */
bool app_is_loading(struct server *s, struct request *q);
bool app_is_draining(struct server *s, struct request *q);

void server_log(const struct server *s, enum recto_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
