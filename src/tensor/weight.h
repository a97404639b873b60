/* From checkpoint to device: bind by original name, check the shape against the configuration, pack.
 *
 * This is the one place where weights are cut or change kind.  A loader latches its first failure, so a module's load
 * function is a plain list of what it owns and the caller asks once (loader_finish).  Whatever is loaded belongs to the
 * `struct weights` that the loader fills, and is freed by weights_free; a failed load is freed the same way.
 * Mapped pages are given back as soon as their tensor is packed, so resident memory is not doubled. */
#ifndef RECTO_TENSOR_WEIGHT_H
#define RECTO_TENSOR_WEIGHT_H

#include "backend/backend.h"
#include "tensor/cut.h"
#include "tensor/names.h"
#include "tensor/quant.h"

struct weights {
    const struct backend *be;
    struct device *dev;
    void **owned;
    int n_owned, cap;
    int64_t n_param, bytes;     /* parameters loaded; device bytes they take */
    enum weight_kind quantised; /* WEIGHT_INT8, WEIGHT_INT4: matrices are; else WEIGHT_BF16 */
};

struct loader {
    struct weights *into;
    const struct ckpt *ckpt;
    enum names_layout layout;
    bool is_of_views; /* what is loaded now belongs to the vision part: never quantised here */
    enum weight_kind
        kind; /* int8, int4: load_linear quantises what is not of the views; else as stored */
    struct cut_rank cut; /* {0, 1} unless set: load_cut loads this rank's part */
    int rc;
};

/* The names are detected in ckpt; failures are latched.  Without a ckpt (NULL) sizes are loaded and numbers are zero: for a
 * backend that computes nothing. */
void loader_init(struct loader *ld, struct weights *into, const struct backend *be,
                 struct device *dev, const struct ckpt *ckpt);
int loader_finish(struct loader *ld);
void weights_free(struct weights *w);

/* Quantised checkpoints (docs/model.md): where stem.weight is I8 or U8, [n_out, n_in] or [n_out, n_in / 2], its scales are
 * stem.weight_scale BF16, and it is loaded as it is; asking for the other kind is RECTO_EMODEL. */
/* stem.weight [n_out, n_in] and, when has_bias, stem.bias [n_out]. Trailing sizes of 1 are allowed (1x1 convolutions). */
void load_linear(struct loader *ld, struct weight *w, int64_t n_out, int64_t n_in, bool has_bias,
                 const char *stem);
/* stem[i].weight [n_out[i], n_in] and stem[i].bias [n_out[i]] of three stems as one matrix, the rows of stem[0] first. RECTO_EMODEL
 * when their dtypes differ. */
void load_three(struct loader *ld, struct weight *w, const int64_t n_out[3], int64_t n_in,
                const char *const stem[3]);
/* As load_linear without bias, of which a rank loads its share: of rows or of columns, `unit` of them staying together (a head),
 * or as cut_unit wants where that is 0.  w->n_out, n_in, from and is_part say what it got.  RECTO_EUSAGE: too many ranks. */
void load_cut(struct loader *ld, struct weight *w, int64_t n_out, int64_t n_in, enum cut how,
              int64_t unit, const char *stem);
/* As load_linear without bias, packed in fp32 whatever the file holds (the router). */
void load_linear_f32(struct loader *ld, struct weight *w, int64_t n_out, int64_t n_in,
                     const char *stem);
/* The patch convolution [n_out, 3, side, side] as a matrix [n_out, 3 * side * side], see op_patches; with bias. */
void load_patch(struct loader *ld, struct weight *w, int64_t n_out, int64_t side, const char *stem);
/* A 3x3 convolution [n_out, c, 3, 3] as a matrix [n_out, 9 * c] in (ky, kx, c) order, see op_conv3. */
void load_conv3(struct loader *ld, struct weight *w, int64_t n_out, int64_t c, const char *stem);
/* A vector as fp32 on the device. */
tensor load_vec(struct loader *ld, int64_t n, const char *name);
/* A matrix on the device, unpacked, BF16 as it is, else fp32 (embeddings). */
tensor load_table(struct loader *ld, int64_t rows, int64_t cols, const char *name);
/* A matrix as fp32 on the device. */
tensor load_mat(struct loader *ld, int64_t rows, int64_t cols, const char *name);
/* A tensor as fp32 on the host, malloc'd, NULL after a failure; *dtype is what the file holds. */
float *load_host(struct loader *ld, int rank, const int64_t *n, const char *name,
                 enum dtype *dtype);
/* Host numbers computed at load time, copied to the device. */
tensor load_computed(struct loader *ld, int64_t rows, int64_t cols, const float *host);

/* name = printf(...) into a buffer of NAME_MAX bytes on the caller's stack, for the calls above. */
#define WEIGHT_NAME_MAX NAMES_MAX
const char *weight_name(char buf[WEIGHT_NAME_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
