/* The one reader of an engine's events.
 *
 * recto_poll hands the events of all requests to whoever calls it. The reader is the one thread that calls it, and hands each
 * event to the function that was given at submit. Chat and jobs both go through it. Any thread may call these functions, the
 * handed-over ones too. */
#ifndef RECTO_SERVER_READER_H
#define RECTO_SERVER_READER_H

#include "recto.h"

struct reader;

/* Called on the reader's thread, in the order of the request's events; must not block, since all requests wait for it. ev is
 * reset afterwards; to keep its page or text, take it and set ev->page or ev->text to NULL. RECTO_EVENT_DONE is a request's
 * last call, and always comes. */
typedef void reader_fn(void *ctx, struct recto_event *ev);

/* Nobody else may poll r from here to reader_end. RECTO_ENOMEM: no thread. */
int reader_start(struct reader **out, struct recto *r);
/* Cancels what is left, hands out its last events, and returns when all is said. NULL is fine. No submit may run or follow. */
void reader_end(struct reader *rd);

/* recto_submit, whose errors it has (RECTO_EAGAIN: try again when an event has come). fn may be called before it returns. */
int reader_submit(struct reader *rd, const struct recto_input *in, const struct recto_options *o,
                  reader_fn *fn, void *ctx, uint64_t *request);
/* recto_cancel: events go on until RECTO_EVENT_DONE. Unknown or finished: no effect. */
void reader_cancel(struct reader *rd, uint64_t request);
/* Requests that have not had their last event. */
int reader_open_requests(struct reader *rd);

#endif
