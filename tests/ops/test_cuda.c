/* Every slot of the CUDA backend against the portable C of the CPU in fp32 (which test_linear.c and
 * its neighbours check against sums in double precision), in fp32 and in bf16, at sizes of the tiny
 * and the released model, ragged ones, and equalities: alone = in a batch, block of 16 = of 64,
 * chunked = whole, bit for bit.
 *
 * Both devices get the same numbers: in bf16, inputs are rounded before either sees them.  The
 * measure is rms(error) / rms(reference), so that single roundings do not decide.  Bounds in bf16,
 * in units of one rounding (2^-9 / sqrt 3 = 0.0011): norms, gates and rotations round once or twice
 * (0.002); products once, with fp32 sums (0.0017); attention rounds weights and result (0.003);
 * experts round between their products and the row (0.004).  In fp32 only the order of sums differs
 * (1e-5).
 *
 * Without a GPU, or in a build without CUDA, the program ends with 77: skipped. */
#include "backend/op.h"
#include "decoder/sampler.h"
#include "ops.h"

#ifndef RECTO_HAVE_CUDA
int main(void)
{
    printf("this build has no CUDA backend: skipped\n");
    return 77;
}
#else

static struct device *cpu, *gpu; /* the CPU in fp32, and the GPU in the precision under test */
static bool is_f32;
static const struct backend *be = &backend_cuda;

static void open_gpu(const char *precision)
{
    struct device_opts o = {.name = "cuda", .precision = precision};

    if (be->open(&gpu, &o) < 0)
        fail_msg("%s", err_text());
    is_f32 = strcmp(precision, "fp32") == 0;
}

static void ok(int rc)
{
    if (rc < 0)
        fail_msg("%s", err_text());
}

/* ---- numbers on both sides ------------------------------------------------------------------- */
struct pair {
    tensor c, g; /* CPU, always fp32; GPU */
};

static tensor on_gpu(const void *host, enum dtype t, int64_t rows, int64_t width)
{
    tensor x = tensor_view(NULL, t, 2, rows, width, 1, 1);
    size_t bytes = (size_t)(rows * width) * dtype_size(t);

    ok(be->alloc(gpu, bytes, &x.data));
    ok(be->upload(gpu, x.data, host, bytes));
    return x;
}

static struct pair made(float *host, int64_t rows, int64_t width, bool as_f32)
{
    int64_t n = rows * width;
    uint16_t *half = malloc((size_t)n * sizeof *half);
    struct pair p;

    for (int64_t i = 0; i < n; i++) {
        half[i] = f32_to_bf16(host[i]);
        if (!as_f32)
            host[i] = bf16_to_f32(half[i]);
    }
    p.c = matrix(host, rows, width);
    p.g = as_f32 ? on_gpu(host, DT_F32, rows, width) : on_gpu(half, DT_BF16, rows, width);
    free(half);
    return p;
}

/* An activation: bf16 unless the precision is fp32. */
static struct pair act(int64_t rows, int64_t width)
{
    return made(rand_f32(rows * width, 1), rows, width, is_f32);
}

/* A number of the residual stream: fp32 always. */
static struct pair stream(int64_t rows, int64_t width)
{
    return made(rand_f32(rows * width, 1), rows, width, true);
}

static struct pair vec(int64_t n, double centre, double rms)
{
    float *v = rand_f32(n, rms);
    struct pair p;

    for (int64_t i = 0; i < n; i++)
        v[i] += (float)centre;
    p = made(v, 1, n, true);
    p.c = vector(p.c.data, DT_F32, n);
    p.g = vector(p.g.data, DT_F32, n);
    return p;
}

static void drop(struct pair p)
{
    free(p.c.data);
    be->free(gpu, p.g.data);
}

static float *fetch(tensor x)
{
    int64_t n = tensor_count(x);
    float *out = malloc((size_t)n * sizeof *out);
    uint16_t *half = malloc((size_t)n * sizeof *half);

    ok(be->download(gpu, x.dtype == DT_F32 ? (void *)out : half, x.data,
                    (size_t)n * dtype_size(x.dtype)));
    for (int64_t i = 0; x.dtype != DT_F32 && i < n; i++)
        out[i] = bf16_to_f32(half[i]);
    free(half);
    return out;
}

