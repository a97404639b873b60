#include "engine/kv_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

static void refusal_leaves_nothing_behind(void **state)
{
    struct kv_pool p;
    struct kv_seq a = {0}, b = {0};

    kv_pool_init(&p, 4, 16);
    assert_int_equal(kv_reserve(&p, &a, 33), 0); /* 3 blocks */
    assert_int_equal(a.n_block, 3);
    assert_int_equal(kv_reserve(&p, &b, 17), RECTO_ENOSPC);
    assert_int_equal(b.n_block, 0);
    assert_int_equal(p.n_free, 1);
    assert_int_equal(kv_reserve(&p, &b, 16), 0);
    assert_int_equal(kv_reserve(&p, &a, 48), 0); /* fits the blocks it has */
    assert_int_equal(kv_reserve(&p, &a, 49), RECTO_ENOSPC);
    kv_release(&p, &a);
    kv_release(&p, &b);
    assert_int_equal(p.n_free, 4);
    kv_seq_reset(&a);
    kv_seq_reset(&b);
    kv_pool_reset(&p);
}

static void slots_walk_through_the_block_table(void **state)
{
    struct kv_pool p;
    struct kv_seq s = {0};

    kv_pool_init(&p, 8, 32);
    assert_int_equal(kv_reserve(&p, &s, 100), 0);
    for (int pos = 0; pos < 100; pos++) {
        int slot = kv_slot(&p, &s, pos);

        assert_int_equal(slot / 32, s.block[pos / 32]);
        assert_int_equal(slot % 32, pos % 32);
    }
    kv_release(&p, &s);
    kv_seq_reset(&s);
    kv_pool_reset(&p);
}

static void published_blocks_are_found_until_their_room_is_needed(void **state)
{
    const struct kv_key key[] = {{1, 1}, {2, 2}, {3, 3}};
    struct kv_pool p;
    struct kv_seq a = {0}, b = {0}, c = {0};

    kv_pool_init(&p, 4, 16);
    assert_int_equal(kv_reserve(&p, &a, 48), 0);
    for (int i = 0; i < 2; i++)
        kv_publish(&p, &a, i, key[i]);
    assert_int_equal(kv_shareable(&p, key, 3), 2);
    assert_int_equal(kv_share(&p, &b, key, 3), 2);
    assert_int_equal(b.block[0], a.block[0]);
    assert_int_equal(p.n_free, 1);
    kv_release(&p, &a);
    assert_int_equal(p.n_free, 2); /* two are still b's */
    kv_release(&p, &b);
    assert_int_equal(p.n_free, 4);
    assert_int_equal(kv_share(&p, &a, key, 3), 2); /* nobody held them, they were still there */
    kv_release(&p, &a);
    assert_int_equal(kv_reserve(&p, &c, 48),
                     0); /* the end of a prompt is given up before its start */
    assert_int_equal(kv_shareable(&p, key, 3), 1);
    assert_int_equal(p.n_forgotten, 1);
    kv_release(&p, &c);
    kv_seq_reset(&a);
    kv_seq_reset(&b);
    kv_seq_reset(&c);
    kv_pool_reset(&p);
}

/* 40,000 random reservations, shares, publications and releases: the holders of every block are counted right, and a block
 * found by a key is one that was published under it and has not been handed out since. */
static void no_block_is_lost_or_mistaken(void **state)
{
    enum { BLOCKS = 61, SEQS = 9, KEYS = 40 };
    struct kv_pool p;
    struct kv_seq s[SEQS] = {0};
    int first_key[SEQS] = {0};
    uint32_t rng = 7;

    kv_pool_init(&p, BLOCKS, 16);
    for (int i = 0; i < 40000; i++) {
        struct kv_key key[8];
        struct kv_seq *q;
        int holders[BLOCKS] = {0}, n_used = 0, at;

        rng = rng * 1664525 + 1013904223;
        at = (int)((rng >> 8) % SEQS);
        q = &s[at];
        if ((rng >> 16) % 3 == 0) {
            kv_release(&p, q);
            first_key[at] = (int)((rng >> 20) % KEYS);
            for (int k = 0; k < 8; k++)
                key[k] = (struct kv_key){(uint64_t)first_key[at] + 1, (uint64_t)k + 1};
            kv_share(&p, q, key, 8);
        } else if (kv_reserve(&p, q, (int)((rng >> 18) % 400)) == 0) {
            for (int k = 0; k < MIN(q->n_block, 8); k++)
                kv_publish(&p, q, k, (struct kv_key){(uint64_t)first_key[at] + 1, (uint64_t)k + 1});
        }
        for (int k = 0; k < SEQS; k++)
            for (int b = 0; b < s[k].n_block; b++) {
                const struct kv_block *blk = &p.block[s[k].block[b]];

                n_used += holders[s[k].block[b]]++ == 0;
                if (b < 8 && blk->key.a)
                    assert_int_equal(blk->key.b, b + 1); /* position in the prompt */
            }
        for (int b = 0; b < BLOCKS; b++)
            assert_int_equal(holders[b], p.block[b].n_holder);
        assert_int_equal(n_used + p.n_free, BLOCKS);
    }
    assert_in_range(p.n_shared_tok, 16 * 1000, INT64_MAX);
    for (int k = 0; k < SEQS; k++) {
        kv_release(&p, &s[k]);
        kv_seq_reset(&s[k]);
    }
    kv_pool_reset(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusal_leaves_nothing_behind),
        cmocka_unit_test(slots_walk_through_the_block_table),
        cmocka_unit_test(published_blocks_are_found_until_their_room_is_needed),
        cmocka_unit_test(no_block_is_lost_or_mistaken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
