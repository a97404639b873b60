/* Products and experts: which kernels, in which order. */
#include "backend/cuda/cuda.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

static struct product product_of(const struct device *d, tensor y, tensor x, const struct weight *w,
                                 enum product_out out)
{
    return (struct product){
        .x = x.data,
        .w = w->data,
        .bias = w->bias,
        .y = y.data,
        .rows = (int)x.n[0],
        .n = (int)w->n_out,
        .k = (int)w->n_in,
        .out = out,
        .x_is_f32 = x.dtype == DT_F32,
        .w_is_f32 = w->kind == WEIGHT_F32,
        .y_is_f32 = y.dtype == DT_F32,
        .is_sm90 = d->is_sm90,
        .overlaps = d->overlaps,
        .n_sm = d->n_sm,
    };
}

int cuda_linear(struct device *d, tensor y, tensor x, const struct weight *w, enum linear_mode mode)
{
    static const enum product_out out[] = {PRODUCT_SET, PRODUCT_GELU, PRODUCT_ADD};
    struct product p = product_of(d, y, x, w, out[mode]);

    TRY(cuda_check(launch_product(d->stream, &p), "linear"));
    return cuda_launched("linear");
}

int cuda_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                       const struct weight *up)
{
    struct product p = product_of(d, y, x, gate, PRODUCT_SWIGLU);

    if (gate->kind != up->kind)
        return err(RECTO_EMODEL,
                   "the gate and up matrices of a layer must have one dtype; convert the model");
    p.up = up->data;
    TRY(cuda_check(launch_product(d->stream, &p), "linear_swiglu"));
    return cuda_launched("linear_swiglu");
}

enum { MOST_TOGETHER = 512 }; /* rows of a decoding step; more take larger tiles, one by one */

/* q, k and v by one launch, or, of many rows, by one each. */
static int three(struct device *d, struct product *p)
{
    struct product one = *p;
    size_t bytes = (size_t)p->rows * (size_t)p->n * cuda_act_size(d);

    if (p->rows <= MOST_TOGETHER)
        return cuda_check(launch_three(d->stream, p), "qkv_store");
    for (int i = 0; i < 3; i++) {
        one.w = i ? p->more[i - 1] : p->w;
        one.y = (char *)p->y + (size_t)i * bytes;
        TRY(cuda_check(launch_product(d->stream, &one), "qkv_store"));
    }
    return 0;
}

/* Then what goes where. */
static int three_and_store(struct device *d, struct product *p)
{
    void *qkv, *q = p->y;

    TRY(cuda_work(d, WORK_QKV, 3 * (size_t)p->rows * (size_t)p->n * cuda_act_size(d), &qkv));
    p->y = qkv;
    p->out = PRODUCT_SET;
    p->more[0] = p->heads->wk;
    p->more[1] = p->heads->wv;
    TRY(three(d, p));
    launch_turn_store(d->stream, q, qkv, p->heads, p->rows, d->overlaps);
    return cuda_launched("qkv_store");
}

int cuda_qkv_store(struct device *d, tensor q, tensor h, const struct qkv *w, const struct batch *b)
{
    struct product p = product_of(d, q, h, w->wq, PRODUCT_QKV);
    struct heads heads;
    bool all_bf16 = w->wq->kind == WEIGHT_BF16 && w->wk->kind == WEIGHT_BF16 &&
                    w->wv->kind == WEIGHT_BF16;

    if (w->wq->bias || w->wk->bias || w->wv->bias || !all_bf16 || w->wk->n_out != w->wq->n_out ||
        w->wk->n_in != w->wq->n_in)
        return 1;
    heads = cuda_kv_heads(d, w->kv, w->layer);
    heads.wk = w->wk->data;
    heads.wv = w->wv->data;
    heads.table = w->rope.data;
    heads.pos = d->step.rows.pos;
    heads.slot = d->step.slot;
    p.heads = &heads;
    if (launch_takes_stream(&p))
        return cuda_check(launch_product_stream(d->stream, &p), "qkv_store");
    if (p.x_is_f32 || p.n % 8 || p.k % 8)
        return 1;
    return three_and_store(d, &p);
}

/* ---- experts --------------------------------------------------------------------------------- */
struct moe_run {
    struct device *d;
    const struct moe *m;
    const struct expert_table *table;
    struct route route;
    tensor y, h, shared; /* shared: between the two products of the shared expert */
    bool is_beside;      /* the shared expert runs on the device's other stream */
    void *middle, *result;
};

/* h = RMSNorm(y) at the end. */
struct after {
    tensor h, w;
    float eps;
};

