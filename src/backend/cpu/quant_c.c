/* Products by int8 and int4 weights in portable C: what the other sets are tested against. */
#include "backend/cpu/quant_rows.h"

/* sum over one group of q_x (q_w + offset), 16 columns */
QUANT_INLINE void c_dot8(int32_t dot[PANEL], const int16_t *x, const uint8_t *w)
{
    for (int k = 0; k < QUANT_GROUP8; k += 4)
        for (int j = 0; j < PANEL; j++)
            for (int i = 0; i < 4; i++)
                dot[j] += x[k + i] * w[k * PANEL + 4 * j + i];
}

QUANT_INLINE void c_dot4(int32_t dot[PANEL], const int16_t *x, const uint8_t *w)
{
    for (int k = 0; k < QUANT_GROUP4; k += 8)
        for (int j = 0; j < PANEL; j++)
            for (int i = 0; i < 4; i++) {
                int two = w[k * PANEL / 2 + 4 * j + i];

                dot[j] += x[k + i] * (two & 15) + x[k + 4 + i] * (two >> 4);
            }
}

QUANT_INLINE void c_tile(const struct mul *m, int row, int panel, enum weight_kind kind)
{
    int group = quant_group(kind), bytes = group * PANEL / (kind == WEIGHT_INT4 ? 2 : 1);
    const struct quant_head *head = (const void *)((const char *)m->x + row * m->x_stride);
    const int16_t *x = quant_numbers(head, m->k);
    const char *w = (const char *)m->w + panel * m->w_stride;
    const uint8_t *q = (const uint8_t *)w + quant_scale_bytes(m->k);
    float *y = m->y + row * m->y_stride + panel * PANEL;

    if (!m->add)
        memset(y, 0, PANEL * sizeof *y);
    for (int64_t g = 0; g < m->k; g++) {
        const uint16_t *scale = (const uint16_t *)w + g * PANEL;
        int32_t dot[PANEL] = {0};

        if (kind == WEIGHT_INT8)
            c_dot8(dot, x + g * group, q + g * bytes);
        else
            c_dot4(dot, x + g * group, q + g * bytes);
        for (int j = 0; j < PANEL; j++)
            y[j] += (float)(dot[j] + head[g].start) * (bf16_to_f32(scale[j]) * head[g].scale);
    }
}

QUANT_INLINE void c_mul(const struct mul *m, enum weight_kind kind)
{
    for (int p = 0; p < m->n_panel; p++)
        for (int row = 0; row < m->rows; row++)
            c_tile(m, row, p, kind);
}

static void c_mul_q8(const struct mul *m)
{
    c_mul(m, WEIGHT_INT8);
}

static void c_mul_q4(const struct mul *m)
{
    c_mul(m, WEIGHT_INT4);
}

static void c_quantise(void *row, const float *x, int64_t n, int group)
{
    quantise_plain(row, x, n, group);
}

void cpu_quant_c(struct cpu_kern *k)
{
    k->quantise = c_quantise;
    k->mul_q8 = c_mul_q8;
    k->mul_q4 = c_mul_q4;
}
