/* Events on their way to recto_poll: an unbounded list, since what makes them (pages in flight) is bounded. */
#ifndef RECTO_EVENT_H
#define RECTO_EVENT_H

#include "recto.h"

#include <pthread.h>

struct event_node;

struct event_list {
    pthread_mutex_t lock;
    pthread_cond_t has_event;
    struct event_node *first, *last;
};

void event_list_init(struct event_list *l);
void event_list_reset(struct event_list *l); /* with whatever is still in it */
/* What ev owns (text, page) goes over to the list. */
void event_push(struct event_list *l, struct recto_event ev);
/* As recto_poll. */
int event_pop(struct event_list *l, struct recto_event *ev, int wait_ms);

#endif
