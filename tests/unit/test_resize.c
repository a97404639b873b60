/* Resizing: exact small vectors, and properties that any size must have. Whole pages are compared
 * in test_view.c. */
#include "page/resize.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static unsigned char *noise(int w, int h, unsigned seed)
{
    size_t n = (size_t)w * (size_t)h * 3;
    unsigned char *p = mem_alloc(n);

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (unsigned char)(seed >> 24);
    }
    return p;
}

/* The definition, written as plainly as possible: one output sample from one line of n input
 * samples. */
static unsigned char plain_sample(const unsigned char *in, size_t step, int n, int m, int x)
{
    double scale = (double)n / m, fs = scale > 1 ? scale : 1, sum = 0, w[4096];
    double center = (x + 0.5) * scale;
    int x0 = (int)(center - 2 * fs + 0.5), x1 = (int)(center + 2 * fs + 0.5);
    int64_t acc = 1 << 21;

    x0 = x0 < 0 ? 0 : x0;
    x1 = x1 > n ? n : x1;
    for (int k = 0; k < x1 - x0; k++) {
        double t = (k + x0 - center + 0.5) * (1 / fs);

        t = t < 0 ? -t : t;
        w[k] = t < 1 ? (1.5 * t - 2.5) * t * t + 1 : t < 2 ? (((t - 5) * t + 8) * t - 4) * -0.5 : 0;
        sum += w[k];
    }
    for (int k = 0; k < x1 - x0; k++) {
        double v = w[k] / sum * 4194304.0;

        acc += (int64_t)(v < 0 ? v - 0.5 : v + 0.5) * in[(size_t)(x0 + k) * step];
    }
    acc >>= 22;
    return (unsigned char)(acc < 0 ? 0 : acc > 255 ? 255 : acc);
}

static void plain_resize(unsigned char *out, int ow, int oh, const unsigned char *in, int iw,
                         int ih)
{
    unsigned char *mid = mem_alloc((size_t)ow * (size_t)ih * 3);

    for (int y = 0; y < ih; y++)
        for (int x = 0; x < ow; x++)
            for (int c = 0; c < 3; c++)
                mid[(y * ow + x) * 3 + c] = ow == iw
                                                ? in[(y * iw + x) * 3 + c]
                                                : plain_sample(in + y * iw * 3 + c, 3, iw, ow, x);
    for (int y = 0; y < oh; y++)
        for (int x = 0; x < ow; x++)
            for (int c = 0; c < 3; c++)
                out[(y * ow + x) * 3 + c] = oh == ih ? mid[(y * ow + x) * 3 + c]
                                                     : plain_sample(mid + x * 3 + c, (size_t)ow * 3,
                                                                    ih, oh, y);
    free(mid);
}

static void equals_the_plain_definition(void **state)
{
    static const int sizes[][4] = {{1, 1, 5, 7},     {7, 5, 1, 1},      {3, 200, 40, 11},
                                   {33, 65, 32, 64}, {64, 31, 31, 64},  {97, 3, 10, 100},
                                   {10, 11, 11, 10}, {129, 40, 129, 7}, {50, 90, 13, 90},
                                   {2, 2, 300, 2},   {700, 2, 3, 3},    {31, 97, 64, 33}};

    for (size_t k = 0; k < COUNT(sizes); k++) {
        int iw = sizes[k][0], ih = sizes[k][1], ow = sizes[k][2], oh = sizes[k][3];
        unsigned char *in = noise(iw, ih, (unsigned)k);
        unsigned char *got = mem_alloc((size_t)ow * (size_t)oh * 3);
        unsigned char *want = mem_alloc((size_t)ow * (size_t)oh * 3);

        assert_int_equal(resize_bicubic(got, ow, oh, in, iw, ih), 0);
        plain_resize(want, ow, oh, in, iw, ih);
        assert_memory_equal(got, want, (size_t)ow * (size_t)oh * 3);
        free(in);
        free(got);
        free(want);
    }
}

/* Two pixels, 0 and 255, to four, worked out by hand. K(0.25) = 0.8671875, K(0.75) = 0.2265625,
 * K(1.25) = -0.0703125. */
static void known_vectors(void **state)
{
    static const unsigned char edge[6] = {0, 0, 0, 255, 255, 255};
    static const unsigned char one[3] = {9, 99, 199};
    unsigned char out[12];

    assert_int_equal(resize_bicubic(out, 4, 1, edge, 2, 1), 0);
    /* x = 0: center 0.25, the samples are 0.25 and 1.25 away: 255 * -0.0703 / 0.7969 < 0 -> 0.
     * x = 1: center 0.75, they are 0.25 and 0.75 away: 255 * 0.2266 / 1.09375 = 52.8 -> 53.
     * The other two by symmetry. */
    assert_int_equal(out[0], 0);
    assert_int_equal(out[3], 53);
    assert_int_equal(out[6], 202);
    assert_int_equal(out[9], 255);
    assert_int_equal(resize_bicubic(out, 2, 2, one, 1, 1), 0);
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], one[i % 3]);
}

static void same_size_is_a_copy(void **state)
{
    unsigned char *in = noise(61, 37, 5), *out = mem_alloc(61 * 37 * 3);

    assert_int_equal(resize_bicubic(out, 61, 37, in, 61, 37), 0);
    assert_memory_equal(in, out, 61 * 37 * 3);
    free(in);
    free(out);
}

/* Weights add up to one, so a flat picture stays flat; values never leave the range of bytes. */
static void flat_stays_flat(void **state)
{
    static const unsigned char values[] = {0, 1, 127, 254, 255};
    unsigned char in[40 * 30 * 3], out[90 * 17 * 3];

    for (size_t v = 0; v < COUNT(values); v++) {
        memset(in, values[v], sizeof in);
        assert_int_equal(resize_bicubic(out, 90, 17, in, 40, 30), 0);
        for (size_t i = 0; i < sizeof out; i++)
            assert_int_equal(out[i], values[v]);
    }
}

static void channels_and_axes_do_not_mix(void **state)
{
    int w = 45, h = 70, ow = 100, oh = 33;
    unsigned char *in = noise(w, h, 1), *turned = mem_alloc((size_t)(w * h * 3));
    unsigned char *a = mem_alloc((size_t)(ow * oh * 3)), *b = mem_alloc((size_t)(ow * oh * 3));

    /* A row-only resize of the picture is a column-only resize of the transposed one, channels
     * exchanged. */
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++)
                turned[(x * h + y) * 3 + 2 - c] = in[(y * w + x) * 3 + c];
    assert_int_equal(resize_bicubic(a, 33, h, in, w, h), 0);
    assert_int_equal(resize_bicubic(b, h, 33, turned, h, w), 0);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < 33; x++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(a[(y * 33 + x) * 3 + c], b[(x * h + y) * 3 + 2 - c]);
    free(in);
    free(turned);
    free(a);
    free(b);
}

static void extreme_sides(void **state)
{
    unsigned char *wide = noise(100000, 1, 3), out[1024 * 3], dot[3];

    assert_int_equal(resize_bicubic(out, 1024, 1, wide, 100000, 1), 0);
    assert_int_equal(resize_bicubic(dot, 1, 1, wide, 100000, 1), 0);
    assert_in_range(dot[0], 120, 135); /* the mean of noise */
    free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_plain_definition),  cmocka_unit_test(known_vectors),
        cmocka_unit_test(same_size_is_a_copy),          cmocka_unit_test(flat_stays_flat),
        cmocka_unit_test(channels_and_axes_do_not_mix), cmocka_unit_test(extreme_sides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
