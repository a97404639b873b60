/* Monotonic time; never a date. */
#ifndef RECTO_BASE_CLOCK_H
#define RECTO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double clock_ms_since(int64_t start_ns)
{
    return (double)(clock_ns() - start_ns) / 1e6;
}

/* ms from now, for pthread_cond_timedwait on a condition that uses CLOCK_MONOTONIC. */
static inline struct timespec clock_deadline(int ms)
{
    int64_t t = clock_ns() + (int64_t)ms * 1000000;

    return (struct timespec){.tv_sec = (time_t)(t / 1000000000), .tv_nsec = (long)(t % 1000000000)};
}

#endif
