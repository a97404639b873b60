#include "pinger.h"

#include "clock.h"
#include "stream.h"
#include "text.h"

#include <pthread.h>
#include <stdlib.h>

/* Many streams of one age are not pinged all at once: their connections would keep the I/O threads from other requests. */
enum { PORTION = 50, REST_MS = 5 };

struct pinged {
    struct stream *stream;
    int64_t next_ms;
    struct pinged *next;
};

struct pinger {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct pinged *first;
    bool is_stopping;
};

/* The lock is held. At most PORTION of those whose time has come; true: there may be more. */
static bool ping_some(struct pinger *p)
{
    int64_t now = clock_ms();
    int n = 0;

    for (struct pinged *d = p->first; d && n < PORTION; d = d->next)
        if (now >= d->next_ms) {
            stream_write(d->stream, ": ping\n\n", 8);
            d->next_ms = now + PING_S * 1000;
            n++;
        }
    return n == PORTION;
}

static void *run(void *ctx)
{
    struct pinger *p = ctx;
    bool has_more = false;

    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += !has_more;
        until.tv_nsec += has_more ? REST_MS * 1000000 : 0;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
        has_more = ping_some(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pinger *pinger_open(void)
{
    struct pinger *p = server_zero(1, sizeof *p);

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (pthread_create(&p->thread, NULL, run, p) == 0)
        return p;
    free(p);
    return NULL;
}

void pinger_close(struct pinger *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_stopping = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void pinger_add(struct pinger *p, struct stream *s)
{
    struct pinged *d = server_zero(1, sizeof *d);

    d->stream = s;
    d->next_ms = clock_ms() + PING_S * 1000;
    pthread_mutex_lock(&p->lock);
    d->next = p->first;
    p->first = d;
    pthread_mutex_unlock(&p->lock);
}

void pinger_remove(struct pinger *p, struct stream *s)
{
    struct pinged *gone = NULL;

    pthread_mutex_lock(&p->lock);
    for (struct pinged **at = &p->first; *at; at = &(*at)->next)
        if ((*at)->stream == s) {
            gone = *at;
            *at = gone->next;
            break;
        }
    pthread_mutex_unlock(&p->lock);
    free(gone);
}
