/* Inner kernels in portable C: complete on any machine, and what the others are tested against.
 *
 * A tile is 4 rows by 1 panel: the inner loop over 16 columns is what a compiler turns into
 * vectors of its own width. */
#include "backend/cpu/kern_rows.h"

#include "base/mem.h"

#define TILE_ROWS 4

/* One step of k: acc[r][j] += x[r] * w[j] */
ROW_INLINE void c_step(float acc[TILE_ROWS][PANEL], const float *x, const float *w, int rows)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < PANEL; j++)
            acc[r][j] += x[r] * w[j];
}

enum c_kind { C_FF, C_FB, C_BB };

ROW_INLINE float c_x(const struct mul *m, enum c_kind kind, int64_t i)
{
    return kind == C_BB ? bf16_to_f32(((const uint16_t *)m->x)[i]) : ((const float *)m->x)[i];
}

ROW_INLINE void c_w(float *w, const struct mul *m, enum c_kind kind, int64_t panel, int64_t k)
{
    if (kind == C_FF) {
        memcpy(w, (const float *)m->w + panel * m->w_stride + k * PANEL, PANEL * sizeof *w);
    } else {
        const uint16_t *b = (const uint16_t *)m->w + panel * m->w_stride + k / 2 * 2 * PANEL +
                            k % 2;

        for (int j = 0; j < PANEL; j++)
            w[j] = bf16_to_f32(b[2 * j]);
    }
}

ROW_INLINE void c_tile(const struct mul *m, enum c_kind kind, int row, int rows, int panel)
{
    float acc[TILE_ROWS][PANEL] = {{0}}, w[PANEL], x[TILE_ROWS];
    float *y = m->y + row * m->y_stride + panel * PANEL;

    for (int r = 0; m->add && r < rows; r++)
        memcpy(acc[r], y + r * m->y_stride, sizeof acc[r]);
    for (int64_t k = 0; k < m->k; k++) {
        for (int r = 0; r < rows; r++)
            x[r] = c_x(m, kind, (row + r) * m->x_stride + k);
        c_w(w, m, kind, panel, k);
        c_step(acc, x, w, rows);
    }
    for (int r = 0; r < rows; r++)
        memcpy(y + r * m->y_stride, acc[r], sizeof acc[r]);
}

ROW_INLINE void c_mul(const struct mul *m, enum c_kind kind)
{
    for (int p = 0; p < m->n_panel; p++) {
        int row = 0;

        for (; row + TILE_ROWS <= m->rows; row += TILE_ROWS)
            c_tile(m, kind, row, TILE_ROWS, p);
        for (; row < m->rows; row++)
            c_tile(m, kind, row, 1, p);
    }
}

static void c_mul_ff(const struct mul *m)
{
    c_mul(m, C_FF);
}

static void c_mul_fb(const struct mul *m)
{
    c_mul(m, C_FB);
}

static void c_mul_bb(const struct mul *m)
{
    c_mul(m, C_BB);
}

static void c_copy(float *y, const float *x, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof *y);
}

static void c_nothing(void)
{
}

const struct cpu_kern cpu_kern_c = {
    .name = "c",
    .mul_ff = c_mul_ff,
    .mul_fb = c_mul_fb,
    .mul_bb = c_mul_bb,
    .mul_step = 2,
    .chunk_rows = 24,
    .begin = c_nothing,
    .end = c_nothing,
    .copy_far = c_copy,
    .round_bf16 = rows_round_bf16,
    .rmsnorm = rows_rmsnorm,
    .layernorm = rows_layernorm,
    .gelu = rows_gelu,
    .swiglu = rows_swiglu,
    .softmax = rows_softmax,
    .exp = rows_exp,
};

static const char *const isa_names[N_ISA] = {"c",          "avx2",       "avx512",
                                             "avx512vnni", "avx512bf16", "amx"};

const char *cpu_isa_name(enum cpu_isa isa)
{
    return isa_names[isa];
}

enum cpu_isa cpu_isa_present(void)
{
#if defined(__x86_64__)
    return cpu_isa_x86();
#else
    return ISA_C;
#endif
}

void cpu_kern_init(struct cpu_kern *k, enum cpu_isa isa)
{
    *k = cpu_kern_c;
    cpu_quant_c(k);
#if defined(__x86_64__)
    cpu_kern_init_x86(k, isa);
#endif
}
