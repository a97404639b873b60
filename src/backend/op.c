#include "backend/op_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int run_finish(struct run *r)
{
    int rc = r->err;

    if (rc == 0 && arena_failed(&r->scratch))
        rc = err(RECTO_EINTERNAL, "internal: scratch of %zu bytes needed, %zu measured",
                 r->scratch.peak, r->scratch.cap);
    if (!r->is_dry) {
        int late = r->be->finish(r->dev);

        rc = rc < 0 ? rc : late;
    }
    r->err = 0;
    if (rc < 0 && r->comm) /* late faults, too */
        comm_abort(r->comm);
    return rc;
}

tensor scratch(struct run *r, enum dtype dtype, int64_t rows, int64_t width)
{
    void *p = arena_take(&r->scratch, (size_t)(rows * width) * dtype_size(dtype));

    if (!r->is_dry && !p && r->err == 0)
        latch(r,
              err(RECTO_EINTERNAL, "internal: the dry run measured %zu bytes of scratch, too few",
                  r->scratch.cap));
    return tensor_view(p, dtype, 2, rows, width, 1, 1);
}

tensor scratch_upload(struct run *r, enum dtype dtype, int64_t rows, int64_t width,
                      const void *host)
{
    tensor t = scratch(r, dtype, rows, width);

    op_upload(r, t, host);
    return t;
}

void op_upload(struct run *r, tensor to, const void *host)
{
    if (!is_off(r) && !r->is_dry)
        latch(r, r->be->upload(r->dev, to.data, host,
                               (size_t)tensor_count(to) * dtype_size(to.dtype)));
}

static tensor rows_at(int32_t *data, int64_t n)
{
    return tensor_view(data, DT_I32, 2, n, 1, 1, 1);
}

bool op_step(struct run *r, const struct batch *b, const struct sample_ask *ask,
             struct choice *next)
{
    struct step_rows on = {0};
    int rc = 0;

    r->batch = b;
    if (!r->be->step) {
        r->id = scratch_upload(r, DT_I32, b->n_tok, 1, b->id);
        r->pos = scratch_upload(r, DT_I32, b->n_tok, 1, b->pos);
        r->out_row = scratch_upload(r, DT_I32, b->n_out, 1, b->out_row);
        return false;
    }
    if (!is_off(r) && !r->is_dry)
        rc = r->be->step(r->dev, r->kv, b, ask, next, &on);
    latch(r, rc);
    r->id = rows_at(on.id, b->n_tok);
    r->pos = rows_at(on.pos, b->n_tok);
    r->out_row = rows_at(on.out_row, b->n_out);
    return rc > 0;
}

void op_sample(struct run *r, tensor logits, const struct sample_ask *ask, struct choice *next)
{
    if (check(r, is_f32(logits), "sample", logits, logits))
        latch(r, r->be->sample(r->dev, logits, ask, next));
}

/* The numbers of x on the host, as fp32, in the order of memory. */
static float *tap_copy(struct run *r, tensor x)
{
    size_t n = (size_t)tensor_count(x), size = dtype_size(x.dtype);
    float *host = malloc(n * sizeof *host + 1);
    char *from;

    if (!host)
        return NULL;
    from = (char *)host +
           n * (sizeof *host -
                size); /* narrow numbers land at the end, then widen from the front */
    latch(r, r->be->download(r->dev, from, x.data, n * size));
    for (size_t i = 0; x.dtype == DT_BF16 && i < n; i++) {
        uint16_t half;

        memcpy(&half, from + i * sizeof half, sizeof half);
        host[i] = bf16_to_f32(half);
    }
    return host;
}

void tap(struct run *r, tensor x, const char *fmt, ...)
{
    char name[96];
    va_list ap;
    int n;

    if (!r->tap || r->is_dry || is_off(r))
        return;
    va_start(ap, fmt);
    n = vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    snprintf(name + n, sizeof name - (size_t)n, "%s", r->tap_suffix ? r->tap_suffix : "");

    float *host = tap_copy(r, x);
    if (!host) {
        latch(r, err(RECTO_ENOMEM, "no memory for the tap %s", name));
        return;
    }
    x.data = host;
    x.dtype = DT_F32;
    if (!is_off(r))
        r->tap(r->tap_ctx, name, x);
    free(host);
}

