/* AVX-512: a panel is one register of 16 lanes; a tile is at most 6 rows by 4 panels, 24
 * accumulators of 32 registers.  The weight panels are loaded once for all rows, the inputs are
 * broadcast from memory.  No software prefetch here: on Zen 4 it made a decode step
 * 8 % slower; what it brings on Zen 5 is in tile.h. */
#include "backend/cpu/kern_rows.h"

#include "backend/cpu/x86/tile.h"

#include <immintrin.h>

TILE_INLINE void load_acc(__m512 acc[6][4], const struct mul *m, const float *y, int rows,
                          int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            acc[r][p] = m->add ? _mm512_loadu_ps(y + r * m->y_stride + p * PANEL)
                               : _mm512_setzero_ps();
        }
    }
}

TILE_INLINE void store_acc(__m512 acc[6][4], const struct mul *m, float *y, int rows, int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            _mm512_storeu_ps(y + r * m->y_stride + p * PANEL, acc[r][p]);
        }
    }
}

/* acc[r][p] += x[r] * w[p] for one k */
TILE_INLINE void step(__m512 acc[6][4], const float *x, int64_t x_stride, const __m512 w[4],
                      int rows, int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        __m512 b = _mm512_set1_ps(x[r * x_stride]);

        UNROLL for (int p = 0; p < panels; p++)
        {
            acc[r][p] = _mm512_fmadd_ps(b, w[p], acc[r][p]);
        }
    }
}

TILE_INLINE void tile_ff(const struct mul *m, int row, int panel, int rows, int panels)
{
    const float *x = (const float *)m->x + row * m->x_stride;
    const float *w = (const float *)m->w + panel * m->w_stride;
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m512 acc[6][4], b[4];

    load_acc(acc, m, y, rows, panels);
    for (int64_t k = 0; k < m->k; k++, x++, w += PANEL) {
        UNROLL for (int p = 0; p < panels; p++)
        {
            b[p] = _mm512_loadu_ps(w + p * m->w_stride);
        }
        step(acc, x, m->x_stride, b, rows, panels);
    }
    store_acc(acc, m, y, rows, panels);
}

/* A pair of bf16 in 32 bits: the first is the lower half. */
TILE_INLINE __m512 first_of_pairs(const uint16_t *w)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(w), 16));
}

TILE_INLINE __m512 second_of_pairs(const uint16_t *w)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_loadu_si512(w), _mm512_set1_epi32((int)0xFFFF0000)));
}

TILE_INLINE void tile_fb(const struct mul *m, int row, int panel, int rows, int panels)
{
    const float *x = (const float *)m->x + row * m->x_stride;
    const uint16_t *w = (const uint16_t *)m->w + panel * m->w_stride;
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m512 acc[6][4], b[4];

    load_acc(acc, m, y, rows, panels);
    for (int64_t k = 0; k < m->k; k += 2, x += 2, w += 2 * PANEL) {
        UNROLL for (int p = 0; p < panels; p++)
        {
            b[p] = first_of_pairs(w + p * m->w_stride);
        }
        step(acc, x, m->x_stride, b, rows, panels);
        if (k + 1 == m->k)
            break;
        UNROLL for (int p = 0; p < panels; p++)
        {
            b[p] = second_of_pairs(w + p * m->w_stride);
        }
        step(acc, x + 1, m->x_stride, b, rows, panels);
    }
    store_acc(acc, m, y, rows, panels);
}

TILE_MUL_6X4(avx512_mul_ff, tile_ff)
TILE_MUL_6X4(avx512_mul_fb, tile_fb)

void cpu_kern_avx512(struct cpu_kern *k)
{
    k->name = "avx512";
    k->mul_ff = avx512_mul_ff;
    k->mul_fb = avx512_mul_fb;
    rows_fill(k);
}
