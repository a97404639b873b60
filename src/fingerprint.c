#include "fingerprint.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <sha256.h>
#include <stdlib.h>

#define WHOLE_MAX ((size_t)16 << 20)
#define HEAD      ((size_t)1 << 20)
#define SAMPLE    ((size_t)64 << 10)
#define N_SAMPLE  64

static void add_content(SHA256_CTX *ctx, const struct file_map *m)
{
    if (m->len <= WHOLE_MAX) {
        SHA256_Update(ctx, m->data, m->len);
        return;
    }
    SHA256_Update(ctx, m->data, HEAD);
    for (size_t i = 0; i < N_SAMPLE; i++)
        SHA256_Update(ctx, m->data + m->len / N_SAMPLE * i, SAMPLE);
}

static int add_file(SHA256_CTX *ctx, const char *dir, const char *name)
{
    char *path = file_join(dir, name);
    struct file_map m;
    int rc = file_map_open(&m, path);

    if (rc == 0) {
        unsigned char size[8];

        for (int i = 0; i < 8; i++)
            size[i] = (unsigned char)((uint64_t)m.len >> (8 * i));
        SHA256_Update(ctx, (const void *)name, strlen(name) + 1);
        SHA256_Update(ctx, size, sizeof size);
        add_content(ctx, &m);
        file_map_close(&m);
    }
    free(path);
    return rc;
}

static int is_model_file(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');

    return dot && dot != e->d_name && (!strcmp(dot, ".json") || !strcmp(dot, ".safetensors"));
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int fingerprint_of_model(const char *dir, char hex[FINGERPRINT_HEX])
{
    struct dirent **e = NULL;
    int rc = 0, n = scandir(dir, &e, is_model_file, by_bytes);
    SHA256_CTX ctx;

    if (n < 0)
        return err(RECTO_EREAD, "model: %s cannot be listed: %s", dir, strerror(errno));
    SHA256_Init(&ctx);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = add_file(&ctx, dir, e[i]->d_name);
        free(e[i]);
    }
    free(e);
    SHA256_End(&ctx, hex);
    return rc;
}
