/* A checkpoint: named tensors in one safetensors file, or in several with an index, mapped and
 * never copied.
 *
 * The format: 8 bytes little-endian header length H; H bytes of JSON, {name: {dtype, shape,
 * data_offsets: [begin, end]}} with offsets relative to the byte behind the header, and
 * "__metadata__" to be ignored; then the numbers, little-endian. Source: the "Format" section of
 * the README of huggingface/safetensors.
 *
 * Files come from anywhere, so every number is checked before it is used: the header against the
 * file, each range against the file, its length against dtype and shape, the ranges against each
 * other. What cannot be checked: a file that is cut while it is mapped raises SIGBUS, as with any
 * mapping.
 *
 * Every failure is RECTO_EMODEL with one sentence that names the file and what to do. */
#ifndef RECTO_TENSOR_SAFETENSORS_H
#define RECTO_TENSOR_SAFETENSORS_H

#include "base/file.h"
#include "tensor/tensor.h"

#define CKPT_RANK 8
/* The format's own limit is 100 MB. JSON in memory takes about 30 times its text, and the released
 * header has 0.3 MB. */
#define CKPT_HEADER_MAX (16u << 20)
#define CKPT_INDEX_MAX  (16u << 20)
#define CKPT_NAME_MAX   255

struct ckpt_tensor {
    const char *name;   /* at most CKPT_NAME_MAX bytes, no control characters            */
    enum dtype dtype;   /* DT_NONE: a type recto does not read (ckpt_get refuses it)     */
    char type_text[12]; /* the type as the file writes it                                */
    int rank;           /* 0 to CKPT_RANK; a scalar has rank 0 and one element           */
    int64_t n[CKPT_RANK], count;
    const void *data; /* in the mapped file, ALIGNED TO NOTHING: see ckpt_read_f32     */
    size_t bytes;
    int file; /* in ckpt.file */
};

struct ckpt_file {
    char *path;
    struct file_map map;
};

struct ckpt {
    char *where; /* what was opened, for messages */
    int n_file, n_tensor, cap_tensor;
    struct ckpt_file *file;
    struct ckpt_tensor *tensor;         /* all: files in order, each by rising offset */
    const struct ckpt_tensor **by_name; /* the same, sorted */
};

/* Open a file, an index (*.json), or a directory. In a directory the first of these counts:
 * model.safetensors, model.safetensors.index.json, model-00001-of-000001.safetensors. After any
 * outcome ckpt_close(c) is safe. */
int ckpt_open(struct ckpt *c, const char *path);
void ckpt_close(struct ckpt *c);

/* The tensor of that name, whatever its type, or NULL. It lives until ckpt_close. */
const struct ckpt_tensor *ckpt_find(const struct ckpt *c, const char *name);
/* The tensor of that name; missing, or of a type that recto does not read: RECTO_EMODEL. */
int ckpt_get(const struct ckpt *c, const char *name, const struct ckpt_tensor **t);
/* Its numbers were read for the last time (packed, or copied to a device): give the pages back. */
void ckpt_drop(const struct ckpt *c, const struct ckpt_tensor *t);
static inline const char *ckpt_path(const struct ckpt *c, const struct ckpt_tensor *t)
{
    return c->file[t->file].path;
}

/* count numbers of type F32, BF16 or F16, stored at any address, as fp32 (exact). Another dtype:
 * RECTO_EMODEL. */
int ckpt_read_f32(enum dtype dtype, const void *from, int64_t count, float *to);
/* count numbers of type I32, I64 (each must fit), I8, U8 or BOOL as int32. Another dtype or value:
 * RECTO_EMODEL. */
int ckpt_read_i32(enum dtype dtype, const void *from, int64_t count, int32_t *to);

/* dtype of "BF16"; DT_NONE for what recto does not read. *bytes is the size of an element, 0 when
 * the name is unknown. */
enum dtype dtype_parse(str text, size_t *bytes);
const char *dtype_text(enum dtype t); /* "BF16" */
/* "[64, 1792, 1280]" into text. Returns text. */
#define SHAPE_TEXT_MAX 192
const char *shape_text(char text[SHAPE_TEXT_MAX], int rank, const int64_t *n);

#endif
