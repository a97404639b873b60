/* Mixture of experts: router, the experts that rows picked, the shared expert, and their sum.
 *
 * Rows are sorted by expert, so that each expert in use is one product over its rows: all gate
 * and up matrices, shared ones too, are one round of the pool, all down matrices another.  With
 * one row the round reads each picked expert once. Source: DeepseekV2MoE.forward and
 * MoEGate.forward, deepseek-ai/DeepSeek-OCR-2, modeling_deepseekv2.py. */
#include "backend/cpu/cpu.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

struct moe_run {
    struct device *d;
    const struct moe *m;
    const float *h;
    float *y;
    int64_t rows, width;

    float *logit;  /* [rows][n_expert], then probabilities           */
    int32_t *pick; /* [rows][n_pick] experts                         */
    float *share;  /* [rows][n_pick] their probabilities             */
    int32_t *slot; /* [rows][n_pick] place among rows sorted by expert */
    int32_t *row;  /* [rows * n_pick] row of each place              */
    int32_t *from; /* [n_expert + 1] first place of each expert      */

    const char *x; /* h as the experts take it, and gathered by place */
    char *gathered;
    int64_t x_stride;
    size_t x_size;
    float *result, *shared; /* [rows * n_pick][width], [rows][width] */
};

/* ---- router ---------------------------------------------------------------------------------- */
static void round_in_place(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = bf16_to_f32(f32_to_bf16(x[i]));
}

/* Copies of the router's input and weights with bf16 values: fp32 sums of exact products, as a
 * bf16 matrix product has. */
static int router_rounded(struct moe_run *r, struct product *p, struct weight *w)
{
    size_t n_x = (size_t)(r->rows * r->width), n_w = (size_t)w->bytes / sizeof(float);
    void *copy;
    float *x;

    TRY(cpu_work(r->d, WORK_MIDDLE, (n_x + n_w) * sizeof *x, &copy));
    x = copy;
    memcpy(x, r->h, n_x * sizeof *x);
    memcpy(x + n_x, w->data, n_w * sizeof *x);
    round_in_place(x, (int64_t)(n_x + n_w));
    p->x = x;
    w->data = x + n_x;
    return 0;
}

static int router_logits(struct moe_run *r)
{
    struct weight w = r->m->router;
    struct product p = {.x = r->h,
                        .y = r->logit,
                        .x_stride = r->width,
                        .y_stride = r->m->n_expert,
                        .rows = r->rows,
                        .w = &w,
                        .out = PRODUCT_SET};

    if (r->d->router_bf16)
        TRY(router_rounded(r, &p, &w));
    cpu_products(r->d, &p, 1);
    if (r->d->router_bf16)
        round_in_place(r->logit, r->rows * r->m->n_expert);
    return 0;
}

static void softmax_row(const struct moe_run *r, float *p)
{
    float max = p[0], sum = 0.0f;
    int n = r->m->n_expert;

    for (int e = 1; e < n; e++)
        max = p[e] > max ? p[e] : max;
    for (int e = 0; e < n; e++)
        p[e] -= max;
    r->d->kern.exp(p, p, n);
    for (int e = 0; e < n; e++)
        sum += p[e];
    for (int e = 0; e < n; e++)
        p[e] /= sum;
}

/* The largest not yet taken; the lowest id among equals.  Taken ones are marked by -1, below
 * every probability. */
static int best(const float *p, int n)
{
    int at = 0;

    for (int e = 1; e < n; e++)
        if (p[e] > p[at])
            at = e;
    return at;
}

static void pick_rows(void *ctx, int64_t from, int64_t to)
{
    const struct moe_run *r = ctx;
    int n_pick = r->m->n_pick;

    for (int64_t row = from; row < to; row++) {
        float *p = r->logit + row * r->m->n_expert;

        softmax_row(r, p);
        for (int i = 0; i < n_pick; i++) {
            int e = best(p, r->m->n_expert);

            r->pick[row * n_pick + i] = e;
            r->share[row * n_pick + i] = p[e];
            p[e] = -1.0f;
        }
    }
}

/* Counting sort of all (row, pick) by expert, rows in order. */
static void sort_picks(struct moe_run *r)
{
    int n_expert = r->m->n_expert, n_pick = r->m->n_pick;
    int64_t n = r->rows * n_pick;

    memset(r->from, 0, (size_t)(n_expert + 1) * sizeof *r->from);
    for (int64_t i = 0; i < n; i++)
        r->from[r->pick[i] + 1]++;
    for (int e = 0; e < n_expert; e++)
        r->from[e + 1] += r->from[e];
    for (int64_t i = 0; i < n; i++) {
        r->slot[i] = r->from[r->pick[i]]++;
        r->row[r->slot[i]] = (int32_t)(i / n_pick);
    }
    for (int e = n_expert; e > 0; e--) /* each start has moved to its end */
        r->from[e] = r->from[e - 1];
    r->from[0] = 0;
}

