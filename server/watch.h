/* The eye on all connections: who is slow, who is gone, who is to be let go gently.  http.c only.
 *
 * libmicrohttpd does not look at the sockets of suspended connections, and its time limit is for silence only.  So one
 * thread has every socket in an epoll set of its own, where it hears of clients that leave, and goes through all
 * connections once a second.  A client that is too slow gets 408 written straight to its socket: libmicrohttpd writes
 * nothing there as long as a request is incomplete.
 * A connection is in the table from its first byte until its socket is closed; everything below takes watch.lock. */
#ifndef RECTO_SERVER_WATCH_H
#define RECTO_SERVER_WATCH_H

#include "http.h"

#include <pthread.h>

enum conn_state { CONN_HEAD, CONN_BODY, CONN_BUSY, CONN_IDLE };

struct http_conn {
    int fd, slot;
    uint32_t generation; /* tells a late event of the socket that had this slot before */
    enum conn_state state;
    int64_t since_ms; /* in this state; in CONN_BODY: start of the window */
    int64_t n_window; /* bytes of the body in the window */
    char address[64];
    bool is_gone, is_counted; /* counted: against max_conns_ip */
    int n_request;            /* so far; the I/O thread's */
    struct request *request;  /* NULL between requests */
    struct stream *stream;    /* that is being sent; NULL */
};

struct watch {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll, wake; /* wake: an eventfd that ends the thread */
    struct http_conn **slot;
    int n_slot, n_conn;
    uint32_t generation;
    struct leaver *leaver; /* sockets whose client is told to go */
    bool is_stopping;
    const struct http_app *app;
    void (*too_slow)(struct http_conn *c, const char *code, const char *message);
};

int watch_open(struct watch *w, int max_conns);
void watch_close(struct watch *w);
/* NULL when the table is full, or max_ip connections from that address are open (0: any number). */
struct http_conn *watch_add(struct watch *w, int fd, const char *address, int max_ip);
void watch_remove(struct watch *w, struct http_conn *c);
int watch_count_ip(struct watch *w, const char *address);
void watch_state(struct watch *w, struct http_conn *c, enum conn_state state);
/* A piece of the body came. */
void watch_body(struct watch *w, struct http_conn *c, size_t n);
/* Which request the connection serves; NULL: none any more. */
void watch_request(struct watch *w, struct http_conn *c, struct request *q);
/* The answer is sent from s; watch_request ends that too. */
void watch_stream(struct watch *w, struct http_conn *c, struct stream *s);
void watch_on_gone(struct watch *w, struct request *q, void (*fn)(void *), void *ctx);
/* Write all of `bytes` to the client (as far as its buffer takes them), and close once HTTP_LINGER_BYTES or HTTP_LINGER_MS
 * of what it still sends were thrown away. fd stays open and is closed by its owner as usual. */
void watch_linger(struct watch *w, int fd, const char *bytes, size_t n);
/* Requests under way; *n_conn, if not NULL: open connections. */
int watch_busy(struct watch *w, int *n_conn);
/* End all streams, and the connections whose body is still coming. */
void watch_cut_all(struct watch *w);

#endif
