#include "tensor/ckpt_write.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE (1 << 20) /* numbers at a time: 4 MB of fp32 */

/* A tensor as the file has it. */
struct stored {
    char name[NAMES_MAX];
    int rank;
    int64_t n[TENSOR_RANK], count;
    int shard;
    int64_t offset; /* in the data of its file */
};

/* An original tensor, and where it goes: a whole stored tensor, or its slice in a fused one. */
struct source {
    struct inventory_item item;
    int stored;
    int64_t first; /* in the stored tensor, in numbers */
};

struct piece {
    int source;
    int64_t from, count;
};

struct writer {
    const struct ckpt_plan *plan;
    struct stored *stored;
    struct source *source;
    struct piece *piece;
    int n_stored, cap_stored, n_source, cap_source, n_piece, cap_piece, n_shard;
    int64_t bytes;
    /* the file at hand */
    int fd;
    int64_t data_at;
    char *buffer; /* of all workers: PIECE floats and PIECE packed numbers each */
    pthread_mutex_t lock;
    int rc;                  /* first failure of a worker, */
    char text[ERR_TEXT_MAX]; /* with its sentence */
};

#define GROW(array, n, cap)                                              \
    do {                                                                 \
        if ((n) == (cap)) {                                              \
            (cap) = (cap) ? 2 * (cap) : 256;                             \
            (array) = mem_grow((array), (size_t)(cap), sizeof *(array)); \
        }                                                                \
    } while (0)

/* ---- the plan -------------------------------------------------------------------------------- */

static int new_stored(struct writer *w, const char *name, int rank, const int64_t *n)
{
    GROW(w->stored, w->n_stored, w->cap_stored);
    struct stored *s = &w->stored[w->n_stored];
    *s = (struct stored){.rank = rank, .count = 1};
    snprintf(s->name, sizeof s->name, "%s", name);
    for (int i = 0; i < rank; i++) {
        s->n[i] = n[i];
        s->count *= n[i];
    }
    return w->n_stored++;
}

/* A fused tensor is begun by its first expert and is then one of the last two. */
static int fused(struct writer *w, const struct native_name *nn, const struct inventory_item *it)
{
    int64_t rows = nn->part == NAMES_DOWN ? it->n[0] : 2 * it->n[0];

    for (int i = w->n_stored - 1; i >= 0 && i >= w->n_stored - 2; i--)
        if (strcmp(w->stored[i].name, nn->name) == 0)
            return i;
    return new_stored(w, nn->name, 3,
                      (int64_t[]){w->plan->config->decoder.n_expert, rows, it->n[1]});
}

static int plan_item(void *ctx, const struct inventory_item *it)
{
    struct writer *w = ctx;
    struct native_name nn = {.part = NAMES_WHOLE};
    struct source s = {.item = *it};

    if (w->plan->layout == NAMES_NATIVE)
        TRY(names_to_native(it->name, &nn));
    else
        memcpy(nn.name, it->name, sizeof nn.name);
    if (nn.part == NAMES_WHOLE) {
        s.stored = new_stored(w, nn.name, it->rank, it->n);
    } else {
        s.stored = fused(w, &nn, it);
        s.first = nn.expert * (w->stored[s.stored].n[1] * it->n[1]) +
                  (nn.part == NAMES_UP ? it->count : 0);
    }
    GROW(w->source, w->n_source, w->cap_source);
    w->source[w->n_source++] = s;
    return 0;
}

/* Files of about equal size, none empty. */
static void plan_shards(struct writer *w)
{
    int64_t size = (int64_t)dtype_size(w->plan->dtype), total = 0, at = 0, offset = 0;
    int n = MAX(w->plan->n_shard, 1), shard = 0;

    for (int i = 0; i < w->n_stored; i++)
        total += w->stored[i].count * size;
    for (int i = 0; i < w->n_stored; i++) {
        struct stored *s = &w->stored[i];

        if (i && at / div_up(total, n) > shard) {
            shard++;
            offset = 0;
        }
        s->shard = shard;
        s->offset = offset;
        offset += s->count * size;
        at += s->count * size;
    }
    w->n_shard = shard + 1;
    w->bytes = total;
}

