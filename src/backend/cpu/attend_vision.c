/* Attention without a cache: SAM's blocks with decomposed relative positions, and the flow
 * encoder's prefix mask.
 *
 * Keys and values are packed into panels in the workspace first (attend.h), then tiles of
 * queries walk over them. */
#include "backend/cpu/attend.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ---- flow encoder ---------------------------------------------------------------------------- */
struct prefix_job {
    const struct device *d;
    float *out;
    const float *q, *k, *v;
    char *keys, *memory;
    size_t part, per_worker; /* bytes of one head's keys; of a worker's tile */
    int len, len_pad, n_prefix, n_head, n_kv, hd, n_tile;
    int64_t q_stride, kv_stride; /* numbers from a row to the next */
};

static char *prefix_keys(const struct prefix_job *j, int64_t view, int head)
{
    return j->keys + (size_t)(view * j->n_kv + head) * 2 * j->part;
}

/* 16 keys of one KV head of one view */
static void prefix_pack(void *ctx, int64_t i, int worker)
{
    const struct prefix_job *j = ctx;
    int n_panel = j->len_pad / PANEL, off = (int)(i % n_panel) * PANEL,
        head = (int)(i / n_panel % j->n_kv);
    int64_t view = i / n_panel / j->n_kv;
    const float *k[PANEL], *v[PANEL];
    char *to = prefix_keys(j, view, head);

    for (int r = 0; r < PANEL; r++) {
        int64_t at = (view * j->len + off + r) * j->kv_stride + (int64_t)head * j->hd;

        k[r] = off + r < j->len ? j->k + at : NULL;
        v[r] = off + r < j->len ? j->v + at : NULL;
    }
    keys_pack16(j->d, to, to + j->part, j->len_pad, off, j->hd, k, v);
}

static void prefix_tile(void *ctx, int64_t i, int worker)
{
    const struct prefix_job *j = ctx;
    int row = (int)(i % j->n_tile) * TILE_ROWS, head = (int)(i / j->n_tile % j->n_head);
    int64_t view = i / j->n_tile / j->n_head, width = (int64_t)j->n_head * j->hd;
    int64_t at = view * j->len + row, col = (int64_t)head * j->hd;
    struct arena memory = {.base = j->memory + (size_t)worker * j->per_worker,
                           .cap = j->per_worker};
    char *kv = prefix_keys(j, view, head / (j->n_head / j->n_kv));
    struct head_keys keys = {.k = kv, .v = kv + j->part, .block_tok = j->len_pad};
    struct tile t;

    tile_carve(&t, &memory, j->hd, 0);
    t.n = MIN(TILE_ROWS, j->len - row);
    for (int r = 0; r < t.n; r++) {
        t.limit[r] = row + r < j->n_prefix ? j->n_prefix : row + r + 1;
        tile_query(&t, r, j->q + (at + r) * j->q_stride + col);
    }
    tile_attend(j->d, &t, &keys);
    for (int r = 0; r < t.n; r++)
        memcpy(j->out + (at + r) * width + col, t.o + r * j->hd, (size_t)j->hd * sizeof *t.o);
}

int cpu_attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                      int n_prefix, int n_head, int n_kv)
{
    struct prefix_job j = {
        .d = d, .out = out.data, .q = q.data, .k = k.data, .v = val.data, .len = len};
    struct arena count = {0};
    int64_t n_view = q.n[0] / len;
    void *keys, *memory;

    j.len_pad = (int)round_up(len, PANEL);
    j.n_prefix = n_prefix;
    j.n_head = n_head;
    j.n_kv = n_kv;
    j.q_stride = q.stride[0];
    j.kv_stride = k.stride[0];
    j.hd = (int)(q.n[1] / n_head);
    j.n_tile = (int)div_up(len, TILE_ROWS);
    TRY(head_dim_check(j.hd));
    j.part = (size_t)j.len_pad * (size_t)j.hd * key_size(d);
    tile_carve(&(struct tile){0}, &count, j.hd, 0);
    j.per_worker = count.peak;
    TRY(cpu_work(d, WORK_KEYS, (size_t)(n_view * n_kv) * 2 * j.part, &keys));
    TRY(cpu_work(d, WORK_TILE, j.per_worker * (size_t)pool_threads(d->pool), &memory));
    j.keys = keys;
    j.memory = memory;
    pool_run(d->pool, prefix_pack, &j, n_view * n_kv * (j.len_pad / PANEL));
    pool_run(d->pool, prefix_tile, &j, n_view * n_head * j.n_tile);
    return 0;
}

/* ---- SAM ------------------------------------------------------------------------------------- */
/* Keys form `side` rows of `across` columns, side rounded up to whole panels, so that a panel
 * has one y' and its x' are in a row.  Columns past side get the bias -inf, hence weight 0.
 *
 * The tables are packed in falling order: column i is rel[2 side - 2 - i].  Then the biases of a
 * query in row y (column x) for y' = 0, 1, .. are columns side - 1 - y, side - y, .. of its
 * product with the table: one run, and no side^2 matrix. */