static int upload_table(struct device *d, const struct weight *w, int n, const void ***out)
{
    const void **host = mem_alloc((size_t)n * sizeof *host);
    void *p;
    int rc;

    for (int e = 0; e < n; e++)
        host[e] = w[e].data;
    rc = cuda_alloc(d, (size_t)n * sizeof *host, &p);
    if (rc == 0) {
        *out = p;
        rc = cuda_upload(d, p, host, (size_t)n * sizeof *host);
    }
    free(host);
    return rc;
}

/* Maps of the same matrices, in one array. */
static int upload_maps(struct device *d, const struct weight *w, int n, void **out)
{
    size_t one = (size_t)launch_map_bytes();
    char *host = aligned_alloc(64, (size_t)n * one);
    bool all = host != NULL;
    int rc = 0;

    for (int e = 0; all && e < n; e++)
        all = launch_make_map(host + (size_t)e * one, w[e].data, (int)w[e].n_out, (int)w[e].n_in);
    if (all)
        rc = cuda_alloc(d, (size_t)n * one, out);
    if (all && rc == 0)
        rc = cuda_upload(d, *out, host, (size_t)n * one);
    free(host);
    return rc;
}

static bool takes_maps(const struct device *d, const struct weight *w)
{
    return d->is_sm90 && !d->is_f32 && w->kind == WEIGHT_BF16 && w->n_in % 8 == 0 &&
           w->n_out % 8 == 0;
}

static int moe_check(const struct moe *m)
{
    bool is_mixed = false;

    for (int e = 0; e < m->n_expert; e++)
        is_mixed = is_mixed || m->gate[e].kind != m->gate[0].kind ||
                   m->up[e].kind != m->gate[0].kind || m->down[e].kind != m->down[0].kind;
    is_mixed = is_mixed || m->shared_gate.kind != m->shared_up.kind;
    if (is_mixed)
        return err(RECTO_EMODEL, "the experts of a layer must have one dtype; convert the model");
    if (m->n_pick < 1 || m->n_pick > m->n_expert)
        return err(RECTO_ESHAPE, "%d experts cannot be picked out of %d", m->n_pick, m->n_expert);
    if (m->n_expert > LAUNCH_MAX_EXPERT)
        return err(RECTO_ESHAPE, "%d experts; this build takes up to %d", m->n_expert,
                   LAUNCH_MAX_EXPERT);
    return 0;
}

/* The addresses of m's experts on the device, uploaded at the first call for m. */
static int expert_table(struct device *d, const struct moe *m, const struct expert_table **out)
{
    struct expert_table *t;

    for (int i = 0; i < d->n_table; i++) {
        t = &d->table[i];
        *out = t;
        if (t->of == m && t->first == m->gate[0].data)
            return 0;
    }
    TRY(moe_check(m));
    d->table = mem_grow(d->table, (size_t)d->n_table + 1, sizeof *d->table);
    t = &d->table[d->n_table++];
    *t = (struct expert_table){0};
    *out = t;
    TRY(upload_table(d, m->gate, m->n_expert, &t->gate));
    TRY(upload_table(d, m->up, m->n_expert, &t->up));
    TRY(upload_table(d, m->down, m->n_expert, &t->down));
    if (takes_maps(d, m->gate) && takes_maps(d, m->down)) {
        TRY(upload_maps(d, m->gate, m->n_expert, &t->gate_map));
        TRY(upload_maps(d, m->up, m->n_expert, &t->up_map));
        TRY(upload_maps(d, m->down, m->n_expert, &t->down_map));
    }
    t->of = m;
    t->first = m->gate[0].data;
    return 0;
}

enum { FEW_EACH = 4 };

/* Does stream.cu take w whatever the rows? */
static bool streams_well(const struct weight *w)
{
    struct product p = {.n = (int)w->n_out,
                        .k = (int)w->n_in,
                        .rows = 1,
                        .is_sm90 = true,
                        .w_is_f32 = w->kind == WEIGHT_F32};

    return launch_takes_stream(&p);
}

/* Tiles of 64 rows where the plain kernel works, else by the rows an expert gets on average; where
 * they are very few, small tiles leave the weights more room. */
static int tile_rows(const struct moe_run *r, int rows, int n_pick, int n_expert)
{
    const struct moe *m = r->m;
    bool is_plain = r->d->is_f32 || m->gate[0].kind == WEIGHT_F32 ||
                    m->down[0].kind == WEIGHT_F32 || m->gate[0].n_in % 8 || m->gate[0].n_out % 8;

    bool streams = r->d->is_sm90 && streams_well(&m->gate[0]) && streams_well(&m->down[0]);
    int each = (int)((int64_t)rows * n_pick / n_expert);

    if (is_plain)
        return 64;
    return streams && each <= FEW_EACH ? 8 : launch_tile_rows(each);
}

