/* AVX2 and FMA: a panel is two registers of 8 lanes; a tile is at most 6 rows by 1 panel, 12
 * accumulators of 16. */
#include "backend/cpu/kern_rows.h"

#include "backend/cpu/x86/tile.h"

#include <immintrin.h>

TILE_INLINE void load_acc(__m256 acc[6][2], const struct mul *m, const float *y, int rows)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        acc[r][0] = m->add ? _mm256_loadu_ps(y + r * m->y_stride) : _mm256_setzero_ps();
        acc[r][1] = m->add ? _mm256_loadu_ps(y + r * m->y_stride + 8) : _mm256_setzero_ps();
    }
}

TILE_INLINE void store_acc(__m256 acc[6][2], const struct mul *m, float *y, int rows)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        _mm256_storeu_ps(y + r * m->y_stride, acc[r][0]);
        _mm256_storeu_ps(y + r * m->y_stride + 8, acc[r][1]);
    }
}

/* acc[r] += x[r] * w for one k */
TILE_INLINE void step(__m256 acc[6][2], const float *x, int64_t x_stride, __m256 w0, __m256 w1,
                      int rows)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        __m256 b = _mm256_broadcast_ss(x + r * x_stride);

        acc[r][0] = _mm256_fmadd_ps(b, w0, acc[r][0]);
        acc[r][1] = _mm256_fmadd_ps(b, w1, acc[r][1]);
    }
}

TILE_INLINE void tile_ff(const struct mul *m, int row, int panel, int rows, int panels)
{
    const float *x = (const float *)m->x + row * m->x_stride;
    const float *w = (const float *)m->w + panel * m->w_stride;
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m256 acc[6][2];

    load_acc(acc, m, y, rows);
    for (int64_t k = 0; k < m->k; k++, x++, w += PANEL) {
        step(acc, x, m->x_stride, _mm256_loadu_ps(w), _mm256_loadu_ps(w + 8), rows);
    }
    store_acc(acc, m, y, rows);
}

/* Eight pairs of bf16 in 32 bits each: the first is the lower half. */
TILE_INLINE __m256 first_of_pairs(const uint16_t *w)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)w), 16));
}

TILE_INLINE __m256 second_of_pairs(const uint16_t *w)
{
    return _mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256((const __m256i *)w),
                                                _mm256_set1_epi32((int)0xFFFF0000)));
}

TILE_INLINE void tile_fb(const struct mul *m, int row, int panel, int rows, int panels)
{
    const float *x = (const float *)m->x + row * m->x_stride;
    const uint16_t *w = (const uint16_t *)m->w + panel * m->w_stride;
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m256 acc[6][2];

    load_acc(acc, m, y, rows);
    for (int64_t k = 0; k < m->k; k += 2, x += 2, w += 2 * PANEL) {
        step(acc, x, m->x_stride, first_of_pairs(w), first_of_pairs(w + PANEL), rows);
        if (k + 1 == m->k)
            break;
        step(acc, x + 1, m->x_stride, second_of_pairs(w), second_of_pairs(w + PANEL), rows);
    }
    store_acc(acc, m, y, rows);
}

TILE_MUL_6X1(avx2_mul_ff, tile_ff)
TILE_MUL_6X1(avx2_mul_fb, tile_fb)

void cpu_kern_avx2(struct cpu_kern *k)
{
    k->name = "avx2";
    k->mul_ff = avx2_mul_ff;
    k->mul_fb = avx2_mul_fb;
    rows_fill(k);
}
