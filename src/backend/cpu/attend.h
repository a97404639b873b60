/* The core of attention: a tile of queries of one head against all its keys, in steps of 64 keys
 * from key 0.
 *
 * softmax(Q K^T / sqrt(hd) + bias) V with the running maximum and sum of FlashAttention (Dao et
 * al. 2022, algorithm 1), so only 64 scores a query exist at a time.  Both products are the mul
 * kernels of kern.h:
 *
 *   keys    are panels of 16 keys over head_dim
 *           bf16 [block_tok / 16][hd / 2][16][2], fp32 [block_tok / 16][hd][16]
 *   values  are panels of 16 of head_dim over the keys
 *           bf16 [hd / 16][block_tok / 2][16][2], fp32 [hd / 16][block_tok][16]
 *
 * block by block, which is also the layout of the paged cache.  Elements are bf16, or fp32 where
 * the device is_fp32. Sums run over keys in rising order wherever block borders are, so the page
 * size does not change a bit of the result; keys past a row's limit weigh exactly 0. */
#ifndef RECTO_BACKEND_CPU_ATTEND_H
#define RECTO_BACKEND_CPU_ATTEND_H

#include "backend/cpu/cpu.h"
#include "base/arena.h"

#define TILE_ROWS 48 /* queries of a tile: a step's keys and values are read once for all */

/* Where one head's keys are. */
struct head_keys {
    const char *k, *v;    /* this head's panels in block 0                          */
    const int32_t *block; /* numbers of the blocks in order; NULL: one block, the 0 */
    int64_t block_bytes;  /* from a block to the next, for keys and values alike    */
    int block_tok;        /* keys in a block, a multiple of 16                      */
};

/* A worker's tile: memory for TILE_ROWS queries, made by tile_carve. */
struct tile {
    int n, hd;
    int *limit; /* [n] keys that a row sees, >= 1, not falling                                */
    float *raw; /* [n][hd] queries as given, unscaled                                         */
    void *q;    /* [n][hd] scaled and in the element type of the products                     */
    float *s, *max, *sum;
    void *p;
    char *values; /* of a step, side by side: where blocks are shorter than mul_step  */
    float *o;     /* [n][hd] result                                                             */
    /* Relative position bias; NULL: none. Panels of keys are rows of `panels_across` panels. */
    float *bias_y, *bias_x;
    int bias_y_stride, bias_x_stride, panels_across;
};

/* A tile in memory of the arena, which may only count; side is the bias' K (0: none). */
void tile_carve(struct tile *t, struct arena *a, int hd, int side);

/* raw row i = src, [hd] numbers */
void tile_query(struct tile *t, int i, const float *src);
/* Queries in, o out: sets q, walks the keys, divides. */
void tile_attend(const struct device *d, struct tile *t, const struct head_keys *keys);

/* RECTO_ESHAPE unless hd is a multiple of 16 that the kernels take. */
int head_dim_check(int64_t hd);

/* Bytes of one element of a key. */
static inline size_t key_size(const struct device *d)
{
    return d->is_fp32 ? 4 : 2;
}

/* Put 16 keys and values at offset off (a multiple of 16) of a block; NULL rows are zeros. k, v:
 * this head in the block. */
void keys_pack16(const struct device *d, char *k, char *v, int block_tok, int off, int hd,
                 const float *const k_row[PANEL], const float *const v_row[PANEL]);
/* Put one key and value at offset off. */
void keys_pack1(const struct device *d, char *k, char *v, int block_tok, int off, int hd,
                const float *k_row, const float *v_row);

#endif