static int route(struct moe_run *r, tensor h)
{
    const struct moe *m = r->m;
    struct arena a = {0};
    struct route *o = &r->route;
    size_t n = (size_t)h.n[0] * (size_t)m->n_pick;

    *o = (struct route){.h = h.data,
                        .router = m->router.data,
                        .rows = (int)h.n[0],
                        .width = (int)h.n[1],
                        .n_expert = m->n_expert,
                        .n_pick = m->n_pick,
                        .tile_rows = tile_rows(r, (int)h.n[0], m->n_pick, m->n_expert),
                        .is_f32 = h.dtype == DT_F32,
                        .router_bf16 = r->d->router_bf16,
                        .overlaps = r->d->overlaps};
    o->tile_cap = (int)(n / (size_t)o->tile_rows + MIN(n, (size_t)m->n_expert));
    for (int pass = 0; pass < 2; pass++) { /* count, then take */
        o->logit = arena_take(&a, (size_t)h.n[0] * (size_t)m->n_expert * sizeof *o->logit);
        o->pick = arena_take(&a, n * sizeof *o->pick);
        o->share = arena_take(&a, n * sizeof *o->share);
        o->slot = arena_take(&a, n * sizeof *o->slot);
        o->row = arena_take(&a, n * sizeof *o->row);
        o->from = arena_take(&a, (size_t)(m->n_expert + 1) * sizeof *o->from);
        o->tile = arena_take(&a, (size_t)o->tile_cap * sizeof *o->tile);
        o->count = arena_take(&a, (size_t)m->n_expert * sizeof *o->count);
        if (pass == 0) {
            void *base;

            TRY(cuda_work(r->d, WORK_ROUTE, a.peak, &base));
            a = (struct arena){.base = base, .cap = a.peak};
        }
    }
    launch_route(r->d->stream, o);
    return cuda_launched("moe: router");
}

static int take_room(struct moe_run *r, int64_t rows, int64_t width)
{
    size_t act = cuda_act_size(r->d), n = (size_t)(rows * r->m->n_pick);
    void *p;

    TRY(cuda_work(r->d, WORK_MIDDLE, n * (size_t)r->m->gate[0].n_out * act, &r->middle));
    TRY(cuda_work(r->d, WORK_SHARED, (size_t)(rows * r->m->shared_gate.n_out) * act, &p));
    r->shared = tensor_view(p, r->h.dtype, 2, rows, r->m->shared_gate.n_out, 1, 1);
    TRY(cuda_work(r->d, WORK_RESULT, n * (size_t)width * act, &r->result));
    return 0;
}

/* Rows in the order of places: the copy engine takes whole boxes and cannot pick rows. */
static int places(struct moe_run *r, tensor h, tensor *out)
{
    int64_t n = h.n[0] * r->m->n_pick;
    size_t bytes = (size_t)h.n[1] * cuda_act_size(r->d);
    void *p;

    TRY(cuda_work(r->d, WORK_PLACES, (size_t)n * bytes, &p));
    launch_gather_bytes(r->d->stream, p, h.data, r->route.row, n, (int)bytes);
    *out = tensor_view(p, h.dtype, 2, n, h.n[1], 1, 1);
    return 0;
}

/* The shared expert's products as a launch takes them, and as a call. */
static struct product shared_product(const struct moe_run *r, bool is_down)
{
    const struct moe *m = r->m;
    struct product p = is_down ? product_of(r->d, r->y, r->shared, &m->shared_down, PRODUCT_ADD)
                               : product_of(r->d, r->shared, r->h, &m->shared_gate, PRODUCT_SWIGLU);

    p.up = is_down ? NULL : m->shared_up.data;
    return p;
}

static int shared(struct moe_run *r, bool is_down)
{
    const struct moe *m = r->m;

    return is_down ? cuda_linear(r->d, r->y, r->shared, &m->shared_down, LINEAR_ADD)
                   : cuda_linear_swiglu(r->d, r->shared, r->h, &m->shared_gate, &m->shared_up);
}

