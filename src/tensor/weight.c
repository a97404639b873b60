#include "tensor/weight.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *weight_name(char buf[WEIGHT_NAME_MAX], const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf, WEIGHT_NAME_MAX, fmt, ap);
    va_end(ap);
    return buf;
}

void loader_init(struct loader *ld, struct weights *into, const struct backend *be,
                 struct device *dev, const struct ckpt *ckpt)
{
    int layout = ckpt ? names_detect(ckpt) : NAMES_ORIGINAL;

    *into = (struct weights){.be = be, .dev = dev, .quantised = WEIGHT_BF16};
    *ld = (struct loader){.into = into,
                          .ckpt = ckpt,
                          .kind = WEIGHT_BF16,
                          .cut = {0, 1},
                          .rc = layout < 0 ? layout : 0};
    if (layout >= 0)
        ld->layout = (enum names_layout)layout;
}

int loader_finish(struct loader *ld)
{
    return ld->rc;
}

void weights_free(struct weights *w)
{
    for (int i = 0; i < w->n_owned; i++)
        w->be->free(w->dev, w->owned[i]);
    free(w->owned);
    *w = (struct weights){0};
}

/* ---- helpers: each does nothing once a failure is latched ------------------------------------------------------------ */

static void own(struct loader *ld, void *p, int64_t bytes)
{
    struct weights *w = ld->into;

    if (w->n_owned == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 256;
        w->owned = mem_grow(w->owned, (size_t)w->cap, sizeof *w->owned);
    }
    w->owned[w->n_owned++] = p;
    w->bytes += bytes;
}

static void *take(struct loader *ld, size_t bytes)
{
    void *p = NULL;

    ld->rc = ld->into->be->alloc(ld->into->dev, bytes, &p);
    if (ld->rc < 0)
        return NULL;
    own(ld, p, (int64_t)bytes);
    return p;
}

/* Sizes of 1 at the end may differ in number: [256, 768, 1, 1] is a [256, 768]. */
static bool same_shape(const struct ckpt_view *v, int rank, const int64_t *n)
{
    for (int i = 0; i < TENSOR_RANK; i++)
        if ((i < v->rank ? v->n[i] : 1) != (i < rank ? n[i] : 1))
            return false;
    return true;
}

/* The view of that name, with its shape checked; false after a failure. */
static bool find(struct loader *ld, struct ckpt_view *v, int rank, const int64_t *n,
                 const char *name)
{
    char found[SHAPE_TEXT_MAX], wanted[SHAPE_TEXT_MAX];

    if (ld->rc < 0)
        return false;
    if (!ld->ckpt) {
        *v = (struct ckpt_view){.dtype = DT_BF16, .count = 1};
        for (int i = 0; i < rank; i++)
            v->count *= n[i];
        ld->into->n_param += v->count;
        return true;
    }
    ld->rc = names_find(ld->ckpt, ld->layout, name, v);
    if (ld->rc == 0 && !same_shape(v, rank, n))
        ld->rc = err(
            RECTO_EMODEL,
            "model: %s in %s is %s, config.json expects %s: these files do not belong together",
            name, ckpt_path(ld->ckpt, v->tensor), shape_text(found, v->rank, v->n),
            shape_text(wanted, rank, n));
    if (ld->rc == 0)
        ld->into->n_param += v->count;
    return ld->rc == 0;
}

static void pack(struct loader *ld, struct weight *w, const void *src, enum dtype dtype,
                 int64_t n_out, int64_t n_in, bool force_f32)
{
    ld->rc = ld->into->be->pack(ld->into->dev, w, src, dtype, n_out, n_in, force_f32);
    if (ld->rc == 0)
        own(ld, w->data, w->bytes);
}

static void pack_quant(struct loader *ld, struct weight *w, const struct quant_source *src,
                       int64_t n_out, int64_t n_in, enum weight_kind kind)
{
    const struct backend *be = ld->into->be;

    if (!be->pack_quant) {
        ld->rc = err(RECTO_EDEVICE, "device %s has no %s weights; use --weights bf16", be->name,
                     quant_kind_text(kind));
        return;
    }
    ld->rc = be->pack_quant(ld->into->dev, w, src, n_out, n_in, kind);
    if (ld->rc < 0)
        return;
    own(ld, w->data, w->bytes);
    ld->into->quantised = kind;
}

static void drop(struct loader *ld, const struct ckpt_view *v)
{
    if (ld->ckpt)
        names_drop(ld->ckpt, v);
}

static void load_bias(struct loader *ld, struct weight *w, const char *stem)
{
    char name[WEIGHT_NAME_MAX];

    w->bias = load_vec(ld, w->n_out, weight_name(name, "%s.bias", stem)).data;
}

