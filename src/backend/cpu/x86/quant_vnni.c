/* Products by int8 and int4 weights with AVX512-VNNI: VPDPBUSD adds four products of an unsigned
 * and a signed byte to each of 16 sums, 64 a time, exactly (Intel SDM volume 2C, VPDPBUSD).  An
 * input of 16 bits is 256 times a high byte plus a low byte, both signed, each with sums of its
 * own; four of the high and four of the low stand side by side.  So weights are read as bytes, once,
 * and a tile is at most 3 rows by 4 panels, 24 accumulators of 32 registers. */
#include "backend/cpu/quant_rows.h"

#include "backend/cpu/x86/tile.h"

#include <immintrin.h>

struct acc {
    __m512i high[3][4], low[3][4];
};

/* acc += x * b for 4 k; x: 4 high bytes, 4 low bytes of row r */
TILE_INLINE void step(struct acc *a, const char *const x[3], int64_t at, const __m512i b[4],
                      int rows, int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        int32_t halves[2];

        memcpy(halves, x[r] + at, sizeof halves);
        __m512i high = _mm512_set1_epi32(halves[0]), low = _mm512_set1_epi32(halves[1]);

        UNROLL for (int p = 0; p < panels; p++)
        {
            a->high[r][p] = _mm512_dpbusd_epi32(a->high[r][p], b[p], high);
            a->low[r][p] = _mm512_dpbusd_epi32(a->low[r][p], b[p], low);
        }
    }
}

TILE_INLINE void dot8(struct acc *a, const char *const x[3], const uint8_t *w, int64_t w_stride,
                      int rows, int panels)
{
    for (int k = 0; k < QUANT_GROUP8; k += 4, w += 4 * PANEL) {
        __m512i b[4];

        UNROLL for (int p = 0; p < panels; p++)
        {
            b[p] = _mm512_loadu_si512(w + p * w_stride);
        }
        step(a, x, 2 * k, b, rows, panels);
    }
}

TILE_INLINE void dot4(struct acc *a, const char *const x[3], const uint8_t *w, int64_t w_stride,
                      int rows, int panels)
{
    const __m512i mask = _mm512_set1_epi8(15);

    for (int k = 0; k < QUANT_GROUP4; k += 8, w += 4 * PANEL) {
        __m512i first[4], second[4];

        UNROLL for (int p = 0; p < panels; p++)
        {
            __m512i two = _mm512_loadu_si512(w + p * w_stride);

            first[p] = _mm512_and_si512(two, mask);
            second[p] = _mm512_and_si512(_mm512_srli_epi16(two, 4), mask);
        }
        step(a, x, 2 * k, first, rows, panels);
        step(a, x, 2 * k + 8, second, rows, panels);
    }
}

TILE_INLINE __m512 scales(const char *s)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)s));

    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

/* A tile's rows of input, and its sums over the groups so far. */
struct tile {
    const struct quant_head *head[3];
    const char *x[3];
    __m512 sum[3][4];
};

TILE_INLINE void tile_start(struct tile *t, const struct mul *m, int row, const float *y, int rows,
                            int panels)
{
    t->x[0] = t->x[1] = t->x[2] = NULL;
    UNROLL for (int r = 0; r < rows; r++)
    {
        t->head[r] = (const void *)((const char *)m->x + (row + r) * m->x_stride);
        t->x[r] = quant_numbers(t->head[r], m->k);
        UNROLL for (int p = 0; p < panels; p++)
        {
            t->sum[r][p] = m->add ? _mm512_loadu_ps(y + r * m->y_stride + p * PANEL)
                                  : _mm512_setzero_ps();
        }
    }
}

/* Sums of a group begin with what takes away the offset of its weights. */
TILE_INLINE void group_start(struct acc *a, const struct tile *t, int64_t g, int offset, int rows,
                             int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            a->high[r][p] = _mm512_setzero_si512();
            a->low[r][p] = _mm512_set1_epi32(-offset * t->head[r][g].sum);
        }
    }
}

