/* Products whose results are added to the residual stream, and their sums over ranks.
 *
 * Where the matrix is cut by input (weight.is_part), each rank adds to r->part, which is zero, and the device sums
 * the parts of all ranks into the stream and leaves zero behind. */
#include "backend/op_check.h"

static tensor part_of(struct run *r, tensor y)
{
    if (!r->is_dry && !is_off(r) && y.n[0] > r->part.n[0])
        latch(r, err(RECTO_EINTERNAL,
                     "internal: a step of %" PRId64 " rows, room for the sums of %" PRId64, y.n[0],
                     r->part.n[0]));
    return tensor_view(r->part.data, DT_F32, 2, y.n[0], y.n[1], 1, 1);
}

static void sum_ranks(struct run *r, tensor y, tensor part)
{
    if (check(r, is_f32(y) && same(y, part), "sum_ranks", y, part))
        latch(r, r->be->sum_ranks(r->dev, y, part));
}

static void sum_ranks_norm(struct run *r, tensor y, tensor part, tensor h, tensor w, float eps)
{
    if (!r->be->sum_ranks_norm) {
        sum_ranks(r, y, part);
        op_rmsnorm(r, h, y, w, eps);
    } else if (check(r,
                     is_f32(y) && is_act(r, h) && same(y, part) && same_size(y, h) &&
                         is_vec(w, y.n[1]),
                     "sum_ranks", y, h))
        latch(r, r->be->sum_ranks_norm(r->dev, y, part, h, w, eps));
}

void op_linear_add(struct run *r, tensor y, tensor x, const struct weight *w)
{
    tensor part;

    if (!w->is_part) {
        check_linear(r, y, x, w, LINEAR_ADD);
        return;
    }
    part = part_of(r, y);
    check_linear(r, part, x, w, LINEAR_ADD);
    sum_ranks(r, y, part);
}

void op_linear_add_norm(struct run *r, tensor y, tensor h, tensor x, const struct weight *w,
                        tensor norm, float eps)
{
    tensor part;

    if (!w->is_part) {
        op_linear_add(r, y, x, w);
        op_rmsnorm(r, h, y, norm, eps);
        return;
    }
    part = part_of(r, y);
    check_linear(r, part, x, w, LINEAR_ADD);
    sum_ranks_norm(r, y, part, h, norm, eps);
}

static bool takes_experts(const struct run *r, tensor y, tensor h, const struct moe *m)
{
    return is_f32(y) && is_act(r, h) && same_size(y, h) && m->router.n_in == h.n[1] &&
           m->router.n_out == m->n_expert;
}

static void moe_add(struct run *r, tensor y, tensor h, const struct moe *m)
{
    if (check(r, takes_experts(r, y, h, m), "moe", y, h))
        latch(r, r->be->moe_add(r->dev, y, h, m));
}

void op_moe_add(struct run *r, tensor y, tensor h, const struct moe *m)
{
    tensor part;

    if (!m->shared_down.is_part) {
        moe_add(r, y, h, m);
        return;
    }
    part = part_of(r, y);
    moe_add(r, part, h, m);
    sum_ranks(r, y, part);
}

void op_moe_add_norm(struct run *r, tensor y, tensor h, const struct moe *m, tensor w, float eps)
{
    tensor part;

    if (m->shared_down.is_part) {
        part = part_of(r, y);
        moe_add(r, part, h, m);
        sum_ranks_norm(r, y, part, h, w, eps);
    } else if (!r->be->moe_add_norm) {
        moe_add(r, y, h, m);
        op_rmsnorm(r, h, y, w, eps);
    } else if (check(r, takes_experts(r, y, h, m) && is_vec(w, y.n[1]), "moe", y, h))
        latch(r, r->be->moe_add_norm(r->dev, y, h, m, w, eps));
}