static void plan_pieces(struct writer *w, int shard)
{
    w->n_piece = 0;
    for (int i = 0; i < w->n_source; i++) {
        if (w->stored[w->source[i].stored].shard != shard)
            continue;
        for (int64_t from = 0; from < w->source[i].item.count; from += PIECE) {
            GROW(w->piece, w->n_piece, w->cap_piece);
            w->piece[w->n_piece++] = (struct piece){i, from,
                                                    MIN(PIECE, w->source[i].item.count - from)};
        }
    }
}

/* ---- one file -------------------------------------------------------------------------------- */

static void header(const struct writer *w, int shard, struct buf *out, int64_t *bytes)
{
    int64_t size = (int64_t)dtype_size(w->plan->dtype);

    *bytes = 0;
    buf_text(out, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < w->n_stored; i++) {
        const struct stored *s = &w->stored[i];

        if (s->shard != shard)
            continue;
        buf_fmt(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", s->name, dtype_text(w->plan->dtype));
        for (int d = 0; d < s->rank; d++)
            buf_fmt(out, "%s%lld", d ? "," : "", (long long)s->n[d]);
        *bytes = s->offset + s->count * size;
        buf_fmt(out, "],\"data_offsets\":[%lld,%lld]}", (long long)s->offset, (long long)*bytes);
    }
    buf_char(out, '}');
    while (out->n % 64 != 56) /* with the length in front, numbers begin at a multiple of 64 */
        buf_char(out, ' ');
}

static int write_at(int fd, const void *p, size_t n, int64_t at)
{
    while (n) {
        ssize_t k = pwrite(fd, p, n, at);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
        p = (const char *)p + k, n -= (size_t)k, at += k;
    }
    return 0;
}

static void latch(struct writer *w, int rc)
{
    pthread_mutex_lock(&w->lock);
    if (w->rc == 0) {
        w->rc = rc;
        snprintf(w->text, sizeof w->text, "%s", err_text());
    }
    pthread_mutex_unlock(&w->lock);
}

static bool has_failed(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool failed = w->rc != 0;
    pthread_mutex_unlock(&w->lock);
    return failed;
}

static void write_piece(void *ctx, int64_t i, int worker)
{
    struct writer *w = ctx;
    const struct piece *p = &w->piece[i];
    const struct source *s = &w->source[p->source];
    const struct stored *t = &w->stored[s->stored];
    size_t size = dtype_size(w->plan->dtype);
    float *f = (float *)(w->buffer + (size_t)worker * PIECE * 6);
    uint16_t *h = (uint16_t *)(f + PIECE);

    if (has_failed(w))
        return;
    int rc = w->plan->fill(w->plan->ctx, &s->item, p->from, p->count, f);
    if (rc == 0) {
        for (int64_t k = 0; size == 2 && k < p->count; k++)
            h[k] = f32_to_bf16(f[k]);
        rc = write_at(w->fd, size == 2 ? (void *)h : (void *)f, (size_t)p->count * size,
                      w->data_at + t->offset + (s->first + p->from) * (int64_t)size);
    }
    if (rc < 0)
        latch(w, rc);
}

/* Ask for the whole space first: a full disk should be known before minutes of work. Not all file
 * systems can. */
static int reserve(int fd, int64_t bytes)
{
    if (fallocate(fd, 0, 0, bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
        return 0;
    return err(RECTO_EOUTPUT, "cannot write %lld bytes: %s", (long long)bytes, strerror(errno));
}

static int fill_file(struct writer *w, struct pool *pool, int shard)
{
    struct buf head = {0};
    unsigned char length[8];
    int64_t bytes;
    int rc;

    header(w, shard, &head, &bytes);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)head.n >> 8 * i);
    w->data_at = (int64_t)head.n + 8;
    TRY_OUT(reserve(w->fd, w->data_at + bytes));
    TRY_OUT(write_at(w->fd, length, 8, 0));
    TRY_OUT(write_at(w->fd, head.p, head.n, 8));
    plan_pieces(w, shard);
    pool_run(pool, write_piece, w, w->n_piece);
    rc = w->rc < 0 ? err(w->rc, "%s", w->text) : 0;
    if (rc == 0 && fsync(w->fd) < 0)
        rc = err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
out:
    buf_reset(&head);
    return rc;
}

static int write_file(struct writer *w, struct pool *pool, const char *dir, const char *name,
                      int shard)
{
    char *path = file_join(dir, name);
    struct buf temp = {0};
    int rc = 0;

    buf_fmt(&temp, "%s.tmp-%d", path, (int)getpid());
    w->fd = open(temp.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0)
        rc = err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
    else {
        rc = fill_file(w, pool, shard);
        close(w->fd);
        if (rc == 0 && rename(temp.p, path) < 0)
            rc = err(RECTO_EOUTPUT, "cannot write: %s", strerror(errno));
        if (rc < 0)
            unlink(temp.p);
    }
    if (rc == RECTO_EOUTPUT)
        err_prefix(rc, "%s", path);
    buf_reset(&temp);
    free(path);
    return rc;
}

/* ---- all files ------------------------------------------------------------------------------- */

static void file_name(const struct writer *w, int shard, char name[64])
{
    if (w->plan->n_shard)
        snprintf(name, 64, "model-%05d-of-%06d.safetensors", shard + 1, w->n_shard);
    else
        snprintf(name, 64, "model.safetensors");
}

static int write_index(const struct writer *w, const char *dir)
{
    char *path = file_join(dir, "model.safetensors.index.json"), name[64];
    struct buf b = {0};

    buf_fmt(&b, "{\n  \"metadata\": {\"total_size\": %lld},\n  \"weight_map\": {",
            (long long)w->bytes);
    for (int i = 0; i < w->n_stored; i++) {
        file_name(w, w->stored[i].shard, name);
        buf_fmt(&b, "%s\n    \"%s\": \"%s\"", i ? "," : "", w->stored[i].name, name);
    }
    buf_text(&b, "\n  }\n}\n");
    int rc = file_write(path, buf_view(&b));
    buf_reset(&b);
    free(path);
    return rc;
}

static int write_all(struct writer *w, const char *dir)
{
    struct pool *pool = pool_open(w->plan->threads);
    size_t bytes = (size_t)pool_threads(pool) * PIECE * 6;
    char name[64];
    int rc = 0;

    w->buffer = malloc(bytes);
    if (!w->buffer)
        rc = err(RECTO_ENOMEM, "no memory for %zu bytes of buffers", bytes);
    for (int i = 0; rc == 0 && i < w->n_shard; i++) {
        file_name(w, i, name);
        rc = write_file(w, pool, dir, name, i);
    }
    if (rc == 0 && w->plan->n_shard)
        rc = write_index(w, dir);
    free(w->buffer);
    pool_close(pool);
    return rc;
}

/* A second set of weights would hide the first, or be hidden by it. */
static int check_empty(const char *dir)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};

    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = file_join(dir, names[i]);
        bool is_there = file_exists(path);

        free(path);
        if (is_there)
            return err(RECTO_EUSAGE, "%s already holds a model (%s); name another folder", dir,
                       names[i]);
    }
    return 0;
}

int ckpt_write(const char *dir, const struct ckpt_plan *plan, struct ckpt_written *done)
{
    struct writer w = {.plan = plan, .lock = PTHREAD_MUTEX_INITIALIZER};
    int rc;

    assert(plan->dtype == DT_BF16 || plan->dtype == DT_F32);
    TRY(check_empty(dir));
    rc = inventory_each(plan->config, plan_item, &w);
    if (rc == 0) {
        plan_shards(&w);
        rc = write_all(&w, dir);
    }
    *done = (struct ckpt_written){w.n_shard, w.n_stored, w.bytes / (int64_t)dtype_size(plan->dtype),
                                  w.bytes};
    free(w.stored);
    free(w.source);
    free(w.piece);
    return rc;
}