static void expect(struct pair p, double bound, const char *what, int64_t a, int64_t b)
{
    float *got = fetch(p.g), *want = p.c.data;
    double off = 0, all = 0, e;

    for (int64_t i = 0; i < tensor_count(p.c); i++) {
        off += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        all += (double)want[i] * want[i];
    }
    e = sqrt(off / (all > 0 ? all : 1));
    /* the mean of few squares strays: by 1 / sqrt(2 n) of itself for n of them, so short results
     * get three times that */
    bound = is_f32 ? 1e-5 : bound * (1 + 3 / sqrt(2 * (double)tensor_count(p.c)));
    if (!(e <= bound))
        fail_msg("%s (%lld, %lld) in %s: error %.2e, allowed %.2e", what, (long long)a,
                 (long long)b, is_f32 ? "fp32" : "bf16", e, bound);
    free(got);
}

struct weights2 {
    struct weight c, g;
};

static struct weights2 weight2(enum dtype t, int64_t n_out, int64_t n_in, struct pair *bias)
{
    uint16_t *half = rand_bf16(n_out * n_in, 1.0 / sqrt((double)n_in));
    float *full = rand_f32(n_out * n_in, 1.0 / sqrt((double)n_in));
    struct weights2 w = {{0}, {0}};

    ok(backend_cpu.pack(cpu, &w.c, t == DT_BF16 ? (void *)half : full, t, n_out, n_in, false));
    ok(be->pack(gpu, &w.g, t == DT_BF16 ? (void *)half : full, t, n_out, n_in, false));
    if (bias) {
        *bias = vec(n_out, 0, 0.5);
        w.c.bias = bias->c.data;
        w.g.bias = bias->g.data;
    }
    free(half);
    free(full);
    return w;
}

static void drop_weight(struct weights2 w)
{
    backend_cpu.free(cpu, w.c.data);
    be->free(gpu, w.g.data);
}

/* ---- rows ------------------------------------------------------------------------------------ */
static void norms_gates_rotations(void **state)
{
    static const int64_t size[][2] = {{1, 48}, {3, 80}, {7, 896}, {65, 1280}, {200, 768}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int64_t rows = size[i][0], n = size[i][1];
        struct pair x = stream(rows, n), h = act(rows, n), y = act(rows, n), w = vec(n, 1, 0.1),
                    b = vec(n, 0, 0.1), up = act(rows, n);

        ok(backend_cpu.rmsnorm(cpu, y.c, x.c, w.c, 1e-6f));
        ok(be->rmsnorm(gpu, y.g, x.g, w.g, 1e-6f));
        expect(y, 0.002, "rmsnorm", rows, n);
        ok(backend_cpu.layernorm(cpu, y.c, h.c, w.c, b.c, 1e-6f));
        ok(be->layernorm(gpu, y.g, h.g, w.g, b.g, 1e-6f));
        expect(y, 0.002, "layernorm", rows, n);
        ok(backend_cpu.swiglu(cpu, y.c, h.c, up.c));
        ok(be->swiglu(gpu, y.g, h.g, up.g));
        expect(y, 0.002, "swiglu", rows, n);
        ok(be->copy(gpu, x.g, y.g));
        ok(backend_cpu.copy(cpu, x.c, y.c));
        expect(x, 0.002, "copy", rows, n);
        drop(x), drop(h), drop(y), drop(w), drop(b), drop(up);
    }
}

static void rotation(void **state)
{
    static const int size[][3] = {{1, 2, 16}, {130, 14, 64}, {77, 10, 128}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int rows = size[i][0], heads = size[i][1], hd = size[i][2], n_pos = 200;
        struct pair x = act(rows, (int64_t)heads * hd), table = stream(n_pos, hd);
        int32_t *pos = malloc((size_t)rows * sizeof *pos);
        tensor pos_g;

        for (int r = 0; r < rows; r++)
            pos[r] = (int32_t)(rand_u32() % 200);
        pos_g = on_gpu(pos, DT_I32, rows, 1);
        ok(backend_cpu.rope(cpu, x.c, tensor_view(pos, DT_I32, 2, rows, 1, 1, 1), table.c));
        ok(be->rope(gpu, x.g, pos_g, table.g));
        expect(x, 0.002, "rope", rows, hd);
        be->free(gpu, pos_g.data);
        free(pos);
        drop(x), drop(table);
    }
}

