/* An arena hands out memory that is given back all at once, or down to a mark.
 *
 * An arena without a base only counts: every arena_take returns NULL, and `peak` tells how large the real one must be.
 * That is how a dry run of the forward pass sizes its scratch before anything is allocated. Blocks are 64-byte aligned. */
#ifndef RECTO_BASE_ARENA_H
#define RECTO_BASE_ARENA_H

#include <stddef.h>

#define ARENA_ALIGN 64

struct arena {
    char *base; /* NULL: count only; borrowed, the owner frees it */
    size_t cap, used, peak;
};

/* NULL when counting, or when the arena is too small (then peak > cap: see arena_failed). */
void *arena_take(struct arena *a, size_t bytes);
static inline size_t arena_mark(const struct arena *a)
{
    return a->used;
}
static inline void arena_release(struct arena *a, size_t mark)
{
    a->used = mark;
}
static inline int arena_failed(const struct arena *a)
{
    return a->base && a->peak > a->cap;
}

#endif
