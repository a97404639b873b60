#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static void *must(void *p, size_t n)
{
    if (!p && n) {
        fprintf(stderr, "recto: out of memory (%zu bytes)\n", n);
        abort();
    }
    return p;
}

void *mem_alloc(size_t n)
{
    return must(malloc(n ? n : 1), n);
}

void *mem_zero(size_t n, size_t size)
{
    return must(calloc(n ? n : 1, size ? size : 1), n * size);
}

void *mem_grow(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (mem_mul(n, size, &bytes))
        must(NULL, SIZE_MAX);
    return must(realloc(p, bytes ? bytes : 1), bytes);
}

void *mem_big(size_t n)
{
    void *p;

    if (n < 2 * HUGE_PAGE || n > SIZE_MAX - HUGE_PAGE)
        return malloc(n ? n : 1);
    n = (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    p = aligned_alloc(HUGE_PAGE, n);
    if (p)
        madvise(p, n, MADV_HUGEPAGE); /* a wish: its failure costs only time */
    return p;
}

char *mem_strndup(const char *s, size_t n)
{
    char *p = mem_alloc(n + 1);

    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}
