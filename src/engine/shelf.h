/* One queue before several engines: pages wait here, by the policy of waiting.h, until an engine has a free place.
 *
 * Any thread puts, engines take.  Who has fewer pages takes first, so pages go where places are free; an engine that loses its
 * device puts back what it had. */
#ifndef RECTO_ENGINE_SHELF_H
#define RECTO_ENGINE_SHELF_H

#include "engine/request.h"

struct shelf;

/* cap: pages that wait, at most; shelf_return is not held to it. */
struct shelf *shelf_open(int cap, int n_engine);
void shelf_close(struct shelf *s); /* nothing may be in it; NULL is fine */

/* RECTO_EAGAIN when full (or wait for room), RECTO_ECANCELED after shelf_stop. */
int shelf_put(struct shelf *s, struct request *q);
int shelf_put_wait(struct shelf *s, struct request *q);
/* Refuse new pages and wake all who wait. */
void shelf_stop(struct shelf *s);
/* What is left, one by one, after shelf_stop; NULL: no more. */
struct request *shelf_left(struct shelf *s);
int shelf_count(struct shelf *s);

/* ---- by an engine ---- */
/* What an engine has room for: pages of these classes.  n_in: pages it has. */
struct shelf_room {
    bool interactive, others, retries;
    int n_in;
};
/* The page that comes next for it; cancelled and late pages come at once, to be ended.  NULL: none within wait_ms, or others have
 * fewer pages and come first. */
struct request *shelf_take(struct shelf *s, int engine, struct shelf_room room, int64_t now_ns,
                           int wait_ms);
/* A page that an engine could not finish, to the front of its job. */
void shelf_return(struct shelf *s, struct request *q);
/* The engine takes no more; how many others are left. */
int shelf_leave(struct shelf *s, int engine);
int shelf_engines(struct shelf *s);

#endif
