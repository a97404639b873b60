#include "engine/prefix.h"

#include <sha256.h>
#include <string.h>

static struct kv_key close_key(SHA256_CTX *ctx)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct kv_key k;

    SHA256_Final(digest, ctx);
    memcpy(&k, digest, sizeof k);
    return k;
}

struct kv_key prefix_image_key(const void *bytes, size_t n, const char *what)
{
    SHA256_CTX ctx;

    SHA256_Init(&ctx);
    SHA256_Update(&ctx, (const void *)what, strlen(what) + 1);
    SHA256_Update(&ctx, bytes, n);
    return close_key(&ctx);
}

struct kv_key *prefix_keys(const int32_t *id, int n_prompt, int block_tok, struct kv_key image)
{
    int n = n_prompt / block_tok;
    struct kv_key *key, last = image;

    if (n == 0 || !(image.a || image.b))
        return NULL;
    key = mem_zero((size_t)n, sizeof *key);
    for (int i = 0; i < n; i++) {
        SHA256_CTX ctx;

        SHA256_Init(&ctx);
        SHA256_Update(&ctx, (const void *)&last, sizeof last);
        SHA256_Update(&ctx, (const void *)(id + (size_t)i * (size_t)block_tok),
                      (size_t)block_tok * sizeof *id);
        last = key[i] = close_key(&ctx);
    }
    return key;
}
