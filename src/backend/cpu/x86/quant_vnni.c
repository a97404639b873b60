/* Products by int8 and int4 weights with AVX512-VNNI: VPDPBUSD adds four products of an unsigned
 * and a signed byte to each of 16 sums, 64 a time, exactly (Intel SDM volume 2C, VPDPBUSD).  An
 * input of 16 bits is 256 times a high byte plus a low byte, both signed, each with sums of its
 * own; a group has its high bytes first, then its low ones.  So weights are read as bytes, once, and a
 * tile has 24 accumulators of 32 registers: 3 rows by 4 panels, or 6 by 2.
 *
 * The steps of a group are unrolled: as a loop within the loop over groups gcc 12 keeps all
 * accumulators in memory, at 40 % of the speed. */
#include "backend/cpu/quant_rows.h"

#include "backend/cpu/x86/tile.h"

#include <immintrin.h>
#include <math.h>

/* Four bytes for all columns: a load that broadcasts, not a word that crosses over from a general
 * register. */
TILE_INLINE __m512i four(const void *x)
{
    int32_t bytes;

    memcpy(&bytes, x, sizeof bytes);
    return _mm512_set1_epi32(bytes);
}

/* high, low += x * b for 4 k; x: 4 high bytes of each row, and a group further 4 low bytes */
TILE_INLINE void step(__m512i high[6][4], __m512i low[6][4], const char *x, int64_t x_stride,
                      int group, const __m512i b[4], int rows, int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        __m512i h = four(x + r * x_stride), l = four(x + r * x_stride + group);

        UNROLL for (int p = 0; p < panels; p++)
        {
            high[r][p] = _mm512_dpbusd_epi32(high[r][p], b[p], h);
            low[r][p] = _mm512_dpbusd_epi32(low[r][p], b[p], l);
        }
    }
}

/* Sums of a group begin with what takes away the offset of its weights. */
TILE_INLINE void group_start(__m512i high[6][4], __m512i low[6][4], const struct quant_head *head,
                             int64_t x_stride, int rows, int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        const char *of_row = (const char *)head + r * x_stride;
        __m512i start = four(of_row + offsetof(struct quant_head, start));

        UNROLL for (int p = 0; p < panels; p++)
        {
            high[r][p] = _mm512_setzero_si512();
            low[r][p] = start;
        }
    }
}

/* A line of each panel: 4 k of int8, or 8 of int4, whose first 4 are the low halves. */
TILE_INLINE void line(__m512i high[6][4], __m512i low[6][4], const char *x, int64_t x_stride,
                      const char *q, int64_t w_stride, int rows, int panels, bool is4)
{
    const __m512i mask = _mm512_set1_epi8(15);
    __m512i b[4], c[4];

    UNROLL for (int p = 0; p < panels; p++)
    {
        b[p] = _mm512_loadu_si512(q + p * w_stride);
        if (is4) {
            c[p] = _mm512_and_si512(_mm512_srli_epi16(b[p], 4), mask);
            b[p] = _mm512_and_si512(b[p], mask);
        }
    }
    step(high, low, x, x_stride, is4 ? QUANT_GROUP4 : QUANT_GROUP8, b, rows, panels);
    if (is4)
        step(high, low, x + 4, x_stride, QUANT_GROUP4, c, rows, panels);
}

TILE_INLINE __m512 scales(const char *s)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)s));

    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

/* sum += dot * (scale_w * scale_x) */
TILE_INLINE void group_add(__m512 sum[6][4], const __m512i high[6][4], const __m512i low[6][4],
                           const struct quant_head *head, int64_t x_stride, const char *scale,
                           int64_t w_stride, int rows, int panels)
{
    UNROLL for (int p = 0; p < panels; p++)
    {
        __m512 of_w = scales(scale + p * w_stride);

        UNROLL for (int r = 0; r < rows; r++)
        {
            const struct quant_head *h = (const void *)((const char *)head + r * x_stride);
            __m512i dot = _mm512_add_epi32(_mm512_slli_epi32(high[r][p], 8), low[r][p]);
            __m512 both = _mm512_mul_ps(of_w, _mm512_set1_ps(h->scale));

            sum[r][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), both, sum[r][p]);
        }
    }
}

TILE_INLINE void load_sums(__m512 sum[6][4], const struct mul *m, const float *y, int rows,
                           int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            sum[r][p] = m->add ? _mm512_loadu_ps(y + r * m->y_stride + p * PANEL)
                               : _mm512_setzero_ps();
        }
    }
}

TILE_INLINE void store_sums(const __m512 sum[6][4], const struct mul *m, float *y, int rows,
                            int panels)
{
    UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int p = 0; p < panels; p++)
        {
            _mm512_storeu_ps(y + r * m->y_stride + p * PANEL, sum[r][p]);
        }
    }
}

/* Where the lines of a group that a tile asks for are; q is the group's first line. */
struct fetch {
    const char *w, *next; /* the tile's panels, and those that come after them */
    int64_t own;          /* bytes of a panel that are read before `next` begins  */
    int64_t aside;        /* of a later tile, which asks for one panel: its place */
    bool is_first;
};

TILE_INLINE struct fetch fetch_of(const struct mul *m, int row, int panel, int panels)
{
    const char *w = (const char *)m->w + panel * m->w_stride;

    return (struct fetch){.w = w,
                          .next = panels_after(m, w, panel, panels, m->w_stride),
                          .own = own_bytes(m->w_stride),
                          .aside = row / 6 % panels * m->w_stride,
                          .is_first = row == 0};
}

