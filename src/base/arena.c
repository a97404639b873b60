#include "base/arena.h"

void *arena_take(struct arena *a, size_t bytes)
{
    size_t at = a->used;

    a->used += (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (a->used > a->peak)
        a->peak = a->used;
    if (!a->base || a->used > a->cap)
        return NULL;
    return a->base + at;
}
