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

/* 20,000 random reservations and releases: no block is ever in two hands, and none is lost. */
static void no_block_is_shared_or_lost(void **state)
{
    enum { BLOCKS = 61, SEQS = 9 };
    struct kv_pool p;
    struct kv_seq s[SEQS] = {0};
    uint32_t rng = 7;

    kv_pool_init(&p, BLOCKS, 16);
    for (int i = 0; i < 20000; i++) {
        struct kv_seq *q;
        bool used[BLOCKS] = {0};
        int n_used = 0;

        rng = rng * 1664525 + 1013904223;
        q = &s[(rng >> 8) % SEQS];
        if ((rng >> 16) % 5 == 0)
            kv_release(&p, q);
        else
            kv_reserve(&p, q, (int)((rng >> 18) % 400));
        for (int k = 0; k < SEQS; k++)
            for (int b = 0; b < s[k].n_block; b++) {
                assert_false(used[s[k].block[b]]);
                used[s[k].block[b]] = true;
                n_used++;
            }
        assert_int_equal(n_used + p.n_free, BLOCKS);
    }
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
        cmocka_unit_test(no_block_is_shared_or_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
