/* Products by int8 and int4 weights with AMX: TDPBSUD adds products of signed and unsigned bytes to
 * sums of 32 bits, exactly (Intel SDM volume 2, TDPBSUD), so the set has the bits of all others.
 *
 * A group of 64 int8 weights of a panel is a tile as it lies in memory, its inputs are two: the high
 * bytes and the low ones.  A group of int4 is unpacked first, eight rows of a tile.  Sums of a
 * group leave the tiles through the first level cache, where AVX-512 scales and adds them while the
 * next group is multiplied.  Fewer
 * rows than that pays for are left to VNNI. */
#include "backend/cpu/quant_rows.h"

#include "backend/cpu/x86/amx.h"
#include "backend/cpu/x86/tile.h"

#include <immintrin.h>

/* So many rows are left to VNNI: unpacking costs it more. */
#define FEW_ROWS8 8
#define FEW_ROWS4 3

/* Up to 16 rows by 1 or 2 panels. */
struct block {
    const char *x, *w, *next; /* heads of the first row; panels; those that come after them */
    int64_t x_stride, w_stride, y_stride, n_group, own;
    float *y;
    int rows;
};

typedef int32_t sums[4][AMX_ROWS][PANEL]; /* by high bytes for two panels, by low bytes */

TILE_INLINE __m512 scales(const char *s)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)s));

    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

/* y += (256 high + low + start) * (scale_w * scale_x), for all rows of a panel */
TILE_INLINE void group_add(const struct block *b, const sums s, int panel, int64_t g)
{
    const __m512 of_w = scales(b->w + panel * b->w_stride + g * 2 * PANEL);
    const struct quant_head *head = (const void *)b->x;
    float *y = b->y + panel * PANEL;

    head += g;
    for (int r = 0; r < b->rows; r++, y += b->y_stride) {
        __m512i high = _mm512_slli_epi32(_mm512_load_si512(s[panel][r]), 8),
                low = _mm512_load_si512(s[2 + panel][r]), start = _mm512_set1_epi32(head->start);
        __m512 dot = _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_add_epi32(high, low), start)),
               both = _mm512_mul_ps(of_w, _mm512_set1_ps(head->scale));

        _mm512_storeu_ps(y, _mm512_fmadd_ps(dot, both, _mm512_loadu_ps(y)));
        head = (const void *)((const char *)head + b->x_stride);
    }
}

/* Four lines of int4 as eight of bytes */
TILE_INLINE void unpack(char *to, const char *q)
{
    const __m512i mask = _mm512_set1_epi8(15);

    UNROLL for (int i = 0; i < QUANT_GROUP4 / 8; i++)
    {
        __m512i v = _mm512_loadu_si512(q + i * AMX_LINE);

        _mm512_store_si512(to + 2 * i * AMX_LINE, _mm512_and_si512(v, mask));
        _mm512_store_si512(to + (2 * i + 1) * AMX_LINE,
                           _mm512_and_si512(_mm512_srli_epi16(v, 4), mask));
    }
}

/* Sums of one group: x its inputs, q where its weights are in each panel, stride bytes apart. */
TILE_INLINE void multiply(sums s, const char *x, int64_t x_stride, const char *q, int64_t stride,
                          int panels, int group)
{
    _tile_zero(0);
    _tile_zero(2);
    _tile_loadd(4, x, x_stride);
    _tile_loadd(6, q, AMX_LINE);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(5, x + group, x_stride);
    _tile_dpbsud(2, 5, 6);
    if (panels > 1) {
        _tile_zero(1);
        _tile_zero(3);
        _tile_loadd(7, q + stride, AMX_LINE);
        _tile_dpbsud(1, 4, 7);
        _tile_dpbsud(3, 5, 7);
    }
    _tile_stored(0, s[0], AMX_LINE);
    _tile_stored(2, s[2], AMX_LINE);
    if (panels > 1) {
        _tile_stored(1, s[1], AMX_LINE);
        _tile_stored(3, s[3], AMX_LINE);
    }
}

/* Into the second cache only: the first is full of inputs. */
TILE_INLINE void ask(const struct block *b, const char *q, int panels, int bytes)
{
    const char *from = q - b->w < b->own ? q + AHEAD : b->next + (q - b->w - b->own);

    for (int p = 0; p < panels; p++)
        for (int i = 0; i < bytes; i += AMX_LINE)
            _mm_prefetch(from + p * b->w_stride + i, _MM_HINT_T1);
}

TILE_INLINE void block(const struct block *b, int panels, bool is4)
{
    const int group = is4 ? QUANT_GROUP4 : QUANT_GROUP8, bytes = is4 ? AMX_BYTES / 4 : AMX_BYTES;
    const char *q = b->w + quant_scale_bytes(b->n_group), *x = quant_numbers(b->x, b->n_group);
    char w[AMX_BYTES] __attribute__((aligned(64)));
    sums s[2] __attribute__((aligned(64)));

    amx_shape(b->rows, b->rows, group);
    for (int64_t g = 0; g < b->n_group; g++, q += bytes, x += 2 * group) {
        ask(b, q, panels, bytes);
        if (is4) {
            for (int p = 0; p < panels; p++)
                unpack(w + p * AMX_BYTES / 2, q + p * b->w_stride);
            amx_written(w);
            multiply(s[g % 2], x, b->x_stride, w, AMX_BYTES / 2, panels, group);
        } else {
            multiply(s[g % 2], x, b->x_stride, q, b->w_stride, panels, group);
        }
        for (int p = 0; g > 0 && p < panels; p++)
            group_add(b, s[(g - 1) % 2], p, g - 1);
    }
    for (int p = 0; p < panels; p++)
        group_add(b, s[(b->n_group - 1) % 2], p, b->n_group - 1);
}

TILE_INLINE void product(const struct mul *m, int row, int panel, bool is4)
{
    int panels = MIN(m->n_panel - panel, 2);
    const char *w = (const char *)m->w + panel * m->w_stride;
    struct block b = {.x = (const char *)m->x + row * m->x_stride,
                      .w = w,
                      .next = panels_after(m, w, panel, panels, m->w_stride),
                      .x_stride = m->x_stride,
                      .w_stride = m->w_stride,
                      .y_stride = m->y_stride,
                      .n_group = m->k,
                      .own = own_bytes(m->w_stride),
                      .y = m->y + row * m->y_stride + panel * PANEL,
                      .rows = MIN(m->rows - row, AMX_ROWS)};

    for (int r = 0; !m->add && r < b.rows; r++)
        memset(b.y + r * b.y_stride, 0, (size_t)(panels * PANEL) * sizeof *b.y);
    if (panels == 2)
        block(&b, 2, is4);
    else
        block(&b, 1, is4);
}

TILE_INLINE void mul(const struct mul *m, bool is4)
{
    for (int row = 0; row < m->rows; row += AMX_ROWS)
        for (int p = 0; p < m->n_panel; p += 2)
            product(m, row, p, is4);
    amx_done();
}

static void amx_mul_q8(const struct mul *m)
{
    if (m->rows > FEW_ROWS8)
        mul(m, false);
    else
        vnni_mul_q8(m);
}

static void amx_mul_q4(const struct mul *m)
{
    if (m->rows > FEW_ROWS4)
        mul(m, true);
    else
        vnni_mul_q4(m);
}

void cpu_quant_amx(struct cpu_kern *k)
{
    k->mul_q8 = amx_mul_q8;
    k->mul_q4 = amx_mul_q4;
}
