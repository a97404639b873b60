/* The table of routes: method, pattern, who may, what kind of body, who answers.  docs and /openapi.json come from it. */
#ifndef RECTO_SERVER_ROUTE_H
#define RECTO_SERVER_ROUTE_H

#include "http.h"

enum right { RIGHT_OPEN, RIGHT_USER, RIGHT_ADMIN };

enum body_kind {
    BODY_NONE,   /* a body is refused */
    BODY_JSON,   /* JSON in memory, at most 1 MiB */
    BODY_TEXT,   /* text in memory, at most 1 MiB */
    BODY_CHAT,   /* JSON with pictures in it, at most --max-json */
    BODY_UPLOAD, /* files of a job: multipart, or one file as it is; at most --max-upload */
};

enum route_flag {
    ROUTE_QUICK = 1 << 0,   /* the handler does not block: it runs on the I/O thread */
    ROUTE_PROBE = 1 << 1,   /* on every listener, without limits */
    ROUTE_WORK = 1 << 3,    /* new work: 503 while the model is loaded or the server drains */
    ROUTE_PICTURE = 1 << 5, /* not counted against the rate: a page shows dozens at once */
    ROUTE_STORE = 1 << 4,   /* needs the store: 503 while that is being opened */
    ROUTE_OPS = 1 << 2,     /* on the admin listener if there is one */
};

struct server;
typedef enum run_result route_fn(struct server *s, struct request *q);

struct route {
    const char *method;
    const char *
        pattern; /* "/v1/jobs/{job}/pages/{page}.{format}": a {name} takes one or more bytes, none of them '/' */
    enum right right;
    enum body_kind body;
    unsigned flags; /* enum route_flag */
    route_fn *run;
    const char *what; /* one line for the description of the API */
};

/* All of them; NULL past the last. */
const struct route *route_at(int i);

enum { ROUTE_PARAM_MAX = 128 };
/* Does path fit the pattern? Then param holds what the {names} stand for. */
bool route_fits(const char *pattern, const char *path, char param[][ROUTE_PARAM_MAX], int n_param);
/* The route for a request; NULL with *allow filled ("GET, POST"; "" when no route has that path). HEAD is GET. */
const struct route *route_find(const char *method, const char *path, char param[][ROUTE_PARAM_MAX],
                               int n_param, char allow[64]);

#endif
