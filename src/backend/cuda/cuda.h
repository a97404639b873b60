/* What the C files of the CUDA backend share: the device, its workspace, and the slots of the
 * record.
 *
 * Everything is queued on one stream, so ops need no waiting between them; faults arrive late and
 * are reported by the next call, at the latest by finish.  The .cu files see nothing of this
 * header: they take pointers and sizes (launch.h). */
#ifndef RECTO_BACKEND_CUDA_CUDA_H
#define RECTO_BACKEND_CUDA_CUDA_H

#include "backend/backend.h"
#include "backend/cuda/launch.h"

#include <cuda_runtime_api.h>

/* Memory of a call, kept for the next one; one slot for each thing that is alive at the same time
 * as others. */
enum work_slot {
    WORK_ROUTE,  /* router: picks, shares, places, tiles        */
    WORK_MIDDLE, /* between the two products of the experts     */
    WORK_SHARED, /* the same of the shared expert               */
    WORK_PLACES, /* rows in the order of places                 */
    WORK_RESULT, /* what experts say                            */
    WORK_QKV,    /* queries, keys and values of a decoding step */
    WORK_BIAS,   /* relative positions                          */
    WORK_PAD,    /* a padded token's q, k and v                 */
    WORK_PART,   /* parts of split attention                    */
    WORK_BATCH,  /* a step's integers                           */
    WORK_BANS,   /* lists of banned ids, without a step         */
    WORK_CHOICE, /* best ids                                    */
    N_WORK
};

/* Host memory that the device reads while the host goes on: a ring of pinned bytes (copy.c). */
struct staging {
    char *base;
    size_t cap, at;
    void *mirror; /* device, as large; NULL until it is needed */
};

/* A step's integers on the device (step.c). */
struct step_data {
    const int32_t *slot, *seq_row, *block, *tile, *ban_from, *ban_id;
    struct step_rows rows;
    const struct sample_ask *ask; /* whose bans are there; NULL: none */
    int n_tile, n_single, max_len, max_rows, block_stride;
};

/* What the device chose, on its way to those who asked (sample.c). */
struct choosing {
    struct choice *host; /* pinned, [cap] */
    int cap, n;
    struct choice *next; /* NULL: nothing is on its way */
    int32_t first_id;
};

struct recorder; /* graph.c */

/* Device addresses of a layer's expert matrices. */
struct expert_table {
    const struct moe *of;
    const void *first; /* gate[0].data, so that another model at the same address is noticed */
    const void **gate, **up, **down;    /* device, [n_expert] each */
    void *gate_map, *up_map, *down_map; /* device, for the copy engine; NULL where there is none */
};

struct peers; /* ranks.c: the other devices of a model, or NULL */

struct device {
    int id, n_sm;
    cudaStream_t stream;
    cudaStream_t side;        /* for what may run beside it, between two events */
    cudaEvent_t forked, done; /* on stream, on side */
    cudaStream_t copies;      /* for large pieces on their way in */
    cudaEvent_t copied;       /* on copies */
    bool is_f32, router_bf16, is_sm90;
    int view_batch; /* scratch for 28 views takes 1.3 GiB */
    bool overlaps;  /* kernels may start before the one in front has ended */
    struct {
        void *p;
        size_t cap;
    } work[N_WORK];
    struct staging staging;
    struct step_data step;
    struct choosing choosing;
    struct recorder *recorder;
    unsigned epoch; /* counts moves of what recorded steps have addresses of */
    struct expert_table *table;
    int n_table;
    struct peers *peers;
    cudaEvent_t *mark; /* [BACKEND_MARKS], NULL until one is asked for */
    struct nvml *nvml;
    char name[32];
};

/* 0, or RECTO_EDEVICE with what the driver says; `what` is the op. */
int cuda_check(int rc, const char *what);
/* Has anything queued so far failed to start? */
int cuda_launched(const char *what);
/* At least `bytes` of slot, content undefined; valid until the slot is asked for again.
 * RECTO_ENOMEM */
int cuda_work(struct device *d, enum work_slot slot, size_t bytes, void **out);
static inline size_t cuda_act_size(const struct device *d)
{
    return d->is_f32 ? 4 : 2;
}

