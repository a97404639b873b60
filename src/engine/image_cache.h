/* Visual rows by the content of their image: a page seen again skips the vision towers, whoever asks and whatever the prompt.
 *
 * Keys are the first 128 bits of a SHA-256 over the picture's bytes and what the views depend on.  Rows in use are never given
 * up; beyond that the least recently used go when the limit of bytes is passed.  Device memory is handed over by pointer and
 * freed through `drop`.  Engine thread only. */
#ifndef RECTO_ENGINE_IMAGE_CACHE_H
#define RECTO_ENGINE_IMAGE_CACHE_H

#include "engine/kv_pool.h"

struct image_entry {
    struct kv_key key;
    void *rows; /* device memory */
    size_t bytes;
    int n_user;
    bool is_listed; /* found by key; unlisted ones live only as long as they are used */
    struct image_entry *chain;
    struct image_entry *next, *prev; /* listed and unused, the longest unused first */
};

typedef void image_drop_fn(void *ctx, void *rows);

struct image_cache {
    size_t limit, used; /* bytes; used counts listed entries */
    image_drop_fn *drop;
    void *drop_ctx;
    struct image_entry **bucket;
    int n_bucket, n_entry;
    struct image_entry *first, *last;
    int64_t n_hit, n_miss;
};

void image_cache_init(struct image_cache *c, size_t limit, image_drop_fn *drop, void *drop_ctx);
void image_cache_reset(struct image_cache *c); /* nothing may be in use */
/* The rows of key, to be given back with image_put; NULL: not there (counted as a miss). A zero key is never there. */
struct image_entry *image_get(struct image_cache *c, struct kv_key key);
/* Rows just computed, in use by the caller. With a zero key, or when the key is there already, they are not listed. */
struct image_entry *image_add(struct image_cache *c, struct kv_key key, void *rows, size_t bytes);
void image_put(struct image_cache *c, struct image_entry *e);

#endif