static void look_ups(void **state)
{
    int64_t rows = 5, n = 80;
    struct pair x = stream(rows, n), y = stream(rows, n), p = stream(5, n), a = act(rows, n),
                b = act(rows, n);
    int32_t id[] = {3, -1, 0, 4, 4};
    tensor row_c = tensor_view(id, DT_I32, 2, rows, 1, 1, 1), row_g;

    row_g = on_gpu(id, DT_I32, rows, 1);
    ok(backend_cpu.embed(cpu, y.c, x.c, row_c));
    ok(be->embed(gpu, y.g, x.g, row_g));
    expect(y, 0, "embed", rows, n);
    ok(backend_cpu.add_cyclic(cpu, y.c, p.c));
    ok(be->add_cyclic(gpu, y.g, p.g));
    expect(y, 1e-7, "add_cyclic", rows, n);
    id[1] = 2;
    ok(be->upload(gpu, row_g.data, id, sizeof id));
    ok(backend_cpu.gather_rows(cpu, p.c, y.c, row_c));
    ok(be->gather_rows(gpu, p.g, y.g, row_g));
    expect(p, 1e-7, "gather_rows", rows, n);
    ok(backend_cpu.gather_rows(cpu, b.c, a.c, row_c));
    ok(be->gather_rows(gpu, b.g, a.g, row_g));
    expect(b, 0, "gather_rows of activations", rows, n);
    be->free(gpu, row_g.data);
    drop(x), drop(y), drop(p), drop(a), drop(b);
}

static void pictures(void **state)
{
    int side = 64, patch = 16, views = 2;
    uint8_t *px = malloc((size_t)(views * side * side * 3));
    struct pair out = act(views * 16, 3 * patch * patch), x = act((int64_t)views * 9 * 9, 40), y;
    tensor pg;

    for (int i = 0; i < views * side * side * 3; i++)
        px[i] = (uint8_t)rand_u32();
    pg = on_gpu(px, DT_U8, views * side, 3 * side);
    ok(backend_cpu.patches(cpu, out.c, tensor_view(px, DT_U8, 4, views, side, side, 3), patch));
    ok(be->patches(gpu, out.g, tensor_view(pg.data, DT_U8, 4, views, side, side, 3), patch));
    expect(out, 0.002, "patches", views, side);
    for (int stride = 1; stride <= 2; stride++) {
        int64_t to = (9 - 1) / stride + 1;

        y = act(views * to * to, 9 * 40);
        ok(backend_cpu.im2col(cpu, y.c, tensor_view(x.c.data, DT_F32, 4, views, 9, 9, 40), stride));
        ok(be->im2col(gpu, y.g, tensor_view(x.g.data, x.g.dtype, 4, views, 9, 9, 40), stride));
        expect(y, 0, "im2col", stride, 9);
        drop(y);
    }
    be->free(gpu, pg.data);
    free(px);
    drop(out), drop(x);
}

/* ---- products -------------------------------------------------------------------------------- */
static void products(void **state)
{
    static const int64_t size[][3] = {
        {1, 80, 48},      {7, 640, 80},      {8, 40, 80},      {9, 1280, 1280},   {16, 896, 1280},
        {17, 1280, 896},  {63, 160, 320},    {65, 100, 36},    {127, 1792, 1280}, {129, 768, 3072},
        {300, 2304, 768}, {130, 1280, 6848}, {700, 2304, 768}, {520, 896, 4864},  {1100, 776, 200}};

    for (size_t i = 0; i < COUNT(size); i++)
        for (int mode = LINEAR_SET; mode <= LINEAR_ADD; mode++)
            for (int t = 0; t < 2; t++) {
                int64_t rows = size[i][0], n = size[i][1], k = size[i][2];
                struct pair bias, x = act(rows, k),
                                  y = mode == LINEAR_ADD ? stream(rows, n) : act(rows, n);
                struct weights2 w = weight2(t ? DT_F32 : DT_BF16, n, k, &bias);

                ok(backend_cpu.linear(cpu, y.c, x.c, &w.c, mode));
                ok(be->linear(gpu, y.g, x.g, &w.g, mode));
                expect(y, 0.0017, "linear", rows, n);
                drop_weight(w);
                drop(bias), drop(x), drop(y);
            }
}

static void gated_products(void **state)
{
    static const int64_t size[][3] = {{1, 160, 80},     {8, 6848, 1280}, {60, 96, 320},
                                      {200, 4864, 896}, {70, 36, 20},    {515, 1800, 896}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int64_t rows = size[i][0], n = size[i][1], k = size[i][2];
        struct pair x = act(rows, k), y = act(rows, n);
        struct weights2 gate = weight2(DT_BF16, n, k, NULL), up = weight2(DT_BF16, n, k, NULL);

        ok(backend_cpu.linear_swiglu(cpu, y.c, x.c, &gate.c, &up.c));
        ok(be->linear_swiglu(gpu, y.g, x.g, &gate.g, &up.g));
        expect(y, 0.002, "linear_swiglu", rows, n);
        drop_weight(gate), drop_weight(up);
        drop(x), drop(y);
    }
}

