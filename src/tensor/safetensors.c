/* The files of a checkpoint: find them, map them, check and list what is in them. */
#include "tensor/safetensors.h"

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>

#define AGAIN "; download the file again"

/* ---- names: sorted, since hostile ones could make a hash table quadratic ------------------- */

static int by_name(const void *a, const void *b)
{
    const struct ckpt_tensor *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int index_names(struct ckpt *c)
{
    c->by_name = mem_zero((size_t)c->n_tensor + 1, sizeof *c->by_name);
    for (int i = 0; i < c->n_tensor; i++)
        c->by_name[i] = &c->tensor[i];
    qsort(c->by_name, (size_t)c->n_tensor, sizeof *c->by_name, by_name);
    for (int i = 1; i < c->n_tensor; i++) {
        const struct ckpt_tensor *a = c->by_name[i - 1], *b = c->by_name[i];

        if (strcmp(a->name, b->name) == 0)
            return err(RECTO_EMODEL,
                       "%s and %s both hold tensor %.100s; remove the file that does not belong",
                       ckpt_path(c, a), ckpt_path(c, b), a->name);
    }
    return 0;
}

/* ---- one file -------------------------------------------------------------------------------- */

/* A header under construction: where we are, for messages and bounds. */
struct header {
    const char *path;
    const unsigned char *data; /* behind the header */
    size_t len;                /* bytes there */
};

static int bad_tensor(const struct header *h, const char *name, const char *what)
{
    return err(RECTO_EMODEL, "%s: tensor %.100s: %s" AGAIN, h->path, name, what);
}

/* Names end up in messages of one line, and as C strings. */
static bool name_is_sane(const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            return false;
    return n > 0 && n <= CKPT_NAME_MAX;
}

static int parse_shape(const struct header *h, const json_t *shape, struct ckpt_tensor *t)
{
    size_t count = 1;

    if (!json_is_array(shape) || json_array_size(shape) > CKPT_RANK)
        return bad_tensor(h, t->name, "shape is not a list of at most 8 sizes");
    t->rank = (int)json_array_size(shape);
    for (int i = 0; i < t->rank; i++) {
        const json_t *v = json_array_get(shape, (size_t)i);

        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return bad_tensor(h, t->name, "shape holds something else than sizes");
        t->n[i] = json_integer_value(v);
        if (mem_mul(count, (size_t)t->n[i], &count) < 0 || count > INT64_MAX)
            return bad_tensor(h, t->name, "shape is larger than any file");
    }
    t->count = (int64_t)count;
    return 0;
}

static int parse_range(const struct header *h, const json_t *range, struct ckpt_tensor *t)
{
    const json_t *from = json_array_get(range, 0), *to = json_array_get(range, 1);

    if (json_array_size(range) != 2 || !json_is_integer(from) || !json_is_integer(to))
        return bad_tensor(h, t->name, "data_offsets is not a pair of whole numbers");
    int64_t a = json_integer_value(from), b = json_integer_value(to);
    if (a < 0 || b < a)
        return bad_tensor(h, t->name, "data_offsets run backwards");
    if ((uint64_t)b > h->len)
        return err(RECTO_EMODEL,
                   "%s: tensor %.100s ends at byte %lld of %zu: the file is cut short" AGAIN,
                   h->path, t->name, (long long)b, h->len);
    t->data = h->data + a;
    t->bytes = (size_t)(b - a);
    return 0;
}

static int parse_tensor(const struct header *h, const json_t *v, struct ckpt_tensor *t)
{
    const json_t *type = json_object_get(v, "dtype");
    size_t size, bytes;
    char shape[SHAPE_TEXT_MAX];

    if (!json_is_string(type))
        return bad_tensor(h, t->name, "no dtype");
    str text = {json_string_value(type), json_string_length(type)};
    t->dtype = dtype_parse(text, &size);
    for (size_t i = 0; i < text.n && i < sizeof t->type_text - 1; i++)
        t->type_text[i] = text.p[i] > 0x20 && text.p[i] < 0x7F ? text.p[i] : '?';
    TRY(parse_shape(h, json_object_get(v, "shape"), t));
    TRY(parse_range(h, json_object_get(v, "data_offsets"), t));
    if (size && (mem_mul((size_t)t->count, size, &bytes) < 0 || bytes != t->bytes))
        return err(RECTO_EMODEL, "%s: tensor %.100s: shape %s of %s does not take %zu bytes" AGAIN,
                   h->path, t->name, shape_text(shape, t->rank, t->n), t->type_text, t->bytes);
    return 0;
}

static struct ckpt_tensor *add_tensor(struct ckpt *c, const char *name)
{
    if (c->n_tensor == c->cap_tensor) {
        c->cap_tensor = c->cap_tensor ? 2 * c->cap_tensor : 256;
        c->tensor = mem_grow(c->tensor, (size_t)c->cap_tensor, sizeof *c->tensor);
    }
    struct ckpt_tensor *t = &c->tensor[c->n_tensor++];
    *t = (struct ckpt_tensor){.name = mem_strdup(name), .file = c->n_file - 1};
    return t;
}

static int by_place(const void *a, const void *b)
{
    const struct ckpt_tensor *x = a, *y = b;

    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Sort the tensors of the newest file by place; no byte may belong to two. */
static int check_overlap(struct ckpt *c, const struct header *h, int first)
{
    int n = c->n_tensor - first;

    if (n < 2)
        return 0;
    struct ckpt_tensor *t = c->tensor + first;
    qsort(t, (size_t)n, sizeof *t, by_place);
    for (int i = 1; i < n; i++)
        if ((const char *)t[i - 1].data + t[i - 1].bytes > (const char *)t[i].data)
            return err(RECTO_EMODEL, "%s: tensors %.80s and %.80s share bytes" AGAIN, h->path,
                       t[i - 1].name, t[i].name);
    return 0;
}

/* Names of two kinds of file that people point at by mistake; they would otherwise be called
 * damaged. */
static int wrong_kind(const char *path, const unsigned char *p, size_t len)
{
    if (len >= 4 && memcmp(p, "GGUF", 4) == 0)
        return err(
            RECTO_EMODEL,
            "%s is a GGUF file; recto reads safetensors: give the folder of the original model",
            path);
    if (len >= 20 && memcmp(p, "version https://git-", 20) == 0)
        return err(
            RECTO_EMODEL,
            "%s is a Git LFS pointer, not the weights; run `git lfs pull` or download the file",
            path);
    return 0;
}

static int find_header(const struct file_map *m, const char *path, str *json, struct header *h)
{
    uint64_t len = 0;

    TRY(wrong_kind(path, m->data, m->len));
    if (m->len < 8)
        return err(RECTO_EMODEL, "%s: %zu bytes, too short for a safetensors file" AGAIN, path,
                   m->len);
    for (int i = 7; i >= 0; i--)
        len = len << 8 | m->data[i];
    if (len > CKPT_HEADER_MAX)
        return err(RECTO_EMODEL,
                   "%s: not a safetensors file, or damaged: header of %llu bytes, "
                   "at most %u expected" AGAIN,
                   path, (unsigned long long)len, CKPT_HEADER_MAX);
    if (len > m->len - 8)
        return err(RECTO_EMODEL,
                   "%s: the header has %llu bytes but the file only %zu: it is cut short" AGAIN,
                   path, (unsigned long long)len, m->len);
    *json = (str){(const char *)m->data + 8, (size_t)len};
    *h = (struct header){path, m->data + 8 + len, m->len - 8 - (size_t)len};
    if (len == 0 || json->p[0] != '{')
        return err(RECTO_EMODEL, "%s: not a safetensors file: the header is no JSON object" AGAIN,
                   path);
    return 0;
}

static int list_tensors(struct ckpt *c, const struct header *h, json_t *root)
{
    int first = c->n_tensor;
    const char *name;
    json_t *v;

    json_object_foreach(root, name, v)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (!name_is_sane(name))
            return err(RECTO_EMODEL,
                       "%s: a tensor's name is empty, longer than %d bytes or holds "
                       "control characters" AGAIN,
                       h->path, CKPT_NAME_MAX);
        if (!json_is_object(v))
            return bad_tensor(h, name, "its entry is no JSON object");
        TRY(parse_tensor(h, v, add_tensor(c, name)));
    }
    return check_overlap(c, h, first);
}

static int as_model_error(int rc)
{
    return rc < 0 ? RECTO_EMODEL : rc;
}

/* Map one more file and list its tensors. path becomes the checkpoint's. */
static int add_file(struct ckpt *c, char *path)
{
    json_t *root = NULL;
    struct header h = {0};
    str text = {0};

    c->file = mem_grow(c->file, (size_t)c->n_file + 1, sizeof *c->file);
    struct ckpt_file *f = &c->file[c->n_file++];
    *f = (struct ckpt_file){.path = path};
    TRY(as_model_error(file_map_open(&f->map, path)));
    TRY(find_header(&f->map, path, &text, &h));
    if (json_parse(&root, text, path) < 0)
        return err_prefix(RECTO_EMODEL, "damaged header");
    int rc = list_tensors(c, &h, root);
    json_decref(root);
    return rc;
}

/* ---- several files and their index ----------------------------------------------------------- */

/* A shard stands beside its index; anything else in the name could reach out of the folder. */
static bool shard_name_is_sane(const char *name)
{
    return name_is_sane(name) && !strchr(name, '/') && name[0] != '.';
}

static int file_index(const struct ckpt *c, const char *path)
{
    for (int i = 0; i < c->n_file; i++)
        if (strcmp(c->file[i].path, path) == 0)
            return i;
    return -1;
}

static int add_shard(struct ckpt *c, const char *dir, const char *index, const json_t *name)
{
    const char *base = json_string_value(name);

    if (!base || strlen(base) != json_string_length(name) || !shard_name_is_sane(base))
        return err(RECTO_EMODEL,
                   "%s: weight_map names something that is not a file beside it" AGAIN, index);
    char *path = file_join(dir, base);
    if (file_index(c, path) >= 0) {
        free(path);
        return 0;
    }
    if (c->n_file >= 1024) {
        free(path);
        return err(RECTO_EMODEL, "%s: more than 1024 files" AGAIN, index);
    }
    if (!file_exists(path)) {
        int rc = err(RECTO_EMODEL,
                     "%s: missing; %s says the model is spread over it: download it too", path,
                     index);

        free(path);
        return rc;
    }
    return add_file(c, path);
}

/* Every name of the map must be in the file that the map says. */
static int check_map(const struct ckpt *c, const char *dir, const char *index, json_t *map)
{
    const char *name;
    json_t *v;

    json_object_foreach(map, name, v)
    {
        const struct ckpt_tensor *t = ckpt_find(c, name);
        char *path = file_join(dir, json_string_value(v));
        bool is_there = t && strcmp(ckpt_path(c, t), path) == 0;

        free(path);
        if (!is_there)
            return err(
                RECTO_EMODEL,
                "%s: tensor %.100s is not in %.100s; download index and files again, they differ",
                index, name, json_string_value(v));
    }
    return 0;
}

/* metadata.total_size is not looked at: the released one is wrong. */
static int open_index(struct ckpt *c, const char *index)
{
    json_t *root = NULL, *map = NULL, *v;
    const char *slash = strrchr(index, '/'), *name;
    char *dir = slash ? mem_strndup(index, (size_t)(slash - index) + 1) : mem_strdup("");
    int rc;

    TRY_OUT(json_read(&root, index, CKPT_INDEX_MAX));
    TRY_OUT(json_get_object(root, index, "weight_map", false, &map));
    json_object_foreach(map, name, v) TRY_OUT(add_shard(c, dir, index, v));
    TRY_OUT(index_names(c));
    rc = check_map(c, dir, index, map);
out:
    json_decref(root);
    free(dir);
    return as_model_error(rc);
}

static int open_file(struct ckpt *c, const char *path)
{
    if (str_ends(str_of(path), STR(".json")))
        return open_index(c, path);
    TRY(add_file(c, mem_strdup(path)));
    return index_names(c);
}

static int open_dir(struct ckpt *c, const char *dir)
{
    static const char *const known[] = {"model.safetensors", "model.safetensors.index.json",
                                        "model-00001-of-000001.safetensors"};

    for (size_t i = 0; i < COUNT(known); i++) {
        char *path = file_join(dir, known[i]);
        bool is_there = file_exists(path);
        int rc = is_there ? open_file(c, path) : 0;

        free(path);
        if (is_there)
            return rc;
    }
    return err(
        RECTO_EMODEL,
        "%s: no weights here; looked for model.safetensors, model.safetensors.index.json and "
        "model-00001-of-000001.safetensors: download the model's files into this folder",
        dir);
}

int ckpt_open(struct ckpt *c, const char *path)
{
    *c = (struct ckpt){.where = mem_strdup(path)};
    TRY(file_is_dir(path) ? open_dir(c, path) : open_file(c, path));
    if (c->n_tensor == 0)
        return err(RECTO_EMODEL, "%s: no tensors in it" AGAIN, path);
    return 0;
}

void ckpt_close(struct ckpt *c)
{
    for (int i = 0; i < c->n_tensor; i++)
        free((char *)c->tensor[i].name);
    for (int i = 0; i < c->n_file; i++) {
        file_map_close(&c->file[i].map);
        free(c->file[i].path);
    }
    free(c->tensor);
    free(c->file);
    free(c->by_name);
    free(c->where);
    *c = (struct ckpt){0};
}

/* ---- lookup ---------------------------------------------------------------------------------- */

const struct ckpt_tensor *ckpt_find(const struct ckpt *c, const char *name)
{
    const struct ckpt_tensor key = {.name = name}, *at = &key;
    const struct ckpt_tensor *const *hit = NULL;

    if (c->by_name)
        hit = bsearch(&at, c->by_name, (size_t)c->n_tensor, sizeof *c->by_name, by_name);
    return hit ? *hit : NULL;
}

int ckpt_get(const struct ckpt *c, const char *name, const struct ckpt_tensor **t)
{
    *t = ckpt_find(c, name);
    if (!*t)
        return err(RECTO_EMODEL, "%s: tensor %.100s is missing; download the model again", c->where,
                   name);
    if ((*t)->dtype == DT_NONE)
        return err(
            RECTO_EMODEL,
            "%s: tensor %.100s is of type %s, which recto does not read; use the bf16 checkpoint",
            ckpt_path(c, *t), name, (*t)->type_text);
    return 0;
}

void ckpt_drop(const struct ckpt *c, const struct ckpt_tensor *t)
{
    file_map_drop(&c->file[t->file].map, t->data, t->bytes);
}