/* sum += dot * (scale_w * scale_x) */
TILE_INLINE void group_add(struct tile *t, const struct acc *a, int64_t g, const char *w,
                           int64_t w_stride, int rows, int panels)
{
    UNROLL for (int p = 0; p < panels; p++)
    {
        __m512 of_w = scales(w + p * w_stride + g * PANEL * 2);

        UNROLL for (int r = 0; r < rows; r++)
        {
            __m512i dot = _mm512_add_epi32(_mm512_slli_epi32(a->high[r][p], 8), a->low[r][p]);
            __m512 scale = _mm512_mul_ps(of_w, _mm512_set1_ps(t->head[r][g].scale));

            t->sum[r][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), scale, t->sum[r][p]);
        }
    }
}

TILE_INLINE void tile(const struct mul *m, int row, int panel, int rows, int panels,
                      enum weight_kind kind)
{
    const int group = kind == WEIGHT_INT4 ? QUANT_GROUP4 : QUANT_GROUP8,
              bytes = kind == WEIGHT_INT4 ? group * PANEL / 2 : group * PANEL;
    const char *w = (const char *)m->w + panel * m->w_stride;
    const uint8_t *q = (const uint8_t *)w + quant_scale_bytes(m->k);
    float *y = m->y + row * m->y_stride + panel * PANEL;
    struct tile t;

    tile_start(&t, m, row, y, rows, panels);
    for (int64_t g = 0; g < m->k; g++, q += bytes) {
        struct acc a;

        group_start(&a, &t, g, kind == WEIGHT_INT4 ? 8 : 128, rows, panels);
        if (kind == WEIGHT_INT4)
            dot4(&a, t.x, q, m->w_stride, rows, panels);
        else
            dot8(&a, t.x, q, m->w_stride, rows, panels);
        group_add(&t, &a, g, w, m->w_stride, rows, panels);
        UNROLL for (int r = 0; r < rows; r++)
        {
            t.x[r] += group * 2;
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            _mm512_storeu_ps(y + r * m->y_stride + p * PANEL, t.sum[r][p]);
        }
    }
}

TILE_INLINE void tile_q8(const struct mul *m, int row, int panel, int rows, int panels)
{
    tile(m, row, panel, rows, panels, WEIGHT_INT8);
}

TILE_INLINE void tile_q4(const struct mul *m, int row, int panel, int rows, int panels)
{
    tile(m, row, panel, rows, panels, WEIGHT_INT4);
}

TILE_MUL_3X4(vnni_mul_q8, tile_q8)
TILE_MUL_3X4(vnni_mul_q4, tile_q4)

/* Four high bytes, then the four low bytes of each four numbers. */
TILE_INLINE void halves(char *to, const int16_t *q, int n)
{
    for (int i = 0; i < n; i += 4)
        for (int j = 0; j < 4; j++) {
            int high = (q[i + j] + 128) >> 8;

            to[2 * i + j] = (char)high;
            to[2 * i + 4 + j] = (char)(q[i + j] - 256 * high);
        }
}

TILE_INLINE void quantise(void *row, const float *x, int64_t n, int group)
{
    struct quant_head *head = row;
    int64_t n_group = (n + group - 1) / group;
    char *to = quant_numbers(row, n_group);
    int16_t q[QUANT_GROUP_MAX];

    for (int64_t g = 0; g < n_group; g++) {
        head[g] = quant_group_of(q, x + g * group, (int)MIN(group, n - g * group), group);
        halves(to + g * group * 2, q, group);
    }
}

static void vnni_quantise(void *row, const float *x, int64_t n, int group)
{
    if (group == QUANT_GROUP4)
        quantise(row, x, n, QUANT_GROUP4);
    else
        quantise(row, x, n, QUANT_GROUP8);
}

void cpu_quant_vnni(struct cpu_kern *k)
{
    k->name = "avx512vnni";
    k->quantise = vnni_quantise;
    k->mul_q8 = vnni_mul_q8;
    k->mul_q4 = vnni_mul_q4;
}
