/* Element-wise slots and pictures, through the record, against plain loops. */
#include "ops.h"

static struct device *dev;

static int open_dev(void **state)
{
    dev = device_of((int)cpu_isa_present(), "fp32", 2);
    return 0;
}

static int close_dev(void **state)
{
    backend_cpu.close(dev);
    return 0;
}

static void test_norm_rows(void **state)
{
    enum { ROWS = 117, N = 896 };
    float *x = rand_f32(ROWS * N, 3), *w = rand_f32(N, 1), *b = rand_f32(N, 1),
          *y = rand_f32(ROWS * N, 0), *z = rand_f32(N, 0);
    struct cpu_kern k;

    cpu_kern_init(&k, cpu_isa_present());
    backend_cpu.rmsnorm(dev, matrix(y, ROWS, N), matrix(x, ROWS, N), vector(w, DT_F32, N), 1e-6f);
    for (int r = 0; r < ROWS; r++) {
        k.rmsnorm(z, x + r * N, w, N, 1e-6f);
        same_bits(y + r * N, z, N, "rmsnorm");
    }
    backend_cpu.layernorm(dev, matrix(y, ROWS, N), matrix(x, ROWS, N), vector(w, DT_F32, N),
                          vector(b, DT_F32, N), 1e-6f);
    for (int r = 0; r < ROWS; r++) {
        k.layernorm(z, x + r * N, w, b, N, 1e-6f);
        same_bits(y + r * N, z, N, "layernorm");
    }
    backend_cpu.swiglu(dev, matrix(y, ROWS, N), matrix(x, ROWS, N), matrix(y, ROWS, N));
    for (int r = 0; r < ROWS; r++) { /* y held layernorm(x) */
        k.layernorm(z, x + r * N, w, b, N, 1e-6f);
        k.swiglu(z, x + r * N, z, N);
        same_bits(y + r * N, z, N, "swiglu");
    }
    free(x), free(w), free(b), free(y), free(z);
}

static void test_copies(void **state)
{
    enum { ROWS = 90, T = 30, N = 80 };
    static const int32_t row[] = {89, 0, 0, 7};
    static const int32_t id[] = {3, -1, 0, 29};
    float *x = rand_f32(ROWS * N, 1), *p = rand_f32(T * N, 1), *y = same_f32(x, ROWS * N),
          *e = rand_f32(4 * N, 1);
    float *e0 = same_f32(e, 4 * N);
    uint16_t *half = rand_bf16(T * N, 1);

    backend_cpu.add_cyclic(dev, matrix(y, ROWS, N), matrix(p, T, N));
    for (int i = 0; i < ROWS * N; i++)
        assert_true(y[i] == x[i] + p[i % (T * N)]);
    backend_cpu.gather_rows(dev, matrix(y, 4, N), matrix(x, ROWS, N),
                            vector((void *)row, DT_I32, 4));
    for (int i = 0; i < 4 * N; i++)
        assert_true(y[i] == x[row[i / N] * N + i % N]);
    backend_cpu.copy(dev, matrix(y, ROWS, N), matrix(x, ROWS, N));
    same_bits(y, x, ROWS * N, "copy");

    backend_cpu.embed(dev, matrix(e, 4, N), matrix(p, T, N), vector((void *)id, DT_I32, 4));
    for (int i = 0; i < 4 * N; i++)
        assert_true(e[i] == (id[i / N] < 0 ? e0[i] : p[id[i / N] * N + i % N]));
    backend_cpu.embed(dev, matrix(e, 4, N), tensor_view(half, DT_BF16, 2, T, N, 1, 1),
                      vector((void *)id, DT_I32, 4));
    for (int i = 0; i < 4 * N; i++)
        assert_true(e[i] == (id[i / N] < 0 ? e0[i] : bf16_to_f32(half[id[i / N] * N + i % N])));
    assert_int_equal(backend_cpu.embed(dev, matrix(e, 4, N),
                                       tensor_view(half, DT_I8, 2, T, N, 1, 1),
                                       vector((void *)id, DT_I32, 4)),
                     RECTO_EMODEL);
    free(x), free(p), free(y), free(e), free(e0), free(half);
}

