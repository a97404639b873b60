/* The event streams, and those who wait for a job to change: everybody who is told what the store has committed.
 *
 * One thread tells all clients, in waves: each is told what was committed since its last id, from the last few thousand events that
 * are kept in memory (recent.h) or, if it is further behind, from the log in pieces. A client that takes nothing is told nothing
 * more until it does. So ids rise strictly and none is left out, and a commit costs the same however many listen. */
#ifndef RECTO_SERVER_HUB_H
#define RECTO_SERVER_HUB_H

#include "http.h"

struct hub;
struct server;
struct jobs;

struct hub *hub_open(struct server *s);
/* The store is there: follow it. -1: cannot. */
int hub_follow(struct hub *h, struct jobs *j);
/* Tell all clients good-bye, let all who wait go, stop following. Before http_close and jobs_close. */
void hub_bye(struct hub *h);
void hub_close(struct hub *h);

/* What a client wants to hear. */
struct hub_wish {
    const char *owner, *job; /* NULL: everybody's; all jobs */
    uint64_t after;
    bool from_now;         /* instead of `after` */
    bool stats;            /* the figures of /v1/stats, each second */
    const char *watch_job; /* the text of this page while it is read; NULL: of none */
    int watch_page;
};
/* Answer q with a stream. Of a watched job that is not there, or another's, nothing is said. */
void hub_subscribe(struct hub *h, struct request *q, const struct hub_wish *wish);
/* Run q's handler again when the job has an event after `seq`, or after so many seconds; the caller has
 * returned RUN_LATER. */
void hub_wait(struct hub *h, struct request *q, const char *job, uint64_t seq, int seconds);
/* Once a second: figures, time-outs. */
void hub_tick(void *ctx);

#endif
