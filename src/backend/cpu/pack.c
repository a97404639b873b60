/* Weights into panels (kern.h), once when the model opens: 16 rows of W^T side by side.
 *
 * Each panel is written from its own 16 rows, so threads share the panels and no second copy of
 * the matrix exists. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

struct pack_job {
    const char *src;
    enum dtype dtype;
    struct weight *w;
};

static float load_f32(const char *src, enum dtype dtype)
{
    uint16_t h;
    float f;

    if (dtype == DT_F32) {
        memcpy(&f, src, sizeof f);
        return f;
    }
    memcpy(&h, src, sizeof h);
    return dtype == DT_BF16 ? bf16_to_f32(h) : f16_to_f32(h);
}

static void pack_panel_f32(const struct pack_job *j, int64_t panel)
{
    int64_t n_in = j->w->n_in, row = panel * PANEL;
    size_t size = dtype_size(j->dtype);
    float *dst = (float *)j->w->data + panel * n_in * PANEL;

    for (int64_t c = 0; c < PANEL; c++)
        for (int64_t k = 0; k < n_in; k++)
            dst[k * PANEL + c] = row + c < j->w->n_out
                                     ? load_f32(j->src + (size_t)((row + c) * n_in + k) * size,
                                                j->dtype)
                                     : 0.0f;
}

/* 16 pairs of k at a time: one cache line is read from each row and 16 whole lines are written. */
static void pack_pairs(uint16_t *dst, const char *src, int64_t n_in, int rows, int64_t k0,
                       int64_t n_k)
{
    for (int c = 0; c < rows; c++) {
        uint16_t line[32] = {0};

        memcpy(line, src + (size_t)(c * n_in + k0) * sizeof *line, (size_t)n_k * sizeof *line);
        for (int i = 0; i < n_k; i += 2)
            memcpy(dst + (k0 + i) * PANEL + 2 * c, line + i, 2 * sizeof *line);
    }
}

static void pack_panel_bf16(const struct pack_job *j, int64_t panel)
{
    int64_t n_in = j->w->n_in, n_pad = round_up(n_in, 2), row = panel * PANEL;
    int rows = (int)MIN(PANEL, j->w->n_out - row);
    uint16_t *dst = (uint16_t *)j->w->data + panel * n_pad * PANEL;
    const char *src = j->src + (size_t)(row * n_in) * sizeof *dst;

    if (rows < PANEL)
        memset(dst, 0, (size_t)(n_pad * PANEL) * sizeof *dst);
    for (int64_t k = 0; k < n_in; k += 32)
        pack_pairs(dst, src, n_in, rows, k, MIN(32, n_in - k));
}

static void pack_item(void *ctx, int64_t panel, int worker)
{
    const struct pack_job *j = ctx;

    if (j->w->kind == WEIGHT_F32)
        pack_panel_f32(j, panel);
    else
        pack_panel_bf16(j, panel);
}

static int check_source(enum dtype dtype, int64_t n_out, int64_t n_in)
{
    if (dtype != DT_F32 && dtype != DT_BF16 && dtype != DT_F16)
        return err(RECTO_EMODEL,
                   "a weight is neither F32, BF16 nor F16: convert the model to one of these");
    if (n_out < 1 || n_in < 1 || n_out > INT32_MAX || n_in > INT32_MAX)
        return err(RECTO_ESHAPE, "a weight of %lld x %lld cannot be packed", (long long)n_out,
                   (long long)n_in);
    return 0;
}

static int take_panels(struct weight *w, int64_t panel_bytes)
{
    size_t n;

    if (mem_mul((size_t)div_up(w->n_out, PANEL), (size_t)panel_bytes, &n))
        return err(RECTO_ENOMEM, "a weight of %lld x %lld is too large", (long long)w->n_out,
                   (long long)w->n_in);
    w->bytes = (int64_t)n;
    w->data = cpu_alloc(n);
    if (!w->data)
        return err(RECTO_ENOMEM, "no memory for a weight of %zu MiB", n >> 20);
    return 0;
}

int cpu_pack(struct device *d, struct weight *w, const void *src, enum dtype dtype, int64_t n_out,
             int64_t n_in, bool force_f32)
{
    struct pack_job j = {src, dtype, w};

    TRY(check_source(dtype, n_out, n_in));
    w->kind = dtype == DT_BF16 && !force_f32 ? WEIGHT_BF16 : WEIGHT_F32;
    w->n_out = n_out;
    w->n_in = n_in;
    TRY(take_panels(w, PANEL * (w->kind == WEIGHT_F32 ? n_in * 4 : round_up(n_in, 2) * 2)));
    pool_run(d->pool, pack_item, &j, div_up(n_out, PANEL));
    return 0;
}

