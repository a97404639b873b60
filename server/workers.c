#include "workers.h"

#include "http.h"

#include <pthread.h>
#include <stdlib.h>

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct request *first, **last;
    pthread_t *thread;
    int n;
    bool is_stopping;
    void (*run)(void *ctx, struct request *q);
    void *ctx;
};

/* The next request; NULL when stopping and nothing waits. */
static struct request *take(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->is_stopping)
        pthread_cond_wait(&w->has_work, &w->lock);
    struct request *q = w->first;
    if (q) {
        w->first = q->next;
        if (!w->first)
            w->last = &w->first;
    }
    pthread_mutex_unlock(&w->lock);
    return q;
}

static void *work(void *ctx)
{
    struct workers *w = ctx;
    struct request *q;

    while ((q = take(w)))
        w->run(w->ctx, q);
    return NULL;
}

void workers_put(struct workers *w, struct request *q)
{
    q->next = NULL;
    pthread_mutex_lock(&w->lock);
    *w->last = q;
    w->last = &q->next;
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
}

struct workers *workers_open(int n, void (*run)(void *ctx, struct request *q), void *ctx)
{
    struct workers *w = server_zero(1, sizeof *w);

    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->has_work, NULL);
    w->last = &w->first;
    w->run = run;
    w->ctx = ctx;
    w->thread = server_zero((size_t)n, sizeof *w->thread);
    while (w->n < n && pthread_create(&w->thread[w->n], NULL, work, w) == 0)
        w->n++;
    if (w->n > 0)
        return w;
    workers_close(w);
    return NULL;
}

void workers_close(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_stopping = true;
    pthread_cond_broadcast(&w->has_work);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n; i++)
        pthread_join(w->thread[i], NULL);
    pthread_cond_destroy(&w->has_work);
    pthread_mutex_destroy(&w->lock);
    free(w->thread);
    free(w);
}
