/* What the files of the ops share: the latch, and checks of shapes. */
#ifndef RECTO_BACKEND_OP_CHECK_H
#define RECTO_BACKEND_OP_CHECK_H

#include "backend/op.h"
#include "base/err.h"

#include <inttypes.h>

static inline bool is_off(const struct run *r)
{
    return r->err < 0;
}

static inline void latch(struct run *r, int rc)
{
    if (rc >= 0 || r->err < 0)
        return;
    r->err = rc;
    if (r->comm) /* ranks that wait for this one's part would wait for ever */
        comm_abort(r->comm);
}

/* True when the op may run: no failure so far, shapes right, not a dry run. */
static inline bool check(struct run *r, bool fits, const char *op, tensor a, tensor b)
{
    if (is_off(r))
        return false;
    if (!fits) {
        latch(r, err(RECTO_ESHAPE,
                     "internal: %s: [%" PRId64 ", %" PRId64 "] and [%" PRId64 ", %" PRId64
                     "] do not fit",
                     op, a.n[0], a.n[1], b.n[0], b.n[1]));
        return false;
    }
    return !r->is_dry;
}

static inline bool is_f32(tensor t)
{
    return t.rank == 2 && t.dtype == DT_F32;
}

static inline bool is_act(const struct run *r, tensor t)
{
    return t.rank == 2 && t.dtype == r->act;
}

static inline bool is_mat(const struct run *r, tensor t)
{
    return is_f32(t) || is_act(r, t);
}

static inline bool same_size(tensor a, tensor b)
{
    return a.n[0] == b.n[0] && a.n[1] == b.n[1] && a.n[2] == b.n[2] && a.n[3] == b.n[3];
}

static inline bool same(tensor a, tensor b)
{
    return a.rank == b.rank && a.dtype == b.dtype && same_size(a, b);
}

static inline bool is_vec(tensor t, int64_t n)
{
    return t.rank == 1 && t.dtype == DT_F32 && t.n[0] == n;
}

static inline void check_linear(struct run *r, tensor y, tensor x, const struct weight *w,
                                enum linear_mode mode)
{
    bool fits = is_act(r, x) && (mode == LINEAR_ADD ? is_f32(y) : is_mat(r, y)) &&
                x.n[0] == y.n[0] && x.n[1] == w->n_in && y.n[1] == w->n_out;

    if (check(r, fits, "linear", x, y))
        latch(r, r->be->linear(r->dev, y, x, w, mode));
}

#endif
