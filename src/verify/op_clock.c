#include "verify/op_clock.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>

const char *const op_kind_name[N_OPS] = {"products", "experts", "attention in views",
                                         "attention over the cache"};

static const struct backend *be;
static struct op_sum *into;

static int add(enum op_kind kind, struct device *d, int64_t start, int rc, double flop,
               double bytes)
{
    struct op_sum *s = &into[kind];

    TRY(rc);
    TRY(be->finish(d));
    s->ms += clock_ms_since(start);
    s->flop += flop;
    s->bytes += bytes;
    s->n++;
    return 0;
}

static double product_flop(int64_t rows, const struct weight *w)
{
    return 2.0 * (double)rows * (double)w->n_out * (double)w->n_in;
}

static int linear(struct device *d, tensor y, tensor x, const struct weight *w,
                  enum linear_mode mode)
{
    int64_t start = clock_ns();

    return add(OPS_LINEAR, d, start, be->linear(d, y, x, w, mode), product_flop(x.n[0], w),
               (double)w->bytes);
}

static int linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                         const struct weight *up)
{
    int64_t start = clock_ns();

    return add(OPS_LINEAR, d, start, be->linear_swiglu(d, y, x, gate, up),
               2 * product_flop(x.n[0], gate), (double)(gate->bytes + up->bytes));
}

static int moe_add(struct device *d, tensor y, tensor h, const struct moe *m)
{
    int64_t start = clock_ns(), rows = h.n[0];
    double one = (double)(m->gate->bytes + m->up->bytes + m->down->bytes),
           used = m->n_expert * (1 - pow(1 - (double)m->n_pick / m->n_expert, (double)rows)),
           shared = (double)(m->shared_gate.bytes + m->shared_up.bytes + m->shared_down.bytes +
                             m->router.bytes);

    return add(OPS_MOE, d, start, be->moe_add(d, y, h, m),
               product_flop(rows, &m->router) + 3 * product_flop(rows, &m->shared_gate) +
                   3 * product_flop(rows, m->gate) * m->n_pick,
               used * one + shared);
}

static int attend_relpos(struct device *d, tensor out, tensor qkv, const float *qkv_bias,
                         tensor rel_h, tensor rel_w, int grid, int window, int n_head)
{
    int64_t start = clock_ns();
    double keys = (double)(window ? window * window : grid * grid);
    int rc = be->attend_relpos(d, out, qkv, qkv_bias, rel_h, rel_w, grid, window, n_head);

    return add(OPS_VIEWS, d, start, rc, 4.0 * (double)tensor_count(out) * keys, 0);
}

static int attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                         int n_prefix, int n_head, int n_kv)
{
    int64_t start = clock_ns(), rest = len - n_prefix;
    double pairs = (double)len * n_prefix + 0.5 * (double)(rest * (rest + 1)); /* of a view */
    int rc = be->attend_prefix(d, out, q, k, val, len, n_prefix, n_head, n_kv);

    return add(OPS_VIEWS, d, start, rc, 4.0 * (double)tensor_count(out) / len * pairs, 0);
}

static int attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                  const struct batch *b)
{
    int64_t start = clock_ns();
    int rc = be->attend(d, out, q, kv, layer, b);
    double pairs = 0, keys = 0;
    struct kv_shape one = {1, 1, 16, 1, 16}; /* tells how large a number of the cache is */

    for (int i = 0; i < b->n_tok; i++)
        pairs += b->pos[i] + 1;
    for (int i = 0; i < b->n_seq; i++)
        keys += b->seq_len[i];
    return add(OPS_CACHE, d, start, rc, 4.0 * (double)q.n[1] * pairs,
               keys * 2 * (double)q.n[1] * (double)be->kv_bytes(d, &one) / (2 * 16 * 16));
}

struct backend op_clock_start(const struct backend *real, struct op_sum *sums)
{
    struct backend b = *real;

    be = real;
    into = sums;
    for (int i = 0; i < N_OPS; i++)
        sums[i] = (struct op_sum){0};
    b.linear = linear;
    b.linear_swiglu = b.linear_swiglu ? linear_swiglu : NULL;
    b.moe_add = moe_add;
    b.attend_relpos = attend_relpos;
    b.attend_prefix = attend_prefix;
    b.attend = attend;
    return b;
}
