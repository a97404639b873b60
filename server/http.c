/* Listeners, and the way of a request through libmicrohttpd's callbacks. */
#include "http.h"

#include "answer.h"
#include "clock.h"
#include "listen.h"
#include "recto.h"
#include "stream.h"
#include "watch.h"
#include "workers.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    POOL_BYTES = 48 << 10, /* of a connection: header and read buffer */
    STUCK_S = 120,         /* an answer of which the client takes nothing */
    SLACK = 64,            /* connections that are being closed */
    CLOSE_MS = 3000,       /* for answers to get out at the end */
};

/* AT_WORK: suspended, in a worker's or another's hands. */
enum stage { AT_HEAD, AT_BODY, AT_RUN, AT_WORK, AT_ANSWER, AT_SENT };

struct listener {
    struct http *http;
    struct MHD_Daemon *daemon;
    int fd, index, port;
};

struct http {
    struct http_settings set;
    struct http_app app;
    struct watch watch;
    struct workers *workers;
    struct listener listener[HTTP_LISTEN_MAX];
    int n_listener;
    _Atomic bool is_closing;
};

/* ---- connections ----------------------------------------------------------------------------------------------------- */
static bool is_counted(const struct http *h, const char *address)
{
    return h->set.max_conns_ip > 0 && strcmp(address, "unix") != 0 &&
           !(h->set.trusted && h->set.trusted(h->app.ctx, address));
}

static enum MHD_Result may_connect(void *ctx, const struct sockaddr *a, socklen_t n)
{
    struct http *h = ((struct listener *)ctx)->http;
    char text[64];

    address_text(a, text, sizeof text);
    return !is_counted(h, text) || watch_count_ip(&h->watch, text) < h->set.max_conns_ip ? MHD_YES
                                                                                         : MHD_NO;
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *h = ((struct listener *)ctx)->http;
    char text[64];

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*socket_ctx)
            watch_remove(&h->watch, *socket_ctx);
        *socket_ctx = NULL;
        return;
    }
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    address_text(MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
                 text, sizeof text);
    *socket_ctx = watch_add(&h->watch, fd, text, is_counted(h, text) ? h->set.max_conns_ip : 0);
    if (!*socket_ctx)
        shutdown(fd, SHUT_RDWR);
}

