/* Matrix products: y = x W^T over packed panels.
 *
 * The work is cut into items of 4 panels by a block of rows.  Four panels of a model's
 * matrices fit in the second level cache and are read once an item; chunks of chunk_rows rows
 * pass over them, and their sums stay in the first level until bias, activation and addition are
 * done.  A decode step is the same with one row: then each weight is read once, and the speed is
 * that of the memory; several groups of 4 panels are one item then, and every product is told which
 * panels come next, so that memory does not rest between items. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

#define BLOCK_BYTES ((int64_t)1 << 20) /* of inputs: they and four panels fit in the second cache */
#define BLOCK_LEAST 192
#define BLOCK_MOST  576
#define FAR_BYTES   ((int64_t)1 << 20) /* outputs that leave the second cache before they are read */
#define ITEMS_EACH  5 /* items a thread has at least, if there are as many groups */
#define SPAN_MOST   8
#define GROUP_WIDTH (MUL_PANELS * PANEL)

/* ---- input ----------------------------------------------------------------------------------- */
struct convert_job {
    const struct cpu_kern *kern;
    const float *from;
    char *to;
    int64_t width, from_stride, bytes; /* of a row: in, apart, out */
    int group;                         /* 0: bf16 */
};

static void convert_rows(void *ctx, int64_t from, int64_t to)
{
    const struct convert_job *j = ctx;

    for (int64_t r = from; r < to; r++) {
        const float *x = j->from + r * j->from_stride;
        void *y = j->to + r * j->bytes;

        if (j->group) {
            j->kern->quantise(y, x, j->width, j->group);
        } else {
            j->kern->round_bf16(y, x, j->width);
            if (j->width % 2)
                ((uint16_t *)y)[j->width] = 0;
        }
    }
}

int64_t cpu_x_stride(const struct device *d, const struct weight *w, int64_t width)
{
    return quant_is(w->kind) ? quant_input_bytes(quant_groups(w->kind, width), quant_group(w->kind))
                             : bf16_stride(width);
}

void cpu_convert(struct device *d, const struct weight *w, void *to, const float *from,
                 int64_t from_stride, int64_t rows, int64_t width)
{
    struct convert_job j = {&d->kern,
                            from,
                            to,
                            width,
                            from_stride,
                            cpu_x_stride(d, w, width) * (int64_t)cpu_x_size(d, w),
                            quant_is(w->kind) ? quant_group(w->kind) : 0};

    cpu_rows(d, convert_rows, &j, rows, width);
}

int cpu_input(struct device *d, enum work_slot slot, tensor x, const struct weight *w,
              const void **out, int64_t *stride)
{
    size_t size = cpu_x_size(d, w);
    void *p;

    *out = x.data;
    *stride = x.n[1];
    if (size == sizeof(float))
        return 0;
    *stride = cpu_x_stride(d, w, x.n[1]);
    TRY(cpu_work(d, slot, (size_t)(x.n[0] * *stride) * size, &p));
    cpu_convert(d, w, p, x.data, x.n[1], x.n[0], x.n[1]);
    *out = p;
    return 0;
}

/* ---- one item -------------------------------------------------------------------------------- */
/* Strides and sums of a struct mul by w: elements, or bytes and groups. */
static void describe(const struct device *d, const struct weight *w, struct mul *m, int64_t *w_size)
{
    int64_t k = w->kind == WEIGHT_BF16 ? round_up(w->n_in, 2) : w->n_in;

    if (quant_is(w->kind)) {
        m->k = quant_groups(w->kind, w->n_in);
        m->w_stride = cpu_panel_bytes(w->kind, w->n_in);
        *w_size = 1;
        return;
    }
    m->k = cpu_takes_bf16(d, w) ? k : w->n_in;
    m->w_stride = k * PANEL;
    *w_size = w->kind == WEIGHT_BF16 ? 2 : 4;
}

/* Where the panels of w from panel on are. */
static const void *panels_at(const struct device *d, const struct weight *w, int64_t panel)
{
    struct mul m;
    int64_t w_size;

    describe(d, w, &m, &w_size);
    return (const char *)w->data + panel * m.w_stride * w_size;
}

/* Sums of `rows` rows from row on, with the panels of w from panel on, into s [rows][GROUP_WIDTH];
 * next as in struct mul. */
