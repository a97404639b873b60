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

int cpu_pack(struct device *d, struct weight *w, const void *src, enum dtype dtype, int64_t n_out,
             int64_t n_in, bool force_f32)
{
    struct pack_job j = {src, dtype, w};
    size_t n;

    if (dtype != DT_F32 && dtype != DT_BF16 && dtype != DT_F16)
        return err(RECTO_EMODEL,
                   "a weight is neither F32, BF16 nor F16: convert the model to one of these");
    if (n_out < 1 || n_in < 1 || n_out > INT32_MAX || n_in > INT32_MAX)
        return err(RECTO_ESHAPE, "a weight of %lld x %lld cannot be packed", (long long)n_out,
                   (long long)n_in);
    w->kind = dtype == DT_BF16 && !force_f32 ? WEIGHT_BF16 : WEIGHT_F32;
    w->n_out = n_out;
    w->n_in = n_in;
    if (mem_mul((size_t)round_up(n_out, PANEL), (size_t)round_up(n_in, 2) * 4, &n))
        return err(RECTO_ENOMEM, "a weight of %lld x %lld is too large", (long long)n_out,
                   (long long)n_in);
    n = (size_t)round_up(n_out, PANEL) *
        (w->kind == WEIGHT_F32 ? (size_t)n_in * 4 : (size_t)round_up(n_in, 2) * 2);
    w->bytes = (int64_t)n;
    w->data = cpu_alloc(n);
    if (!w->data)
        return err(RECTO_ENOMEM, "no memory for a weight of %zu MiB", n >> 20);
    pool_run(d->pool, pack_item, &j, div_up(n_out, PANEL));
    return 0;
}