/* ---- int8 and int4 --------------------------------------------------------------------------- */
struct quant_job {
    const struct quant_source *src;
    struct weight *w;
    char *room; /* of each worker: a row in fp32, 16 rows' numbers, 16 rows' scales */
    size_t room_bytes, q_bytes, scale_bytes;
};

/* Row `row` as numbers and scales: where they stand in the source, or made into q and scale. */
static void quant_of(const struct quant_job *j, float *row_f32, int64_t row, void *q,
                     uint16_t *scale)
{
    int64_t n_in = j->w->n_in;
    size_t size = dtype_size(j->src->dtype);
    const char *from = (const char *)j->src->data;

    if (j->src->scale) {
        memcpy(q, from + (size_t)row * j->q_bytes, j->q_bytes);
        memcpy(scale, (const char *)j->src->scale + (size_t)row * j->scale_bytes, j->scale_bytes);
        return;
    }
    for (int64_t k = 0; k < n_in; k++)
        row_f32[k] = load_f32(from + (size_t)(row * n_in + k) * size, j->src->dtype);
    quant_row(j->w->kind, row_f32, n_in, q, scale);
}

/* Column c of a panel: kern.h has the layout. */
static void place8(uint8_t *to, const int8_t *q, int64_t n, int c)
{
    for (int64_t k = 0; k < n; k++)
        to[k / 4 * 4 * PANEL + c * 4 + k % 4] = (uint8_t)(q[k] + 128);
}

static void place4(uint8_t *to, const void *q, int64_t n, int c)
{
    for (int64_t k = 0; k < n; k++)
        to[k / 8 * 4 * PANEL + c * 4 + k % 4] |= (uint8_t)((quant_at(WEIGHT_INT4, q, k) + 8)
                                                           << (k % 8 / 4 * 4));
}

static void quant_item(void *ctx, int64_t panel, int worker)
{
    const struct quant_job *j = ctx;
    int64_t n_in = j->w->n_in, n_group = quant_groups(j->w->kind, n_in), row = panel * PANEL;
    int rows = (int)MIN(PANEL, j->w->n_out - row);
    char *room = j->room + (size_t)worker * j->room_bytes;
    float *row_f32 = (float *)room;
    void *q = room + (size_t)n_in * sizeof *row_f32;
    uint16_t *scale = (uint16_t *)((char *)q + round_up((int64_t)j->q_bytes, 2));
    char *to = (char *)j->w->data + panel * cpu_panel_bytes(j->w->kind, n_in);
    uint8_t *numbers = (uint8_t *)to + quant_scale_bytes(n_group);

    memset(to, 0, (size_t)cpu_panel_bytes(j->w->kind, n_in));
    for (int c = 0; c < rows; c++) {
        quant_of(j, row_f32, row + c, q, scale);
        for (int64_t g = 0; g < n_group; g++)
            ((uint16_t *)to)[g * PANEL + c] = scale[g];
        if (j->w->kind == WEIGHT_INT8)
            place8(numbers, q, n_in, c);
        else
            place4(numbers, q, n_in, c);
    }
}

int cpu_pack_quant(struct device *d, struct weight *w, const struct quant_source *src,
                   int64_t n_out, int64_t n_in, enum weight_kind kind)
{
    struct quant_job j = {.src = src,
                          .w = w,
                          .q_bytes = (size_t)quant_row_bytes(kind, n_in),
                          .scale_bytes = (size_t)quant_groups(kind, n_in) * 2};
    void *room;

    TRY(check_source(src->scale ? DT_F32 : src->dtype, n_out, n_in));
    w->kind = kind;
    w->n_out = n_out;
    w->n_in = n_in;
    j.room_bytes = (size_t)round_up(n_in * 4 + (int64_t)(j.q_bytes + j.scale_bytes) + 2, 64);
    TRY(cpu_work(d, WORK_TILE, j.room_bytes * (size_t)pool_threads(d->pool), &room));
    j.room = room;
    TRY(take_panels(w, cpu_panel_bytes(kind, n_in)));
    pool_run(d->pool, quant_item, &j, div_up(n_out, PANEL));
    return 0;
}
