#include "prompt/bpe.h"

#include "base/err.h"
#include "prompt/vocab.h"

#define FIRST_SLOTS 1024

struct bpe_symbol {
    int32_t id;         /* -1: merged into the symbol before it */
    int32_t prev, next; /* neighbours in the list, -1: none */
};

struct bpe_pair {
    int32_t rank, pos;            /* pos: the left symbol; the order of the heap is (rank, pos) */
    int32_t left, right, product; /* what stood there when the pair was pushed */
};

/* ---- the table of merges --------------------------------------------------------------------- */

static struct bpe_merge *slots_new(uint32_t n)
{
    struct bpe_merge *m = mem_zero(n, sizeof(*m));

    for (uint32_t i = 0; i < n; i++)
        m[i].left = -1;
    return m;
}

void bpe_init(struct bpe *b, uint64_t seed)
{
    *b = (struct bpe){.n_slot = FIRST_SLOTS, .seed = seed};
    b->merge = slots_new(b->n_slot);
    memset(b->byte_id, 0xFF, sizeof(b->byte_id));
}

void bpe_reset(struct bpe *b)
{
    free(b->merge);
    *b = (struct bpe){0};
}

/* The slot of this pair, or the free one where it would go. */
static struct bpe_merge *probe(const struct bpe *b, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    uint32_t i = (uint32_t)vocab_mix(key ^ b->seed, VOCAB_ODD) & (b->n_slot - 1);

    for (;; i = (i + 1) & (b->n_slot - 1)) {
        struct bpe_merge *m = &b->merge[i];

        if (m->left < 0 || (m->left == left && m->right == right))
            return m;
    }
}

static void grow_slots(struct bpe *b)
{
    struct bpe_merge *old = b->merge;
    uint32_t n_old = b->n_slot;

    b->n_slot *= 2;
    b->merge = slots_new(b->n_slot);
    for (uint32_t i = 0; i < n_old; i++)
        if (old[i].left >= 0)
            *probe(b, old[i].left, old[i].right) = old[i];
    free(old);
}

int bpe_add(struct bpe *b, int32_t left, int32_t right, int32_t product)
{
    if (b->n_merge >= b->n_slot / 2)
        grow_slots(b);
    struct bpe_merge *m = probe(b, left, right);
    if (m->left >= 0)
        return err(RECTO_EFORMAT, "this pair is also merge %d", m->rank);
    *m = (struct bpe_merge){left, right, (int32_t)b->n_merge++, product};
    return 0;
}

/* ---- the heap of pairs ----------------------------------------------------------------------- */

static bool before(const struct bpe_pair *a, const struct bpe_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->pos < b->pos;
}

static void heap_push(struct bpe_scratch *s, struct bpe_pair pair)
{
    int i = s->n_heap++;

    if (s->n_heap > s->cap_heap) {
        s->cap_heap = s->cap_heap ? s->cap_heap * 2 : 64;
        s->heap = mem_grow(s->heap, (size_t)s->cap_heap, sizeof(*s->heap));
    }
    for (; i > 0 && before(&pair, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = pair;
}

static struct bpe_pair heap_pop(struct bpe_scratch *s)
{
    struct bpe_pair top = s->heap[0], last = s->heap[--s->n_heap];
    int i = 0;

    for (;;) {
        int child = 2 * i + 1;

        if (child + 1 < s->n_heap && before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (child >= s->n_heap || !before(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* ---- one piece ------------------------------------------------------------------------------- */

void bpe_scratch_reset(struct bpe_scratch *s)
{
    free(s->symbol);
    free(s->heap);
    *s = (struct bpe_scratch){0};
}

static void symbols_init(const struct bpe *b, struct bpe_scratch *s, str piece)
{
    int n = (int)piece.n;

    if (n > s->cap_symbol) {
        s->cap_symbol = MAX(n, 64);
        s->symbol = mem_grow(s->symbol, (size_t)s->cap_symbol, sizeof(*s->symbol));
    }
    for (int i = 0; i < n; i++)
        s->symbol[i] = (struct bpe_symbol){b->byte_id[(unsigned char)piece.p[i]], i - 1,
                                           i + 1 < n ? i + 1 : -1};
}

/* Push the pair that starts at symbol pos, if it can be merged. */
static void offer(const struct bpe *b, struct bpe_scratch *s, int32_t pos)
{
    if (pos < 0 || s->symbol[pos].next < 0)
        return;
    int32_t left = s->symbol[pos].id, right = s->symbol[s->symbol[pos].next].id;
    const struct bpe_merge *m = probe(b, left, right);
    if (m->left >= 0)
        heap_push(s, (struct bpe_pair){m->rank, pos, left, right, m->product});
}

/* A pair whose symbols have changed since it was pushed is stale and does nothing. */
static void merge(const struct bpe *b, struct bpe_scratch *s, struct bpe_pair pair)
{
    struct bpe_symbol *l = &s->symbol[pair.pos], *r;

    if (l->id != pair.left || l->next < 0)
        return;
    r = &s->symbol[l->next];
    if (r->id != pair.right)
        return;
    l->id = pair.product;
    r->id = -1;
    l->next = r->next;
    if (l->next >= 0)
        s->symbol[l->next].prev = pair.pos;
    offer(b, s, l->prev);
    offer(b, s, pair.pos);
}

void bpe_encode(const struct bpe *b, struct bpe_scratch *s, str piece, struct ids *out)
{
    if (piece.n == 0)
        return;
    symbols_init(b, s, piece);
    s->n_heap = 0;
    for (int32_t i = 0; i < (int32_t)piece.n; i++)
        offer(b, s, i);
    while (s->n_heap)
        merge(b, s, heap_pop(s));
    for (int32_t i = 0; i >= 0; i = s->symbol[i].next)
        ids_add(out, s->symbol[i].id);
}