struct relpos_job {
    const struct device *d;
    float *out;
    const float *qkv, *bias; /* of view 0; bias NULL: zeros */
    float *table_h, *table_w;
    char *keys, *memory;
    size_t part, per_worker;
    int64_t view, width; /* current view; C */
    int grid, side, across, table_cols, n_head, hd, n_window;
};

static int n_keys(const struct relpos_job *j)
{
    return j->side * j->across;
}

static void table_pack(float *to, const float *rel, int side, int hd, int cols)
{
    memset(to, 0, (size_t)(cols * hd) * sizeof *to);
    for (int i = 0; i < 2 * side - 1; i++)
        for (int c = 0; c < hd; c++)
            to[(i / PANEL * hd + c) * PANEL + i % PANEL] =
                rel[(int64_t)(2 * side - 2 - i) * hd + c];
}

/* Keys of row y of the window that starts at (y0, x0). */
static void relpos_pack_row(const struct relpos_job *j, char *to, int head, int y0, int x0, int y)
{
    const float *k[PANEL], *v[PANEL],
        *pad = j->bias ? j->bias + j->width + (int64_t)head * j->hd : NULL;

    for (int x = 0; x < j->across; x += PANEL) {
        for (int i = 0; i < PANEL; i++) {
            bool is_inside = y0 + y < j->grid && x0 + x + i < j->grid;
            int64_t token = j->view * j->grid * j->grid + (int64_t)(y0 + y) * j->grid + x0 + x + i;

            k[i] = is_inside ? j->qkv + token * 3 * j->width + j->width + (int64_t)head * j->hd
                             : pad;
            k[i] = x + i < j->side ? k[i] : NULL;
            v[i] = k[i] ? k[i] + j->width : NULL;
        }
        keys_pack16(j->d, to, to + j->part, n_keys(j), y * j->across + x, j->hd, k, v);
    }
}

static void relpos_pack(void *ctx, int64_t i, int worker)
{
    const struct relpos_job *j = ctx;
    int head = (int)(i / j->side);

    relpos_pack_row(j, j->keys + (size_t)head * 2 * j->part, head, 0, 0, (int)(i % j->side));
}

/* raw x table^T: [n][table_cols] */
static void table_product(const struct relpos_job *j, const struct tile *t, float *y,
                          const float *table)
{
    for (int p = 0; p < j->table_cols / PANEL; p += MUL_PANELS) {
        struct mul m = {.y = y + p * PANEL,
                        .x = t->raw,
                        .w = table + (int64_t)p * j->hd * PANEL,
                        .y_stride = j->table_cols,
                        .x_stride = j->hd,
                        .w_stride = (int64_t)j->hd * PANEL,
                        .k = j->hd,
                        .rows = t->n,
                        .n_panel = MIN(MUL_PANELS, j->table_cols / PANEL - p)};

        j->d->kern.mul_ff(&m);
    }
}

/* Biases of row r, a query at (y, x) of its window, from its products h and w. */
static void relpos_bias(const struct relpos_job *j, struct tile *t, int r, const float *h,
                        const float *w, int y, int x)
{
    float *to = t->bias_x + r * t->bias_x_stride;

    memcpy(t->bias_y + r * t->bias_y_stride, h + j->side - 1 - y, (size_t)j->side * sizeof *h);
    memcpy(to, w + j->side - 1 - x, (size_t)j->side * sizeof *w);
    for (int i = j->side; i < j->across; i++)
        to[i] = -INFINITY;
}

struct relpos_memory {
    struct tile tile;
    float *product;
    char *keys;
    int *token; /* of each query of the tile */
};

static void relpos_carve(const struct relpos_job *j, struct relpos_memory *m, struct arena *a,
                         bool has_keys)
{
    tile_carve(&m->tile, a, j->hd, j->side);
    m->product = arena_take(a, 2 * TILE_ROWS * (size_t)j->table_cols * sizeof *m->product);
    m->token = arena_take(a, TILE_ROWS * sizeof *m->token);
    m->keys = has_keys ? arena_take(a, 2 * j->part) : NULL;
}

/* Attend for the n tokens (grid positions) of m, all in the window at (y0, x0). */
static void relpos_tile(const struct relpos_job *j, struct relpos_memory *m, const char *keys,
                        int head, int n, int y0, int x0)
{
    struct tile *t = &m->tile;
    float *h = m->product, *w = m->product + TILE_ROWS * j->table_cols;
    int64_t base = j->view * j->grid * j->grid;
    struct head_keys where = {.k = keys, .v = keys + j->part, .block_tok = n_keys(j)};

    t->n = n;
    for (int r = 0; r < n; r++) {
        t->limit[r] = n_keys(j);
        tile_query(t, r, j->qkv + (base + m->token[r]) * 3 * j->width + (int64_t)head * j->hd);
    }
    table_product(j, t, h, j->table_h);
    table_product(j, t, w, j->table_w);
    for (int r = 0; r < n; r++)
        relpos_bias(j, t, r, h + r * j->table_cols, w + r * j->table_cols,
                    m->token[r] / j->grid - y0, m->token[r] % j->grid - x0);
    tile_attend(j->d, t, &where);
    for (int r = 0; r < n; r++)
        memcpy(j->out + (base + m->token[r]) * j->width + (int64_t)head * j->hd, t->o + r * j->hd,
               (size_t)j->hd * sizeof *t->o);
}

