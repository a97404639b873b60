/* Keys of a prompt's blocks, for exact sharing: key i stands for the image and for all ids up to the end of block i.
 * A chain of SHA-256 (first 128 bits of each link), so equal keys mean equal content whoever made the prompt. */
#ifndef RECTO_ENGINE_PREFIX_H
#define RECTO_ENGINE_PREFIX_H

#include "engine/kv_pool.h"

/* n_prompt / block_tok keys, malloc'd; NULL when image is zero (unknown content must not be shared) or there is no full block. */
struct kv_key *prefix_keys(const int32_t *id, int n_prompt, int block_tok, struct kv_key image);
/* A key of bytes, the image's say: `what` parts texts of different meaning. */
struct kv_key prefix_image_key(const void *bytes, size_t n, const char *what);

#endif