/* ---- a request begins ------------------------------------------------------------------------------------------------ */
static void make_id(char out[HTTP_ID_MAX])
{
    static const char digit[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[24];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        abort(); /* cannot happen for so few bytes */
    memcpy(out, "req_", 4);
    for (int i = 0; i < 24; i++)
        out[4 + i] = digit[random[i] & 31];
    out[28] = 0;
}

/* Called with the request line, before the header is complete. */
static void *on_target(void *ctx, const char *target, struct MHD_Connection *mhd)
{
    struct listener *l = ctx;
    struct request *q = server_zero(1, sizeof *q);
    size_t n = strlen(target), cut = strcspn(target, "?");

    q->http = l->http;
    q->listener = l->index;
    q->mhd = mhd;
    q->conn = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    q->answer.fd = -1;
    q->path = server_alloc(cut + 1);
    memcpy(q->path, target, cut);
    q->path[cut] = 0;
    q->query = server_strdup(n > cut ? target + cut + 1 : "");
    make_id(q->id);
    if (q->conn) {
        memcpy(q->address, q->conn->address, sizeof q->address);
        watch_state(&l->http->watch, q->conn, CONN_HEAD);
    }
    return q;
}

struct head_size {
    size_t bytes;
    int lines;
    bool has_odd_name; /* a name that is no token (RFC 9110, 5.6.2), such as "Content-Length " */
};

static bool is_token(const char *s)
{
    return *s && s[strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == 0;
}

static enum MHD_Result add_size(void *ctx, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    struct head_size *size = ctx;

    size->lines++;
    size->has_odd_name |= !is_token(name);
    size->bytes += strlen(name) + (value ? strlen(value) : 0) + 4;
    return MHD_YES;
}

static bool is_good_id(const char *id)
{
    size_t n = id ? strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
                  : 0;

    return n > 0 && n <= 64 && id[n] == 0;
}

/* A length that is not plain digits, or two of them, or both kinds: 400, for what follows cannot be told apart. */
static bool length_of(struct request *q)
{
    const char *length = request_header(q, "Content-Length");
    const char *coding = request_header(q, "Transfer-Encoding");
    int n = request_header_count(q, "Content-Length"),
        n_coding = request_header_count(q, "Transfer-Encoding");
    char *end = NULL;

    q->length = -1;
    if (n > 1 || n_coding > 1 || (length && coding))
        return false;
    if (coding) {
        return strcasecmp(coding, "chunked") == 0;
    }
    errno = 0;
    q->length = length ? strtoll(length, &end, 10) : 0;
    return !length || (strspn(length, "0123456789") == strlen(length) && *length && errno == 0);
}

static void fault(struct request *q, const char *code, const char *message)
{
    q->http->app.fault(q->http->app.ctx, q, code, message);
}

/* libmicrohttpd ends a value at a NUL and adds a folded line to the header's name. Both show in that the header has more bytes
 * than what became of it; the size is only told for the first request of a connection. */
static bool has_hidden_bytes(struct request *q, const struct head_size *size)
{
    size_t sent = MHD_get_connection_info(q->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
                      ->header_size,
           seen = strlen(q->method) + strlen(q->path) + strlen(q->query) + (*q->query != 0) +
                  strlen("  HTTP/1.1\r\n\r\n") + size->bytes;

    return q->conn->n_request == 0 && sent > seen;
}

static void check_head(struct request *q)
{
    struct head_size size = {0};
    const char *id = request_header(q, "X-Request-Id");

    if (is_good_id(id))
        snprintf(q->id, sizeof q->id, "%s", id);
    MHD_get_connection_values(q->mhd, MHD_HEADER_KIND, add_size, &size);
    if (q->http->is_closing)
        fault(q, "draining", "this server is being stopped");
    else if (has_hidden_bytes(q, &size))
        fault(q, "bad_request",
              "the header holds folded lines, NUL bytes or more blanks than one behind a colon");
    else if (size.has_odd_name || request_header_count(q, "Host") > 1)
        fault(q, "bad_request", "a header's name is not a name, or there are two Hosts");
    else if (!length_of(q))
        fault(q, "bad_request",
              "the length of the body is not clear: send one Content-Length of digits, or "
              "Transfer-Encoding: chunked");
    else if (strlen(q->path) + strlen(q->query) > HTTP_TARGET_MAX)
        fault(q, "uri_too_long", "the target is longer than 8192 bytes");
    else if (size.bytes > HTTP_HEAD_MAX || size.lines > HTTP_HEAD_LINES)
        fault(q, "headers_too_large", "the header has more than 16384 bytes or 100 lines");
    else
        q->http->app.head(q->http->app.ctx, q);
}

/* ---- a request ends -------------------------------------------------------------------------------------------------- */
static void on_completed(void *ctx, struct MHD_Connection *mhd, void **request,
                         enum MHD_RequestTerminationCode why)
{
    struct http *h = ((struct listener *)ctx)->http;
    struct request *q = *request;

    if (!q)
        return;
    *request = NULL;
    if (q->conn) {
        watch_request(&h->watch, q->conn, NULL);
        watch_state(&h->watch, q->conn, CONN_IDLE);
    }
    if (q->method)
        h->app.ended(h->app.ctx, q);
    answer_reset(&q->answer);
    free(q->path);
    free(q->query);
    free((char *)q->method);
    free(q);
}

/* ---- answers --------------------------------------------------------------------------------------------------------- */
static struct MHD_Response *response_of(struct request *q)
{
    struct answer *a = &q->answer;
    struct MHD_Response *r;

    if (a->stream) {
        r = stream_response(a->stream, q->mhd);
        if (r && q->conn)
            watch_stream(&q->http->watch, q->conn, a->stream);
        if (r)
            a->stream = NULL;
        return r;
    }
    if (a->fd >= 0) {
        r = MHD_create_response_from_fd64(a->length, a->fd);
        if (r)
            a->fd = -1;
        return r;
    }
    if (a->fixed)
        return MHD_create_response_from_buffer(a->n_fixed, (void *)a->fixed,
                                               MHD_RESPMEM_PERSISTENT);
    r = MHD_create_response_from_buffer(a->body.n, a->body.p ? a->body.p : "",
                                        a->body.p ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (r)
        a->body = (struct text){0};
    return r;
}

static void add_headers(struct MHD_Response *r, struct text *head)
{
    for (char *line = head->p, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        char *colon = strchr(line, ':');

        *end = *colon = 0;
        MHD_add_response_header(r, line, colon + 2);
        *end = '\n';
        *colon = ':';
    }
}

/* What every answer carries. */
static void complete_head(struct request *q)
{
    answer_header(q, "X-Request-Id", q->id);
    answer_header(q, "X-Content-Type-Options", "nosniff");
    if (!strstr(q->answer.head.p, "Cache-Control: "))
        answer_header(q, "Cache-Control", "no-store");
}

static enum MHD_Result send_answer(struct request *q)
{
    enum MHD_Result rc = MHD_NO;

    if (q->answer.status == 0)
        fault(q, "internal", "the request was left without an answer; please report it");
    complete_head(q);
    struct MHD_Response *r = response_of(q);
    if (!r)
        return MHD_NO;
    add_headers(r, &q->answer.head);
    q->stage = AT_SENT;
    rc = MHD_queue_response(q->mhd, (unsigned)q->answer.status, r);
    MHD_destroy_response(r);
    return rc;
}

/* The answer as bytes, for a client whose request is not read to its end. */
static void write_raw(struct request *q, struct text *out)
{
    struct answer *a = &q->answer;

    complete_head(q);
    text_fmt(out, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n", a->status,
             MHD_get_reason_phrase_for((unsigned)a->status), a->body.n);
    for (char *line = a->head.p, *end; line && (end = strchr(line, '\n')); line = end + 1)
        text_fmt(out, "%.*s\r\n", (int)(end - line), line);
    text_str(out, "\r\n");
    text_add(out, a->body.p, a->body.n);
}

static enum MHD_Result refuse_raw(struct request *q)
{
    struct text out = {0};

    write_raw(q, &out);
    if (q->conn)
        watch_linger(&q->http->watch, q->conn->fd, out.p, out.n);
    text_reset(&out);
    q->stage = AT_SENT;
    return MHD_NO; /* libmicrohttpd closes its end */
}

/* ---- libmicrohttpd's handler: called once with the header, for each piece of the body, and at its end ----------------- */
static enum MHD_Result at_head(struct request *q, const char *method)
{
    struct watch *w = &q->http->watch;

    if (!q->conn)
        return MHD_NO;
    q->method = server_strdup(method);
    q->start_ns = clock_mono_ns();
    watch_request(w, q->conn, q);
    check_head(q);
    q->conn->n_request++;
    if (q->answer.status != 0)
        return q->length == 0 ? send_answer(q) : refuse_raw(q);
    q->stage = q->length == 0 ? AT_RUN : AT_BODY;
    watch_state(w, q->conn, q->length == 0 ? CONN_BUSY : CONN_BODY);
    return MHD_YES;
}

static enum MHD_Result at_body(struct request *q, const char *bytes, size_t *n)
{
    watch_body(&q->http->watch, q->conn, *n);
    q->n_body += (int64_t)*n;
    if (q->http->is_closing)
        fault(q, "draining", "this server is being stopped");
    else if (q->n_body > q->body_max)
        fault(q, "body_too_large", "the body is over the limit for this route");
    else
        q->http->app.body(q->http->app.ctx, q, bytes, *n);
    *n = 0;
    return q->answer.status != 0 ? refuse_raw(q) : MHD_YES;
}

static enum MHD_Result at_run(struct request *q)
{
    watch_state(&q->http->watch, q->conn, CONN_BUSY);
    if (q->is_quick) {
        q->stage = AT_ANSWER;
        if (q->http->app.run(q->http->app.ctx, q) == RUN_DONE)
            return send_answer(q);
        abort(); /* a quick handler answers at once: a bug of the route table */
    }
    q->stage = AT_ANSWER;
    MHD_suspend_connection(q->mhd);
    workers_put(q->http->workers, q);
    return MHD_YES;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *n, void **request)
{
    struct request *q = *request;

    if (!q)
        return MHD_NO;
    if (q->stage == AT_HEAD)
        return at_head(q, method);
    if (*n > 0)
        return at_body(q, bytes, n);
    if (q->stage == AT_BODY || q->stage == AT_RUN)
        return at_run(q);
    return send_answer(q);
}

/* On a worker's thread. */
static void work(void *ctx, struct request *q)
{
    struct http *h = ctx;

    if (h->app.run(h->app.ctx, q) == RUN_DONE)
        request_finish(q);
}

void request_finish(struct request *q)
{
    struct http *h = q->http;
    struct MHD_Connection *mhd = q->mhd;

    watch_on_gone(&h->watch, q, NULL, NULL);
    MHD_resume_connection(mhd);
}

void request_again(struct request *q)
{
    workers_put(q->http->workers, q);
}

void request_on_gone(struct request *q, void (*fn)(void *ctx), void *ctx)
{
    watch_on_gone(&q->http->watch, q, fn, ctx);
}

/* Under watch.lock: the connection is in the middle of a request that will not become complete. */
static void too_slow(struct http_conn *c, const char *code, const char *message)
{
    struct text out = {0};

    text_fmt(&out,
             "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\",\"param\":null,"
             "\"code\":\"%s\"}}\n",
             message, code);
    struct text all = {0};
    text_fmt(
        &all,
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        out.n, out.p);
    send(c->fd, all.p, all.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    text_reset(&out);
    text_reset(&all);
}

/* ---- opening and closing --------------------------------------------------------------------------------------------- */
static struct MHD_Daemon *start(struct listener *l)
{
    const struct http_settings *s = &l->http->set;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
    unsigned n_thread = s->io_threads > 1 ? (unsigned)s->io_threads : 0;

    return MHD_start_daemon(
        flags, 0, may_connect, l, on_request, l, MHD_OPTION_LISTEN_SOCKET, l->fd,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)s->max_conns, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STUCK_S,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, l, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        l, MHD_OPTION_URI_LOG_CALLBACK, on_target, l, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        n_thread ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, n_thread, MHD_OPTION_END);
}

static int add_listener(struct http *h, int i, char *error, size_t n)
{
    struct listener *l = &h->listener[i];
    bool is_usage;

    *l = (struct listener){.http = h, .index = i};
    l->fd = listen_on(h->set.listen[i], error, n, &is_usage);
    if (l->fd < 0)
        return is_usage ? RECTO_EUSAGE : RECTO_EOUTPUT;
    l->port = listen_port(l->fd);
    l->daemon = start(l);
    if (l->daemon) {
        h->n_listener++;
        return 0;
    }
    close(l->fd);
    snprintf(error, n, "--listen %s: cannot start its threads: %s", h->set.listen[i],
             strerror(errno));
    return RECTO_EOUTPUT;
}

int http_open(struct http **out, const struct http_settings *s, const struct http_app *app,
              char *error, size_t n)
{
    struct http *h = *out = server_zero(1, sizeof *h);
    int rc = 0;

    h->set = *s;
    h->app = *app;
    h->watch.too_slow = too_slow;
    h->workers = workers_open(s->workers, work, h);
    if (!h->workers || watch_open(&h->watch, s->max_conns * s->n_listen + SLACK) < 0) {
        snprintf(error, n, "cannot start the server's threads: %s", strerror(errno));
        return RECTO_EOUTPUT;
    }
    for (int i = 0; i < s->n_listen && rc == 0; i++)
        rc = add_listener(h, i, error, n);
    return rc;
}

void http_quiesce(struct http *h)
{
    for (int i = 0; i < h->n_listener; i++) {
        int fd = MHD_quiesce_daemon(h->listener[i].daemon);
        if (fd >= 0)
            close(fd);
        h->listener[i].fd = -1;
    }
}

/* What is suspended must be resumed before libmicrohttpd may stop. False: somebody holds a request and does not answer. */
static bool wait_idle(struct http *h)
{
    for (int i = 0; i < CLOSE_MS / 10 && watch_busy(&h->watch, NULL) > 0; i++) {
        watch_cut_all(&h->watch);
        usleep(10000);
    }
    return watch_busy(&h->watch, NULL) == 0;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    h->is_closing = true;
    http_quiesce(h);
    if (h->n_listener > 0 && !wait_idle(h))
        _exit(1); /* a bug, which must not keep the process from ending */
    workers_close(h->workers);
    for (int i = 0; i < h->n_listener; i++)
        MHD_stop_daemon(h->listener[i].daemon);
    if (h->watch.slot)
        watch_close(&h->watch);
    free(h);
}

int http_port(const struct http *h, int i)
{
    return h->listener[i].port;
}

void http_get_counts(struct http *h, struct http_counts *c)
{
    c->busy = watch_busy(&h->watch, &c->conns);
}
