/* A tensor is a view of numbers somewhere: it owns nothing and is copied freely. */
#ifndef RECTO_TENSOR_TENSOR_H
#define RECTO_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum dtype { DT_NONE, DT_F32, DT_BF16, DT_F16, DT_I32, DT_I64, DT_I8, DT_U8, DT_BOOL };

/* Bytes of one element; 0 for DT_NONE. */
static inline size_t dtype_size(enum dtype t)
{
    static const unsigned char size[] = {0, 4, 2, 2, 4, 8, 1, 1, 1};

    return size[t];
}

#define TENSOR_RANK 4

typedef struct tensor {
    void *data;                                  /* host or device address; NULL in a dry run    */
    int64_t n[TENSOR_RANK], stride[TENSOR_RANK]; /* sizes, strides in elements; outermost first  */
    int rank;
    enum dtype dtype;
} tensor;

/* A contiguous view of rank 1 to 4; the sizes behind rank are ignored. */
static inline tensor tensor_view(void *data, enum dtype dtype, int rank, int64_t n0, int64_t n1,
                                 int64_t n2, int64_t n3)
{
    tensor t = {.data = data, .n = {n0, n1, n2, n3}, .rank = rank, .dtype = dtype};
    int64_t step = 1;

    for (int i = rank - 1; i >= 0; i--) {
        t.stride[i] = step;
        step *= t.n[i];
    }
    for (int i = rank; i < TENSOR_RANK; i++)
        t.n[i] = t.stride[i] = 1;
    return t;
}

static inline int64_t tensor_count(tensor t)
{
    return t.n[0] * t.n[1] * t.n[2] * t.n[3];
}

/* Rows [from, from + count) of a matrix. */
static inline tensor tensor_rows(tensor t, int64_t from, int64_t count)
{
    if (t.data)
        t.data = (char *)t.data + (size_t)(from * t.stride[0]) * dtype_size(t.dtype);
    t.n[0] = count;
    return t;
}

/* Columns [from, from + count) of a matrix; its rows stay stride[0] apart, so it is not contiguous. */
static inline tensor tensor_cols(tensor t, int64_t from, int64_t count)
{
    if (t.data)
        t.data = (char *)t.data + (size_t)from * dtype_size(t.dtype);
    t.n[1] = count;
    return t;
}

/* The same numbers as a contiguous matrix of `rows` rows. */
static inline tensor tensor_as_rows(tensor t, int64_t rows)
{
    return tensor_view(t.data, t.dtype, 2, rows, tensor_count(t) / rows, 1, 1);
}

/* bf16 is the upper half of an fp32; rounding is to nearest, ties to even, and NaN stays NaN. */
static inline float bf16_to_f32(uint16_t h)
{
    union {
        uint32_t u;
        float f;
    } v = {.u = (uint32_t)h << 16};

    return v.f;
}

static inline uint16_t f32_to_bf16(float f)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = f};

    if ((v.u & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(v.u >> 16 | 0x40);
    return (uint16_t)((v.u + 0x7FFF + (v.u >> 16 & 1)) >> 16);
}

static inline float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023;
    union {
        uint32_t u;
        float f;
    } v;

    if (e == 31)
        v.u = sign | 0x7F800000 | m << 13;
    else if (e)
        v.u = sign | (e + 112) << 23 | m << 13;
    else {
        v.f = (float)m * 0x1p-24f;
        v.u |= sign;
    }
    return v.f;
}

#endif
