/* Write the quantised twin of a checkpoint: one file, original names, the matrices of the decoder as
 * int8 or int4 (tensor/quant.h), everything else byte for byte as it was. docs/model.md has the
 * layout.  It takes memory for the largest matrix, quantised, and is written in one go: the final
 * name appears when all is there. */
#ifndef RECTO_TENSOR_QUANT_WRITE_H
#define RECTO_TENSOR_QUANT_WRITE_H

#include "tensor/inventory.h"
#include "tensor/quant.h"

struct quant_written {
    int n_tensor, n_quantised; /* in the file, scales included; matrices quantised */
    int64_t bytes;             /* of data, without header */
    double error;              /* relative, root mean square over all quantised numbers */
};

/* dir must exist and hold no model.safetensors (RECTO_EUSAGE). c must fit config and be of floating
 * types (RECTO_EMODEL). RECTO_EOUTPUT: disk. threads 0: as many as the process may use. */
int quant_write(const char *dir, const struct model_config *config, const struct ckpt *c,
                enum weight_kind kind, int threads, struct quant_written *done);

#endif
