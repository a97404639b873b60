/* Time: monotonic for intervals, wall for dates. */
#ifndef RECTO_SERVER_CLOCK_H
#define RECTO_SERVER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_mono_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Milliseconds of the monotonic clock. */
static inline int64_t clock_ms(void)
{
    return clock_mono_ns() / 1000000;
}

/* Milliseconds since 1970. */
static inline int64_t clock_wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