/* Rows of a product, whichever tile computes them, set or added. */
static void rows_apart(enum linear_mode mode, int64_t rows, int64_t n, int64_t k, int64_t part)
{
    struct weights2 w = weight2(DT_BF16, n, k, NULL);
    struct pair x = act(rows, k), y = mode == LINEAR_ADD ? stream(rows, n) : act(rows, n),
                z = mode == LINEAR_ADD ? stream(rows, n) : act(rows, n);
    float *whole, *parts;

    ok(be->copy(gpu, z.g, y.g)); /* what is added to */
    ok(be->linear(gpu, y.g, x.g, &w.g, mode));
    for (int64_t at = 0; at < rows; at += part) {
        int64_t some = MIN(part, rows - at);

        ok(be->linear(gpu, tensor_rows(z.g, at, some), tensor_rows(x.g, at, some), &w.g, mode));
    }
    whole = fetch(y.g);
    parts = fetch(z.g);
    same_bits(whole, parts, rows * n, "rows of a product");
    free(whole), free(parts);
    drop_weight(w);
    drop(x), drop(y), drop(z);
}

static void rows_alone(int64_t n, int64_t k)
{
    static const int64_t parts[] = {1, 4, 5, 16, 17, 32, 33, 64, 130, 300};

    for (size_t i = 0; i < COUNT(parts); i++)
        rows_apart(LINEAR_SET, 300, n, k, parts[i]);
}

static void gated_rows_alone(int64_t n, int64_t k)
{
    static const int64_t parts[] = {1, 9, 32, 64, 300};
    struct weights2 gate = weight2(DT_BF16, n, k, NULL), up = weight2(DT_BF16, n, k, NULL);
    struct pair x = act(300, k), y = act(300, n), z = act(300, n);
    float *whole, *part;

    ok(be->linear_swiglu(gpu, y.g, x.g, &gate.g, &up.g));
    whole = fetch(y.g);
    for (size_t i = 0; i < COUNT(parts); i++) {
        for (int64_t at = 0; at < 300; at += parts[i]) {
            int64_t rows = MIN(parts[i], 300 - at);

            ok(be->linear_swiglu(gpu, tensor_rows(z.g, at, rows), tensor_rows(x.g, at, rows),
                                 &gate.g, &up.g));
        }
        part = fetch(z.g);
        same_bits(whole, part, 300 * n, "rows of a gated product");
        free(part);
    }
    free(whole);
    drop_weight(gate), drop_weight(up);
    drop(x), drop(y), drop(z);
}

static void a_row_alone_is_the_same(void **state)
{
    rows_alone(1280, 896);
    rows_alone(1280, 1280);
    rows_alone(640, 1792);
    rows_alone(4096, 1280);
    rows_apart(LINEAR_GELU, 2300, 1280, 896, 1000); /* tiles of both kinds */
    rows_apart(LINEAR_ADD, 2300, 1280, 896, 1000);
    rows_apart(LINEAR_ADD, 2300, 896, 4864, 60);
    gated_rows_alone(1792, 1280);
}

/* ---- experts --------------------------------------------------------------------------------- */
struct moe2 {
    struct moe c, g;
};

static void moe_make(struct moe2 *m, int n_expert, int n_pick, int64_t inner, int64_t hidden)
{
    float *router = rand_f32(n_expert * hidden, 1.0 / sqrt((double)hidden));
    struct weight **list[] = {&m->c.gate, &m->c.up, &m->c.down, &m->g.gate, &m->g.up, &m->g.down};
    struct weights2 w;

    m->c = m->g = (struct moe){.n_expert = n_expert, .n_pick = n_pick};
    for (int i = 0; i < 6; i++)
        *list[i] = calloc((size_t)n_expert, sizeof(struct weight));
    ok(backend_cpu.pack(cpu, &m->c.router, router, DT_F32, n_expert, hidden, true));
    ok(be->pack(gpu, &m->g.router, router, DT_F32, n_expert, hidden, true));
    for (int e = 0; e <= n_expert; e++) {
        int64_t wide = e < n_expert ? inner : 2 * inner;

        w = weight2(DT_BF16, wide, hidden, NULL);
        *(e < n_expert ? &m->c.gate[e] : &m->c.shared_gate) = w.c;
        *(e < n_expert ? &m->g.gate[e] : &m->g.shared_gate) = w.g;
        w = weight2(DT_BF16, wide, hidden, NULL);
        *(e < n_expert ? &m->c.up[e] : &m->c.shared_up) = w.c;
        *(e < n_expert ? &m->g.up[e] : &m->g.shared_up) = w.g;
        w = weight2(DT_BF16, hidden, wide, NULL);
        *(e < n_expert ? &m->c.down[e] : &m->c.shared_down) = w.c;
        *(e < n_expert ? &m->g.down[e] : &m->g.shared_down) = w.g;
    }
    free(router);
}

