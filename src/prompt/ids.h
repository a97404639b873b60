/* A growing array of token ids. */
#ifndef RECTO_PROMPT_IDS_H
#define RECTO_PROMPT_IDS_H

#include "base/mem.h"

#include <stdlib.h>

struct ids {
    int32_t *id;
    int n, cap;
};

/* Append one id. Callers bound how many: a text has at most one id a byte. */
static inline void ids_add(struct ids *a, int32_t id)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? a->cap * 2 : 64;
        a->id = mem_grow(a->id, (size_t)a->cap, sizeof(*a->id));
    }
    a->id[a->n++] = id;
}

/* Free; the array is empty and usable afterwards. */
static inline void ids_reset(struct ids *a)
{
    free(a->id);
    *a = (struct ids){0};
}

#endif