/* ---- memory and copies: copy.c --------------------------------------------------------------- */
int cuda_alloc(struct device *d, size_t bytes, void **out);
void cuda_free(struct device *d, void *p);
int cuda_upload(struct device *d, void *dst, const void *src, size_t bytes);
int cuda_download(struct device *d, void *dst, const void *src, size_t bytes);
int cuda_pack(struct device *d, struct weight *w, const void *src, enum dtype dtype, int64_t n_out,
              int64_t n_in, bool force_f32);

/* Pinned memory to be filled at once and read by the device in the order of the stream. */
int cuda_staging(struct device *d, size_t bytes, char **out);

/* ---- a step: step.c, graph.c ----------------------------------------------------------------- */
/* b's integers, and the bans of ask (or NULL), on the device: d->step. */
int cuda_step_upload(struct device *d, const struct batch *b, int block_tok,
                     const struct sample_ask *ask);
int cuda_step(struct device *d, struct kv *kv, const struct batch *b, const struct sample_ask *ask,
              struct choice *next, struct step_rows *rows);
/* The recorder of d's steps. NULL (with RECTO_CUDA_NO_GRAPH, for comparisons): each is launched op
 * by op. */
struct recorder *recorder_open(void);
void recorder_close(struct recorder *r);
/* A decoding step whose numbers are on the device: 1 when it was recorded before and now runs; 0
 * when its ops must be called (and are being recorded, the second time such a step comes). */
int recorder_begin(struct device *d, const struct kv *kv, int n_row);
/* The step's last kernel was called: what was recorded runs. */
int recorder_end(struct device *d);
/* A step that broke off leaves no recording behind; kv's steps, or all (NULL), are forgotten. */
void recorder_abandon(struct device *d);
void recorder_forget(struct device *d, const struct kv *kv);

/* ---- moments: mark.c ------------------------------------------------------------------------- */
int cuda_mark(struct device *d, int i);
int cuda_between(struct device *d, int from, int to, double *ms);
void cuda_marks_close(struct device *d);

/* ---- ranks: ranks.c -------------------------------------------------------------------------- */
int cuda_join(struct device *d, struct comm *c, int rank, int64_t rows, int64_t width);
void cuda_leave(struct device *d);
/* RECTO_EDEVICE when a sum of the steps so far was given up. */
int cuda_check_peers(struct device *d);
int cuda_sum_ranks(struct device *d, tensor y, tensor part);
int cuda_sum_ranks_norm(struct device *d, tensor y, tensor part, tensor h, tensor w, float eps);

/* ---- slots by file --------------------------------------------------------------------------- */
int cuda_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                enum linear_mode mode);
int cuda_qkv_store(struct device *d, tensor q, tensor h, const struct qkv *w,
                   const struct batch *b);
int cuda_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                       const struct weight *up);
int cuda_moe_add(struct device *d, tensor y, tensor h, const struct moe *m);
int cuda_moe_add_norm(struct device *d, tensor y, tensor h, const struct moe *m, tensor w,
                      float eps);
int cuda_rmsnorm(struct device *d, tensor y, tensor x, tensor w, float eps);

int cuda_attend_relpos(struct device *d, tensor out, tensor qkv, const float *qkv_bias,
                       tensor rel_h, tensor rel_w, int grid, int window, int n_head);
int cuda_attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                       int n_prefix, int n_head, int n_kv);

int cuda_kv_block_tok(const struct kv *kv);
/* Where a layer's cache is and how it is cut; the other fields are zero. */
struct heads cuda_kv_heads(struct device *d, const struct kv *kv, int layer);
int cuda_kv_open(struct device *d, struct kv **out, const struct kv_shape *s);
void cuda_kv_close(struct device *d, struct kv *kv);
int64_t cuda_kv_bytes(struct device *d, const struct kv_shape *s);
int cuda_kv_store(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                  const struct batch *b);
int cuda_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                const struct batch *b);

/* Ids that ask forbids as lists: bounds [n + 1], then the ids, *n_list numbers in all; malloc'd. */
int32_t *cuda_bans(const struct sample_ask *ask, int n, size_t *n_list);
int cuda_sample(struct device *d, tensor logits, const struct sample_ask *ask, struct choice *next);
/* The choice of a replayed step is on its way to next [n]. */
void cuda_expect(struct device *d, struct choice *next, const struct sample_ask *ask, int n);
/* The stream has been waited for: hand out what was chosen. */
void cuda_deliver(struct device *d);

#endif