TILE_INLINE const char *fetch_from(const struct fetch *f, const char *q)
{
    if (!f->is_first)
        return f->next + f->aside + (q - f->w);
    return q - f->w < f->own ? q + AHEAD : f->next + (q - f->w - f->own);
}

TILE_INLINE void tile(const struct mul *m, int row, int panel, int rows, int panels, bool is4)
{
    const int lines = is4 ? QUANT_GROUP4 / 8 : QUANT_GROUP8 / 4, x_step = is4 ? 8 : 4;
    const int64_t w_stride = m->w_stride, x_stride = m->x_stride;
    const struct fetch f = fetch_of(m, row, panel, panels);
    const char *scale = f.w, *q = scale + quant_scale_bytes(m->k);
    const struct quant_head *head = (const void *)((const char *)m->x + row * x_stride);
    const char *x = quant_numbers(head, m->k);
    float *y = m->y + row * m->y_stride + panel * PANEL;
    __m512 sum[6][4];

    load_sums(sum, m, y, rows, panels);
    for (int64_t g = 0; g < m->k; g++, head++, scale += 2 * PANEL) {
        const char *from = fetch_from(&f, q);
        __m512i high[6][4], low[6][4];

        group_start(high, low, head, x_stride, rows, panels);
        UNROLL16 for (int i = 0; i < lines; i++, x += x_step, q += 4 * PANEL, from += 4 * PANEL)
        {
            _mm_prefetch(from, _MM_HINT_T0);
            UNROLL for (int p = 1; p < panels; p++)
            {
                if (f.is_first)
                    _mm_prefetch(from + p * w_stride, _MM_HINT_T0);
            }
            line(high, low, x, x_stride, q, w_stride, rows, panels, is4);
        }
        x += is4 ? QUANT_GROUP4 : QUANT_GROUP8; /* past the low bytes */
        group_add(sum, high, low, head, x_stride, scale, w_stride, rows, panels);
    }
    store_sums(sum, m, y, rows, panels);
}

TILE_INLINE void tile_q8(const struct mul *m, int row, int panel, int rows, int panels)
{
    tile(m, row, panel, rows, panels, false);
}

TILE_INLINE void tile_q4(const struct mul *m, int row, int panel, int rows, int panels)
{
    tile(m, row, panel, rows, panels, true);
}

TILE_MUL_6X2(mul_q8, tile_q8)
TILE_MUL_6X2(mul_q4, tile_q4)

void vnni_mul_q8(const struct mul *m)
{
    mul_q8(m);
}

void vnni_mul_q4(const struct mul *m)
{
    mul_q4(m);
}

/* ---- inputs: quant_group_of of quant_rows.h in registers ------------------------------------- */
/* 16 numbers from x + at on of n; zeros behind them */
TILE_INLINE __m512 load_part(const float *x, int64_t n, int at)
{
    int64_t left = n - at;

    return _mm512_maskz_loadu_ps(left >= 16  ? 0xFFFF
                                 : left <= 0 ? 0
                                             : (__mmask16)((1u << left) - 1),
                                 x + at);
}

/* To whole numbers, none outside +-QUANT_INPUT_MAX; what is not a number becomes the least. */
TILE_INLINE __m512i whole(__m512 v, float inverse)
{
    const __m512 most = _mm512_set1_ps(QUANT_INPUT_MAX);
    __m512 r = _mm512_mul_ps(v, _mm512_set1_ps(inverse));

    r = _mm512_max_ps(r, _mm512_sub_ps(_mm512_setzero_ps(), most));
    return _mm512_cvtps_epi32(_mm512_min_ps(r, most));
}

/* 16 numbers as high bytes and, a group further, low bytes: the low byte of a number and the high one
 * of the number + 128. */
TILE_INLINE void store_halves(char *to, __m512i q, int group)
{
    __m512i high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);

    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8(high));
    _mm_storeu_si128((__m128i *)(to + group), _mm512_cvtepi32_epi8(q));
}

TILE_INLINE struct quant_head quantise_group(char *to, const float *x, int64_t n, int group)
{
    __m512 v[4], top = _mm512_setzero_ps();
    __m512i sum = _mm512_setzero_si512();
    __mmask16 bad = 0;
    float most, inverse;

    UNROLL for (int i = 0; i < group / 16; i++)
    {
        v[i] = load_part(x, n, 16 * i);
        top = _mm512_max_ps(_mm512_abs_ps(v[i]), top); /* top where they do not compare */
        bad |= _mm512_fpclass_ps_mask(v[i], 0x99);     /* infinite, or not a number */
    }
    most = _mm512_reduce_max_ps(top);
    inverse = most > 1e-30f ? QUANT_INPUT_MAX / most : 0;
    UNROLL for (int i = 0; i < group / 16; i++)
    {
        __m512i q = whole(v[i], inverse);

        sum = _mm512_add_epi32(sum, q);
        store_halves(to + 16 * i, q, group);
    }
    return (struct quant_head){bad           ? NAN
                               : inverse > 0 ? most / QUANT_INPUT_MAX
                                             : 0,
                               quant_start(_mm512_reduce_add_epi32(sum), group)};
}

TILE_INLINE void quantise(void *row, const float *x, int64_t n, int group)
{
    struct quant_head *head = row;
    int64_t n_group = (n + group - 1) / group;
    char *to = quant_numbers(row, n_group);

    for (int64_t g = 0; g < n_group; g++, x += group, n -= group, to += 2 * group)
        head[g] = quantise_group(to, x, n, group);
}

static void vnni_quantise(void *row, const float *x, int64_t n, int group)
{
    if (group == QUANT_GROUP4)
        quantise(row, x, n, QUANT_GROUP4); /* a constant for the compiler */
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
