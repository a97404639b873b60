/* Which part of a matrix each rank has, where one model is spread over several devices (backend/comm.h). */
#ifndef RECTO_TENSOR_CUT_H
#define RECTO_TENSOR_CUT_H

#include "backend/backend.h"

enum cut {
    CUT_OUT, /* rows: a rank computes some of the outputs */
    CUT_IN,  /* columns: a rank computes its part of the sum of every output (weight.is_part) */
};

/* This rank of so many; {0, 1}: the whole. */
struct cut_rank {
    int rank, n;
};

/* Part of total that is a rank's: whole units in turn, the first ranks having one more where they do not go round, so
 * 5 heads on 2 ranks are 3 and 2, and 10 on 4 are 3, 3, 2, 2.  The last unit may be a short one.  n is 0 where there are fewer
 * units than ranks. */
struct cut_share {
    int64_t from, n;
};
struct cut_share cut_share(struct cut_rank r, int64_t total, int64_t unit);

/* The unit for an inner width that may be cut anywhere: 64, 32 or 16 columns (what tensor cores and the groups of quantised
 * weights like) where that gives equal shares, else 16, and fewer only where there are too few of them.  Quantised weights stay
 * whole groups, so that the numbers are those of the uncut matrix. */
int64_t cut_unit(struct cut_rank r, int64_t total, enum weight_kind kind);

#endif