static int route(struct moe_run *r)
{
    size_t n = (size_t)(r->rows * r->m->n_pick);
    struct arena a = {0};

    for (int pass = 0; pass < 2; pass++) { /* count, then take */
        r->logit = arena_take(&a, (size_t)(r->rows * r->m->n_expert) * sizeof *r->logit);
        r->pick = arena_take(&a, n * sizeof *r->pick);
        r->share = arena_take(&a, n * sizeof *r->share);
        r->slot = arena_take(&a, n * sizeof *r->slot);
        r->row = arena_take(&a, n * sizeof *r->row);
        r->from = arena_take(&a, (size_t)(r->m->n_expert + 1) * sizeof *r->from);
        if (pass == 0) {
            void *base;

            TRY(cpu_work(r->d, WORK_ROUTER, a.peak, &base));
            a = (struct arena){.base = base, .cap = a.peak};
        }
    }
    TRY(router_logits(r));
    cpu_rows(r->d, pick_rows, r, r->rows, (int64_t)r->m->n_expert * r->m->n_pick * 4);
    sort_picks(r);
    return 0;
}

/* ---- experts --------------------------------------------------------------------------------- */
static void gather_places(void *ctx, int64_t from, int64_t to)
{
    const struct moe_run *r = ctx;
    size_t bytes = (size_t)r->x_stride * r->x_size;

    for (int64_t i = from; i < to; i++)
        memcpy(r->gathered + (size_t)i * bytes, r->x + (size_t)r->row[i] * bytes, bytes);
}

static int gather(struct moe_run *r)
{
    tensor h = tensor_view((void *)r->h, DT_F32, 2, r->rows, r->width, 1, 1);
    int64_t n = r->rows * r->m->n_pick;
    const void *x;
    void *p;

    TRY(cpu_input(r->d, WORK_INPUT, h, &r->m->gate[0], &x, &r->x_stride));
    r->x = x;
    r->x_size = cpu_x_size(r->d, &r->m->gate[0]);
    TRY(cpu_work(r->d, WORK_EXPERT, (size_t)(n * r->x_stride) * r->x_size, &p));
    r->gathered = p;
    cpu_rows(r->d, gather_places, r, n, r->width);
    return 0;
}

/* One product for each expert in use, and the shared one first: it is the longest.  x and y are
 * the gathered rows'; shared_x and shared_y all rows'.  Returns their number. */
static int list_products(const struct moe_run *r, struct product *p, struct product like,
                         const void *shared_x, void *shared_y, bool is_down)
{
    const struct moe *m = r->m;
    size_t x_step = (size_t)like.x_stride * cpu_x_size(r->d, is_down ? m->down : m->gate);
    size_t y_step = (size_t)like.y_stride * (like.out == PRODUCT_SWIGLU_BF16 ? 2 : 4);
    int n = 0;

    for (int e = -1; e < m->n_expert; e++) {
        bool is_shared = e < 0;
        int64_t from = is_shared ? 0 : r->from[e],
                rows = is_shared ? r->rows : r->from[e + 1] - from;

        if (rows == 0)
            continue;
        p[n] = like;
        p[n].rows = rows;
        p[n].w = is_down ? (is_shared ? &m->shared_down : &m->down[e])
                         : (is_shared ? &m->shared_gate : &m->gate[e]);
        p[n].up = is_down ? NULL : (is_shared ? &m->shared_up : &m->up[e]);
        p[n].x = is_shared ? shared_x : (const char *)like.x + (size_t)from * x_step;
        p[n].y = is_shared ? shared_y : (char *)like.y + (size_t)from * y_step;
        n++;
    }
    return n;
}

/* What lies between the two products: rows of experts, behind them those of the shared expert. */
struct middle {
    char *routed, *shared;
    int64_t wide, shared_wide; /* strides, as struct product counts them */
};

/* Quantised down matrices take quantised rows: WORK_INPUT is free once the first products are
 * done. */
