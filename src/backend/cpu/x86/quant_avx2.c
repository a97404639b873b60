/* Products by int8 and int4 weights with AVX2: bytes are widened to 16 bits and multiplied in
 * pairs, VPMADDWD.  VPMADDUBSW, which takes bytes, would saturate. A register holds 4 columns with
 * two partial sums each, so a panel has four, which are folded at the end of a group. */
#include "backend/cpu/quant_rows.h"

#include "backend/cpu/x86/tile.h"

#include <immintrin.h>

/* The 16 bytes of 4 columns as 16-bit numbers */
TILE_INLINE __m256i widen(const uint8_t *w)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)w));
}

/* Four 16-bit inputs, for each of 4 columns */
TILE_INLINE __m256i four(const int16_t *x)
{
    int64_t bits;

    memcpy(&bits, x, sizeof bits);
    return _mm256_set1_epi64x(bits);
}

TILE_INLINE void dot8(__m256i acc[2][4], const int16_t *const x[2], const uint8_t *w, int rows)
{
    for (int k = 0; k < QUANT_GROUP8; k += 4, w += 4 * PANEL)
        UNROLL for (int c = 0; c < 4; c++)
        {
            __m256i b = widen(w + 16 * c);

            UNROLL for (int r = 0; r < rows; r++)
            {
                acc[r][c] = _mm256_add_epi32(acc[r][c], _mm256_madd_epi16(b, four(x[r] + k)));
            }
        }
}

TILE_INLINE void dot4(__m256i acc[2][4], const int16_t *const x[2], const uint8_t *w, int rows)
{
    for (int k = 0; k < QUANT_GROUP4; k += 8, w += 4 * PANEL)
        UNROLL for (int c = 0; c < 4; c++)
        {
            __m256i b = widen(w + 16 * c), low = _mm256_and_si256(b, _mm256_set1_epi16(15)),
                    high = _mm256_srli_epi16(b, 4);

            UNROLL for (int r = 0; r < rows; r++)
            {
                __m256i s = _mm256_add_epi32(_mm256_madd_epi16(low, four(x[r] + k)),
                                             _mm256_madd_epi16(high, four(x[r] + k + 4)));

                acc[r][c] = _mm256_add_epi32(acc[r][c], s);
            }
        }
}

/* Eight columns: their two partial sums added */
TILE_INLINE __m256i fold(__m256i a, __m256i b)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8);
}

TILE_INLINE __m256 scales(const uint16_t *s)
{
    __m256i h = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)s));

    return _mm256_castsi256_ps(_mm256_slli_epi32(h, 16));
}

/* y += (dot + start) * (scale * scale_x) of one row */
TILE_INLINE void add_group(__m256 y[2], const __m256i acc[4], const uint16_t *scale,
                           struct quant_head head)
{
    __m256i start = _mm256_set1_epi32(head.start);
    __m256 of_x = _mm256_set1_ps(head.scale);

    UNROLL for (int h = 0; h < 2; h++)
    {
        __m256 dot = _mm256_cvtepi32_ps(_mm256_add_epi32(fold(acc[2 * h], acc[2 * h + 1]), start));

        y[h] = _mm256_fmadd_ps(dot, _mm256_mul_ps(scales(scale + 8 * h), of_x), y[h]);
    }
}

TILE_INLINE void dot(__m256i acc[2][4], const int16_t *const x[2], const uint8_t *q, int rows,
                     enum weight_kind kind)
{
    UNROLL for (int i = 0; i < 4; i++)
    {
        acc[0][i] = acc[1][i] = _mm256_setzero_si256();
    }
    if (kind == WEIGHT_INT4)
        dot4(acc, x, q, rows);
    else
        dot8(acc, x, q, rows);
}

TILE_INLINE void tile(const struct mul *m, int row, int panel, int rows, enum weight_kind kind)
{
    int group = kind == WEIGHT_INT4 ? QUANT_GROUP4 : QUANT_GROUP8,
        bytes = kind == WEIGHT_INT4 ? group * PANEL / 2 : group * PANEL;
    const char *w = (const char *)m->w + panel * m->w_stride;
    const uint8_t *q = (const uint8_t *)w + quant_scale_bytes(m->k);
    const struct quant_head *head[2];
    const int16_t *x[2];
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m256 sum[2][2];

    UNROLL for (int r = 0; r < rows; r++)
    {
        head[r] = (const void *)((const char *)m->x + (row + r) * m->x_stride);
        for (int h = 0; h < 2; h++)
            sum[r][h] = m->add ? _mm256_loadu_ps(y + r * m->y_stride + 8 * h) : _mm256_setzero_ps();
    }
    x[0] = quant_numbers(head[0], m->k);
    x[1] = quant_numbers(head[rows - 1], m->k);
    for (int64_t g = 0; g < m->k; g++, q += bytes, x[0] += group, x[1] += group) {
        __m256i acc[2][4];

        dot(acc, x, q, rows, kind);
        UNROLL for (int r = 0; r < rows; r++)
        {
            add_group(sum[r], acc[r], (const uint16_t *)w + g * PANEL, head[r][g]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        _mm256_storeu_ps(y + r * m->y_stride, sum[r][0]);
        _mm256_storeu_ps(y + r * m->y_stride + 8, sum[r][1]);
    }
}

TILE_INLINE void tile_q8(const struct mul *m, int row, int panel, int rows, int panels)
{
    tile(m, row, panel, rows, WEIGHT_INT8);
}

TILE_INLINE void tile_q4(const struct mul *m, int row, int panel, int rows, int panels)
{
    tile(m, row, panel, rows, WEIGHT_INT4);
}

TILE_MUL_2X1(avx2_mul_q8, tile_q8)
TILE_MUL_2X1(avx2_mul_q4, tile_q4)

static void avx2_quantise(void *row, const float *x, int64_t n, int group)
{
    if (group == QUANT_GROUP4)
        quantise_plain(row, x, n, QUANT_GROUP4); /* a constant for the compiler */
    else
        quantise_plain(row, x, n, QUANT_GROUP8);
}

void cpu_quant_avx2(struct cpu_kern *k)
{
    k->quantise = avx2_quantise;
    k->mul_q8 = avx2_mul_q8;
    k->mul_q4 = avx2_mul_q4;
}
