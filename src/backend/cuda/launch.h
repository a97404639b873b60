/* The launchers of the .cu files as the C side sees them: device pointers, sizes, a stream; nothing
 * else.
 *
 * Each queues its kernels on the stream and returns at once; faults are collected by cuda_check
 * (cuda.h).  Activations are `act` numbers: bf16, or fp32 when is_f32 is set (precision "fp32").
 * Rows are contiguous. */
#ifndef RECTO_BACKEND_CUDA_LAUNCH_H
#define RECTO_BACKEND_CUDA_LAUNCH_H

#include "backend/sample.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *launch_stream;

/* Once for each device, with it current: let kernels take up to that many bytes of shared memory.
 * A cudaError_t. */
int launch_prepare_linear(int shared_bytes);
int launch_prepare_linear90(int shared_bytes);
int launch_prepare_stream(int shared_bytes);
int launch_prepare_moe(int shared_bytes);
int launch_prepare_attend(int shared_bytes);

/* ---- products: linear.cu --------------------------------------------------------------------- */
enum product_out {
    PRODUCT_SET,    /* y  = x W^T + b           */
    PRODUCT_GELU,   /* y  = gelu(x W^T + b)     */
    PRODUCT_ADD,    /* y += x W^T + b           */
    PRODUCT_SWIGLU, /* y  = silu(x W^T) * x U^T */
    PRODUCT_QKV     /* struct heads             */
};

/* Where the products of PRODUCT_QKV go: y gets the turned queries, the cache turned keys and
 * values. */
struct heads {
    const void *wk, *wv; /* [n][k], as w */
    const float *table;  /* [positions][head_dim] cosines, then sines */
    const int32_t *pos, *slot;
    void *slab; /* of the layer, as of launch_kv_store */
    int n_head, head_dim, block_tok;
};

/* One product, or one for each expert. */
struct product {
    const void *x;       /* [rows][k] */
    const void *w;       /* [n][k] */
    const void *up;      /* [n][k], PRODUCT_SWIGLU */
    const void *more[2]; /* launch_three: a second and a third w; y is [3][rows][n] */
    const float *bias;   /* [n] or NULL */
    void *y;             /* [rows][n] */
    int rows, n, k;
    enum product_out out;
    bool x_is_f32, w_is_f32, y_is_f32;
    /* experts; tile == NULL: a plain product */
    const void *const *w_list, *const *up_list; /* [n_expert] device addresses of their matrices */
    const void *w_maps,
        *up_maps; /* what the copy engine knows of them, launch_map_bytes() each; NULL: the sm_80 tile */
    const int32_t *from; /* [n_expert + 1] first place of each expert */
    const int32_t *row;  /* [places] row of x of each place; NULL: the place itself */
    const int32_t
        *tile; /* [tile_cap] expert << 16 | number of the tile within the expert; -1: none */
    int tile_cap, tile_rows;
    int most_rows;             /* that an expert can get */
    bool is_sm90;              /* warp-group products exist */
    bool overlaps;             /* may start before the kernel in front has ended */
    int n_sm;                  /* multiprocessors */
    const struct heads *heads; /* PRODUCT_QKV */
};
/* stream.cu: few rows on compute capability 9.0. Does it apply, and (a cudaError_t) do it. */
bool launch_takes_stream(const struct product *p);
int launch_product_stream(launch_stream s, const struct product *p);
/* The products of experts and one of all rows (also) side by side; false: they cannot be. */
bool launch_takes_both(const struct product *p, const struct product *also);
int launch_both_stream(launch_stream s, const struct product *p, const struct product *also);
int launch_product(launch_stream s, const struct product *p); /* a cudaError_t */
/* Of bf16 numbers, n and k multiples of 8: x with w and both of more. */
int launch_three(launch_stream s, const struct product *p);
/* maps.cu: a map of a matrix [rows][k] for the copy engine into 64-byte aligned host memory; false: the
 * driver has none. */