static void moe_drop(struct moe2 *m)
{
    struct weight *c[] = {m->c.gate, m->c.up, m->c.down}, *g[] = {m->g.gate, m->g.up, m->g.down};

    for (int i = 0; i < 3; i++) {
        for (int e = 0; e < m->c.n_expert; e++)
            drop_weight((struct weights2){c[i][e], g[i][e]});
        free(c[i]);
        free(g[i]);
    }
    drop_weight((struct weights2){m->c.router, m->g.router});
    drop_weight((struct weights2){m->c.shared_gate, m->g.shared_gate});
    drop_weight((struct weights2){m->c.shared_up, m->g.shared_up});
    drop_weight((struct weights2){m->c.shared_down, m->g.shared_down});
}

/* In one go with the norm behind: the same bits as one after the other.  all [rows]: y without. */
static void experts_and_norm(const struct moe2 *m, struct pair h, const float *all)
{
    int64_t rows = h.c.n[0], width = h.c.n[1];
    struct pair w = vec(width, 1, 0.5), y = stream(rows, width), apart = act(rows, width);
    float *got[3];

    memset(y.c.data, 0, (size_t)(rows * width) * sizeof(float));
    ok(be->upload(gpu, y.g.data, y.c.data, (size_t)(rows * width) * sizeof(float)));
    ok(be->moe_add_norm(gpu, y.g, h.g, &m->g, w.g, 1e-6f));
    ok(be->rmsnorm(gpu, apart.g, y.g, w.g, 1e-6f));
    got[0] = fetch(y.g), got[1] = fetch(h.g), got[2] = fetch(apart.g);
    same_bits(got[0], all, rows * width, "moe_add_norm's sum");
    same_bits(got[1], got[2], rows * width, "moe_add_norm's norm");
    for (int i = 0; i < 3; i++)
        free(got[i]);
    drop(w), drop(y), drop(apart);
}

static void experts(void **state)
{
    static const int size[][4] = {{8, 3, 40, 80}, {8, 2, 96, 320}, {64, 6, 128, 256}};
    static const int rows[] = {1, 7, 9, 48, 65, 300, 1500};

    for (size_t i = 0; i < COUNT(size); i++) {
        struct moe2 m;

        moe_make(&m, size[i][0], size[i][1], size[i][2], size[i][3]);
        for (size_t r = 0; r < COUNT(rows); r++) {
            struct pair h = act(rows[r], size[i][3]), y = stream(rows[r], size[i][3]);
            float *alone, *all;

            ok(backend_cpu.moe_add(cpu, y.c, h.c, &m.c));
            ok(be->moe_add(gpu, y.g, h.g, &m.g));
            expect(y, 0.004, "moe_add", rows[r], size[i][0]);
            /* the last row by itself */
            tensor last = tensor_rows(h.g, rows[r] - 1, 1);
            struct pair z = stream(1, size[i][3]), zero = stream(rows[r], size[i][3]);

            memset(z.c.data, 0, (size_t)size[i][3] * sizeof(float));
            memset(zero.c.data, 0, (size_t)(rows[r] * size[i][3]) * sizeof(float));
            ok(be->upload(gpu, z.g.data, z.c.data, (size_t)size[i][3] * sizeof(float)));
            ok(be->upload(gpu, zero.g.data, zero.c.data,
                          (size_t)(rows[r] * size[i][3]) * sizeof(float)));
            ok(be->moe_add(gpu, z.g, last, &m.g));
            ok(be->moe_add(gpu, zero.g, h.g, &m.g));
            alone = fetch(z.g);
            all = fetch(zero.g);
            same_bits(alone, all + (int64_t)(rows[r] - 1) * size[i][3], size[i][3],
                      "the last row of moe_add");
            experts_and_norm(&m, h, all);
            free(alone), free(all);
            drop(h), drop(y), drop(z), drop(zero);
        }
        moe_drop(&m);
    }
}

