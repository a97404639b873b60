/* Small allocations that cannot fail, and sizes that cannot overflow.
 *
 * mem_* abort with one line when the system has no memory left for a few kilobytes: nothing sensible can follow.  What a
 * user's input can make large (weights, rasters, KV) is taken with malloc/mmap and checked where it is taken. */
#ifndef RECTO_BASE_MEM_H
#define RECTO_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t n);                      /* n bytes, uninitialised      */
void *mem_zero(size_t n, size_t size);          /* n*size bytes of zero        */
void *mem_grow(void *p, size_t n, size_t size); /* realloc to n*size      */
/* n bytes for a raster, uninitialised, to be freed by free(); NULL when there is not as much. From 4 MiB on the kernel is asked
 * for huge pages: the first touch of a 34 MB page in small ones costs more than its resizing. */
void *mem_big(size_t n);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/* *out = a*b; 0, or -1 if it does not fit. */
static inline int mem_mul(size_t a, size_t b, size_t *out)
{
    return __builtin_mul_overflow(a, b, out) ? -1 : 0;
}

static inline int64_t div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

#endif
