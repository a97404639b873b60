#include "engine/image_cache.h"

#include <assert.h>
#include <stdlib.h>

void image_cache_init(struct image_cache *c, size_t limit, image_drop_fn *drop, void *drop_ctx)
{
    *c = (struct image_cache){.limit = limit, .drop = drop, .drop_ctx = drop_ctx, .n_bucket = 1024};
    c->bucket = mem_zero((size_t)c->n_bucket, sizeof(struct image_entry *));
}

static struct image_entry **slot_of(struct image_cache *c, struct kv_key key)
{
    struct image_entry **at = &c->bucket[key.a & (uint64_t)(c->n_bucket - 1)];

    while (*at && !((*at)->key.a == key.a && (*at)->key.b == key.b))
        at = &(*at)->chain;
    return at;
}

static void unlink_unused(struct image_cache *c, struct image_entry *e)
{
    if (e->prev)
        e->prev->next = e->next;
    else
        c->first = e->next;
    if (e->next)
        e->next->prev = e->prev;
    else
        c->last = e->prev;
    e->next = e->prev = NULL;
}

static void link_unused(struct image_cache *c, struct image_entry *e)
{
    e->prev = c->last;
    e->next = NULL;
    if (c->last)
        c->last->next = e;
    else
        c->first = e;
    c->last = e;
}

static void destroy(struct image_cache *c, struct image_entry *e)
{
    c->drop(c->drop_ctx, e->rows);
    free(e);
}

static void evict_oldest(struct image_cache *c)
{
    struct image_entry *e = c->first;

    assert(!e->prev);
    unlink_unused(c, e);
    *slot_of(c, e->key) = e->chain;
    c->used -= e->bytes;
    c->n_entry--;
    destroy(c, e);
}

static void shrink(struct image_cache *c)
{
    while (c->used > c->limit && c->first)
        evict_oldest(c);
}

struct image_entry *image_get(struct image_cache *c, struct kv_key key)
{
    struct image_entry *e = key.a || key.b ? *slot_of(c, key) : NULL;

    if (!e) {
        c->n_miss++;
        return NULL;
    }
    c->n_hit++;
    if (e->n_user++ == 0)
        unlink_unused(c, e);
    return e;
}

struct image_entry *image_add(struct image_cache *c, struct kv_key key, void *rows, size_t bytes)
{
    struct image_entry *e = mem_zero(1, sizeof *e), **at = slot_of(c, key);

    *e = (struct image_entry){.key = key, .rows = rows, .bytes = bytes, .n_user = 1};
    if ((key.a || key.b) && !*at) {
        e->is_listed = true;
        *at = e;
        c->used += bytes;
        c->n_entry++;
        shrink(c);
    }
    return e;
}

void image_put(struct image_cache *c, struct image_entry *e)
{
    assert(e->n_user > 0);
    if (--e->n_user)
        return;
    if (!e->is_listed) {
        destroy(c, e);
        return;
    }
    link_unused(c, e);
    shrink(c);
}

void image_cache_reset(struct image_cache *c)
{
    while (c->first)
        evict_oldest(c);
    assert(c->n_entry == 0);
    free(c->bucket);
    *c = (struct image_cache){0};
}
