/* How long to wait for another process that neither answers nor ends: a budget of waiting, not a point in time. A limit on CPU time
 * is what ends a page that costs too much (helper/sandbox.h); this is the guard behind it, for a process that sleeps.
 *
 * Only time spent waiting counts, slice by slice, so what this process did not see (it was stopped, or the whole machine was) is not
 * held against the other: its answer may have come meanwhile. */
#ifndef RECTO_PAGE_PATIENCE_H
#define RECTO_PAGE_PATIENCE_H

#include <poll.h>
#include <stdint.h>

struct patience {
    int64_t left_ns;
};

struct patience patience_of(int ms);
/* poll(2) on p[0..n) for a slice of what is left. > 0: something is ready. 0: not yet, ask again. -1: errno says what is wrong
 * (never EINTR or EAGAIN); ETIMEDOUT: nothing is left. What is ready is always seen, even when nothing is left. */
int patience_poll(struct patience *w, struct pollfd *p, int n);

#endif
