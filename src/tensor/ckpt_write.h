/* Write a whole checkpoint: every tensor of a configuration, under original or native names, in one
 * file or several.
 *
 * Numbers come from a function that is asked for pieces, so a checkpoint of any size is written
 * with a few MB of memory for each thread; pieces are asked for in any order and from several
 * threads. A file appears under its final name when it is complete, the index last. */
#ifndef RECTO_TENSOR_CKPT_WRITE_H
#define RECTO_TENSOR_CKPT_WRITE_H

#include "tensor/inventory.h"

/* Numbers [from, from + count) of the item, in the order of the original tensor, into to. A failure
 * is latched. */
typedef int ckpt_fill_fn(void *ctx, const struct inventory_item *it, int64_t from, int64_t count,
                         float *to);

struct ckpt_plan {
    const struct model_config *config;
    enum names_layout layout; /* native: with fused experts */
    enum dtype dtype;         /* DT_BF16 (rounded to nearest even) or DT_F32 */
    int n_shard; /* 0: model.safetensors; else about that many of equal size, and an index */
    int threads; /* 0: as many as the process may use */
    ckpt_fill_fn *fill;
    void *ctx;
};
struct ckpt_written {
    int n_file, n_tensor;
    int64_t n_param, bytes; /* of data, without headers */
};

/* Write into dir, which must exist and hold no weights yet (RECTO_EUSAGE). RECTO_EOUTPUT: disk;
 * else what fill returned. */
int ckpt_write(const char *dir, const struct ckpt_plan *plan, struct ckpt_written *done);

#endif