/* ---- what modules call ----------------------------------------------------------------------------------------------- */

/* Rows and columns of a matrix of the checkpoint. */
struct part {
    int64_t n_out, n_in; /* of the whole matrix */
    int64_t row, n_row, col, n_col;
};

static struct part whole(int64_t n_out, int64_t n_in)
{
    return (struct part){n_out, n_in, 0, n_out, 0, n_in};
}

/* The part of rows of row_bytes, of which it takes [from, from + bytes): where it stands, or, when it is not whole rows, a copy
 * in *copy (to be freed). */
static const void *take_part(const struct part *p, const void *data, int64_t row_bytes,
                             int64_t from, int64_t bytes, void **copy)
{
    const char *first;

    *copy = NULL;
    if (!data) /* a checkpoint of shapes alone, as the simulated device opens */
        return NULL;
    first = (const char *)data + p->row * row_bytes;
    if (bytes == row_bytes)
        return first;
    *copy = mem_alloc((size_t)(p->n_row * bytes));
    for (int64_t r = 0; r < p->n_row; r++)
        memcpy((char *)*copy + r * bytes, first + r * row_bytes + from, (size_t)bytes);
    return *copy;
}

/* Numbers of 8 or 4 bits of a quantised checkpoint, with their scales. */
static void load_quantised(struct loader *ld, struct weight *w, const struct part *p,
                           enum weight_kind kind, const char *stem)
{
    int64_t n[] = {p->n_out, quant_row_bytes(kind, p->n_in)},
            n_scale[] = {p->n_out, quant_groups(kind, p->n_in)};
    char name[WEIGHT_NAME_MAX];
    struct ckpt_view v, scale;
    struct quant_source src;
    void *copy, *copy_scale;

    if (ld->kind != kind && ld->kind != WEIGHT_BF16) {
        ld->rc = err(RECTO_EMODEL,
                     "model: %s is of kind %s and cannot become %s: quantise the original model",
                     stem, quant_kind_text(kind), quant_kind_text(ld->kind));
        return;
    }
    if (!find(ld, &v, 2, n, weight_name(name, "%s.weight", stem)) ||
        !find(ld, &scale, 2, n_scale, weight_name(name, "%s.weight_scale", stem)))
        return;
    ld->into->n_param += p->n_out * p->n_in - v.count -
                         scale.count; /* what the numbers stand for */
    if (scale.dtype != DT_BF16) {
        ld->rc = err(RECTO_EMODEL, "model: %s is %s, expected BF16; quantise the model again", name,
                     dtype_text(scale.dtype));
        return;
    }
    src.dtype = v.dtype;
    src.data = take_part(p, v.data, n[1], quant_row_bytes(kind, p->col),
                         quant_row_bytes(kind, p->n_col), &copy);
    src.scale = take_part(p, scale.data, 2 * n_scale[1], 2 * quant_groups(kind, p->col),
                          2 * quant_groups(kind, p->n_col), &copy_scale);
    pack_quant(ld, w, &src, p->n_row, p->n_col, kind);
    free(copy);
    free(copy_scale);
    drop(ld, &v);
    drop(ld, &scale);
}

/* WEIGHT_INT8 or WEIGHT_INT4 if the checkpoint has stem.weight so, else WEIGHT_BF16. */
static enum weight_kind stored_kind(struct loader *ld, const char *stem)
{
    char name[WEIGHT_NAME_MAX];
    const struct ckpt_tensor *t = ld->ckpt && ld->layout == NAMES_ORIGINAL
                                      ? ckpt_find(ld->ckpt, weight_name(name, "%s.weight", stem))
                                      : NULL;

    for (int k = WEIGHT_INT8; t && k <= WEIGHT_INT4; k++)
        if (t->dtype == quant_dtype((enum weight_kind)k))
            return (enum weight_kind)k;
    return WEIGHT_BF16;
}

static void load_matrix(struct loader *ld, struct weight *w, const struct part *p, bool force_f32,
                        const char *stem)
{
    int64_t n[] = {p->n_out, p->n_in};
    char name[WEIGHT_NAME_MAX];
    struct ckpt_view v;
    enum weight_kind kind = force_f32 || ld->rc < 0 ? WEIGHT_BF16 : stored_kind(ld, stem);
    const void *src;
    void *copy;

    *w = (struct weight){.n_out = p->n_row, .n_in = p->n_col};
    if (quant_is(kind)) {
        load_quantised(ld, w, p, kind, stem);
        return;
    }
    if (!find(ld, &v, 2, n, weight_name(name, "%s.weight", stem)))
        return;
    int64_t size = (int64_t)dtype_size(v.dtype);

    src = take_part(p, v.data, p->n_in * size, p->col * size, p->n_col * size, &copy);
    if (quant_is(ld->kind) && !force_f32 && !ld->is_of_views)
        pack_quant(ld, w, &(struct quant_source){src, v.dtype, NULL}, p->n_row, p->n_col, ld->kind);
    else
        pack(ld, w, src, v.dtype, p->n_row, p->n_col, force_f32);
    free(copy);
    drop(ld, &v);
}

