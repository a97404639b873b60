/* Threads that run handlers which may block, so that the I/O threads never do. */
#ifndef RECTO_SERVER_WORKERS_H
#define RECTO_SERVER_WORKERS_H

struct workers;
struct request;

struct workers *workers_open(int n, void (*run)(void *ctx, struct request *q), void *ctx);
/* Requests wait in order; linked by request.next. */
void workers_put(struct workers *w, struct request *q);
/* Finish what waits and join. NULL is fine. */
void workers_close(struct workers *w);

#endif