void op_rmsnorm(struct run *r, tensor y, tensor x, tensor w, float eps)
{
    if (check(r, is_mat(r, x) && is_act(r, y) && same_size(x, y) && is_vec(w, x.n[1]), "rmsnorm", x,
              w))
        latch(r, r->be->rmsnorm(r->dev, y, x, w, eps));
}

void op_layernorm(struct run *r, tensor y, tensor x, tensor w, tensor b, float eps)
{
    if (check(r,
              is_mat(r, x) && is_act(r, y) && same_size(x, y) && is_vec(w, x.n[1]) &&
                  is_vec(b, x.n[1]),
              "layernorm", x, w))
        latch(r, r->be->layernorm(r->dev, y, x, w, b, eps));
}

void op_swiglu(struct run *r, tensor y, tensor gate, tensor up)
{
    if (check(r, is_act(r, y) && same(y, gate) && same(y, up), "swiglu", y, up))
        latch(r, r->be->swiglu(r->dev, y, gate, up));
}

void op_add_cyclic(struct run *r, tensor x, tensor p)
{
    if (check(r, is_f32(x) && is_f32(p) && x.n[1] == p.n[1] && p.n[0] > 0 && x.n[0] % p.n[0] == 0,
              "add_cyclic", x, p))
        latch(r, r->be->add_cyclic(r->dev, x, p));
}

void op_rope(struct run *r, tensor x, tensor pos, tensor table)
{
    bool fits = is_act(r, x) && is_f32(table) && pos.dtype == DT_I32 && pos.n[0] > 0 &&
                x.n[1] % table.n[1] == 0 && table.n[1] % 2 == 0;

    if (check(r, fits, "rope", x, table))
        latch(r, r->be->rope(r->dev, x, pos, table));
}

void op_gather_rows(struct run *r, tensor y, tensor x, tensor row)
{
    if (check(r,
              is_mat(r, x) && is_mat(r, y) && x.dtype == y.dtype && x.n[1] == y.n[1] &&
                  row.dtype == DT_I32 && row.n[0] == y.n[0],
              "gather_rows", x, y))
        latch(r, r->be->gather_rows(r->dev, y, x, row));
}

void op_copy(struct run *r, tensor y, tensor x)
{
    if (check(r, is_mat(r, x) && is_mat(r, y) && same_size(x, y), "copy", x, y))
        latch(r, r->be->copy(r->dev, y, x));
}

tensor op_as_act(struct run *r, tensor x)
{
    tensor h;

    if (x.dtype == r->act)
        return x;
    h = scratch_like(r, x);
    op_copy(r, h, x);
    return h;
}

void op_embed(struct run *r, tensor x, tensor table, tensor id)
{
    if (check(r, is_f32(x) && x.n[1] == table.n[1] && id.dtype == DT_I32 && id.n[0] == x.n[0],
              "embed", x, table))
        latch(r, r->be->embed(r->dev, x, table, id));
}

void op_linear(struct run *r, tensor y, tensor x, const struct weight *w)
{
    check_linear(r, y, x, w, LINEAR_SET);
}

void op_linear_gelu(struct run *r, tensor y, tensor x, const struct weight *w)
{
    check_linear(r, y, x, w, LINEAR_GELU);
}

void op_linear_swiglu(struct run *r, tensor y, tensor x, const struct weight *gate,
                      const struct weight *up)
{
    bool fits = is_act(r, x) && is_act(r, y) && x.n[0] == y.n[0] && x.n[1] == gate->n_in &&
                y.n[1] == gate->n_out && up->n_in == gate->n_in && up->n_out == gate->n_out;

    if (!r->be->linear_swiglu) {
        size_t mark = scratch_mark(r);
        tensor u = scratch_like(r, y);

        op_linear(r, y, x, gate);
        op_linear(r, u, x, up);
        op_swiglu(r, y, y, u);
        scratch_reset(r, mark);
    } else if (check(r, fits, "linear_swiglu", x, y))
        latch(r, r->be->linear_swiglu(r->dev, y, x, gate, up));
}

