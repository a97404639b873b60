/* The tiles of AMX as the files of the set share them. */
#ifndef RECTO_BACKEND_CPU_X86_AMX_H
#define RECTO_BACKEND_CPU_X86_AMX_H

#include <stdbool.h>

#define AMX_ROWS  16
#define AMX_BYTES 1024 /* of a tile */
#define AMX_LINE  64   /* of a row of a tile */

/* Give this thread's tiles their sizes, if they have others:
 *   0 1 4    upper rows
 *   2 3 5    lower rows
 *   4 5      `depth` bytes a row: inputs
 *   6 7      depth / 4 rows: weights
 * All others have rows of 64 bytes.  upper, lower 1 to 16; depth 32 or 64. */
void amx_shape(int upper, int lower, int depth);

/* A product is done: tiles are let go of unless its thread is between begin and end (kern.h). */
void amx_done(void);

/* What was written to p is in memory before a tile or the sizes of tiles are read from there: gcc 12
 * does not know that the instructions do that. */
static inline void amx_written(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

#endif