/* ---- attention ------------------------------------------------------------------------------- */
static void relative_positions(void **state)
{
    static const int size[][5] = {{1, 6, 0, 3, 16},   {2, 8, 3, 2, 16},  {1, 16, 0, 2, 64},
                                  {2, 20, 14, 2, 64}, {2, 48, 0, 2, 64}, {1, 64, 0, 2, 64},
                                  {1, 64, 14, 1, 64}, {2, 48, 14, 2, 64}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int views = size[i][0], grid = size[i][1], window = size[i][2], heads = size[i][3],
            hd = size[i][4];
        int side = window ? window : grid;
        int64_t width = (int64_t)heads * hd, rows = (int64_t)views * grid * grid;
        struct pair qkv = act(rows, 3 * width), out = act(rows, width),
                    bias = vec(3 * width, 0, 0.5);
        struct pair rh = made(rand_f32((2 * side - 1) * hd, 0.1), 2 * side - 1, hd, true);
        struct pair rw = made(rand_f32((2 * side - 1) * hd, 0.1), 2 * side - 1, hd, true);

        ok(backend_cpu.attend_relpos(cpu, out.c, qkv.c, bias.c.data, rh.c, rw.c, grid, window,
                                     heads));
        ok(be->attend_relpos(gpu, out.g, qkv.g, bias.g.data, rh.g, rw.g, grid, window, heads));
        expect(out, 0.003, "attend_relpos", grid, window);
        drop(qkv), drop(out), drop(bias), drop(rh), drop(rw);
    }
}

/* SAM's attention of the last of some views by itself. */
static void a_view_alone_is_the_same(void **state)
{
    static const int size[][2] = {{48, 0}, {64, 0}, {48, 14}, {20, 14}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int grid = size[i][0], window = size[i][1], side = window ? window : grid, heads = 2;
        int64_t width = heads * 64, rows = (int64_t)grid * grid;
        struct pair qkv = act(3 * rows, 3 * width), out = act(3 * rows, width),
                    one = act(rows, width), bias = vec(3 * width, 0, 0.5);
        struct pair rh = stream(2 * side - 1, 64), rw = stream(2 * side - 1, 64);
        float *all, *alone;

        ok(be->attend_relpos(gpu, out.g, qkv.g, bias.g.data, rh.g, rw.g, grid, window, heads));
        ok(be->attend_relpos(gpu, one.g, tensor_rows(qkv.g, 2 * rows, rows), bias.g.data, rh.g,
                             rw.g, grid, window, heads));
        all = fetch(out.g);
        alone = fetch(one.g);
        same_bits(alone, all + 2 * rows * width, rows * width, "a view's attention");
        free(all), free(alone);
        drop(qkv), drop(out), drop(one), drop(bias), drop(rh), drop(rw);
    }
}

static void prefix(void **state)
{
    static const int size[][6] = {{1, 24, 12, 4, 2, 16},
                                  {2, 63, 31, 2, 2, 64},
                                  {2, 288, 144, 14, 2, 64},
                                  {1, 512, 256, 5, 5, 64}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int views = size[i][0], len = size[i][1], heads = size[i][3], kv = size[i][4],
            hd = size[i][5];
        int64_t rows = (int64_t)views * len;
        struct pair q = act(rows, (int64_t)heads * hd), k = act(rows, (int64_t)kv * hd),
                    v = act(rows, (int64_t)kv * hd);
        struct pair out = act(rows, (int64_t)heads * hd);

        ok(backend_cpu.attend_prefix(cpu, out.c, q.c, k.c, v.c, len, size[i][2], heads, kv));
        ok(be->attend_prefix(gpu, out.g, q.g, k.g, v.g, len, size[i][2], heads, kv));
        expect(out, 0.003, "attend_prefix", len, heads);
        drop(q), drop(k), drop(v), drop(out);
    }
}

/* One sequence of n tokens whose blocks lie in reverse order; rows [from, to) of it as a step. */
struct paged {
    int32_t pos[600], slot[600], seq_row[2], seq_len[1], block[64];
    struct batch b;
};

static void page_rows(struct paged *p, int from, int to, int block_tok, int n_block)
{
    for (int i = 0; i < n_block; i++)
        p->block[i] = n_block - 1 - i;
    for (int i = from; i < to; i++) {
        p->pos[i - from] = i;
        p->slot[i - from] = p->block[i / block_tok] * block_tok + i % block_tok;
    }
    p->seq_row[0] = 0;
    p->seq_row[1] = to - from;
    p->seq_len[0] = to;
    p->b = (struct batch){.n_tok = to - from,
                          .n_seq = 1,
                          .pos = p->pos,
                          .slot = p->slot,
                          .seq_row = p->seq_row,
                          .seq_len = p->seq_len,
                          .block = p->block,
                          .block_stride = 64};
}

/* All n tokens in steps of `chunk` rows. */
static void run_paged(const struct backend *on, struct device *d, tensor out, tensor q, tensor k,
                      tensor v, int n, int chunk, int block_tok, int heads, int hd)
{
    struct kv_shape shape = {1, heads, hd, (n + block_tok - 1) / block_tok, block_tok};
    struct step_rows on_device;
    struct paged p;
    struct kv *kv;

    ok(on->kv_open(d, &kv, &shape));
    for (int at = 0; at < n; at += chunk) {
        int rows = MIN(chunk, n - at);

        page_rows(&p, at, at + rows, block_tok, shape.n_block);
        if (on->step)
            ok(on->step(d, kv, &p.b, NULL, NULL, &on_device));
        ok(on->kv_store(d, kv, 0, tensor_rows(k, at, rows), tensor_rows(v, at, rows), &p.b));
        ok(on->attend(d, tensor_rows(out, at, rows), tensor_rows(q, at, rows), kv, 0, &p.b));
        ok(on->finish(d));
    }
    on->kv_close(d, kv);
}

