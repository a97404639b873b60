#include "event.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

struct event_node {
    struct recto_event ev;
    struct event_node *next;
};

void event_list_init(struct event_list *l)
{
    pthread_condattr_t attr;

    *l = (struct event_list){0};
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->has_event, &attr);
    pthread_condattr_destroy(&attr);
}

void event_list_reset(struct event_list *l)
{
    struct recto_event ev;

    while (event_pop(l, &ev, 0))
        recto_event_reset(&ev);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->has_event);
}

void event_push(struct event_list *l, struct recto_event ev)
{
    struct event_node *n = mem_zero(1, sizeof *n);

    n->ev = ev;
    pthread_mutex_lock(&l->lock);
    if (l->last)
        l->last->next = n;
    else
        l->first = n;
    l->last = n;
    pthread_cond_signal(&l->has_event);
    pthread_mutex_unlock(&l->lock);
}

/* Wait until there is an event or the time is over; lock is held. */
static void await(struct event_list *l, int wait_ms)
{
    struct timespec until = clock_deadline(wait_ms);

    while (!l->first && wait_ms) {
        if (wait_ms < 0)
            pthread_cond_wait(&l->has_event, &l->lock);
        else if (pthread_cond_timedwait(&l->has_event, &l->lock, &until) == ETIMEDOUT)
            return;
    }
}

int event_pop(struct event_list *l, struct recto_event *ev, int wait_ms)
{
    struct event_node *n;

    *ev = (struct recto_event){0};
    pthread_mutex_lock(&l->lock);
    await(l, wait_ms);
    n = l->first;
    if (n) {
        l->first = n->next;
        if (!l->first)
            l->last = NULL;
    }
    pthread_mutex_unlock(&l->lock);
    if (!n)
        return 0;
    *ev = n->ev;
    free(n);
    return 1;
}

void recto_event_reset(struct recto_event *ev)
{
    free(ev->text);
    if (ev->page) {
        recto_page_reset(ev->page);
        free(ev->page);
    }
    *ev = (struct recto_event){0};
}
