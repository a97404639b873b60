/* AMX: TDPBF16PS multiplies tiles of 16 rows by 16 columns over 32 k, 16384 products in 16 cycles.
 * A panel over 32 k is such a tile as it lies in memory, so weights, keys and values are those of
 * AVX512-BF16; few rows take tiles of few rows, which are still faster than memory.
 *
 * A tile's sum over its 32 k begins at 0, the even and the odd k apart, and is then added to the
 * output's (Intel SDM volume 2, TDPBF16PS): rounding to nearest, subnormals are zero. So outputs
 * depend on where groups of 32 begin, mul_step of kern.h, and not on how many rows there are; they
 * differ from those of VDPBF16PS in the last places. k that fill no tile are filled up with zeros.
 *
 * Tiles are shaped by LDTILECFG, some 80 ns, so a thread keeps them from one product to the next
 * between `begin` and `end`. */
#include "backend/cpu/kern.h"

#include "backend/cpu/x86/amx.h"
#include "backend/cpu/x86/tile.h"

#include <immintrin.h>
#include <string.h>

#define TILE_K 32 /* of bf16 */

/* Intel SDM volume 1, "Tile configuration": palette 1 */
struct tile_config {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16]; /* of a row of each tile */
    uint8_t rows[16];
} __attribute__((packed, aligned(64)));

struct shape {
    int upper, lower, depth; /* upper 0: none */
};

static _Thread_local struct shape shape;
static _Thread_local bool is_held;

void amx_shape(int upper, int lower, int depth)
{
    struct tile_config c = {.palette = 1};

    if (shape.upper == upper && shape.lower == lower && shape.depth == depth)
        return;
    for (int i = 0; i < 8; i++) {
        bool is_lower = i == 2 || i == 3 || i == 5;

        c.bytes[i] = (uint16_t)(i == 4 || i == 5 ? depth : AMX_LINE);
        c.rows[i] = (uint8_t)(i > 5 ? depth / 4 : is_lower ? lower : upper);
    }
    amx_written(&c);
    _tile_loadconfig(&c);
    shape = (struct shape){upper, lower, depth};
}

static void amx_begin(void)
{
    is_held = true;
}

static void amx_end(void)
{
    is_held = false;
    _mm_sfence(); /* after copy_far */
    if (shape.upper)
        _tile_release();
    shape = (struct shape){0};
}

void amx_done(void)
{
    if (!is_held)
        amx_end();
}

/* ---- bf16 ------------------------------------------------------------------------------------ */
/* Inputs and weights of one step over k: where the tiles are. */
struct step {
    const char *x, *w, *fetch;
    int64_t x_stride, w_stride; /* bytes: between rows, between panels */
    int64_t x_lower;            /* from the upper rows to the lower ones */
};

/* The lines of n panels. With many rows nothing is asked for: that made products of 512 to 4096 rows
 * a third slower. */
TILE_INLINE void ask(const struct step *s, int panels)
{
    for (int p = 0; p < panels; p++)
        for (int i = 0; i < AMX_BYTES; i += AMX_LINE)
            _mm_prefetch(s->fetch + p * s->w_stride + i, _MM_HINT_T0);
}

/* One step of up to 32 rows by 1 or 2 panels. */
TILE_INLINE void step_square(const struct step *s, bool has_lower, int panels)
{
    _tile_loadd(4, s->x, s->x_stride);
    _tile_loadd(6, s->w, AMX_LINE);
    _tile_dpbf16ps(0, 4, 6);
    if (panels > 1) {
        _tile_loadd(7, s->w + s->w_stride, AMX_LINE);
        _tile_dpbf16ps(1, 4, 7);
    }
    if (has_lower) {
        _tile_loadd(5, s->x + s->x_lower, s->x_stride);
        _tile_dpbf16ps(2, 5, 6);
        if (panels > 1)
            _tile_dpbf16ps(3, 5, 7);
    }
}

/* One step of up to 16 rows by 3 or 4 panels. */
TILE_INLINE void step_wide(const struct step *s, int panels)
{
    step_square(s, false, 2);
    _tile_loadd(6, s->w + 2 * s->w_stride, AMX_LINE);
    _tile_dpbf16ps(2, 4, 6);
    if (panels > 3) {
        _tile_loadd(7, s->w + 3 * s->w_stride, AMX_LINE);
        _tile_dpbf16ps(3, 4, 7);
    }
}

TILE_INLINE void step_any(const struct step *s, bool has_lower, int panels)
{
    if (panels > 2)
        step_wide(s, panels);
    else
        step_square(s, has_lower, panels);
}

/* The last k, fewer than 32: copies of the inputs and of the weights with zeros behind them. */
TILE_INLINE void last_step(const struct step *s, int64_t k, int upper, int lower, int panels)
{
    char x[2 * AMX_BYTES] __attribute__((aligned(AMX_LINE))) = {0},
                          w[4 * AMX_BYTES] __attribute__((aligned(AMX_LINE))) = {0};
    struct step last = {
        .x = x, .w = w, .x_stride = AMX_LINE, .w_stride = AMX_BYTES, .x_lower = AMX_BYTES};

    for (int r = 0; r < upper + lower; r++)
        memcpy(x + r * AMX_LINE,
               s->x + (r < upper ? r * s->x_stride : s->x_lower + (r - upper) * s->x_stride),
               (size_t)k * 2);
    for (int p = 0; p < panels; p++)
        memcpy(w + p * AMX_BYTES, s->w + p * s->w_stride, (size_t)k * 2 * PANEL);
    amx_written(x);
    amx_written(w);
    step_any(&last, lower > 0, panels);
}

