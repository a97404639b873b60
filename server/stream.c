#include "stream.h"

#include "clock.h"
#include "text.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_BLOCK = 4 << 10, /* bytes handed over at once, where the answer is not chunked */
    KEPT_BYTES = 2 << 10,   /* of an empty buffer: most streams are idle most of the time */
};

struct stream {
    pthread_mutex_t lock;
    struct text waiting;
    size_t cap, taken; /* bytes at the front of waiting that were handed over */
    struct MHD_Connection *conn;
    int n_holder;
    bool is_ended, is_gone, is_slow,
        is_asleep; /* asleep: the connection is suspended until there is something */
    int64_t progress_ms;
    void (*gone)(void *ctx);
    void *gone_ctx;
};

struct stream *stream_open(size_t cap)
{
    struct stream *s = server_zero(1, sizeof *s);

    pthread_mutex_init(&s->lock, NULL);
    s->cap = cap;
    s->n_holder = 1;
    s->progress_ms = clock_ms();
    return s;
}

void stream_let_go(struct stream *s)
{
    bool is_last;

    pthread_mutex_lock(&s->lock);
    is_last = --s->n_holder == 0;
    pthread_mutex_unlock(&s->lock);
    if (!is_last)
        return;
    text_reset(&s->waiting);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* The lock is held. */
static void be_gone(struct stream *s)
{
    s->is_gone = true;
    if (s->gone && !s->is_ended)
        s->gone(s->gone_ctx);
    s->gone = NULL;
}

void stream_on_gone(struct stream *s, void (*fn)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&s->lock);
    s->gone = fn;
    s->gone_ctx = ctx;
    pthread_mutex_unlock(&s->lock);
}

size_t stream_waiting(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->waiting.n - s->taken;
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* The lock is held. */
static void wake(struct stream *s)
{
    if (s->is_asleep)
        MHD_resume_connection(s->conn);
    s->is_asleep = false;
}

int stream_write(struct stream *s, const void *bytes, size_t n)
{
    int rc = -1;

    pthread_mutex_lock(&s->lock);
    if (!s->is_gone && !s->is_ended) {
        if (s->waiting.n == s->taken)
            s->progress_ms = clock_ms();
        if (s->waiting.n - s->taken + n <= s->cap) {
            text_add(&s->waiting, bytes, n);
            rc = 0;
        } else {
            s->is_slow = true;
            be_gone(s);
        }
        wake(s);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void stream_end(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_ended = true;
    s->gone = NULL;
    wake(s);
    pthread_mutex_unlock(&s->lock);
}

void stream_release(struct stream *s)
{
    if (!s)
        return;
    stream_end(s);
    stream_let_go(s);
}

bool stream_is_gone(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_gone = s->is_gone;
    pthread_mutex_unlock(&s->lock);
    return is_gone;
}

bool stream_is_slow(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_slow = s->is_slow;
    pthread_mutex_unlock(&s->lock);
    return is_slow;
}

void stream_mark_slow(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_slow = true;
    pthread_mutex_unlock(&s->lock);
}

int64_t stream_stalled_ms(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t ms = s->waiting.n > s->taken ? clock_ms() - s->progress_ms : 0;
    pthread_mutex_unlock(&s->lock);
    return ms;
}

void stream_cut(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    be_gone(s);
    wake(s);
    pthread_mutex_unlock(&s->lock);
}

/* The lock is held; waiting bytes move to the front once half of the buffer was taken. */
static ssize_t hand_over(struct stream *s, char *out, size_t max)
{
    size_t n = s->waiting.n - s->taken;

    n = n < max ? n : max;
    memcpy(out, s->waiting.p + s->taken, n);
    s->taken += n;
    s->progress_ms = clock_ms();
    if (s->taken * 2 >= s->waiting.n) {
        text_drop(&s->waiting, s->taken);
        s->taken = 0;
    }
    if (s->waiting.n == 0 && s->waiting.cap > KEPT_BYTES)
        text_reset(&s->waiting);
    return (ssize_t)n;
}

static ssize_t on_read(void *ctx, uint64_t pos, char *out, size_t max)
{
    struct stream *s = ctx;
    ssize_t n = 0;

    pthread_mutex_lock(&s->lock);
    if (s->is_gone) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (s->waiting.n > s->taken) {
        n = hand_over(s, out, max);
    } else if (s->is_ended) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->is_asleep = true;
        MHD_suspend_connection(s->conn);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void on_free(void *ctx)
{
    struct stream *s = ctx;

    pthread_mutex_lock(&s->lock);
    be_gone(s);
    s->is_asleep = false;
    pthread_mutex_unlock(&s->lock);
    stream_let_go(s);
}

void stream_hold(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->n_holder++;
    pthread_mutex_unlock(&s->lock);
}

struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *c)
{
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
                                                               on_read, s, on_free);

    if (!r)
        return NULL;
    pthread_mutex_lock(&s->lock);
    s->conn = c;
    pthread_mutex_unlock(&s->lock);
    return r;
}
