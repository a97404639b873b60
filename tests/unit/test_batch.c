#include "engine/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void buckets_are_few_and_never_small(void **state)
{
    int n_bucket = 0;

    for (int n = 1, last = 0; n <= 512; n++) {
        int to = batch_bucket(n);

        assert_true(to >= n && to >= last);
        assert_true(n <= 8 ? to <= 2 * n : to - n < 32);
        assert_int_equal(batch_bucket(to), to);
        n_bucket += to != last;
        last = to;
    }
    assert_true(n_bucket <= 48);
}

/* One decoding page and two rows that fill up. */
static void filling_rows_stand_alone(void **state)
{
    struct kv_pool pool;
    struct batch_builder bb;
    int32_t id[20] = {0};
    struct request q = {.id = id, .n_prompt = 18};

    kv_pool_init(&pool, 4, 16);
    assert_int_equal(kv_reserve(&pool, &q.s.kv, 19), 0);
    q.s.n_cached = 17;
    batch_init(&bb, 8, 4, 4, 4);
    batch_add(&bb, &pool, &q, 1, true);
    assert_true(batch_is_decode(&bb));
    batch_pad(&bb, 3, pool.n_block, 16);
    assert_int_equal(bb.b.n_tok, 3);
    assert_int_equal(bb.b.n_seq, 3);
    assert_int_equal(bb.b.n_out, 3);
    assert_ptr_equal(bb.out[0], &q);
    assert_int_equal(bb.b.pos[0], 17);
    for (int i = 1; i < 3; i++) {
        assert_null(bb.out[i]);
        assert_int_equal(bb.b.slot[i], 64); /* behind the pool's own */
        assert_int_equal(bb.b.block[i * bb.b.block_stride], 4);
        assert_int_equal(bb.b.seq_len[i], 1);
        assert_int_equal(bb.b.seq_row[i + 1] - bb.b.seq_row[i], 1);
        assert_int_equal(bb.b.out_row[i], i);
    }
    batch_pad(&bb, 2, pool.n_block, 16); /* never takes rows away */
    assert_int_equal(bb.b.n_tok, 3);
    batch_clear(&bb);
    batch_add(&bb, &pool, &q, 2, true);
    assert_false(batch_is_decode(&bb));
    kv_release(&pool, &q.s.kv);
    kv_seq_reset(&q.s.kv);
    batch_reset(&bb);
    kv_pool_reset(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_few_and_never_small),
        cmocka_unit_test(filling_rows_stand_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
