/* The inputs of products by int8 and int4 weights, included by the file of each set. */
#ifndef RECTO_BACKEND_CPU_QUANT_ROWS_H
#define RECTO_BACKEND_CPU_QUANT_ROWS_H

#include "backend/cpu/kern.h"
#include "tensor/quant.h"

#include <string.h>

#define QUANT_INLINE static inline __attribute__((always_inline))
/* tensor/quant.c says why this rounds */
#define QUANT_ROUNDER 12582912.0f

/* One group of n numbers, n <= group, into q, padded with zeros. A number that is not finite makes
 * the scale so, and with it every sum of the group. */
QUANT_INLINE struct quant_head quant_group_of(int16_t *restrict q, const float *restrict x, int n,
                                              int group)
{
    float v[QUANT_GROUP_MAX] = {0}, top = 0, bad = 0, inverse;
    int32_t sum = 0;

    memcpy(v, x, (size_t)n * sizeof *x);
    for (int i = 0; i < group; i++) {
        float a = v[i] < 0 ? -v[i] : v[i];

        top = a > top ? a : top;
        bad += v[i] * 0;
    }
    inverse = top > 1e-30f ? QUANT_INPUT_MAX / top : 0;
    for (int i = 0; i < group; i++) {
        float r = v[i] * inverse;

        r = r > -QUANT_INPUT_MAX ? r : -QUANT_INPUT_MAX;
        r = r < QUANT_INPUT_MAX ? r : QUANT_INPUT_MAX;
        q[i] = (int16_t)((r + QUANT_ROUNDER) - QUANT_ROUNDER);
        sum += q[i];
    }
    return (struct quant_head){(inverse > 0 ? top / QUANT_INPUT_MAX : 0) + bad,
                               quant_start(sum, group)};
}

/* The numbers of a row of n_group groups, behind their heads. */
QUANT_INLINE void *quant_numbers(const void *row, int64_t n_group)
{
    return (char *)row + quant_head_bytes(n_group);
}

/* As plain 16-bit numbers, in order. */
QUANT_INLINE void quantise_plain(void *row, const float *x, int64_t n, int group)
{
    struct quant_head *head = row;
    int64_t n_group = (n + group - 1) / group;
    int16_t *q = quant_numbers(row, n_group);

    for (int64_t g = 0; g < n_group; g++) {
        int64_t left = n - g * group;

        head[g] = quant_group_of(q + g * group, x + g * group, (int)(left < group ? left : group),
                                 group);
    }
}

#endif
