/* Rows in, rows out: norms, gates, rotations, look-ups. Each is a loop over rows that cpu_rows
 * spreads over threads. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

struct row_job {
    const struct cpu_kern *kern;
    float *y;
    const float *x, *w, *b;
    const int32_t *index; /* positions, rows or ids */
    const void *table;
    enum dtype table_dtype;
    int64_t width, stride, n_table, n_index, head_dim;
    float eps;
};

/* ---- norms and gates ------------------------------------------------------------------------- */
static void rms_rows(void *ctx, int64_t from, int64_t to)
{
    const struct row_job *j = ctx;

    for (int64_t r = from; r < to; r++)
        j->kern->rmsnorm(j->y + r * j->width, j->x + r * j->width, j->w, j->width, j->eps);
}

int cpu_rmsnorm(struct device *d, tensor y, tensor x, tensor w, float eps)
{
    struct row_job j = {&d->kern,    .y = y.data,     .x = x.data,
                        .w = w.data, .width = x.n[1], .eps = eps};

    cpu_rows(d, rms_rows, &j, x.n[0], j.width);
    return 0;
}

static void layer_rows(void *ctx, int64_t from, int64_t to)
{
    const struct row_job *j = ctx;

    for (int64_t r = from; r < to; r++)
        j->kern->layernorm(j->y + r * j->width, j->x + r * j->width, j->w, j->b, j->width, j->eps);
}

int cpu_layernorm(struct device *d, tensor y, tensor x, tensor w, tensor b, float eps)
{
    struct row_job j = {&d->kern,    .y = y.data,     .x = x.data, .w = w.data,
                        .b = b.data, .width = x.n[1], .eps = eps};

    cpu_rows(d, layer_rows, &j, x.n[0], j.width);
    return 0;
}

static void swiglu_rows(void *ctx, int64_t from, int64_t to)
{
    const struct row_job *j = ctx;

    j->kern->swiglu(j->y + from * j->width, j->x + from * j->width, j->w + from * j->width,
                    (to - from) * j->width);
}

int cpu_swiglu(struct device *d, tensor y, tensor gate, tensor up)
{
    struct row_job j = {&d->kern, .y = y.data, .x = gate.data, .w = up.data, .width = gate.n[1]};

    cpu_rows(d, swiglu_rows, &j, gate.n[0], j.width);
    return 0;
}

/* ---- additions, copies, look-ups ------------------------------------------------------------- */
static void cyclic_rows(void *ctx, int64_t from, int64_t to)
{
    const struct row_job *j = ctx;

    for (int64_t r = from; r < to; r++) {
        float *y = j->y + r * j->width;
        const float *p = j->x + r % j->n_table * j->width;

        for (int64_t i = 0; i < j->width; i++)
            y[i] += p[i];
    }
}

int cpu_add_cyclic(struct device *d, tensor x, tensor p)
{
    struct row_job j = {&d->kern, .y = x.data, .x = p.data, .width = x.n[1], .n_table = p.n[0]};

    cpu_rows(d, cyclic_rows, &j, x.n[0], j.width);
    return 0;
}

/* Rotate-half (GPT-NeoX): (a, b) = (x[i], x[i + half]) becomes (a cos - b sin, b cos + a sin). */
static void rope_head(float *x, const float *cos, const float *sin, int64_t half)
{
    for (int64_t i = 0; i < half; i++) {
        float a = x[i], b = x[i + half];

        x[i] = a * cos[i] - b * sin[i];
        x[i + half] = b * cos[i] + a * sin[i];
    }
}

static void rope_rows(void *ctx, int64_t from, int64_t to)
{
    const struct row_job *j = ctx;
    int64_t half = j->head_dim / 2;

    for (int64_t r = from; r < to; r++) {
        int64_t pos = j->index[r % j->n_index];
        const float *angle = j->x + pos * j->head_dim;

        assert(pos >= 0 && pos < j->n_table);
        for (int64_t h = 0; h < j->width; h += j->head_dim)
            rope_head(j->y + r * j->stride + h, angle, angle + half, half);
    }
}

int cpu_rope(struct device *d, tensor x, tensor pos, tensor table)
{
    struct row_job j = {&d->kern,
                        .y = x.data,
                        .x = table.data,
                        .index = pos.data,
                        .width = x.n[1],
                        .stride = x.stride[0],
                        .n_table = table.n[0],
                        .n_index = tensor_count(pos),
                        .head_dim = table.n[1]};

    cpu_rows(d, rope_rows, &j, x.n[0], j.width);
    return 0;
}

struct gather_job {
    char *y;
    const char *x;
    const int32_t *index;
    int64_t n_table;
    size_t bytes; /* of a row */
};

static void gather(void *ctx, int64_t from, int64_t to)
{
    const struct gather_job *j = ctx;

    for (int64_t r = from; r < to; r++) {
        assert(j->index[r] >= 0 && j->index[r] < j->n_table);
        memcpy(j->y + (size_t)r * j->bytes, j->x + (size_t)j->index[r] * j->bytes, j->bytes);
    }
}

int cpu_gather_rows(struct device *d, tensor y, tensor x, tensor row)
{
    struct gather_job j = {y.data, x.data, row.data, x.n[0], (size_t)x.n[1] * dtype_size(x.dtype)};

    cpu_rows(d, gather, &j, y.n[0], x.n[1]);
    return 0;
}

struct copy_job {
    char *dst;
    const char *src;
};

static void copy_bytes(void *ctx, int64_t from, int64_t to)
{
    const struct copy_job *j = ctx;

    memcpy(j->dst + from, j->src + from, (size_t)(to - from));
}

int cpu_copy(struct device *d, tensor y, tensor x)
{
    struct copy_job j = {y.data, x.data};

    cpu_rows(d, copy_bytes, &j, tensor_count(x) * (int64_t)dtype_size(x.dtype), 1);
    return 0;
}

static void embed_rows(void *ctx, int64_t from, int64_t to)
{
    const struct row_job *j = ctx;

    for (int64_t r = from; r < to; r++) {
        float *y = j->y + r * j->width;
        int64_t id = j->index[r];
        const uint16_t *half = (const uint16_t *)j->table + MAX(id, 0) * j->width;

        assert(id < j->n_table);
        if (id < 0)
            continue;
        if (j->table_dtype == DT_F32)
            memcpy(y, (const float *)j->table + id * j->width, (size_t)j->width * sizeof *y);
        else
            for (int64_t i = 0; i < j->width; i++)
                y[i] = bf16_to_f32(half[i]);
    }
}

int cpu_embed(struct device *d, tensor x, tensor table, tensor id)
{
    struct row_job j = {&d->kern,
                        .y = x.data,
                        .index = id.data,
                        .table = table.data,
                        .table_dtype = table.dtype,
                        .width = x.n[1],
                        .n_table = table.n[0]};

    if (table.dtype != DT_F32 && table.dtype != DT_BF16)
        return err(RECTO_EMODEL, "the embedding table is neither F32 nor BF16: convert the model");
    cpu_rows(d, embed_rows, &j, x.n[0], j.width);
    return 0;
}
