#include "base/queue.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

void queue_open(struct queue *q, int cap)
{
    pthread_condattr_t attr;

    *q = (struct queue){.cap = cap, .item = mem_zero((size_t)cap, sizeof(void *))};
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->has_item, &attr);
    pthread_cond_init(&q->has_room, &attr);
    pthread_condattr_destroy(&attr);
}

void queue_close(struct queue *q)
{
    if (!q->item)
        return;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->has_item);
    pthread_cond_destroy(&q->has_room);
    free(q->item);
    *q = (struct queue){0};
}

static void push(struct queue *q, void *item)
{
    q->item[(q->head + q->n++) % q->cap] = item;
    pthread_cond_signal(&q->has_item);
}

int queue_put(struct queue *q, void *item)
{
    int rc = 0;

    pthread_mutex_lock(&q->lock);
    if (q->is_closed)
        rc = RECTO_ECANCELED;
    else if (q->n == q->cap)
        rc = RECTO_EAGAIN;
    else
        push(q, item);
    pthread_mutex_unlock(&q->lock);
    return rc;
}

int queue_put_wait(struct queue *q, void *item)
{
    int rc = 0;

    pthread_mutex_lock(&q->lock);
    while (q->n == q->cap && !q->is_closed)
        pthread_cond_wait(&q->has_room, &q->lock);
    if (q->is_closed)
        rc = RECTO_ECANCELED;
    else
        push(q, item);
    pthread_mutex_unlock(&q->lock);
    return rc;
}

void *queue_get(struct queue *q, int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms > 0 ? wait_ms : 0);
    void *item = NULL;

    pthread_mutex_lock(&q->lock);
    while (q->n == 0 && !q->is_closed && wait_ms) {
        if (wait_ms < 0)
            pthread_cond_wait(&q->has_item, &q->lock);
        else if (pthread_cond_timedwait(&q->has_item, &q->lock, &until) == ETIMEDOUT)
            break;
    }
    if (q->n) {
        item = q->item[q->head];
        q->head = (q->head + 1) % q->cap;
        q->n--;
        pthread_cond_signal(&q->has_room);
    }
    pthread_mutex_unlock(&q->lock);
    return item;
}

int queue_len(struct queue *q)
{
    int n;

    pthread_mutex_lock(&q->lock);
    n = q->n;
    pthread_mutex_unlock(&q->lock);
    return n;
}

void queue_stop(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_closed = true;
    pthread_cond_broadcast(&q->has_item);
    pthread_cond_broadcast(&q->has_room);
    pthread_mutex_unlock(&q->lock);
}
