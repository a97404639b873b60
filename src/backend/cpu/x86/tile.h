/* Cuts a product into tiles of TILE_ROWS x TILE_PANELS or less and calls the variant compiled
 * for each size, so that all accumulators stay in registers.  A kernel file defines the two
 * sizes and an always-inline
 *     tile(const struct mul *m, int row, int panel, int rows, int panels)
 * and then names TILE_MUL(name, tile). */
#ifndef RECTO_BACKEND_CPU_X86_TILE_H
#define RECTO_BACKEND_CPU_X86_TILE_H

#include "backend/cpu/kern.h"
#include "base/mem.h"

#define TILE_INLINE static inline __attribute__((always_inline))

/* Unrolled, a tile's accumulators become registers.  Under a sanitizer nobody needs the speed,
 * and compiling unrolled and instrumented tiles takes minutes. */
#ifdef __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNROLL   _Pragma("clang loop unroll(disable)")
#define UNROLL16 UNROLL
#else
#define UNROLL   _Pragma("clang loop unroll(full)")
#define UNROLL16 UNROLL
#endif
#else
#define UNROLL   _Pragma("GCC unroll 8")
#define UNROLL16 _Pragma("GCC unroll 16")
#endif

/* What a tile asks for while it multiplies. Its own panels come from memory when it is the first
 * over them: streams too short for the hardware to follow well, so lines are asked for AHEAD bytes
 * before they are used, and near the end of the panels those that come next. Later tiles find their
 * panels in the second cache and have time: they ask for one of the next panels each. */
#define AHEAD 2048

/* What comes after panels [panel, panel + panels) at w, stride bytes apart. */
TILE_INLINE const char *panels_after(const struct mul *m, const char *w, int panel, int panels,
                                     int64_t stride)
{
    return panel + panels < m->n_panel || !m->next ? w + panels * stride : m->next;
}

/* Bytes of a panel that are read before the next ones are asked for: none of short panels. */
TILE_INLINE int64_t own_bytes(int64_t bytes)
{
    return bytes > 2 * AHEAD ? bytes - AHEAD : 0;
}

typedef void tile_fn(const struct mul *m, int row, int panel);

#define TILE_ONE(name, tile, r, p)                                        \
    static void name##_##r##x##p(const struct mul *m, int row, int panel) \
    {                                                                     \
        tile(m, row, panel, r, p);                                        \
    }

#define TILE_ROW4(name, tile, r) \
    TILE_ONE(name, tile, r, 1)   \
    TILE_ONE(name, tile, r, 2)   \
    TILE_ONE(name, tile, r, 3)   \
    TILE_ONE(name, tile, r, 4)

#define TILE_ROW2(name, tile, r) \
    TILE_ONE(name, tile, r, 1)   \
    TILE_ONE(name, tile, r, 2)

#define TILE_NAMES2(name, r)           \
    {                                  \
        name##_##r##x1, name##_##r##x2 \
    }

#define TILE_NAMES4(name, r)                                           \
    {                                                                  \
        name##_##r##x1, name##_##r##x2, name##_##r##x3, name##_##r##x4 \
    }

/* All sizes up to 6 x 4, and the product over them. */
#define TILE_MUL_6X4(name, tile)                                                       \
    TILE_ROW4(name, tile, 1)                                                           \
    TILE_ROW4(name, tile, 2)                                                           \
    TILE_ROW4(name, tile, 3)                                                           \
    TILE_ROW4(name, tile, 4)                                                           \
    TILE_ROW4(name, tile, 5)                                                           \
    TILE_ROW4(name, tile, 6)                                                           \
    static void name(const struct mul *m)                                              \
    {                                                                                  \
        static tile_fn *const fn[6][4] = {TILE_NAMES4(name, 1), TILE_NAMES4(name, 2),  \
                                          TILE_NAMES4(name, 3), TILE_NAMES4(name, 4),  \
                                          TILE_NAMES4(name, 5), TILE_NAMES4(name, 6)}; \
                                                                                       \
        for (int row = 0; row < m->rows; row += 6)                                     \
            fn[MIN(m->rows - row, 6) - 1][m->n_panel - 1](m, row, 0);                  \
    }

/* 24 sums of two accumulators each: up to 3 rows by 4 panels, more rows by 2, so that weights that
 * come from afar are read for 6 rows at once. */
#define TILE_MUL_6X2(name, tile)                                                        \
    TILE_ROW4(name, tile, 1)                                                            \
    TILE_ROW4(name, tile, 2)                                                            \
    TILE_ROW4(name, tile, 3)                                                            \
    TILE_ROW2(name, tile, 4)                                                            \
    TILE_ROW2(name, tile, 5)                                                            \
    TILE_ROW2(name, tile, 6)                                                            \
    static void name(const struct mul *m)                                               \
    {                                                                                   \
        static tile_fn *const low[3][4] = {TILE_NAMES4(name, 1), TILE_NAMES4(name, 2),  \
                                           TILE_NAMES4(name, 3)};                       \
        static tile_fn *const high[3][2] = {TILE_NAMES2(name, 4), TILE_NAMES2(name, 5), \
                                            TILE_NAMES2(name, 6)};                      \
                                                                                        \
        for (int row = 0, n; row < m->rows; row += n) {                                 \
            n = MIN(m->rows - row, 6);                                                  \
            if (n <= 3)                                                                 \
                low[n - 1][m->n_panel - 1](m, row, 0);                                  \
            for (int p = 0; n > 3 && p < m->n_panel; p += 2)                            \
                high[n - 4][MIN(m->n_panel - p, 2) - 1](m, row, p);                     \
        }                                                                               \
    }

/* One row or two by one panel: four accumulators for each. */
#define TILE_MUL_2X1(name, tile)                       \
    TILE_ONE(name, tile, 1, 1)                         \
    TILE_ONE(name, tile, 2, 1)                         \
    static void name(const struct mul *m)              \
    {                                                  \
        for (int p = 0; p < m->n_panel; p++)           \
            for (int row = 0; row < m->rows; row += 2) \
                if (m->rows - row == 1)                \
                    name##_1x1(m, row, p);             \
                else                                   \
                    name##_2x1(m, row, p);             \
    }

/* All sizes up to 6 x 1: for sets with 16 registers of 8 lanes. */
#define TILE_MUL_6X1(name, tile)                                            \
    TILE_ONE(name, tile, 1, 1)                                              \
    TILE_ONE(name, tile, 2, 1)                                              \
    TILE_ONE(name, tile, 3, 1)                                              \
    TILE_ONE(name, tile, 4, 1)                                              \
    TILE_ONE(name, tile, 5, 1)                                              \
    TILE_ONE(name, tile, 6, 1)                                              \
    static void name(const struct mul *m)                                   \
    {                                                                       \
        static tile_fn *const fn[6] = {name##_1x1, name##_2x1, name##_3x1,  \
                                       name##_4x1, name##_5x1, name##_6x1}; \
                                                                            \
        for (int p = 0; p < m->n_panel; p++)                                \
            for (int row = 0; row < m->rows; row += 6)                      \
                fn[MIN(m->rows - row, 6) - 1](m, row, p);                   \
    }

#endif