int launch_map_bytes(void);
bool launch_make_map(void *to, const void *data, int rows, int k);
/* y[i] = x[row[i]], rows of `bytes` bytes, a multiple of 16 */
void launch_gather_bytes(launch_stream s, void *y, const void *x, const int32_t *row, int64_t rows,
                         int bytes);
int launch_product90(launch_stream s,
                     const struct product *p); /* linear90.cu, called by launch_product */
/* Rows of a tile for products of `rows` rows. */
int launch_tile_rows(int rows);

/* ---- rows: rows.cu --------------------------------------------------------------------------- */
/* early: the kernel may begin before the one in front has ended. */
void launch_rmsnorm(launch_stream s, void *y, const void *x, const float *w, int64_t rows,
                    int width, float eps, bool y_is_f32, bool x_is_f32, bool early);
void launch_layernorm(launch_stream s, void *y, const void *x, const float *w, const float *b,
                      int64_t rows, int width, float eps, bool y_is_f32, bool x_is_f32, bool early);
void launch_swiglu(launch_stream s, void *y, const void *gate, const void *up, int64_t n,
                   bool is_f32);
void launch_add_cyclic(launch_stream s, float *x, const float *p, int64_t n, int64_t period);
void launch_gather_rows(launch_stream s, void *y, const void *x, const int32_t *row, int64_t rows,
                        int width, bool is_f32, bool early);
void launch_convert(launch_stream s, void *y, const void *x, int64_t n, bool y_is_f32,
                    bool x_is_f32);
void launch_embed(launch_stream s, float *x, const void *table, const int32_t *id, int64_t rows,
                  int width, bool table_is_f32);

/* ---- pictures: pictures.cu ------------------------------------------------------------------- */
void launch_patches(launch_stream s, void *out, const uint8_t *pixels, int views, int side,
                    int patch, bool is_f32);
void launch_im2col(launch_stream s, void *out, const void *x, int views, int h, int w, int c,
                   int stride, bool is_f32);

/* ---- experts: moe.cu ------------------------------------------------------------------------- */
struct route {
    const void *h;       /* [rows][width]                                               */
    const float *router; /* [n_expert][width]                                           */
    int rows, width, n_expert, n_pick, tile_rows, tile_cap;
    bool is_f32, router_bf16, overlaps;
    float *logit;   /* [rows][n_expert]                                            */
    int32_t *pick;  /* [rows][n_pick] experts, largest share first                 */
    float *share;   /* [rows][n_pick]                                              */
    int32_t *slot;  /* [rows][n_pick] place of each pick among rows sorted by expert */
    int32_t *row;   /* [rows * n_pick] row of each place                           */
    int32_t *from;  /* [n_expert + 1]                                              */
    int32_t *tile;  /* [tile_cap] expert << 16 | tile of the expert; -1: none      */
    int32_t *count; /* [n_expert] work                                             */
};
#define LAUNCH_MAX_EXPERT 256
void launch_route(launch_stream s, const struct route *r);
/* y += sum over picks, in their order, of share * result[slot]; then, unless h is NULL, h =
 * RMSNorm(y). */
struct combine {
    float *y;
    const void *result; /* and h: of the act type */
    const int32_t *slot;
    const float *share;
    int rows, width, n_pick;
    void *h; /* [rows][width] */
    const float *norm;
    float eps;
    bool is_f32, overlaps;
};
/* Does it do the norm as well? */
bool launch_combines_norm(int width);
void launch_combine(launch_stream s, const struct combine *c);

/* ---- attention: attend.cu -------------------------------------------------------------------- */
enum attend_kind { ATTEND_RELPOS, ATTEND_PREFIX, ATTEND_PAGED };