static void sums(const struct device *d, const struct product *p, const struct weight *w, float *s,
                 int64_t row, int rows, int64_t panel, int n_panel, const void *next)
{
    struct mul m = {.y = s,
                    .x = (const char *)p->x + (size_t)(row * p->x_stride) * cpu_x_size(d, w),
                    .y_stride = GROUP_WIDTH,
                    .x_stride = p->x_stride,
                    .rows = rows,
                    .n_panel = n_panel,
                    .next = next};
    int64_t w_size;

    describe(d, w, &m, &w_size);
    m.w = panels_at(d, w, panel);
    if (w->kind == WEIGHT_INT8)
        d->kern.mul_q8(&m);
    else if (w->kind == WEIGHT_INT4)
        d->kern.mul_q4(&m);
    else if (cpu_takes_bf16(d, w))
        d->kern.mul_bb(&m);
    else if (w->kind == WEIGHT_BF16)
        d->kern.mul_fb(&m);
    else
        d->kern.mul_ff(&m);
}

static void add_bias(float *s, const float *bias, int rows, int64_t width)
{
    for (int r = 0; r < rows; r++)
        for (int64_t j = 0; j < width; j++)
            s[r * GROUP_WIDTH + j] += bias[j];
}

static void copy_near(float *y, const float *x, int64_t n)
{
    memcpy(y, x, (size_t)n * sizeof *y);
}

static void store(const struct device *d, const struct product *p, const float *s, int64_t row,
                  int rows, int64_t col, int64_t width)
{
    void (*copy)(float *, const float *, int64_t) =
        p->rows * p->y_stride * (int64_t)sizeof *s > FAR_BYTES ? d->kern.copy_far : copy_near;

    for (int r = 0; r < rows; r++) {
        float *y = (float *)p->y + (row + r) * p->y_stride + col;

        if (p->out == PRODUCT_ADD)
            for (int64_t j = 0; j < width; j++)
                y[j] += s[r * GROUP_WIDTH + j];
        else
            copy(y, s + r * GROUP_WIDTH, width);
    }
}

static void store_bf16(const struct device *d, const struct product *p, const float *s, int64_t row,
                       int rows, int64_t col, int n_panel)
{
    for (int r = 0; r < rows; r++)
        d->kern.round_bf16((uint16_t *)p->y + (row + r) * p->y_stride + col, s + r * GROUP_WIDTH,
                           n_panel * PANEL);
}

/* A group of panels: of the weights, and of `up` if there is one. */
struct group {
    const struct product *p;
    int64_t panel;
};

/* What to ask for while a chunk of `at` is multiplied: first those of `up`, which follow at once,
 * in later chunks those of the next group. */
static const void *after_w(const struct device *d, struct group at, struct group next,
                           bool is_first)
{
    if (at.p->up && is_first)
        return panels_at(d, at.p->up, at.panel);
    return panels_at(d, next.p->up ? next.p->up : next.p->w, next.panel);
}

static void chunk(const struct device *d, struct group at, struct group next, int64_t row, int rows,
                  bool is_first)
{
    const struct product *p = at.p;
    int64_t panel = at.panel;

    float s[CHUNK_MOST * GROUP_WIDTH] __attribute__((aligned(64))),
        u[CHUNK_MOST * GROUP_WIDTH] __attribute__((aligned(64)));
    int64_t col = panel * PANEL, width = MIN(GROUP_WIDTH, p->w->n_out - col);
    int n_panel = (int)div_up(width, PANEL), filled = (rows - 1) * GROUP_WIDTH + n_panel * PANEL;

    if (n_panel < MUL_PANELS)
        memset(s, 0, sizeof s), memset(u, 0, sizeof u);
    sums(d, p, p->w, s, row, rows, panel, n_panel, after_w(d, at, next, is_first));
    if (p->w->bias)
        add_bias(s, p->w->bias + col, rows, width);
    if (p->out == PRODUCT_GELU)
        d->kern.gelu(s, s, filled);
    if (p->out == PRODUCT_SWIGLU || p->out == PRODUCT_SWIGLU_BF16) {
        sums(d, p, p->up, u, row, rows, panel, n_panel, panels_at(d, next.p->w, next.panel));
        if (p->up->bias)
            add_bias(u, p->up->bias + col, rows, width);
        d->kern.swiglu(s, s, u, filled);
    }
    if (p->out == PRODUCT_SWIGLU_BF16)
        store_bf16(d, p, s, row, rows, col, n_panel);
    else
        store(d, p, s, row, rows, col, width);
}

