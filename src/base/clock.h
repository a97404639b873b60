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

#endif