/* What load_cut's matrix will be on the device. */
static enum weight_kind kind_to_be(struct loader *ld, const char *stem)
{
    enum weight_kind stored = stored_kind(ld, stem);

    return quant_is(stored) ? stored : ld->kind;
}

static bool can_be_cut(struct loader *ld, const struct cut_share *s, enum weight_kind kind,
                       enum cut how, int64_t total, const char *stem)
{
    bool is_apart = how == CUT_IN && quant_is(kind) && s->from % quant_group(kind);

    if (ld->rc == 0 && s->n == 0)
        ld->rc = err(RECTO_EUSAGE,
                     "--parallel: %s is too small (%lld) to be cut into %d parts; use fewer ranks",
                     stem, (long long)total, ld->cut.n);
    if (ld->rc == 0 && is_apart)
        ld->rc = err(
            RECTO_EUSAGE,
            "--parallel: %s cannot be cut as %s, whose groups of %d would be parted; use bf16 "
            "weights or one rank",
            stem, quant_kind_text(kind), quant_group(kind));
    return ld->rc == 0;
}

void load_cut(struct loader *ld, struct weight *w, int64_t n_out, int64_t n_in, enum cut how,
              int64_t unit, const char *stem)
{
    struct part p = whole(n_out, n_in);
    int64_t total = how == CUT_OUT ? n_out : n_in;
    struct cut_share s;
    enum weight_kind kind;

    *w = (struct weight){.n_out = n_out, .n_in = n_in};
    if (ld->rc < 0)
        return;
    kind = kind_to_be(ld, stem);
    s = cut_share(ld->cut, total, unit ? unit : cut_unit(ld->cut, total, kind));
    if (!can_be_cut(ld, &s, kind, how, total, stem))
        return;
    *(how == CUT_OUT ? &p.row : &p.col) = s.from;
    *(how == CUT_OUT ? &p.n_row : &p.n_col) = s.n;
    load_matrix(ld, w, &p, false, stem);
    w->is_part = how == CUT_IN && ld->cut.n > 1;
    w->from = p.row;
}

void load_linear(struct loader *ld, struct weight *w, int64_t n_out, int64_t n_in, bool has_bias,
                 const char *stem)
{
    struct part p = whole(n_out, n_in);

    load_matrix(ld, w, &p, false, stem);
    if (has_bias)
        load_bias(ld, w, stem);
}

static void load_three_biases(struct loader *ld, struct weight *w, const int64_t n_out[3],
                              const char *const stem[3])
{
    float *all = mem_zero((size_t)w->n_out, sizeof *all), *at = all;
    char name[WEIGHT_NAME_MAX];

    for (int i = 0; i < 3; at += n_out[i++]) {
        enum dtype dtype;
        float *one = load_host(ld, 1, &n_out[i], weight_name(name, "%s.bias", stem[i]), &dtype);

        if (one)
            memcpy(at, one, (size_t)n_out[i] * sizeof *one);
        free(one);
    }
    w->bias = load_computed(ld, w->n_out, 1, all).data;
    free(all);
}

void load_three(struct loader *ld, struct weight *w, const int64_t n_out[3], int64_t n_in,
                const char *const stem[3])
{
    enum dtype dtype = DT_BF16;
    char name[WEIGHT_NAME_MAX], *all = NULL, *at = NULL;

    *w = (struct weight){.n_out = n_out[0] + n_out[1] + n_out[2], .n_in = n_in};
    for (int i = 0; i < 3; i++) {
        int64_t n[] = {n_out[i], n_in};
        struct ckpt_view v;

        if (!find(ld, &v, 2, n, weight_name(name, "%s.weight", stem[i])))
            break;
        if (i && v.dtype != dtype)
            ld->rc = err(RECTO_EMODEL, "model: %s is %s, its neighbour %s; convert the model", name,
                         dtype_text(v.dtype), dtype_text(dtype));
        dtype = v.dtype;
        if (v.data && !all)
            at = all = mem_alloc((size_t)(w->n_out * n_in) * dtype_size(dtype));
        if (v.data && ld->rc == 0) {
            memcpy(at, v.data, v.bytes);
            at += v.bytes;
        }
        drop(ld, &v);
    }
    if (ld->rc == 0)
        pack(ld, w, all, dtype, w->n_out, n_in, false);
    free(all);
    load_three_biases(ld, w, n_out, stem);
}

