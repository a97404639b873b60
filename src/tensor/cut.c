#include "tensor/cut.h"

#include "base/mem.h"
#include "tensor/quant.h"

struct cut_share cut_share(struct cut_rank r, int64_t total, int64_t unit)
{
    int64_t n_unit = div_up(total, unit), each = n_unit / r.n, more = n_unit % r.n;
    int64_t from = (r.rank * each + MIN(r.rank, more)) * unit;
    int64_t to = from + (each + (r.rank < more)) * unit;

    return (struct cut_share){MIN(from, total), MIN(to, total) - MIN(from, total)};
}

int64_t cut_unit(struct cut_rank r, int64_t total, enum weight_kind kind)
{
    int64_t least = quant_is(kind) ? quant_group(kind) : 16;

    for (int64_t unit = 64; unit >= least; unit /= 2)
        if (total % (unit * r.n) == 0)
            return unit;
    while (!quant_is(kind) && least > 1 && div_up(total, least) < r.n)
        least /= 2;
    return least;
}
