#include "tensor/quant_write.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROWS_AT_ONCE 64

struct writer {
    const struct ckpt *ckpt;
    enum names_layout layout;
    enum weight_kind kind;
    struct pool *pool;
    FILE *out;
    struct buf head;
    int64_t offset;
    struct quant_written *done;
    double off, all; /* squared error, squares */
};

/* Matrices of the decoder and its head; not the router, which decides by small differences. */
static bool is_quantised(const struct inventory_item *it)
{
    return it->role == ROLE_HEAD ||
           (it->role == ROLE_LINEAR && str_starts(str_of(it->name), STR("model.layers.")));
}

/* ---- header ---------------------------------------------------------------------------------- */
static void entry(struct writer *w, const char *name, const char *tail, enum dtype dtype, int rank,
                  const int64_t *n)
{
    int64_t bytes = (int64_t)dtype_size(dtype);

    buf_fmt(&w->head, "%s\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", w->done->n_tensor ? "," : "",
            name, tail, dtype_text(dtype));
    for (int i = 0; i < rank; i++) {
        buf_fmt(&w->head, "%s%lld", i ? "," : "", (long long)n[i]);
        bytes *= n[i];
    }
    buf_fmt(&w->head, "],\"data_offsets\":[%lld,%lld]}", (long long)w->offset,
            (long long)(w->offset + bytes));
    w->offset += bytes;
    w->done->n_tensor++;
}

static int plan_item(void *ctx, const struct inventory_item *it)
{
    struct writer *w = ctx;
    struct ckpt_view v;

    TRY(names_find(w->ckpt, w->layout, it->name, &v));
    if (!is_quantised(it)) {
        entry(w, it->name, "", v.dtype, it->rank, it->n);
        return 0;
    }
    entry(w, it->name, "", quant_dtype(w->kind), 2,
          (int64_t[]){it->n[0], quant_row_bytes(w->kind, it->n[1])});
    entry(w, it->name, "_scale", DT_BF16, 2,
          (int64_t[]){it->n[0], quant_groups(w->kind, it->n[1])});
    w->done->n_quantised++;
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */
static int put(struct writer *w, const void *p, size_t n)
{
    if (fwrite(p, 1, n, w->out) != n)
        return err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
    return 0;
}

struct matrix_job {
    const struct ckpt_view *v;
    enum weight_kind kind;
    uint8_t *q;
    uint16_t *scale;
    double *off, *all; /* of each piece, so that their sum has one order */
    float *room;       /* a row for each worker */
    int rc;
};

static void quantise_rows(void *ctx, int64_t piece, int worker)
{
    struct matrix_job *j = ctx;
    int64_t n = j->v->n[1], end = MIN((piece + 1) * ROWS_AT_ONCE, j->v->n[0]);
    float *x = j->room + worker * n;

    for (int64_t r = piece * ROWS_AT_ONCE; r < end; r++) {
        uint8_t *q = j->q + r * quant_row_bytes(j->kind, n);
        uint16_t *scale = j->scale + r * quant_groups(j->kind, n);
        const char *from = (const char *)j->v->data + (size_t)(r * n) * dtype_size(j->v->dtype);

        ckpt_read_f32(j->v->dtype, from, n, x); /* its type was checked */
        quant_row(j->kind, x, n, q, scale);
        for (int64_t i = 0; i < n; i++) {
            double d = x[i] - bf16_to_f32(scale[i / quant_group(j->kind)]) *
                                  (float)quant_at(j->kind, q, i);

            j->off[piece] += d * d;
            j->all[piece] += (double)x[i] * x[i];
        }
    }
}

static int write_matrix(struct writer *w, const struct ckpt_view *v)
{
    int64_t n_piece = div_up(v->n[0], ROWS_AT_ONCE);
    size_t q_bytes = (size_t)(v->n[0] * quant_row_bytes(w->kind, v->n[1])),
           n_scale = (size_t)(v->n[0] * quant_groups(w->kind, v->n[1]));
    struct matrix_job j = {.v = v, .kind = w->kind};
    int rc;

    j.q = mem_alloc(q_bytes);
    j.scale = mem_alloc(n_scale * sizeof *j.scale);
    j.off = mem_zero((size_t)n_piece * 2, sizeof *j.off);
    j.all = j.off + n_piece;
    j.room = mem_alloc((size_t)(pool_threads(w->pool) * v->n[1]) * sizeof *j.room);
    pool_run(w->pool, quantise_rows, &j, n_piece);
    for (int64_t i = 0; i < n_piece; i++) {
        w->off += j.off[i];
        w->all += j.all[i];
    }
    rc = put(w, j.q, q_bytes);
    if (rc == 0)
        rc = put(w, j.scale, n_scale * sizeof *j.scale);
    free(j.q), free(j.scale), free(j.off), free(j.room);
    return rc;
}

static int write_item(void *ctx, const struct inventory_item *it)
{
    struct writer *w = ctx;
    struct ckpt_view v;

    TRY(names_find(w->ckpt, w->layout, it->name, &v));
    TRY(is_quantised(it) ? write_matrix(w, &v) : put(w, v.data, v.bytes));
    names_drop(w->ckpt, &v);
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */
static int write_head(struct writer *w)
{
    unsigned char length[8];

    buf_char(&w->head, '}');
    while (w->head.n % 64 != 56) /* with the length in front, numbers begin at a multiple of 64 */
        buf_char(&w->head, ' ');
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)w->head.n >> 8 * i);
    TRY(put(w, length, sizeof length));
    return put(w, w->head.p, w->head.n);
}

static int write_file(struct writer *w, const struct model_config *config, const char *path)
{
    int rc = 0;

    w->out = fopen(path, "wbe");
    if (!w->out)
        return err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
    TRY_OUT(write_head(w));
    TRY_OUT(inventory_each(config, write_item, w));
    if (fflush(w->out) != 0 || fsync(fileno(w->out)) != 0)
        rc = err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
out:
    if (fclose(w->out) != 0 && rc == 0)
        rc = err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
    return rc;
}

/* Under a temporary name first. */
static int write_and_rename(struct writer *w, const struct model_config *config, const char *dir)
{
    char *path = file_join(dir, "model.safetensors");
    struct buf temp = {0};
    int rc;

    buf_fmt(&temp, "%s.tmp-%d", path, (int)getpid());
    if (file_exists(path)) {
        rc = err(RECTO_EUSAGE, "%s already holds a model; name another folder", dir);
        goto out;
    }
    rc = write_file(w, config, temp.p);
    if (rc == 0 && rename(temp.p, path) < 0)
        rc = err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
    if (rc == RECTO_EOUTPUT)
        err_prefix(rc, "%s", path);
    if (rc < 0)
        unlink(temp.p);
out:
    buf_reset(&temp);
    free(path);
    return rc;
}

int quant_write(const char *dir, const struct model_config *config, const struct ckpt *c,
                enum weight_kind kind, int threads, struct quant_written *done)
{
    int layout = names_detect(c), rc;
    struct writer w = {.ckpt = c, .kind = kind, .done = done};

    *done = (struct quant_written){0};
    if (layout < 0)
        return layout;
    w.layout = (enum names_layout)layout;
    TRY(inventory_check(config, c, w.layout));
    buf_char(&w.head, '{');
    rc = inventory_each(config, plan_item, &w);
    if (rc == 0) {
        w.pool = pool_open(threads);
        rc = write_and_rename(&w, config, dir);
        pool_close(w.pool);
    }
    buf_reset(&w.head);
    done->bytes = w.offset;
    done->error = w.all > 0 ? sqrt(w.off / w.all) : 0;
    return rc;
}
