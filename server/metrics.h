/* Figures for /metrics, in Prometheus' text format.  What happens here is counted here; what others know (engine, store,
 * device, process) is asked when somebody looks. Labels never carry ids, names of files or of keys. */
#ifndef RECTO_SERVER_METRICS_H
#define RECTO_SERVER_METRICS_H

#include "recto.h"
#include "text.h"

#include <stdint.h>

struct metrics;
struct route;
struct server;

struct metrics *metrics_open(void);
void metrics_close(struct metrics *m);

/* A request has ended: its route (NULL: none), status, seconds. */
void metrics_request(struct metrics *m, const struct route *r, int status, double seconds);
/* A request was answered by a fault of this code. */
void metrics_rejected(struct metrics *m, int fault);
/* A page has ended. */
enum metrics_source { FROM_CHAT, FROM_JOB, METRICS_SOURCES };
void metrics_page(struct metrics *m, enum metrics_source from, const struct recto_page *p);
/* A call was cancelled because its client left. */
void metrics_cancelled(struct metrics *m);
/* A client of an event stream: +1 comes, -1 goes; one that was cut off. */
void metrics_sse(struct metrics *m, int change);
void metrics_sse_dropped(struct metrics *m);

/* Everything there is, as text. */
void metrics_write(struct server *s, struct text *out);

#endif
