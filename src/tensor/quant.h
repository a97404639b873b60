/* Weights of 8 and of 4 bits: how a row of numbers becomes whole numbers and scales, and back.
 *
 *   value = scale * q, one scale in bf16 for each group of neighbours in a row
 *
 *   kind          group   q            bits a weight, scale included
 *   WEIGHT_INT8   64      -127 .. 127  8.25
 *   WEIGHT_INT4   32      -8 .. 7      4.5
 *
 * A group's scale is rounded to bf16 before q is chosen, so that q is the nearest whole number to
 * value / scale.  int8: scale = largest magnitude / 127.  int4: of the divisors 7, 7.25 ... 9 of the
 * value of largest magnitude, which becomes -divisor, the one with the least squared error, the
 * smaller on ties; so a scale may be negative.  Groups of zeros have scale 0.  A row's last group
 * may be shorter.
 *
 * Stored row by row as here, and so in a quantised checkpoint (docs/model.md); a backend lays them
 * out in its own way.  The choice depends on the row alone: quantised when loading or in a file, the
 * bits are the same.
 * The form with a signed largest value is that of Q4_0 of ggml (ggml-quants.c). */
#ifndef RECTO_TENSOR_QUANT_H
#define RECTO_TENSOR_QUANT_H

#include "backend/backend.h"

#define QUANT_GROUP8    64
#define QUANT_GROUP4    32
#define QUANT_GROUP_MAX 64

static inline bool quant_is(enum weight_kind k)
{
    return k == WEIGHT_INT8 || k == WEIGHT_INT4;
}
static inline int quant_group(enum weight_kind k)
{
    return k == WEIGHT_INT4 ? QUANT_GROUP4 : QUANT_GROUP8;
}
/* Groups of a row of n numbers: as many scales. */
static inline int64_t quant_groups(enum weight_kind k, int64_t n)
{
    return (n + quant_group(k) - 1) / quant_group(k);
}
/* Bytes of the whole numbers of a row: int8 one each; int4 two in a byte, the first in the low half,
 * 8 added; the high half of an odd row's last byte is 8, a zero. */
static inline int64_t quant_row_bytes(enum weight_kind k, int64_t n)
{
    return k == WEIGHT_INT4 ? (n + 1) / 2 : n;
}
/* What a checkpoint's tensor of these has as its type: DT_I8, DT_U8. */
static inline enum dtype quant_dtype(enum weight_kind k)
{
    return k == WEIGHT_INT4 ? DT_U8 : DT_I8;
}

/* A row of n finite numbers; q [quant_row_bytes], scale [quant_groups] bf16. A number that is not
 * finite makes its group's scale so too: it is not hidden. */
void quant_row(enum weight_kind k, const float *x, int64_t n, void *q, uint16_t *scale);

/* q number i of a row, as a whole number. */
static inline int quant_at(enum weight_kind k, const void *q, int64_t i)
{
    const uint8_t *b = q;

    if (k == WEIGHT_INT8)
        return ((const int8_t *)q)[i];
    return (i % 2 ? b[i / 2] >> 4 : b[i / 2] & 15) - 8;
}

/* "bf16" (as stored), "int8", "int4"; RECTO_EUSAGE otherwise. "auto" and NULL are bf16. */
int quant_kind_parse(const char *name, enum weight_kind *k);
const char *quant_kind_text(enum weight_kind k); /* "fp32", "bf16", "int8", "int4" */

#endif