void op_patches(struct run *r, tensor out, tensor pixels, int patch)
{
    int64_t g = pixels.n[1] / patch;
    bool fits = pixels.rank == 4 && pixels.dtype == DT_U8 && pixels.n[1] == pixels.n[2] &&
                pixels.n[3] == 3 && g * patch == pixels.n[1] && out.n[0] == pixels.n[0] * g * g &&
                out.n[1] == (int64_t)3 * patch * patch;

    if (check(r, fits && is_act(r, out), "patches", out, pixels))
        latch(r, r->be->patches(r->dev, out, pixels, patch));
}

void op_conv3(struct run *r, tensor y, tensor x, const struct weight *w, int stride)
{
    int64_t ho = (x.n[1] - 1) / stride + 1, wo = (x.n[2] - 1) / stride + 1;
    size_t mark = scratch_mark(r);
    tensor cols = scratch(r, r->act, x.n[0] * ho * wo, 9 * x.n[3]);

    if (check(r, x.rank == 4 && x.dtype == r->act && y.n[0] == cols.n[0], "conv3", y, x))
        latch(r, r->be->im2col(r->dev, cols, x, stride));
    op_linear(r, y, cols, w);
    scratch_reset(r, mark);
}

void op_attend_relpos(struct run *r, tensor out, tensor qkv, const struct weight *wqkv,
                      tensor rel_h, tensor rel_w, int grid, int window, int n_head)
{
    int64_t side = window ? window : grid, head_dim = out.n[1] / n_head;
    bool fits = is_act(r, out) && is_act(r, qkv) && qkv.n[1] == 3 * out.n[1] &&
                out.n[0] == qkv.n[0] && out.n[0] % ((int64_t)grid * grid) == 0 &&
                rel_h.n[0] == 2 * side - 1 && same(rel_h, rel_w) && rel_h.n[1] == head_dim;

    if (check(r, fits, "attend_relpos", qkv, rel_h))
        latch(r, r->be->attend_relpos(r->dev, out, qkv, wqkv->bias, rel_h, rel_w, grid, window,
                                      n_head));
}

void op_attend_prefix(struct run *r, tensor out, tensor q, tensor k, tensor v, int len,
                      int n_prefix, int n_head, int n_kv)
{
    bool fits = is_act(r, q) && same(out, q) && same(k, v) && q.n[0] == k.n[0] &&
                q.n[0] % len == 0 && n_head % n_kv == 0 && q.n[1] / n_head == k.n[1] / n_kv &&
                n_prefix <= len;

    if (check(r, fits, "attend_prefix", q, k))
        latch(r, r->be->attend_prefix(r->dev, out, q, k, v, len, n_prefix, n_head, n_kv));
}

void op_kv_store(struct run *r, int layer, tensor k, tensor v)
{
    if (check(r, is_act(r, k) && same(k, v), "kv_store", k, v))
        latch(r, r->be->kv_store(r->dev, r->kv, layer, k, v, r->batch));
}

void op_qkv_store(struct run *r, tensor q, tensor h, const struct qkv *w)
{
    bool fits = is_act(r, h) && is_act(r, q) && q.n[0] == h.n[0] && w->wq->n_in == h.n[1] &&
                w->wq->n_out == q.n[1] && w->wk->n_in == h.n[1] && w->wv->n_out == w->wk->n_out;
    size_t mark = scratch_mark(r);
    int rc = 1;

    if (r->be->qkv_store && check(r, fits, "qkv_store", q, h)) {
        rc = r->be->qkv_store(r->dev, q, h, w, r->batch);
        latch(r, rc);
    }
    if (rc <= 0)
        return;

    tensor k = scratch_for(r, h, w->wk), v = scratch_for(r, h, w->wv);

    op_linear(r, q, h, w->wq);
    op_linear(r, k, h, w->wk);
    op_linear(r, v, h, w->wv);
    op_rope(r, q, r->pos, w->rope);
    op_rope(r, k, r->pos, w->rope);
    op_kv_store(r, w->layer, k, v);
    scratch_reset(r, mark);
}

void op_attend(struct run *r, tensor out, tensor q, int layer)
{
    if (check(r, is_act(r, q) && same(out, q), "attend", out, q))
        latch(r, r->be->attend(r->dev, out, q, r->kv, layer, r->batch));
}
