/* Types and numbers of a checkpoint, which stand at any address: memcpy is how C reads them. */
#include "tensor/safetensors.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>

/* Every type of the format; those recto reads first. A type unknown even here is listed with size
 * 0. */
static const struct {
    const char *text;
    enum dtype dtype;
    unsigned char bytes;
} types[] = {
    {"F32", DT_F32, 4},  {"BF16", DT_BF16, 2},    {"F16", DT_F16, 2},      {"I32", DT_I32, 4},
    {"I64", DT_I64, 8},  {"I8", DT_I8, 1},        {"U8", DT_U8, 1},        {"BOOL", DT_BOOL, 1},
    {"F64", DT_NONE, 8}, {"U64", DT_NONE, 8},     {"U32", DT_NONE, 4},     {"I16", DT_NONE, 2},
    {"U16", DT_NONE, 2}, {"F8_E4M3", DT_NONE, 1}, {"F8_E5M2", DT_NONE, 1},
};

enum dtype dtype_parse(str text, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < COUNT(types); i++)
        if (str_eq(text, str_of(types[i].text))) {
            *bytes = types[i].bytes;
            return types[i].dtype;
        }
    return DT_NONE;
}

const char *dtype_text(enum dtype t)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i].dtype == t && t != DT_NONE)
            return types[i].text;
    return "NONE";
}

const char *shape_text(char text[SHAPE_TEXT_MAX], int rank, const int64_t *n)
{
    size_t at = 0;

    text[at++] = '[';
    for (int i = 0; i < rank && at < SHAPE_TEXT_MAX - 24; i++)
        at += (size_t)snprintf(text + at, SHAPE_TEXT_MAX - at, i ? ", %lld" : "%lld",
                               (long long)n[i]);
    text[at++] = ']';
    text[at] = 0;
    return text;
}

int ckpt_read_f32(enum dtype dtype, const void *from, int64_t count, float *to)
{
    const char *p = from;
    uint16_t h;

    switch (dtype) {
    case DT_F32:
        if (count)
            memcpy(to, p, (size_t)count * 4);
        return 0;
    case DT_BF16:
        for (int64_t i = 0; i < count; i++) {
            memcpy(&h, p + 2 * i, 2);
            to[i] = bf16_to_f32(h);
        }
        return 0;
    case DT_F16:
        for (int64_t i = 0; i < count; i++) {
            memcpy(&h, p + 2 * i, 2);
            to[i] = f16_to_f32(h);
        }
        return 0;
    default:
        return err(RECTO_EMODEL, "numbers of type %s where F32, BF16 or F16 is expected",
                   dtype_text(dtype));
    }
}

static int read_i64(const char *p, int64_t count, int32_t *to)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t v;

        memcpy(&v, p + 8 * i, 8);
        if (v < INT32_MIN || v > INT32_MAX)
            return err(RECTO_EMODEL, "%lld where a whole number of 32 bits is expected",
                       (long long)v);
        to[i] = (int32_t)v;
    }
    return 0;
}

int ckpt_read_i32(enum dtype dtype, const void *from, int64_t count, int32_t *to)
{
    const char *p = from;

    switch (dtype) {
    case DT_I32:
        if (count)
            memcpy(to, p, (size_t)count * 4);
        return 0;
    case DT_I64:
        return read_i64(p, count, to);
    case DT_I8:
        for (int64_t i = 0; i < count; i++)
            to[i] = (((const unsigned char *)p)[i] ^ 0x80) - 0x80; /* sign extension */
        return 0;
    case DT_U8:
    case DT_BOOL:
        for (int64_t i = 0; i < count; i++)
            to[i] = ((const unsigned char *)p)[i];
        return 0;
    default:
        return err(RECTO_EMODEL, "numbers of type %s where whole numbers are expected",
                   dtype_text(dtype));
    }
}
