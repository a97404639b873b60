#include "engine/kv_pool.h"

#include <assert.h>
#include <stdlib.h>

/* ---- the list of unheld blocks --------------------------------------------------------------------------------------- */

static void unlink_free(struct kv_pool *p, int32_t b)
{
    struct kv_block *k = &p->block[b];

    if (k->prev >= 0)
        p->block[k->prev].next = k->next;
    else
        p->head = k->next;
    if (k->next >= 0)
        p->block[k->next].prev = k->prev;
    else
        p->tail = k->prev;
    p->n_free--;
}

/* Blocks without content are used again first, at the head: they are warm and nobody will look for them. */
static void link_free(struct kv_pool *p, int32_t b, bool at_head)
{
    struct kv_block *k = &p->block[b];

    k->prev = at_head ? -1 : p->tail;
    k->next = at_head ? p->head : -1;
    if (k->prev >= 0)
        p->block[k->prev].next = b;
    else
        p->head = b;
    if (k->next >= 0)
        p->block[k->next].prev = b;
    else
        p->tail = b;
    p->n_free++;
}

/* ---- published blocks by key ----------------------------------------------------------------------------------------- */

static bool is_key(struct kv_key k)
{
    return k.a || k.b;
}

static int32_t *bucket_of(const struct kv_pool *p, struct kv_key k)
{
    return &p->bucket[k.a & (uint64_t)(p->n_bucket - 1)];
}

static int32_t find(const struct kv_pool *p, struct kv_key k)
{
    int32_t b = is_key(k) ? *bucket_of(p, k) : -1;

    while (b >= 0 && !(p->block[b].key.a == k.a && p->block[b].key.b == k.b))
        b = p->block[b].chain;
    return b;
}

static void forget(struct kv_pool *p, int32_t b)
{
    struct kv_block *k = &p->block[b];
    int32_t *at;

    if (!is_key(k->key))
        return;
    for (at = bucket_of(p, k->key); *at != b; at = &p->block[*at].chain)
        ;
    *at = k->chain;
    k->key = (struct kv_key){0};
    p->n_forgotten++;
}

/* ---- pool ------------------------------------------------------------------------------------------------------------ */

void kv_pool_init(struct kv_pool *p, int n_block, int block_tok)
{
    *p = (struct kv_pool){
        .n_block = n_block, .block_tok = block_tok, .head = -1, .tail = -1, .n_bucket = 1};
    while (p->n_bucket < n_block)
        p->n_bucket *= 2;
    p->block = mem_zero((size_t)n_block, sizeof *p->block);
    p->bucket = mem_alloc((size_t)p->n_bucket * sizeof *p->bucket);
    for (int i = 0; i < p->n_bucket; i++)
        p->bucket[i] = -1;
    for (int i = 0; i < n_block; i++)
        link_free(p, i, false); /* low numbers first: a short run touches little memory */
}

void kv_pool_reset(struct kv_pool *p)
{
    free(p->block);
    free(p->bucket);
    *p = (struct kv_pool){0};
}

void kv_seq_room(struct kv_seq *s, int want)
{
    if (want <= s->cap)
        return;
    s->cap = MAX(want, 2 * s->cap);
    s->block = mem_grow(s->block, (size_t)s->cap, sizeof *s->block);
}

int kv_reserve(struct kv_pool *p, struct kv_seq *s, int n_tok)
{
    int want = (int)div_up(n_tok, p->block_tok), need = want - s->n_block;

    if (need > p->n_free)
        return RECTO_ENOSPC;
    kv_seq_room(s, want);
    while (need-- > 0) {
        int32_t b = p->head;

        unlink_free(p, b);
        forget(p, b);
        p->block[b].n_holder = 1;
        s->block[s->n_block++] = b;
    }
    return 0;
}

int kv_shareable(const struct kv_pool *p, const struct kv_key *key, int n_key)
{
    int n = 0;

    while (n < n_key && find(p, key[n]) >= 0)
        n++;
    return n;
}

int kv_share(struct kv_pool *p, struct kv_seq *s, const struct kv_key *key, int n_key)
{
    int n = kv_shareable(p, key, n_key);

    assert(s->n_block == 0);
    kv_seq_room(s, n);
    for (int i = 0; i < n; i++) {
        int32_t b = find(p, key[i]);

        if (p->block[b].n_holder++ == 0)
            unlink_free(p, b);
        s->block[s->n_block++] = b;
    }
    p->n_shared_tok += (int64_t)n * p->block_tok;
    return n;
}

void kv_publish(struct kv_pool *p, const struct kv_seq *s, int i, struct kv_key key)
{
    struct kv_block *k = &p->block[s->block[i]];
    int32_t *bucket;

    if (!is_key(key) || is_key(k->key) || find(p, key) >= 0)
        return;
    bucket = bucket_of(p, key);
    k->key = key;
    k->chain = *bucket;
    *bucket = s->block[i];
}

void kv_release(struct kv_pool *p, struct kv_seq *s)
{
    while (
        s->n_block >
        0) { /* from the end: the start of a prompt is the part most often shared, so it goes last */
        int32_t b = s->block[--s->n_block];

        assert(p->block[b].n_holder > 0);
        if (--p->block[b].n_holder == 0)
            link_free(p, b, !is_key(p->block[b].key));
    }
}

void kv_seq_reset(struct kv_seq *s)
{
    assert(s->n_block == 0);
    free(s->block);
    *s = (struct kv_seq){0};
}