/* Against rotation of complex numbers; a turn by an angle keeps the length of every pair. */
static void test_rope(void **state)
{
    enum { ROWS = 12, HEADS = 3, HD = 32, LEN = 50 };
    static const int32_t pos[] = {0, 1, 49, 7};
    float *x = rand_f32(ROWS * HEADS * HD, 1), *y = same_f32(x, ROWS * HEADS * HD),
          *table = rand_f32(LEN * HD, 0);

    for (int i = 0; i < LEN * HD / 2; i++) {
        double a = i / (HD / 2) * pow(10000, -2.0 * (i % (HD / 2)) / HD);

        table[i / (HD / 2) * HD + i % (HD / 2)] = (float)cos(a);
        table[i / (HD / 2) * HD + HD / 2 + i % (HD / 2)] = (float)sin(a);
    }
    backend_cpu.rope(dev, matrix(y, ROWS, HEADS * HD), vector((void *)pos, DT_I32, 4),
                     matrix(table, LEN, HD));
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < HEADS * HD / 2; i++) {
            int at = r * HEADS * HD + i / (HD / 2) * HD + i % (HD / 2);
            double a = pos[r % 4] * pow(10000, -2.0 * (i % (HD / 2)) / HD), u = x[at],
                   v = x[at + HD / 2];

            close_to(y[at], u * cos(a) - v * sin(a), 3 * ULP_F32, fabs(u) + fabs(v), "rope", at);
            close_to(y[at + HD / 2], v * cos(a) + u * sin(a), 3 * ULP_F32, fabs(u) + fabs(v),
                     "rope", at);
        }
    free(x), free(y), free(table);
}

/* Columns of a wider matrix turn as they would alone; what is behind them stays. */
static void columns_turn_alone(void **state)
{
    enum { ROWS = 5, WIDTH = 64, ALL = 80, HD = 32, LEN = 8 };
    static const int32_t pos[] = {3, 0, 7, 1, 5};
    float *wide = rand_f32(ROWS * ALL, 1), *before = same_f32(wide, ROWS * ALL),
          *alone = rand_f32(ROWS * WIDTH, 0), *table = rand_f32(LEN * HD, 1);

    for (int r = 0; r < ROWS; r++)
        memcpy(alone + r * WIDTH, wide + r * ALL, WIDTH * sizeof *wide);
    for (int i = 0; i < 2; i++)
        backend_cpu.rope(
            dev, i ? matrix(alone, ROWS, WIDTH) : tensor_cols(matrix(wide, ROWS, ALL), 0, WIDTH),
            vector((void *)pos, DT_I32, ROWS), matrix(table, LEN, HD));
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < ALL; i++)
            assert_true(wide[r * ALL + i] ==
                        (i < WIDTH ? alone[r * WIDTH + i] : before[r * ALL + i]));
    assert_true(wide[0] != before[0]);
    free(wide), free(before), free(alone), free(table);
}

static void test_patches(void **state)
{
    enum { V = 2, S = 24, P = 8, G = S / P, W = 3 * P * P };
    static uint8_t pixels[V * S * S * 3];
    static float out[V * G * G * W];
    tensor view = tensor_view(pixels, DT_U8, 4, V, S, S, 3);

    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)rand_u32();
    assert_int_equal(backend_cpu.patches(dev, matrix(out, V * G * G, W), view, P), 0);
    for (int i = 0; i < V * G * G * W; i++) {
        int patch = i / W, c = i % W / (P * P), y = patch / G % G * P + i / P % P,
            x = patch % G * P + i % P;
        uint8_t u = pixels[((patch / (G * G) * S + y) * S + x) * 3 + c];

        assert_true(out[i] == ((float)u / 255.0f - 0.5f) / 0.5f);
    }
    assert_int_equal(backend_cpu.patches(dev, matrix(out, V, W), view, 7), RECTO_ESHAPE);
}

static void check_im2col(int h, int w, int c, int stride)
{
    enum { V = 2 };
    int ho = (h - 1) / stride + 1, wo = (w - 1) / stride + 1;
    float *x = rand_f32(V * h * w * c, 1), *out = rand_f32(V * ho * wo * 9 * c, 1);

    backend_cpu.im2col(dev, matrix(out, V * ho * wo, 9 * c), tensor_view(x, DT_F32, 4, V, h, w, c),
                       stride);
    for (int i = 0; i < V * ho * wo * 9 * c; i++) {
        int row = i / (9 * c), ky = i / (3 * c) % 3, kx = i / c % 3;
        int y = row / wo % ho * stride + ky - 1, xx = row % wo * stride + kx - 1;
        bool is_inside = y >= 0 && y < h && xx >= 0 && xx < w;

        assert_true(out[i] ==
                    (is_inside ? x[((row / (ho * wo) * h + y) * w + xx) * c + i % c] : 0));
    }
    free(x), free(out);
}

static void test_im2col(void **state)
{
    check_im2col(8, 8, 4, 1);
    check_im2col(8, 8, 4, 2);
    check_im2col(7, 5, 3, 2);
    check_im2col(1, 1, 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm_rows), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_rope),      cmocka_unit_test(test_patches),
        cmocka_unit_test(test_im2col),    cmocka_unit_test(columns_turn_alone),
    };

    return cmocka_run_group_tests(tests, open_dev, close_dev);
}