static void paged(void **state)
{
    static const int size[][3] = {
        {1, 5, 16}, {64, 2, 64}, {65, 3, 16}, {257, 2, 128}, {300, 2, 64}};
    static const int ways[][2] = {{1000, 64}, {1000, 16}, {37, 32}, {1, 64}, {128, 64}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int n = size[i][0], heads = size[i][1], hd = size[i][2];
        int64_t width = (int64_t)heads * hd;
        struct pair q = act(n, width), k = act(n, width), v = act(n, width), out = act(n, width);
        float *first = NULL;

        run_paged(&backend_cpu, cpu, out.c, q.c, k.c, v.c, n, 1000, 64, heads, hd);
        for (size_t w = 0; w < COUNT(ways); w++) {
            run_paged(be, gpu, out.g, q.g, k.g, v.g, n, ways[w][0], ways[w][1], heads, hd);
            expect(out, 0.003, "attend", n, hd);
            float *got = fetch(out.g);

            if (first)
                same_bits(first, got, n * width, "attend in chunks or other blocks");
            else
                first = got;
            if (first != got)
                free(got);
        }
        free(first);
        drop(q), drop(k), drop(v), drop(out);
    }
}

/* A step of `rows` sequences of one row each, at different positions of their own block. */
struct singles {
    int32_t pos[64], slot[64], seq_row[65], seq_len[64], block[64];
    struct batch b;
};

static void make_singles(struct singles *s, int rows, int block_tok)
{
    for (int i = 0; i <= rows; i++)
        s->seq_row[i] = i;
    for (int i = 0; i < rows; i++) {
        s->pos[i] = (i * 7 + 3) % block_tok;
        s->block[i] = rows - 1 - i;
        s->slot[i] = s->block[i] * block_tok + s->pos[i];
        s->seq_len[i] = s->pos[i] + 1;
    }
    s->b = (struct batch){.n_tok = rows,
                          .n_seq = rows,
                          .pos = s->pos,
                          .slot = s->slot,
                          .seq_row = s->seq_row,
                          .seq_len = s->seq_len,
                          .block = s->block,
                          .block_stride = 1};
}

/* Queries, keys and values in one go against the same composed: queries, and what attention then
 * finds in the cache, whose other keys are the same in both. */
static void queries_keys_values(void **state)
{
    static const int size[][3] = {{1, 10, 128}, {5, 10, 128}, {16, 10, 128}, {17, 4, 64},
                                  {32, 2, 128}, {40, 2, 64},  {60, 4, 128}};

    for (size_t i = 0; i < COUNT(size); i++) {
        int rows = size[i][0], heads = size[i][1], hd = size[i][2], block = 32;
        int64_t width = (int64_t)heads * hd, hidden = 1280;
        struct kv_shape shape = {1, heads, hd, rows, block};
        struct weights2 wq = weight2(DT_BF16, width, hidden, NULL),
                        wk = weight2(DT_BF16, width, hidden, NULL),
                        wv = weight2(DT_BF16, width, hidden, NULL);
        struct pair h = act(rows, hidden), q = act(rows, width), a = act(rows, width),
                    b = act(rows, width), old = act((int64_t)rows * block, width),
                    table = stream(block, hd);
        struct run r = {.be = be, .dev = gpu, .act = q.g.dtype};
        struct backend composed = *be;
        float *got[2][2];
        struct singles s;
        void *room;

        make_singles(&s, rows, block);
        composed.qkv_store = NULL;
        ok(be->alloc(gpu, 1 << 22, &room));
        r.scratch = (struct arena){.base = room, .cap = 1 << 22};
        for (int way = 0; way < 2; way++) {
            struct kv *kv;
            int32_t *slot = malloc((size_t)rows * (size_t)block * sizeof *slot);
            struct batch all = {.n_tok = rows * block, .slot = slot};
            struct step_rows on;

            ok(be->kv_open(gpu, &kv, &shape));
            for (int t = 0; t < rows * block; t++)
                slot[t] = t;
            all.pos = slot, all.seq_row = s.seq_row;
            ok(be->step(gpu, kv, &all, NULL, NULL, &on));
            ok(be->kv_store(gpu, kv, 0, old.g, old.g, &all));
            r.be = way ? &composed : be;
            r.kv = kv;
            op_step(&r, &s.b, NULL, NULL);
            op_qkv_store(&r, q.g, h.g, &(struct qkv){&wq.g, &wk.g, &wv.g, table.g, kv, 0});
            op_attend(&r, way ? b.g : a.g, q.g, 0);
            scratch_reset(&r, 0);
            ok(run_finish(&r));
            got[way][0] = fetch(q.g);
            got[way][1] = fetch(way ? b.g : a.g);
            be->kv_close(gpu, kv);
            free(slot);
        }
        same_bits(got[0][0], got[1][0], rows * width, "queries in one go");
        same_bits(got[0][1], got[1][1], rows * width, "the cache behind them");
        for (int j = 0; j < 4; j++)
            free(got[j / 2][j % 2]);
        be->free(gpu, room);
        drop_weight(wq), drop_weight(wk), drop_weight(wv);
        drop(h), drop(q), drop(a), drop(b), drop(old), drop(table);
    }
}

