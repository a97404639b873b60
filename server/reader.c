#include "reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N_BUCKET = 1024, POLL_MS = 100 };

struct entry {
    struct entry *next;
    uint64_t request;
    reader_fn *fn;
    void *ctx;
};

struct reader {
    struct recto *recto;
    pthread_t thread;
    atomic_bool is_ending;
    pthread_mutex_t lock;
    struct entry *bucket[N_BUCKET]; /* open requests, by number; under the lock */
    int n_open;
};

static struct entry **find(struct reader *rd, uint64_t request)
{
    struct entry **at = &rd->bucket[request % N_BUCKET];

    while (*at && (*at)->request != request)
        at = &(*at)->next;
    return at;
}

/* What the event's request has registered; with its last event it leaves the table. */
static struct entry look_up(struct reader *rd, const struct recto_event *ev)
{
    struct entry found = {0};

    pthread_mutex_lock(&rd->lock);
    struct entry **at = find(rd, ev->request), *e = *at;
    if (e)
        found = *e;
    if (e && ev->kind == RECTO_EVENT_DONE) {
        *at = e->next;
        rd->n_open--;
        free(e);
    }
    pthread_mutex_unlock(&rd->lock);
    return found;
}

static void *reader_main(void *arg)
{
    struct reader *rd = arg;
    struct recto_event ev;

    while (!atomic_load(&rd->is_ending) || reader_open_requests(rd) > 0) {
        if (!recto_poll(rd->recto, &ev, POLL_MS))
            continue;
        struct entry e = look_up(rd, &ev);
        if (e.fn)
            e.fn(e.ctx, &ev);
        recto_event_reset(&ev);
    }
    return NULL;
}

int reader_start(struct reader **out, struct recto *r)
{
    struct reader *rd = calloc(1, sizeof *rd);

    *out = NULL;
    if (!rd)
        return RECTO_ENOMEM;
    rd->recto = r;
    pthread_mutex_init(&rd->lock, NULL);
    if (pthread_create(&rd->thread, NULL, reader_main, rd) != 0) {
        pthread_mutex_destroy(&rd->lock);
        free(rd);
        return RECTO_ENOMEM;
    }
    *out = rd;
    return 0;
}

static void cancel_all(struct reader *rd)
{
    pthread_mutex_lock(&rd->lock);
    for (int b = 0; b < N_BUCKET; b++)
        for (struct entry *e = rd->bucket[b]; e; e = e->next)
            recto_cancel(rd->recto, e->request);
    pthread_mutex_unlock(&rd->lock);
}

void reader_end(struct reader *rd)
{
    if (!rd)
        return;
    cancel_all(rd);
    atomic_store(&rd->is_ending, true);
    pthread_join(rd->thread, NULL);
    pthread_mutex_destroy(&rd->lock);
    free(rd);
}

/* The lock is held over recto_submit, so that no event of the new request is looked up before its entry is there. */
int reader_submit(struct reader *rd, const struct recto_input *in, const struct recto_options *o,
                  reader_fn *fn, void *ctx, uint64_t *request)
{
    struct entry *e = malloc(sizeof *e);
    int rc;

    if (!e)
        return RECTO_ENOMEM;
    pthread_mutex_lock(&rd->lock);
    rc = recto_submit(rd->recto, in, o, request);
    if (rc == 0) {
        struct entry **at = &rd->bucket[*request % N_BUCKET];
        *e = (struct entry){.next = *at, .request = *request, .fn = fn, .ctx = ctx};
        *at = e;
        rd->n_open++;
    }
    pthread_mutex_unlock(&rd->lock);
    if (rc < 0)
        free(e);
    return rc;
}

void reader_cancel(struct reader *rd, uint64_t request)
{
    recto_cancel(rd->recto, request);
}

int reader_open_requests(struct reader *rd)
{
    pthread_mutex_lock(&rd->lock);
    int n = rd->n_open;
    pthread_mutex_unlock(&rd->lock);
    return n;
}