static int quantise_middle(const struct moe_run *r, struct middle *m)
{
    const struct weight *down = r->m->down, *shared = &r->m->shared_down;
    int64_t n = r->rows * r->m->n_pick;
    struct middle q = {.wide = cpu_x_stride(r->d, down, down->n_in),
                       .shared_wide = cpu_x_stride(r->d, shared, shared->n_in)};
    void *p;

    TRY(cpu_work(r->d, WORK_INPUT, (size_t)(n * q.wide + r->rows * q.shared_wide), &p));
    q.routed = p;
    q.shared = q.routed + n * q.wide;
    cpu_convert(r->d, down, q.routed, (float *)m->routed, m->wide, n, down->n_in);
    cpu_convert(r->d, shared, q.shared, (float *)m->shared, m->shared_wide, r->rows, shared->n_in);
    *m = q;
    return 0;
}

static int run_experts(struct moe_run *r)
{
    const struct moe *m = r->m;
    bool is_bf16 = cpu_takes_bf16(r->d, &m->down[0]);
    int64_t n = r->rows * m->n_pick;
    struct middle mid = {.wide = bf16_stride(m->gate[0].n_out),
                         .shared_wide = bf16_stride(m->shared_gate.n_out)};
    size_t size = is_bf16 ? 2 : 4;
    void *list, *p;
    struct product like = {.x = r->gathered, .x_stride = r->x_stride, .y_stride = mid.wide};
    int n_product;

    TRY(cpu_work(r->d, WORK_LIST, (size_t)(m->n_expert + 1) * sizeof like, &list));
    TRY(cpu_work(r->d, WORK_RESULT, (size_t)((n + r->rows) * r->width) * sizeof(float), &p));
    r->result = p;
    r->shared = r->result + n * r->width;
    TRY(cpu_work(r->d, WORK_MIDDLE, (size_t)(n * mid.wide + r->rows * mid.shared_wide) * size, &p));
    mid.routed = p;
    mid.shared = mid.routed + (size_t)(n * mid.wide) * size;

    like.y = mid.routed;
    like.out = is_bf16 ? PRODUCT_SWIGLU_BF16 : PRODUCT_SWIGLU;
    n_product = list_products(r, list, like, r->x, mid.shared, false);
    ((struct product *)list)[0].y_stride = mid.shared_wide;
    cpu_products(r->d, list, n_product);
    if (quant_is(m->down[0].kind))
        TRY(quantise_middle(r, &mid));

    like = (struct product){.x = mid.routed,
                            .y = r->result,
                            .x_stride = mid.wide,
                            .y_stride = r->width,
                            .out = PRODUCT_SET};
    n_product = list_products(r, list, like, mid.shared, r->shared, true);
    ((struct product *)list)[0].x_stride = mid.shared_wide;
    cpu_products(r->d, list, n_product);
    return 0;
}

/* y += (sum of share * expert, in the order of picks) + shared */
static void combine_rows(void *ctx, int64_t from, int64_t to)
{
    const struct moe_run *r = ctx;
    int n_pick = r->m->n_pick;

    for (int64_t row = from; row < to; row++) {
        float *y = r->y + row * r->width;
        float *sum = r->result + r->slot[row * n_pick] * r->width;
        const float *shared = r->shared + row * r->width;

        for (int64_t i = 0; i < r->width; i++)
            sum[i] *= r->share[row * n_pick];
        for (int k = 1; k < n_pick; k++) {
            const float *x = r->result + r->slot[row * n_pick + k] * r->width;
            float share = r->share[row * n_pick + k];

            for (int64_t i = 0; i < r->width; i++)
                sum[i] += share * x[i];
        }
        for (int64_t i = 0; i < r->width; i++)
            y[i] += sum[i] + shared[i];
    }
}

static int moe_check(const struct moe *m)
{
    bool is_mixed = m->shared_gate.kind != m->gate[0].kind ||
                    m->shared_up.kind != m->gate[0].kind || m->shared_down.kind != m->down[0].kind;

    for (int e = 0; e < m->n_expert; e++)
        is_mixed = is_mixed || m->gate[e].kind != m->gate[0].kind ||
                   m->up[e].kind != m->gate[0].kind || m->down[e].kind != m->down[0].kind;
    if (is_mixed)
        return err(RECTO_EMODEL, "the experts of a layer must have one dtype; convert the model");
    if (m->n_pick < 1 || m->n_pick > m->n_expert)
        return err(RECTO_ESHAPE, "%d experts cannot be picked out of %d", m->n_pick, m->n_expert);
    return 0;
}

int cpu_moe_add(struct device *d, tensor y, tensor h, const struct moe *m)
{
    struct moe_run r = {.d = d, .m = m, .h = h.data, .y = y.data, .rows = h.n[0], .width = h.n[1]};

    TRY(moe_check(m));
    TRY(route(&r));
    TRY(gather(&r));
    TRY(run_experts(&r));
    cpu_rows(d, combine_rows, &r, r.rows, r.width * (m->n_pick + 2));
    return 0;
}