/* ---- choosing -------------------------------------------------------------------------------- */
static void choosing(void **state)
{
    enum { ROWS = 3, VOCAB = 1000 };
    struct pair x = stream(ROWS, VOCAB);
    struct sampler greedy = {.guard = {2, SAMPLER_WHOLE, {-1, -1}}, .top_p = 1};
    float *v = x.c.data;
    int32_t id[] = {7, 500, 9, 7}; /* after 7 came 500: banned */
    struct sample_ask ask[ROWS] = {{.sampler = &greedy, .id = id, .n_id = 4, .n_prompt = 2},
                                   {.sampler = &greedy, .id = id, .n_id = 3, .n_prompt = 2},
                                   {.sampler = &greedy, .id = id, .n_id = 4, .n_prompt = 2}};
    struct choice found[ROWS];
    struct pick next[ROWS];

    v[500] = 9, v[123] = 8, v[124] = 8;     /* banned best; then the lower of two equals */
    v[VOCAB + 500] = 9, v[VOCAB + 123] = 8; /* not banned here */
    v[2 * VOCAB + 999] = 9, v[2 * VOCAB + 500] = 8;
    ok(be->upload(gpu, x.g.data, v, sizeof(float) * ROWS * VOCAB));
    ok(be->sample(gpu, x.g, ask, found));
    ok(be->finish(gpu));
    for (int r = 0; r < ROWS; r++)
        next[r] = sampler_join(&(const struct choice *){&found[r]}, 1);
    assert_int_equal(next[0].id, 123);
    assert_true(next[0].intervened);
    assert_int_equal(next[1].id, 500);
    assert_false(next[1].intervened);
    assert_int_equal(next[2].id, 999);
    assert_false(next[2].intervened);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;

        for (int i = 0; i < VOCAB; i++)
            sum += exp((double)v[r * VOCAB + i]);
        close_to(next[r].logp, v[r * VOCAB + next[r].id] - log(sum), 1e-5, 1, "logp", r);
    }
    drop(x);
}

/* ---- both precisions ------------------------------------------------------------------------- */
static int open_f32(void **state)
{
    cpu = device_of(ISA_C, "fp32", 0);
    open_gpu("fp32");
    return 0;
}

static int open_bf16(void **state)
{
    cpu = device_of(ISA_C, "fp32", 0);
    open_gpu("bf16");
    return 0;
}

static int shut(void **state)
{
    be->close(gpu);
    backend_cpu.close(cpu);
    return 0;
}

/* With an argument only the tests whose names it matches (*, ?): for compute-sanitizer, under which all take long. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_gates_rotations),
        cmocka_unit_test(rotation),
        cmocka_unit_test(look_ups),
        cmocka_unit_test(pictures),
        cmocka_unit_test(products),
        cmocka_unit_test(gated_products),
        cmocka_unit_test(a_row_alone_is_the_same),
        cmocka_unit_test(experts),
        cmocka_unit_test(relative_positions),
        cmocka_unit_test(a_view_alone_is_the_same),
        cmocka_unit_test(prefix),
        cmocka_unit_test(paged),
        cmocka_unit_test(queries_keys_values),
        cmocka_unit_test(choosing),
    };
    struct device_opts o = {.name = "cuda", .precision = "bf16"};
    struct device *d;

    if (be->open(&d, &o) < 0) {
        printf("%s: skipped\n", err_text());
        return 77;
    }
    be->close(d);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cuda fp32", tests, open_f32, shut) +
           cmocka_run_group_tests_name("cuda bf16", tests, open_bf16, shut);
}
#endif
