/* A device's record with a clock around each op: how long the products and the attention of a stage
 * took, how many operations that were and how many bytes of weights and cache. */
#ifndef RECTO_VERIFY_OP_CLOCK_H
#define RECTO_VERIFY_OP_CLOCK_H

#include "backend/op.h"

enum op_kind {
    OPS_LINEAR, /* products with one matrix or two   */
    OPS_MOE,    /* router, experts, shared expert    */
    OPS_VIEWS,  /* attention within views            */
    OPS_CACHE,  /* attention over the paged cache    */
    N_OPS
};

struct op_sum {
    double ms, flop, bytes; /* bytes: weights read once a call, keys and values once a row */
    int n;
};

extern const char *const op_kind_name[N_OPS];

/* The record that counts into sums [N_OPS] and calls `real`. One at a time in a process; the device
 * waits after each op. In a call of several rows the experts are those that random picks would be
 * expected to use. */
struct backend op_clock_start(const struct backend *real, struct op_sum *sums);

#endif
