#include "answer.h"

#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *code;
    int status;
    const char *type;
} faults[N_FAULT] = {[FAULT_NONE] = {"none", 200, ""},
#define X(name, status, type) [FAULT_##name] = {#name, status, type},
                     ANSWER_FAULTS(X)
#undef X
};

const char *fault_code(enum fault f)
{
    return faults[f].code;
}

int fault_status(enum fault f)
{
    return faults[f].status;
}

enum fault fault_find(const char *code)
{
    for (int f = 1; f < N_FAULT; f++)
        if (strcmp(faults[f].code, code) == 0)
            return (enum fault)f;
    return FAULT_internal;
}

void answer_header(struct request *q, const char *name, const char *value)
{
    size_t from;

    text_fmt(&q->answer.head, "%s: ", name);
    from = q->answer.head.n;
    text_str(&q->answer.head, value);
    for (size_t i = from; i < q->answer.head.n; i++)
        if ((unsigned char)q->answer.head.p[i] < 0x20 || q->answer.head.p[i] == 0x7f)
            q->answer.head.p[i] = '?';
    text_char(&q->answer.head, '\n');
}

/* False when there is an answer already. */
static bool begin(struct request *q, int status, const char *type)
{
    if (q->answer.status != 0)
        return false;
    q->answer.status = status;
    if (type)
        answer_header(q, "Content-Type", type);
    return true;
}

void answer_text(struct request *q, int status, const char *type, struct text *t)
{
    if (begin(q, status, type)) {
        q->answer.body = *t;
        *t = (struct text){0};
    }
    text_reset(t);
}

void answer_bytes(struct request *q, int status, const char *type, const void *bytes, size_t n)
{
    if (begin(q, status, type))
        text_add(&q->answer.body, bytes, n);
}

void answer_fixed(struct request *q, int status, const char *type, const void *bytes, size_t n)
{
    if (!begin(q, status, type))
        return;
    q->answer.fixed = bytes;
    q->answer.n_fixed = n;
}

void answer_file(struct request *q, int status, const char *type, int fd, uint64_t length)
{
    if (!begin(q, status, type)) {
        close(fd);
        return;
    }
    q->answer.fd = fd;
    q->answer.length = length;
}

void answer_stream(struct request *q, const char *type, struct stream *s)
{
    if (!begin(q, 200, type))
        return;
    stream_hold(s);
    q->answer.stream = s;
}

void answer_empty(struct request *q, int status)
{
    begin(q, status, NULL);
}

static int append(const char *bytes, size_t n, void *ctx)
{
    text_add(ctx, bytes, n);
    return 0;
}

static void put_json(struct request *q, int status, const char *type, json_t *v)
{
    struct text t = {0};

    json_dump_callback(v, append, &t, JSON_COMPACT);
    json_decref(v);
    text_char(&t, '\n');
    answer_text(q, status, type, &t);
}

void answer_json(struct request *q, int status, json_t *v)
{
    put_json(q, status, "application/json", v);
}

json_t *fault_json(enum fault f, const char *param, const char *message, const char *request_id)
{
    return json_pack("{s:{s:s, s:s, s:s?, s:s, s:s}}", "error", "message", message, "type",
                     faults[f].type, "param", param, "code", faults[f].code, "request_id",
                     request_id);
}

/* RFC 9457. */
static json_t *problem_json(enum fault f, const char *message, const char *request_id)
{
    struct text type = {0};
    json_t *v;

    text_fmt(&type, "/docs/errors#%s", faults[f].code);
    v = json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", type.p, "title", faults[f].code, "status",
                  faults[f].status, "detail", message, "instance", request_id);
    text_reset(&type);
    return v;
}

/* Messages quote what clients sent, which need not be UTF-8. */
static void make_ascii(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            *s = '?';
}

void answer_fault(struct request *q, enum fault f, const char *param, const char *fmt, ...)
{
    const char *accept = request_header(q, "Accept");
    struct text message = {0};
    va_list ap;

    if (q->answer.status != 0)
        return;
    q->answer.fault = f;
    va_start(ap, fmt);
    text_vfmt(&message, fmt, ap);
    va_end(ap);
    make_ascii(message.p);
    if (accept && strstr(accept, "application/problem+json"))
        put_json(q, faults[f].status, "application/problem+json",
                 problem_json(f, message.p, q->id));
    else
        answer_json(q, faults[f].status, fault_json(f, param, message.p, q->id));
    text_reset(&message);
}

void answer_retry(struct request *q, int64_t ms)
{
    char text[24];
    int64_t s = (ms + 999) / 1000;

    snprintf(text, sizeof text, "%lld", (long long)(s < 1 ? 1 : s));
    answer_header(q, "Retry-After", text);
    snprintf(text, sizeof text, "%lld", (long long)(ms < 1 ? 1 : ms));
    answer_header(q, "retry-after-ms", text);
}

void answer_reset(struct answer *a)
{
    text_reset(&a->head);
    text_reset(&a->body);
    if (a->stream) { /* it was never sent */
        stream_cut(a->stream);
        stream_let_go(a->stream);
    }
    if (a->fd >= 0)
        close(a->fd);
    *a = (struct answer){.fd = -1};
}
