/* A bounded queue of pointers between threads (any number of each side). What is put belongs to whoever gets it. */
#ifndef RECTO_BASE_QUEUE_H
#define RECTO_BASE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t has_item, has_room;
    void **item;
    int cap, head, n;
    bool is_closed;
};

void queue_open(struct queue *q, int cap);
void queue_close(struct queue *q); /* free; no thread may still wait in it */

/* 0, or RECTO_EAGAIN when full, or RECTO_ECANCELED after queue_stop. */
int queue_put(struct queue *q, void *item);
/* As queue_put, but waits for room. */
int queue_put_wait(struct queue *q, void *item);
/* The oldest item; NULL when none came within wait_ms (0: do not wait, -1: for ever), or stopped and empty. */
void *queue_get(struct queue *q, int wait_ms);
int queue_len(struct queue *q);
/* Refuse new items and wake every waiter; what is inside can still be taken out. */
void queue_stop(struct queue *q);

#endif
