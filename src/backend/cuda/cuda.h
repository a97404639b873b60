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
    WORK_BIAS,   /* relative positions                          */
    WORK_PAD,    /* a padded token's q, k and v                 */
    WORK_PART,   /* parts of split attention                    */
    WORK_BATCH,  /* a step's integers                           */
    WORK_CHOICE, /* lists of banned ids, best ids               */
    WORK_LT,     /* cuBLASLt's own                              */
    N_WORK
};

/* Host memory that the device reads while the host goes on: a ring of pinned bytes (copy.c). */
struct staging {
    char *base;
    size_t cap, at;
};

/* A step's integers on the device. The host's copy tells whether they are there already. */
struct step_data {
    int32_t *host;
    size_t n, cap;
    const int32_t *pos, *slot, *seq_row, *block, *tile;
    int n_tile, n_single, max_len, max_rows, block_stride;
};

/* Device addresses of a layer's expert matrices. */
struct expert_table {
    const struct moe *of;
    const void *first; /* gate[0].data, so that another model at the same address is noticed */
    const void **gate, **up, **down;    /* device, [n_expert] each */
    void *gate_map, *up_map, *down_map; /* device, for the copy engine; NULL where there is none */
};

struct lt; /* cuBLASLt, or NULL */

struct device {
    int id, n_sm;
    cudaStream_t stream;
    bool is_f32, router_bf16, is_sm90;
    struct {
        void *p;
        size_t cap;
    } work[N_WORK];
    struct staging staging;
    struct step_data step;
    struct expert_table *table;
    int n_table;
    struct lt *lt;
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

/* ---- cuBLASLt, found at run time: lt.c ------------------------------------------------------- */
/* NULL where the library is missing; own kernels then do everything. */
struct lt *lt_open(struct device *d);
void lt_close(struct lt *lt);
/* y = x W^T by the library; false when it does not apply: the caller goes on by itself. */
bool lt_linear(struct device *d, tensor y, tensor x, const struct weight *w, enum linear_mode mode,
               int *rc);

/* ---- slots by file --------------------------------------------------------------------------- */
int cuda_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                enum linear_mode mode);
int cuda_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                       const struct weight *up);
int cuda_moe_add(struct device *d, tensor y, tensor h, const struct moe *m);

int cuda_attend_relpos(struct device *d, tensor out, tensor qkv, const float *qkv_bias,
                       tensor rel_h, tensor rel_w, int grid, int window, int n_head);
int cuda_attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                       int n_prefix, int n_head, int n_kv);

int cuda_kv_open(struct device *d, struct kv **out, const struct kv_shape *s);
void cuda_kv_close(struct device *d, struct kv *kv);
int64_t cuda_kv_bytes(struct device *d, const struct kv_shape *s);
int cuda_kv_store(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                  const struct batch *b);
int cuda_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                const struct batch *b);

int cuda_sample(struct device *d, tensor logits, const struct sample_ask *ask, struct pick *next);

#endif