/* Tens of rows leave the machine half empty, and so does the router: the shared expert beside it. */
static int begin_beside(struct moe_run *r)
{
    struct device *d = r->d;
    struct product up = shared_product(r, false), down = shared_product(r, true);

    r->is_beside = up.rows > 16 && up.rows <= MOST_TOGETHER;
    if (!r->is_beside)
        return 0;
    up.overlaps = down.overlaps = false; /* the kernel in front is another stream's */
    TRY(cuda_check(cudaEventRecord(d->forked, d->stream), "moe: shared expert"));
    TRY(cuda_check(cudaStreamWaitEvent(d->side, d->forked, 0), "moe: shared expert"));
    TRY(cuda_check(launch_product(d->side, &up), "moe: shared expert"));
    TRY(cuda_check(launch_product(d->side, &down), "moe: shared expert"));
    return cuda_check(cudaEventRecord(d->done, d->side), "moe: shared expert");
}

static int end_beside(struct moe_run *r)
{
    return r->is_beside ? cuda_check(cudaStreamWaitEvent(r->d->stream, r->d->done, 0), "moe") : 0;
}

/* A product of every expert with its rows; the same weights as addresses and, with many rows, as
 * maps.  The shared expert's goes side by side where that is possible, else in front. */
static int experts(struct moe_run *r, tensor y, tensor x, const struct weight *w, bool is_down,
                   bool is_wide)
{
    const struct expert_table *t = r->table;
    struct product p = product_of(r->d, y, x, w, is_down ? PRODUCT_SET : PRODUCT_SWIGLU),
                   also = shared_product(r, is_down);

    p.bias = NULL;
    p.w = NULL;
    p.w_list = is_down ? t->down : t->gate;
    p.up_list = is_down ? NULL : t->up;
    if (is_wide) {
        p.w_maps = is_down ? t->down_map : t->gate_map;
        p.up_maps = is_down ? NULL : t->up_map;
    }
    p.from = r->route.from;
    p.row = is_down || is_wide ? NULL : r->route.row;
    p.tile = r->route.tile;
    p.tile_cap = r->route.tile_cap;
    p.tile_rows = r->route.tile_rows;
    p.most_rows = r->route.rows;
    if (!r->is_beside && launch_takes_both(&p, &also))
        return cuda_check(launch_both_stream(r->d->stream, &p, &also), "moe: experts");
    if (!r->is_beside)
        TRY(shared(r, is_down));
    return cuda_check(launch_product(r->d->stream, &p), "moe: experts");
}

/* y += what was picked; then the norm of y, if asked for. */
static int add_picks(struct moe_run *r, const struct after *after)
{
    const struct route *o = &r->route;
    struct combine c = {.y = r->y.data,
                        .result = r->result,
                        .slot = o->slot,
                        .share = o->share,
                        .rows = o->rows,
                        .width = o->width,
                        .n_pick = o->n_pick,
                        .is_f32 = r->d->is_f32,
                        .overlaps = r->d->overlaps && !r->is_beside};

    TRY(end_beside(r));
    if (after && launch_combines_norm(c.width)) {
        c.h = after->h.data;
        c.norm = after->w.data;
        c.eps = after->eps;
    }
    launch_combine(r->d->stream, &c);
    TRY(cuda_launched("moe"));
    return after && !c.h ? cuda_rmsnorm(r->d, after->h, r->y, after->w, after->eps) : 0;
}

static int moe(struct device *d, tensor y, tensor h, const struct moe *m, const struct after *after)
{
    struct moe_run r = {.d = d, .m = m, .y = y, .h = h};
    int64_t rows = h.n[0], width = h.n[1], n = rows * m->n_pick;
    bool is_wide;

    TRY(expert_table(d, m, &r.table));
    TRY(take_room(&r, rows, width));
    TRY(begin_beside(&r));
    TRY(route(&r, h));

    tensor middle = tensor_view(r.middle, h.dtype, 2, n, m->gate[0].n_out, 1, 1);
    tensor result = tensor_view(r.result, h.dtype, 2, n, width, 1, 1);

    is_wide = r.route.tile_rows == 128 && r.table->down_map;
    if (is_wide)
        TRY(places(&r, h, &h));
    TRY(experts(&r, middle, h, m->gate, false, is_wide));
    TRY(experts(&r, result, middle, m->down, true, is_wide));
    return add_picks(&r, after);
}

int cuda_moe_add(struct device *d, tensor y, tensor h, const struct moe *m)
{
    return moe(d, y, h, m, NULL);
}

int cuda_moe_add_norm(struct device *d, tensor y, tensor h, const struct moe *m, tensor w,
                      float eps)
{
    struct after after = {h, w, eps};

    return moe(d, y, h, m, &after);
}
