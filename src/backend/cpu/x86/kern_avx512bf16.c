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

/* acc += x * w for the pairs from k on, up to `to`, asking for lines of n_fetch panels: fetch is
 * where that of k = 0 is */
TILE_INLINE void steps(__m512 acc[6][4], const struct mul *m, const uint16_t *x, const uint16_t *w,
                       int64_t k, int64_t to, const uint16_t *fetch, int n_fetch, int rows,
                       int panels)
{
    for (x += k, w += k * PANEL, fetch += k * PANEL; k < to;
         k += 2, x += 2, w += 2 * PANEL, fetch += 2 * PANEL) {
        __m512bh b[4];

        UNROLL for (int p = 0; p < panels; p++)
        {
            b[p] = load_pairs(w + p * m->w_stride);
        }
        UNROLL for (int p = 0; p < n_fetch; p++)
        {
            if (n_fetch > 1)
                _mm_prefetch(fetch + p * m->w_stride, _MM_HINT_T0);
            else
                _mm_prefetch(fetch, _MM_HINT_T1);
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
}

TILE_INLINE void tile_bb(const struct mul *m, int row, int panel, int rows, int panels)
{
    const uint16_t *x = (const uint16_t *)m->x + row * m->x_stride;
    const uint16_t *w = (const uint16_t *)m->w + panel * m->w_stride;
    const uint16_t *next = (const void *)panels_after(m, (const char *)w, panel, panels,
                                                      2 * m->w_stride);
    const int64_t own = own_bytes(m->k * 2 * PANEL) / 2 / PANEL;
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m512 acc[6][4];

    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            acc[r][p] = m->add ? _mm512_loadu_ps(y + r * m->y_stride + p * PANEL)
                               : _mm512_setzero_ps();
        }
    }
    if (row == 0) {
        steps(acc, m, x, w, 0, own, w + AHEAD / 2, panels, rows, panels);
        steps(acc, m, x, w, own, m->k, next - own * PANEL, panels, rows, panels);
    } else {
        steps(acc, m, x, w, 0, m->k, next + (row / 6 - 1) % panels * m->w_stride, 1, rows, panels);
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