void load_linear_f32(struct loader *ld, struct weight *w, int64_t n_out, int64_t n_in,
                     const char *stem)
{
    struct part p = whole(n_out, n_in);

    load_matrix(ld, w, &p, true, stem);
}

void load_patch(struct loader *ld, struct weight *w, int64_t n_out, int64_t side, const char *stem)
{
    int64_t n[] = {n_out, 3, side, side}, n_in = 3 * side * side;
    char name[WEIGHT_NAME_MAX];
    struct ckpt_view v;

    *w = (struct weight){.n_out = n_out, .n_in = n_in};
    if (!find(ld, &v, 4, n, weight_name(name, "%s.weight", stem)))
        return;
    pack(ld, w, v.data, v.dtype, n_out, n_in, false);
    drop(ld, &v);
    load_bias(ld, w, stem);
}

/* [n_out][c][9] -> [n_out][9][c] */
static void channels_last(char *to, const char *from, int64_t n_out, int64_t c, size_t size)
{
    for (int64_t o = 0; o < n_out; o++)
        for (int64_t k = 0; k < 9; k++)
            for (int64_t i = 0; i < c; i++)
                memcpy(to + ((o * 9 + k) * c + i) * (int64_t)size,
                       from + ((o * c + i) * 9 + k) * (int64_t)size, size);
}

void load_conv3(struct loader *ld, struct weight *w, int64_t n_out, int64_t c, const char *stem)
{
    int64_t n[] = {n_out, c, 3, 3};
    char name[WEIGHT_NAME_MAX], *turned;
    struct ckpt_view v;

    *w = (struct weight){.n_out = n_out, .n_in = 9 * c};
    if (!find(ld, &v, 4, n, weight_name(name, "%s.weight", stem)))
        return;
    turned = v.data ? mem_alloc(v.bytes) : NULL;
    if (turned)
        channels_last(turned, v.data, n_out, c, dtype_size(v.dtype));
    pack(ld, w, turned, v.dtype, n_out, 9 * c, false);
    free(turned);
    drop(ld, &v);
}

float *load_host(struct loader *ld, int rank, const int64_t *n, const char *name, enum dtype *dtype)
{
    struct ckpt_view v;
    float *host;

    if (!find(ld, &v, rank, n, name))
        return NULL;
    host = calloc((size_t)v.count, sizeof *host);
    if (!host) {
        ld->rc = err(RECTO_ENOMEM, "model: no memory for %s", name);
        return NULL;
    }
    *dtype = v.dtype;
    if (!ld->ckpt)
        return host;
    ld->rc = ckpt_read_f32(v.dtype, v.data, v.count, host);
    if (ld->rc == 0)
        return host;
    free(host);
    return NULL;
}

static tensor upload(struct loader *ld, enum dtype dtype, int rank, int64_t rows, int64_t cols,
                     const void *host)
{
    size_t bytes = (size_t)(rows * cols) * dtype_size(dtype);
    tensor t = tensor_view(NULL, dtype, rank, rows, cols, 1, 1);

    if (ld->rc < 0)
        return t;
    t.data = take(ld, bytes);
    if (t.data)
        ld->rc = ld->into->be->upload(ld->into->dev, t.data, host, bytes);
    return t;
}

tensor load_computed(struct loader *ld, int64_t rows, int64_t cols, const float *host)
{
    return upload(ld, DT_F32, 2, rows, cols, host);
}

tensor load_vec(struct loader *ld, int64_t n, const char *name)
{
    enum dtype dtype;
    float *host = load_host(ld, 1, &n, name, &dtype);
    tensor t = upload(ld, DT_F32, 1, n, 1, host);

    free(host);
    return t;
}

tensor load_mat(struct loader *ld, int64_t rows, int64_t cols, const char *name)
{
    int64_t n[] = {rows, cols};
    enum dtype dtype;
    float *host = load_host(ld, 2, n, name, &dtype);
    tensor t = upload(ld, DT_F32, 2, rows, cols, host);

    free(host);
    return t;
}

tensor load_table(struct loader *ld, int64_t rows, int64_t cols, const char *name)
{
    int64_t n[] = {rows, cols};
    struct ckpt_view v;
    tensor t;

    if (ld->rc < 0 || !find(ld, &v, 2, n, name))
        return tensor_view(NULL, DT_F32, 2, rows, cols, 1, 1);
    if (v.dtype != DT_BF16) {
        ld->into->n_param -= v.count; /* load_mat counts it */
        return load_mat(ld, rows, cols, name);
    }
    t = upload(ld, DT_BF16, 2, rows, cols, v.data);
    drop(ld, &v);
    return t;
}
