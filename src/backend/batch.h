/* A step's rows: all running sequences, flattened. Rows of one sequence are consecutive and at rising positions; decode is a
 * prefill of length one.  Integers only: the engine fills it, the backend's cache and attention kernels read it. */
#ifndef RECTO_BACKEND_BATCH_H
#define RECTO_BACKEND_BATCH_H

#include <stdint.h>

/* Arrays are host memory, valid during the step. */
struct batch {
    int n_tok, n_seq;
    const int32_t
        *id; /* [n_tok] token id; -1: a visual row, put in by the caller after op_embed         */
    const int32_t
        *pos; /* [n_tok] position in its sequence                                                */
    const int32_t
        *slot; /* [n_tok] where its K and V go: block number * block_tok + offset in the block    */
    const int32_t *
        seq_row; /* [n_seq + 1] first row of each sequence                                          */
    const int32_t *
        seq_len; /* [n_seq] tokens in the cache once this step's rows are stored                    */
    const int32_t *
        block; /* [n_seq, block_stride] block numbers of each sequence, in order                  */
    int block_stride;
    const int32_t *
        out_row; /* [n_out] rows whose logits are wanted                                            */
    int n_out;
};

#endif
