#include "prompt/vocab.h"

#include "base/err.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_SLOTS 1024

static uint64_t hash(uint64_t seed, str s)
{
    uint64_t h = seed ^ s.n, w;

    for (; s.n >= 8; s.p += 8, s.n -= 8) {
        memcpy(&w, s.p, 8);
        h = vocab_mix(h ^ w, VOCAB_ODD);
    }
    w = 0;
    memcpy(&w, s.p, s.n);
    return vocab_mix(h ^ w, VOCAB_ODD ^ seed);
}

static struct vocab_slot *slots_new(uint32_t n)
{
    struct vocab_slot *slot = mem_zero(n, sizeof(*slot));

    for (uint32_t i = 0; i < n; i++)
        slot[i].id = -1;
    return slot;
}

void vocab_init(struct vocab *v, size_t text_bytes, uint64_t seed)
{
    *v = (struct vocab){.cap_text = text_bytes, .n_slot = FIRST_SLOTS, .seed = seed};
    v->text = mem_alloc(text_bytes + 1);
    v->slot = slots_new(v->n_slot);
}

void vocab_reset(struct vocab *v)
{
    free(v->piece);
    free(v->text);
    free(v->slot);
    *v = (struct vocab){0};
}

/* The slot that holds these bytes, or the free one where they would go. */
static struct vocab_slot *probe(const struct vocab *v, str bytes, uint64_t h)
{
    uint32_t tag = (uint32_t)(h >> 32), i = (uint32_t)h & (v->n_slot - 1);

    for (;; i = (i + 1) & (v->n_slot - 1)) {
        struct vocab_slot *s = &v->slot[i];

        if (s->id < 0 || (s->tag == tag && str_eq(v->piece[s->id], bytes)))
            return s;
    }
}

static void grow_slots(struct vocab *v)
{
    struct vocab_slot *old = v->slot;
    uint32_t n_old = v->n_slot;

    v->n_slot *= 2;
    v->slot = slots_new(v->n_slot);
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i].id >= 0) {
            str piece = v->piece[old[i].id];
            *probe(v, piece, hash(v->seed, piece)) = old[i];
        }
    }
    free(old);
}

static void grow_pieces(struct vocab *v, int32_t id)
{
    if (id < v->n)
        return;
    if (id >= v->cap) {
        v->cap = MAX(id + 1, v->cap * 2);
        v->piece = mem_grow(v->piece, (size_t)v->cap, sizeof(*v->piece));
    }
    while (v->n <= id)
        v->piece[v->n++] = (str){"", 0};
}

int vocab_add(struct vocab *v, int64_t id, str bytes, bool is_found)
{
    if (id < 0 || id > VOCAB_MAX_ID)
        return err(RECTO_EFORMAT, "id %lld, expected 0 to %d", (long long)id, VOCAB_MAX_ID);
    if (bytes.n == 0)
        return err(RECTO_EFORMAT, "id %lld has an empty text", (long long)id);
    if (id < v->n && v->piece[id].n)
        return err(RECTO_EFORMAT, "id %lld is given twice", (long long)id);
    grow_pieces(v, (int32_t)id);

    if (is_found) {
        if (v->n_used >= v->n_slot / 2)
            grow_slots(v);
        uint64_t h = hash(v->seed, bytes);
        struct vocab_slot *s = probe(v, bytes, h);
        if (s->id >= 0)
            return err(RECTO_EFORMAT, "ids %d and %lld have the same text", s->id, (long long)id);
        *s = (struct vocab_slot){(uint32_t)(h >> 32), (int32_t)id};
        v->n_used++;
    }
    assert(v->n_text + bytes.n <= v->cap_text);
    memcpy(v->text + v->n_text, bytes.p, bytes.n);
    v->piece[id] = (str){v->text + v->n_text, bytes.n};
    v->n_text += bytes.n;
    return 0;
}

int32_t vocab_find(const struct vocab *v, str bytes)
{
    return bytes.n ? probe(v, bytes, hash(v->seed, bytes))->id : -1;
}

str vocab_piece(const struct vocab *v, int32_t id)
{
    return id >= 0 && id < v->n ? v->piece[id] : (str){"", 0};
}