/* Sums of tile t from y on, or zero. */
#define SUMS_BEGIN(t, y)                        \
    do {                                        \
        if (m->add)                             \
            _tile_loadd(t, y, m->y_stride * 4); \
        else                                    \
            _tile_zero(t);                      \
    } while (0)

TILE_INLINE void sums_begin(const struct mul *m, const float *y, const float *y2, int panels)
{
    SUMS_BEGIN(0, y);
    if (panels > 1)
        SUMS_BEGIN(1, y + PANEL);
    if (y2)
        SUMS_BEGIN(2, y2);
    if (y2 && panels != 1 && panels != 3)
        SUMS_BEGIN(3, y2 + PANEL);
}

TILE_INLINE void sums_end(const struct mul *m, float *y, float *y2, int panels)
{
    _tile_stored(0, y, m->y_stride * 4);
    if (panels > 1)
        _tile_stored(1, y + PANEL, m->y_stride * 4);
    if (y2)
        _tile_stored(2, y2, m->y_stride * 4);
    if (y2 && panels != 1 && panels != 3)
        _tile_stored(3, y2 + PANEL, m->y_stride * 4);
}

/* Up to 32 rows by 1 or 2 panels, or up to 16 by 3 or 4.  Tiles 0 and 1 are sums of the upper rows
 * by two panels, 2 and 3 those of the lower, or of the upper by two more; 4 and 5 are inputs, 6 and
 * 7 weights. */
TILE_INLINE void block(const struct mul *m, int row, int panel, bool has_lower, int panels)
{
    int upper = MIN(m->rows - row, AMX_ROWS),
        lower = has_lower ? MIN(m->rows - row - AMX_ROWS, AMX_ROWS) : 0;
    float *y = m->y + row * m->y_stride + panel * PANEL, *y2 = has_lower
                                                                   ? y + AMX_ROWS * m->y_stride
                                                               : panels > 2 ? y + 2 * PANEL
                                                                            : NULL;
    struct step s = {.x = (const char *)m->x + row * m->x_stride * 2,
                     .w = (const char *)m->w + panel * m->w_stride * 2,
                     .x_stride = m->x_stride * 2,
                     .w_stride = m->w_stride * 2,
                     .x_lower = AMX_ROWS * m->x_stride * 2};
    const char *next = panels_after(m, s.w, panel, panels, s.w_stride);
    int64_t own = own_bytes(m->k * 2 * PANEL) / AMX_BYTES, n = m->k / TILE_K;

    amx_shape(upper, has_lower ? lower : upper, AMX_LINE);
    sums_begin(m, y, y2, panels);
    for (int64_t i = 0; i < n; i++, s.x += AMX_LINE, s.w += AMX_BYTES) {
        s.fetch = i < own ? s.w + AHEAD : next + (i - own) * AMX_BYTES;
        if (!has_lower)
            ask(&s, panels);
        step_any(&s, has_lower, panels);
    }
    if (m->k % TILE_K)
        last_step(&s, m->k % TILE_K, upper, lower, panels);
    sums_end(m, y, y2, panels);
}

static void few_rows(const struct mul *m, int row)
{
    if (m->n_panel == 1)
        block(m, row, 0, false, 1);
    else if (m->n_panel == 2)
        block(m, row, 0, false, 2);
    else if (m->n_panel == 3)
        block(m, row, 0, false, 3);
    else
        block(m, row, 0, false, 4);
}

static void many_rows(const struct mul *m, int row)
{
    int p = 0;

    for (; p + 2 <= m->n_panel; p += 2)
        block(m, row, p, true, 2);
    if (p < m->n_panel)
        block(m, row, p, true, 1);
}

static void amx_mul_bb(const struct mul *m)
{
    for (int row = 0; row < m->rows; row += 2 * AMX_ROWS)
        if (m->rows - row > AMX_ROWS)
            many_rows(m, row);
        else
            few_rows(m, row);
    amx_done();
}

/* Lines that are written without being read first, and that push nothing out of the caches: with it
 * a product of 4096 rows by SAM's lin1 takes half the time. */
static void amx_copy_far(float *y, const float *x, int64_t n)
{
    if ((uintptr_t)y % AMX_LINE || n % PANEL) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < n; i += PANEL)
        _mm512_stream_ps(y + i, _mm512_loadu_ps(x + i));
}

void cpu_kern_amx(struct cpu_kern *k)
{
    k->name = "amx";
    k->mul_bb = amx_mul_bb;
    k->mul_step = TILE_K;
    k->chunk_rows = 2 * AMX_ROWS;
    k->begin = amx_begin;
    k->end = amx_end;
    k->copy_far = amx_copy_far;
}