/* Queries of one kind; q, k, v, out of the act type.  Which key is where depends on the kind. */
struct attend {
    enum attend_kind kind;
    const void *q, *k, *v;
    void *out;
    int head_dim, n_head, n_kv;
    int64_t q_stride, kv_stride, out_stride; /* elements between rows */
    int groups;                              /* views, or views x windows, or sequences */
    int len;                                 /* queries of a group, and keys (relpos, prefix) */
    bool is_f32, is_sm90;
    bool overlaps; /* kernels of single rows may begin before the one in front has ended */
    float scale;
    /* relpos */
    const void *pad;            /* [3 * width] what a padded token's q, k, v are */
    const float *rel_h, *rel_w; /* [2 * side - 1][head_dim] */
    float *bias;                /* work: [groups * n_head][len][2 * side] */
    int grid, window, side;     /* side = window or grid; windows across = ceil(grid / window) */
    /* prefix */
    int n_prefix;
    /* paged */
    const int32_t *pos, *seq_row, *block;
    const int32_t *tile;  /* [n_tile][2] sequence, first row */
    int n_tile, n_single; /* tiles of sequences of several rows; sequences of one */
    int block_stride, block_tok;
    int max_len, max_rows;  /* longest of those of one row; most rows of one */
    int64_t block_elements; /* from a block to the next, in elements, within a layer */
    float *part;            /* work of split decoding: [groups][n_head][steps][head_dim + 2] */
};
#define LAUNCH_MAX_HEAD 256
/* Floats of work for bias, or of part. */
int64_t launch_attend_bias(const struct attend *a);
int64_t launch_attend_part(const struct attend *a);
int launch_attend(launch_stream s, const struct attend *a); /* a cudaError_t */

/* ---- rotations and the cache: turn.cu -------------------------------------------------------- */
/* Rotate-half of the first `width` numbers of rows `stride` apart, in place (backend.h, rope). */
void launch_rope(launch_stream s, void *x, const int32_t *pos, const float *table, int64_t rows,
                 int n_pos, int width, int64_t stride, int head_dim, bool is_f32);
/* What launch_three made of q, k and v [3][rows][n] goes where PRODUCT_QKV puts it. */
void launch_turn_store(launch_stream s, void *q, const void *qkv, const struct heads *h, int rows,
                       bool early);
/* k, v [n_tok][n_head * head_dim] to slot; slab of a layer: [block][K |
 * V][head][block_tok][head_dim] */
void launch_kv_store(launch_stream s, void *slab, const void *k, const void *v, const int32_t *slot,
                     int n_tok, int n_head, int head_dim, int block_tok, bool is_f32);

/* ---- choosing: sample.cu --------------------------------------------------------------------- */
/* ban: CSR lists; from [n + 1], id [from[n]]. work: launch_choose_work(n) bytes. */
int64_t launch_choose_work(int n);
void launch_choose(launch_stream s, struct choice *out, const float *logits, int n, int vocab,
                   const int32_t *ban_from, const int32_t *ban_id, void *work, bool early);

/* ---- ranks: ranks.cu ------------------------------------------------------------------------- */
enum { LAUNCH_MAX_RANKS = 16, RANK_BLOCKS = 256 };
/* y += sum over ranks of part, part = 0, h = RMSNorm(y) unless h is NULL. A rank's room, laid out alike on all:
 *   uint32 count [RANK_BLOCKS]           epochs of this rank's blocks
 *   uint32 flag [n][RANK_BLOCKS]         epochs of what came from each rank
 *   mail_at: mail [2][n][mail_bytes]     {number, epoch} pairs
 *   bulk_at: bulk [2][n][bulk_bytes]     numbers
 * all zero at first. */
struct rank_sum {
    float *y, *part; /* [rows][width], width a multiple of 4 */
    void *h;         /* [rows][width], bf16 or, h_is_f32, fp32 */
    const float *norm;
    float eps;
    int rows, width, rank, n;
    bool h_is_f32, overlaps, is_mail;
    char *room[LAUNCH_MAX_RANKS];
    int64_t mail_at, bulk_at, mail_bytes, bulk_bytes;
    int32_t *words; /* host memory: [0] give up; [1] somebody did */
};
int launch_sum_ranks(launch_stream s, const struct rank_sum *p); /* a cudaError_t */

#ifdef __cplusplus
}
#endif
#endif
