#include "page/patience.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>

#define SLICE_NS  ((int64_t)200000000)
#define NS_PER_MS 1000000

struct patience patience_of(int ms)
{
    return (struct patience){(int64_t)ms * NS_PER_MS};
}

int patience_poll(struct patience *w, struct pollfd *p, int n)
{
    int64_t slice = MIN(MAX(w->left_ns, 0), SLICE_NS), start = clock_ns();
    int ready = poll(p, (nfds_t)n, (int)((slice + NS_PER_MS - 1) / NS_PER_MS));

    if (ready > 0)
        return ready;
    if (ready < 0 && errno != EINTR && errno != EAGAIN)
        return -1;
    if (w->left_ns <= 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    w->left_ns -= MIN(clock_ns() - start, slice);
    return 0;
}
