#include "tensor/quant.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Adding and taking away 1.5 * 2^23 rounds to the nearest whole number, ties to even, in loops that
 * any vector unit can do; |x| is far below 2^22 here. */
#define ROUNDER 12582912.0f

static float rounded(float x)
{
    return (x + ROUNDER) - ROUNDER;
}

/* Largest magnitude with its sign; NaN if one is not finite. */
static float peak(const float *x, int n)
{
    float high = 0, low = 0, sum = 0;

    for (int i = 0; i < n; i++) {
        high = x[i] > high ? x[i] : high;
        low = x[i] < low ? x[i] : low;
        sum += x[i] * 0;
    }
    return isnan(sum) ? NAN : -low > high ? low : high;
}

/* As bf16; what is so small that its inverse would overflow is 0. */
static uint16_t scale_of(float s)
{
    return fabsf(s) < 0x1p-125f ? 0 : f32_to_bf16(s);
}

/* value / scale as a whole number within lo .. hi */
static void divide(float *q, const float *x, int n, float scale, float lo, float hi)
{
    float inverse = scale != 0 ? 1 / scale : 0;

    for (int i = 0; i < n; i++) {
        float r = x[i] * inverse;

        r = r > lo ? r : lo; /* NaN becomes a number, too */
        q[i] = rounded(r < hi ? r : hi);
    }
}

static float squared_error(const float *q, const float *x, int n, float scale)
{
    float sum = 0;

    for (int i = 0; i < n; i++)
        sum += (x[i] - scale * q[i]) * (x[i] - scale * q[i]);
    return sum;
}

static uint16_t group8(const float *x, int n, float *q)
{
    uint16_t scale = scale_of(fabsf(peak(x, n)) / 127);

    divide(q, x, n, bf16_to_f32(scale), -127, 127);
    return scale;
}

static uint16_t group4(const float *x, int n, float *q)
{
    float top = peak(x, n), least = INFINITY, try[QUANT_GROUP4];
    uint16_t best = f32_to_bf16(top * 0);

    memset(q, 0, (size_t)n * sizeof *q);
    for (int i = 0; top != 0 && i <= 8; i++) {
        uint16_t scale = scale_of(top / -(7 + 0.25f * (float)i));
        float error;

        divide(try, x, n, bf16_to_f32(scale), -8, 7);
        error = squared_error(try, x, n, bf16_to_f32(scale));
        if (error < least) {
            least = error;
            best = scale;
            memcpy(q, try, (size_t)n * sizeof *q);
        }
    }
    return best;
}

static void put4(uint8_t *q, const float *v, int n)
{
    for (int i = 0; i < n; i += 2) {
        int first = (int)v[i] + 8, second = i + 1 < n ? (int)v[i + 1] + 8 : 8;

        q[i / 2] = (uint8_t)(first | second << 4);
    }
}

void quant_row(enum weight_kind k, const float *x, int64_t n, void *q, uint16_t *scale)
{
    float v[QUANT_GROUP_MAX];
    int group = quant_group(k);

    for (int64_t at = 0; at < n; at += group) {
        int m = (int)MIN(group, n - at);

        if (k == WEIGHT_INT4) {
            scale[at / group] = group4(x + at, m, v);
            put4((uint8_t *)q + at / 2, v, m);
        } else {
            scale[at / group] = group8(x + at, m, v);
            for (int i = 0; i < m; i++)
                ((int8_t *)q)[at + i] = (int8_t)v[i];
        }
    }
}

static const char *const kind_text[] = {"fp32", "bf16", "int8", "int4"};

int quant_kind_parse(const char *name, enum weight_kind *k)
{
    *k = WEIGHT_BF16;
    if (!name || strcmp(name, "auto") == 0)
        return 0;
    for (int i = WEIGHT_BF16; i <= WEIGHT_INT4; i++)
        if (strcmp(name, kind_text[i]) == 0) {
            *k = (enum weight_kind)i;
            return 0;
        }
    return err(RECTO_EUSAGE, "no weights '%s': expected auto, bf16, int8 or int4", name);
}

const char *quant_kind_text(enum weight_kind k)
{
    return kind_text[k];
}
