/* What was committed last, as the text that clients of event streams are told: a thousand of them are told of it without the
 * store, its thread or a word said a thousand times.  Older events are in the log.  Safe from any thread. */
#ifndef RECTO_SERVER_RECENT_H
#define RECTO_SERVER_RECENT_H

#include "text.h"

#include <stdbool.h>
#include <stdint.h>

struct recent;
struct jobs_event;

struct recent *recent_open(void);
void recent_close(struct recent *r);
/* The newest number of the log, as it was after recent_add had begun to be called; before that nothing is known here. */
void recent_begin(struct recent *r, uint64_t last);
/* Events come in order, each once. */
void recent_add(struct recent *r, const struct jobs_event *ev);
/* The newest number. */
uint64_t recent_last(struct recent *r);
/* Add to out what was committed behind *seq, and move *seq on; it ends early once out has `enough` bytes. owner, job NULL:
 * everybody's, all jobs. False: some of it is not here any more; *seq stays. */
bool recent_since(struct recent *r, uint64_t *seq, const char *owner, const char *job,
                  size_t enough, struct text *out);
/* Is an event of the job behind seq known of here? */
bool recent_has(struct recent *r, uint64_t seq, const char *job);

#endif