static struct arena relpos_arena(const struct relpos_job *j, int worker)
{
    return (struct arena){.base = j->memory + (size_t)worker * j->per_worker, .cap = j->per_worker};
}

/* A tile of the whole grid: keys are packed already. */
static void relpos_global(void *ctx, int64_t i, int worker)
{
    const struct relpos_job *j = ctx;
    int n_tok = j->grid * j->grid, n_tile = (int)div_up(n_tok, TILE_ROWS);
    int head = (int)(i / n_tile), from = (int)(i % n_tile) * TILE_ROWS,
        n = MIN(TILE_ROWS, n_tok - from);
    struct arena a = relpos_arena(j, worker);
    struct relpos_memory m;

    relpos_carve(j, &m, &a, false);
    for (int r = 0; r < n; r++)
        m.token[r] = from + r;
    relpos_tile(j, &m, j->keys + (size_t)head * 2 * j->part, head, n, 0, 0);
}

/* One head of one window: pack its keys, then tiles of those queries that are inside the grid. */
static void relpos_window(void *ctx, int64_t i, int worker)
{
    const struct relpos_job *j = ctx;
    int head = (int)(i % j->n_head), window = (int)(i / j->n_head), n = 0;
    int y0 = window / j->n_window * j->side, x0 = window % j->n_window * j->side;
    int y1 = MIN(y0 + j->side, j->grid), x1 = MIN(x0 + j->side, j->grid);
    struct arena a = relpos_arena(j, worker);
    struct relpos_memory m;

    relpos_carve(j, &m, &a, true);
    for (int y = 0; y < j->side; y++)
        relpos_pack_row(j, m.keys, head, y0, x0, y);
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            m.token[n++] = y * j->grid + x;
            if (n == TILE_ROWS || (y == y1 - 1 && x == x1 - 1)) {
                relpos_tile(j, &m, m.keys, head, n, y0, x0);
                n = 0;
            }
        }
}

/* Sizes, tables and workspace of a call. */
static int relpos_prepare(struct device *d, struct relpos_job *j, tensor rel_h, tensor rel_w,
                          int window)
{
    struct arena count = {0};
    size_t table = (size_t)(j->table_cols * j->hd) * sizeof(float);
    void *keys, *tables, *memory;

    j->part = (size_t)n_keys(j) * (size_t)j->hd * key_size(d);
    relpos_carve(j, &(struct relpos_memory){0}, &count, window > 0);
    j->per_worker = count.peak;
    TRY(cpu_work(d, WORK_KEYS, window ? 1 : (size_t)j->n_head * 2 * j->part, &keys));
    TRY(cpu_work(d, WORK_TABLE, 2 * table, &tables));
    TRY(cpu_work(d, WORK_TILE, j->per_worker * (size_t)pool_threads(d->pool), &memory));
    j->keys = keys;
    j->memory = memory;
    j->table_h = tables;
    j->table_w = j->table_h + j->table_cols * j->hd;
    table_pack(j->table_h, rel_h.data, j->side, j->hd, j->table_cols);
    table_pack(j->table_w, rel_w.data, j->side, j->hd, j->table_cols);
    return 0;
}

int cpu_attend_relpos(struct device *d, tensor out, tensor qkv, const float *qkv_bias, tensor rel_h,
                      tensor rel_w, int grid, int window, int n_head)
{
    struct relpos_job j = {.d = d,
                           .out = out.data,
                           .qkv = qkv.data,
                           .bias = qkv_bias,
                           .width = out.n[1],
                           .grid = grid};
    int64_t n_view = qkv.n[0] / ((int64_t)grid * grid);

    j.n_head = n_head;
    j.hd = (int)(out.n[1] / n_head);
    j.side = window ? window : grid;
    j.across = (int)round_up(j.side, PANEL);
    j.table_cols = (int)round_up(2 * j.side - 1, PANEL);
    j.n_window = (int)div_up(grid, j.side);
    TRY(head_dim_check(j.hd));
    TRY(relpos_prepare(d, &j, rel_h, rel_w, window));
    for (j.view = 0; j.view < n_view; j.view++)
        if (window) {
            pool_run(d->pool, relpos_window, &j, (int64_t)j.n_window * j.n_window * n_head);
        } else {
            pool_run(d->pool, relpos_pack, &j, (int64_t)n_head * j.side);
            pool_run(d->pool, relpos_global, &j, n_head * div_up((int64_t)grid * grid, TILE_ROWS));
        }
    return 0;
}
