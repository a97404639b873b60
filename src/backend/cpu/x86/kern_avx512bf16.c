/* AVX512-BF16: VDPBF16PS adds two bf16 products to each of 16 fp32 sums, 64 FLOP an instruction.
 * It rounds each of its two steps to nearest even and takes subnormals as zero (Intel SDM volume
 * 2C, VDPBF16PS). */
#include "backend/cpu/kern_rows.h"

#include "backend/cpu/x86/tile.h"

#include <immintrin.h>

TILE_INLINE __m512bh load_pairs(const uint16_t *w)
{
    return (__m512bh)_mm512_loadu_si512(w);
}

TILE_INLINE __m512bh broadcast_pair(const uint16_t *x)
{
    int pair;

    memcpy(&pair, x, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

TILE_INLINE void tile_bb(const struct mul *m, int row, int panel, int rows, int panels)
{
    const uint16_t *x = (const uint16_t *)m->x + row * m->x_stride;
    const uint16_t *w = (const uint16_t *)m->w + panel * m->w_stride;
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m512 acc[6][4];
    __m512bh b[4];

    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            acc[r][p] = m->add ? _mm512_loadu_ps(y + r * m->y_stride + p * PANEL)
                               : _mm512_setzero_ps();
        }
    }
    for (int64_t k = 0; k < m->k; k += 2, x += 2, w += 2 * PANEL) {
        UNROLL for (int p = 0; p < panels; p++)
        {
            b[p] = load_pairs(w + p * m->w_stride);
        }
        UNROLL for (int r = 0; r < rows; r++)
        {
            __m512bh a = broadcast_pair(x + r * m->x_stride);

            UNROLL for (int p = 0; p < panels; p++)
            {
                acc[r][p] = _mm512_dpbf16_ps(acc[r][p], a, b[p]);
            }
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            _mm512_storeu_ps(y + r * m->y_stride + p * PANEL, acc[r][p]);
        }
    }
}

TILE_MUL_6X4(avx512bf16_mul_bb, tile_bb)

void cpu_kern_avx512bf16(struct cpu_kern *k)
{
    k->name = "avx512bf16";
    k->mul_bb = avx512bf16_mul_bb;
    k->has_bb = true;
    rows_fill(k); /* compiled here, they round in one instruction */
}