/* ---- many products --------------------------------------------------------------------------- */
struct products {
    const struct device *d;
    const struct product *p;
    int n;
    int64_t n_item;
};

/* The product that item i belongs to: the last with first_item <= i. */
static const struct product *product_of(const struct products *all, int64_t i)
{
    int lo = 0, hi = all->n - 1;

    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;

        if (all->p[mid].first_item <= i)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &all->p[lo];
}

static int64_t items_across(const struct product *p)
{
    return div_up(p->n_group, p->span);
}

/* The first group of item i. */
static struct group first_group(const struct products *all, int64_t i)
{
    const struct product *p = product_of(all, i);

    return (struct group){p, (i - p->first_item) % items_across(p) * p->span * MUL_PANELS};
}

static void products_item(void *ctx, int64_t i, int worker)
{
    const struct products *all = ctx;
    struct group at = first_group(all, i), /* what this thread is likely to take next */
        then = first_group(all, MIN(i + pool_threads(all->d->pool), all->n_item - 1));
    const struct product *p = at.p;
    int64_t block = (i - p->first_item) / items_across(p);
    int rows = all->d->kern.chunk_rows;
    int64_t per_block = round_up(div_up(p->rows, p->n_block), rows), from = block * per_block;
    int64_t end = MIN(from + per_block, p->rows),
            last = MIN(at.panel + p->span * MUL_PANELS, p->n_group * MUL_PANELS);

    all->d->kern.begin();
    for (; at.panel < last; at.panel += MUL_PANELS) {
        struct group next = {p, at.panel + MUL_PANELS};

        for (int64_t row = from; row < end; row += rows)
            chunk(all->d, at, next.panel < last ? next : then, row, (int)MIN(rows, end - row),
                  row == from);
    }
    all->d->kern.end();
}

/* Groups of an item. With few rows an item is over before a stream of weights has got going, so it
 * is as many groups as leave each thread some items. */
static int64_t span_of(const struct device *d, const struct product *p, int64_t n_group)
{
    int64_t most = n_group / (pool_threads(d->pool) * ITEMS_EACH);

    return p->rows > d->kern.chunk_rows ? 1 : MAX(1, MIN(most, SPAN_MOST));
}

/* Rows of an item: their inputs are read again for each group. */
static int64_t block_rows(const struct device *d, const struct product *p)
{
    int64_t most = BLOCK_BYTES / (p->x_stride * (int64_t)cpu_x_size(d, p->w));

    return MAX(BLOCK_LEAST, MIN(most, BLOCK_MOST));
}

void cpu_products(struct device *d, struct product *p, int n)
{
    struct products all = {d, p, n, 0};
    int64_t n_group = 0;

    for (int i = 0; i < n; i++) {
        p[i].n_group = div_up(p[i].w->n_out, GROUP_WIDTH);
        n_group += p[i].n_group;
    }
    for (int i = 0; i < n; i++) {
        p[i].first_item = all.n_item;
        p[i].n_block = div_up(p[i].rows, block_rows(d, &p[i]));
        p[i].span = span_of(d, &p[i], n_group);
        all.n_item += items_across(&p[i]) * p[i].n_block;
    }
    pool_run(d->pool, products_item, &all, all.n_item);
}

/* ---- slots ----------------------------------------------------------------------------------- */
int cpu_linear(struct device *d, tensor y, tensor x, const struct weight *w, enum linear_mode mode)
{
    static const enum product_out out[] = {PRODUCT_SET, PRODUCT_GELU, PRODUCT_ADD};
    struct product p = {
        .y = y.data, .y_stride = w->n_out, .rows = x.n[0], .w = w, .out = out[mode]};

    TRY(cpu_input(d, WORK_INPUT, x, w, &p.x, &p.x_stride));
    cpu_products(d, &p, 1);
    return 0;
}

int cpu_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                      const struct weight *up)
{
    struct product p = {.y = y.data,
                        .y_stride = gate->n_out,
                        .rows = x.n[0],
                        .w = gate,
                        .up = up,
                        .out = PRODUCT_SWIGLU};

    if (gate->kind != up->kind)
        return err(RECTO_EMODEL,
                   "the gate and up matrices of a layer must have one dtype; convert the model");
    TRY(cpu_input(d, WORK_INPUT, x, gate, &p.x, &p.x_stride));
    cpu_products(d, &p, 1);
    return 0;
}
