#include "vision/interpolate.h"

#include "base/mem.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdlib.h>

/* Keys' cubic with a = -0.5. */
static float cubic(float t)
{
    const float a = -0.5f;

    t = fabsf(t);
    if (t < 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    if (t < 2)
        return (((t - 5) * t + 8) * t - 4) * a;
    return 0;
}

struct taps {
    int first, n;
    float w[64];
};

/* Inputs [first, first + n) and their weights for output i. */
static struct taps cubic_taps(int i, int from, int to)
{
    float scale = (float)from / (float)to, wide = scale > 1 ? scale : 1, support = 2 * wide;
    float center = ((float)i + 0.5f) * scale, sum = 0;
    int first = (int)(center - support + 0.5f), last = (int)(center + support + 0.5f);
    struct taps t;

    t.first = MAX(first, 0);
    t.n = MIN(MIN(last, from) - t.first, (int)COUNT(t.w));
    for (int j = 0; j < t.n; j++) {
        t.w[j] = cubic(((float)(j + t.first) - center + 0.5f) / wide);
        sum += t.w[j];
    }
    for (int j = 0; j < t.n; j++)
        t.w[j] /= sum;
    return t;
}

static void round_all(float *x, size_t n, bool round_bf16)
{
    for (size_t i = 0; round_bf16 && i < n; i++)
        x[i] = bf16_to_f32(f32_to_bf16(x[i]));
}

/* One axis: rows of `width` numbers, `from` of them become `to`; `outer` such groups. */
static void resample(float *out, const float *in, int outer, int from, int to, int width)
{
    for (int i = 0; i < to; i++) {
        struct taps t = cubic_taps(i, from, to);

        for (int o = 0; o < outer; o++) {
            float *y = out + ((size_t)o * to + i) * width;

            for (int k = 0; k < width; k++)
                y[k] = 0;
            for (int j = 0; j < t.n; j++) {
                const float *x = in + ((size_t)o * from + t.first + j) * width;

                for (int k = 0; k < width; k++)
                    y[k] += t.w[j] * x[k];
            }
        }
    }
}

float *interpolate_positions(const float *in, int from, int to, int c, bool round_bf16)
{
    size_t n = (size_t)to * to * c;
    float *wide = mem_alloc((size_t)from * to * c * sizeof *wide),
          *out = mem_alloc(n * sizeof *out);

    resample(wide, in, from, from, to, c);
    resample(out, wide, 1, from, to, to * c);
    round_all(out, n, round_bf16);
    free(wide);
    return out;
}

float *interpolate_rows(const float *in, int from, int to, int c, bool round_bf16)
{
    float *out = mem_alloc((size_t)to * c * sizeof *out);

    for (int i = 0; i < to; i++) {
        float at = ((float)i + 0.5f) * (float)from / (float)to - 0.5f;
        int lo = (int)MAX(at, 0.0f), hi = MIN(lo + 1, from - 1);
        float f = MAX(at, 0.0f) - (float)lo;

        for (int k = 0; k < c; k++)
            out[(size_t)i * c + k] = (1 - f) * in[(size_t)lo * c + k] + f * in[(size_t)hi * c + k];
    }
    round_all(out, (size_t)to * c, round_bf16);
    return out;
}
