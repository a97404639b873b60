#include "base/mem.h"
#include "tensor/tensor.h"
#include "vision/interpolate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

/* Weights of torch's antialiased bicubic from 64 to 48, by output and input index (5 decimals). */
static const struct {
    int out, first, n;
    double w[6];
} known[] = {
    {0, 0, 3, {0.75286, 0.30435, -0.05721}},
    {1, 0, 5, {-0.03538, 0.53791, 0.53791, -0.03538, -0.00505}},
    {2, 1, 5, {-0.05519, 0.29360, 0.72627, 0.06843, -0.03311}},
    {4, 3, 6, {-0.00508, -0.03556, 0.54064, 0.54064, -0.03556, -0.00508}},
};

/* The weight of input i in output o: the response to a one at (i, i), where both axes act: squared. */
static double response(int out, int in)
{
    float *x = mem_zero(64 * 64, sizeof *x), *y, r;

    x[in * 64 + in] = 1;
    y = interpolate_positions(x, 64, 48, 1, false);
    r = y[out * 48 + out];
    free(x);
    free(y);
    return r;
}

static void positions_have_the_known_weights(void **state)
{
    for (size_t k = 0; k < COUNT(known); k++)
        for (int i = 0; i < 10; i++) {
            int at = i - known[k].first;
            double w = at >= 0 && at < known[k].n ? known[k].w[at] : 0;

            assert_float_equal(response(known[k].out, i), w * w, 2e-5);
        }
}

static void a_constant_stays_and_a_table_is_linear(void **state)
{
    float x[127 * 2], *y;
    float *flat = mem_alloc(64 * 64 * sizeof *flat), *small;

    for (int i = 0; i < 64 * 64; i++)
        flat[i] = 3;
    small = interpolate_positions(flat, 64, 48, 1, false);
    for (int i = 0; i < 48 * 48; i++)
        assert_float_equal(small[i], 3, 1e-5);
    free(flat);
    free(small);
    for (int i = 0; i < 127; i++)
        x[2 * i] = (float)i, x[2 * i + 1] = 1;
    y = interpolate_rows(x, 127, 95, 2, false);
    for (int i = 0; i < 95; i++) {
        double want = (i + 0.5) * 127 / 95 - 0.5;

        assert_float_equal(y[2 * i], want < 0 ? 0 : want > 126 ? 126 : want, 1e-4);
        assert_float_equal(y[2 * i + 1], 1, 1e-6);
    }
    free(y);
}

static void rounding_to_bf16(void **state)
{
    float x[3] = {1.00390625f, 1.01171875f, -0.3f}, *y = interpolate_rows(x, 3, 3, 1, true);

    assert_float_equal(y[0], 1.0f, 0); /* halfway: to even */
    assert_float_equal(y[1], 1.015625f, 0);
    assert_float_equal(y[2], bf16_to_f32(f32_to_bf16(-0.3f)), 0);
    assert_int_equal(f32_to_bf16(NAN) & 0x7FFF, 0x7FC0);
    free(y);
}

static void half_precision(void **state)
{
    assert_float_equal(f16_to_f32(0x3C00), 1, 0);
    assert_float_equal(f16_to_f32(0xC248), -3.140625f, 0);
    assert_float_equal(f16_to_f32(0x0001), 0x1p-24f, 0);
    assert_float_equal(f16_to_f32(0x8000), -0.0f, 0);
    assert_true(isinf(f16_to_f32(0x7C00)));
    assert_true(isnan(f16_to_f32(0x7E00)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_have_the_known_weights),
        cmocka_unit_test(a_constant_stays_and_a_table_is_linear),
        cmocka_unit_test(rounding_to_bf16),
        cmocka_unit_test(half_precision),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
