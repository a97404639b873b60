/* A checkpoint of hostile bytes: the first byte chooses between a safetensors file and an index
 * beside a good file. What opens is then read to its last byte, by every way there is. */
#include "tensor/names.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char good[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                           "\"b\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[2,4]}}";

static char dir[] = "/dev/shm/recto-fuzz-XXXXXX", index_path[64], file_path[64];

static volatile unsigned char sink; /* what is read goes here, so that it is read */

static void put(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write(fd, p, n) != (ssize_t)n)
        abort();
    close(fd);
}

static void clean_up(void)
{
    char shard[80];

    snprintf(shard, sizeof shard, "%s/a.safetensors", dir);
    unlink(shard);
    unlink(index_path);
    unlink(file_path);
    rmdir(dir);
}

static void set_up(void)
{
    struct buf b = {0};
    char shard[80];

    if (!mkdtemp(dir))
        abort();
    snprintf(index_path, sizeof index_path, "%s/i.json", dir);
    snprintf(file_path, sizeof file_path, "%s/f.safetensors", dir);
    snprintf(shard, sizeof shard, "%s/a.safetensors", dir);
    buf_char(&b, (char)(sizeof good - 1));
    buf_add(&b, "\0\0\0\0\0\0\0", 7);
    buf_text(&b, good);
    buf_text(&b, "1234");
    put(shard, b.p, b.n);
    buf_reset(&b);
    atexit(clean_up);
}

static void read_all(const struct ckpt *c, const struct ckpt_tensor *t)
{
    const struct ckpt_tensor *found;

    assert(ckpt_find(c, t->name) == t);
    for (size_t i = 0; i < t->bytes; i++)
        sink ^= ((const unsigned char *)t->data)[i];
    if (ckpt_get(c, t->name, &found) < 0)
        return;
    size_t bytes = (size_t)t->count * 4;
    assert(t->bytes == (size_t)t->count * dtype_size(t->dtype));
    void *to = malloc(bytes + 1);
    if (ckpt_read_f32(t->dtype, t->data, t->count, to) < 0)
        ckpt_read_i32(t->dtype, t->data, t->count, to);
    free(to);
    ckpt_drop(c, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ckpt c;
    struct ckpt_view v;

    if (n < 1)
        return 0;
    if (!index_path[0])
        set_up();
    const char *path = data[0] & 1 ? index_path : file_path;
    put(path, data + 1, n - 1);
    int rc = ckpt_open(&c, path);
    assert(rc == 0 || (rc == RECTO_EMODEL && err_text()[0]));
    for (int i = 0; rc == 0 && i < c.n_tensor; i++)
        read_all(&c, &c.tensor[i]);
    if (rc == 0) {
        names_detect(&c);
        for (int layout = NAMES_ORIGINAL; layout <= NAMES_NATIVE; layout++) {
            names_find(&c, layout, "model.layers.1.mlp.experts.1.up_proj.weight", &v);
            if (v.data && v.bytes)
                sink ^= ((const unsigned char *)v.data)[v.bytes - 1];
        }
    }
    ckpt_close(&c);
    return 0;
}
