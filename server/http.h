/* HTTP/1.1 over libmicrohttpd: listeners, connections, requests.  Knows bytes and limits, nothing of OCR.
 *
 * A request walks through four callbacks of the application:
 *
 *     head   the header is complete, no byte of the body was read      I/O thread
 *     body   a piece of the body                                       I/O thread
 *     run    the body is complete                                      worker thread, or I/O thread if is_quick
 *     ended  the answer was sent or the client is gone                 I/O thread
 *
 * Each may answer (answer.h); then the rest up to `ended` is left out.  What is answered before the body was read is sent
 * at once, at most 64 KiB or one second of the body are taken and thrown away, and the connection is closed.  I/O threads
 * must not block.  run returns RUN_DONE with an answer, or RUN_LATER: then whoever holds the request answers it and calls
 * request_finish, from any thread; the request must not be touched afterwards.
 *
 * Clients that are slow are cut off: 10 s for a header, 1 KiB/s over 10 s for a body (both 408), 60 s without progress for
 * a stream. */
#ifndef RECTO_SERVER_HTTP_H
#define RECTO_SERVER_HTTP_H

#include "text.h"

#include <stdbool.h>
#include <stdint.h>

struct http;
struct http_conn;
struct stream;
struct MHD_Connection;

enum {
    HTTP_TARGET_MAX = 8 << 10,   /* bytes of a target; more: 414 */
    HTTP_HEAD_MAX = 16 << 10,    /* bytes of a header; more: 431 */
    HTTP_HEAD_LINES = 100,       /* lines of a header; more: 431 */
    HTTP_HEAD_MS = 10000,        /* for a header to arrive */
    HTTP_IDLE_MS = 75000,        /* between requests */
    HTTP_BODY_WINDOW_MS = 10000, /* in each window of this length a body brings at least */
    HTTP_BODY_WINDOW_BYTES = 10 << 10,
    HTTP_STALL_MS = 60000, /* a stream whose client takes nothing */
    HTTP_LINGER_MS = 1000, /* of a refused body, taken and thrown away */
    HTTP_LINGER_BYTES = 64 << 10,
    HTTP_ID_MAX = 72,
};

enum run_result { RUN_DONE, RUN_LATER };

/* An answer in the making; see answer.h. */
struct answer {
    int status;       /* 0: none yet */
    int fault;        /* enum fault; 0: none */
    struct text head; /* "Name: value\n" lines */
    struct text body;
    const char *fixed; /* instead of body: bytes that outlive the server */
    size_t n_fixed;
    int fd; /* instead of body: a file from its beginning, `length` bytes; -1: none; closed by http.c */
    uint64_t length;
    struct stream *stream; /* instead of body: bytes as they come */
};

struct request {
    char id[HTTP_ID_MAX]; /* X-Request-Id */
    const char *method;   /* "GET" */
    char *path;           /* of the target as sent, without the query: nothing is decoded */
    char *query;          /* as sent, or "" */
    int listener;         /* index in http_settings.listen */
    char address[64];     /* of the client: "127.0.0.1", "::1", "unix" */
    int64_t length;       /* of the body as declared; -1: undeclared (chunked); 0: none */
    int64_t body_max;     /* set by head: more bytes of an undeclared body are answered by 413 */
    int64_t n_body;       /* bytes so far */
    int64_t start_ns;     /* when the header was complete; CLOCK_MONOTONIC */
    bool is_quick;        /* set by head: run does not block, so it runs on the I/O thread */
    struct answer answer;
    void *app; /* the application's own, freed by its `ended` */
    /* http.c only */
    int stage;
    struct http *http;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    struct request *next; /* in the queue of the workers */
    void (*gone)(void *ctx);
    void *gone_ctx;
};

/* The application. All are called with a request that is alive until `ended` has returned. */
struct http_app {
    void (*head)(void *ctx, struct request *q);
    void (*body)(void *ctx, struct request *q, const char *bytes, size_t n);
    enum run_result (*run)(void *ctx, struct request *q);
    void (*ended)(void *ctx, struct request *q);
    /* Write the error envelope of a fault that http.c itself found ("request_timeout", "body_too_large") as the answer. */
    void (*fault)(void *ctx, struct request *q, const char *code, const char *message);
    void *ctx;
};

enum { HTTP_LISTEN_MAX = 8 };

struct http_settings {
    const char *listen[HTTP_LISTEN_MAX]; /* "127.0.0.1:8080", "[::1]:0", "unix:/run/recto.sock" */
    int n_listen;
    int max_conns,
        max_conns_ip; /* in all; from one address (unix sockets and `trusted` excepted) */
    bool (*trusted)(void *ctx, const char *address);
    int io_threads, workers; /* per listener; in all */
};

/* Listen and answer. RECTO_EUSAGE: an address that is none; RECTO_EOUTPUT: it cannot be listened on (error: a sentence of at
 * most n bytes). */
int http_open(struct http **out, const struct http_settings *s, const struct http_app *app,
              char *error, size_t n);
/* Accept no new connection; those that are open go on. */
void http_quiesce(struct http *h);
/* Cut what is still open, call `ended` for it, free. */
void http_close(struct http *h);
/* The port that listener i has got (for ":0"), 0 for unix. */
int http_port(const struct http *h, int i);

struct http_counts {
    int conns, busy; /* open; of those with a request in work */
};
void http_get_counts(struct http *h, struct http_counts *c);

/* ---- what a handler asks of a request -------------------------------------------------------------------------------- */
/* A header's value, NULL if it was not sent. Valid until `ended`. */
const char *request_header(const struct request *q, const char *name);
/* How often a header was sent. */
int request_header_count(const struct request *q, const char *name);
/* A parameter of the query, percent-decoded; NULL if it is not there. Valid until `ended`. */
const char *request_param(const struct request *q, const char *name);
/* Call fn for every parameter of the query in turn, until it returns false. */
void request_each_param(const struct request *q,
                        bool (*fn)(void *ctx, const char *name, const char *value), void *ctx);
/* A cookie's value, NULL. */
const char *request_cookie(const struct request *q, const char *name);

/* Call fn once when the client goes away (closes or half-closes) before the answer is complete; at once if it is gone
 * already. fn must not block, nor touch the request. NULL: no longer. */
void request_on_gone(struct request *q, void (*fn)(void *ctx), void *ctx);
/* Only after RUN_LATER: the answer is made. */
void request_finish(struct request *q);
/* Only after RUN_LATER: call run again, on a worker's thread. */
void request_again(struct request *q);

#endif
