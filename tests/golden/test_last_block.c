/* The last block of the rows that are asked for is that of all rows, bit for bit. */
#include "engine/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { N_SEQ = 3, LEN = 40, BLOCK = 16 };

static int n_tap;

static void count_taps(void *ctx, const char *name, tensor t)
{
    n_tap++;
}

/* Prompts of three sequences, the last row of two of them asked for; then the same rows in two pieces, of which nothing is asked for the
 * first. */
static void forward(struct runner *rn, struct request *q, struct batch_builder *bb, float *out)
{
    size_t bytes = (size_t)rn->model->cfg.decoder.vocab * sizeof(float);

    for (int piece = 0; piece < 2; piece++) {
        batch_clear(bb);
        for (int i = 0; i < N_SEQ; i++) {
            q[i].s.n_cached = 0;
            batch_add(bb, &rn->pool, &q[i], piece ? LEN / 2 : LEN, !piece && i != 1);
        }
        assert_int_equal(runner_forward(rn, bb), 0);
        if (!piece)
            memcpy(out, rn->logits, 2 * bytes);
    }
    batch_clear(bb);
    for (int i = 0; i < N_SEQ; i++) {
        q[i].s.n_cached = LEN / 2;
        batch_add(bb, &rn->pool, &q[i], LEN - LEN / 2, i != 1);
    }
    assert_int_equal(runner_forward(rn, bb), 0);
    assert_memory_equal(out, rn->logits, 2 * bytes);
}

static void open_pages(struct runner *rn, struct request *q)
{
    for (int i = 0; i < N_SEQ; i++) {
        q[i].id = malloc(LEN * sizeof *q[i].id);
        for (int k = 0; k < LEN; k++)
            q[i].id[k] = 5 + (37 * i + 11 * k) % 500;
        q[i].image_at = LEN;
        assert_int_equal(kv_reserve(&rn->pool, &q[i].s.kv, LEN), 0);
    }
}

static void close_pages(struct runner *rn, struct request *q)
{
    for (int i = 0; i < N_SEQ; i++) {
        kv_release(&rn->pool, &q[i].s.kv);
        kv_seq_reset(&q[i].s.kv);
        free(q[i].id);
    }
}

static void compare(struct runner *rn, struct batch_builder *bb)
{
    const struct decoder_config *c = &rn->model->cfg.decoder;
    size_t n = 2 * (size_t)c->vocab;
    struct request q[N_SEQ] = {0};
    float *few = malloc(n * sizeof *few), *all = malloc(n * sizeof *all);

    open_pages(rn, q);
    n_tap = 0;
    forward(rn, q, bb, few);
    assert_int_equal(n_tap, 0);
    rn->run.tap = count_taps;
    rn->run.all_rows = true;
    forward(rn, q, bb, all);
    assert_int_equal(n_tap, 3 * c->layers);
    assert_memory_equal(few, all, n * sizeof *few);
    close_pages(rn, q);
    free(few), free(all);
}

static void same_bits(const char *precision)
{
    struct device_opts dev = {
        .name = "cpu", .precision = precision, .kernels = "auto", .threads = 1};
    struct runner_opts o = {.max_tok = N_SEQ * LEN,
                            .max_seq = N_SEQ,
                            .max_out = N_SEQ,
                            .kv_tok = N_SEQ * 3 * BLOCK,
                            .kv_block_tok = BLOCK};
    struct batch_builder bb;
    struct runner rn;
    struct model m;

    assert_int_equal(model_open(&m, TEST_DIR "/golden/tiny", "cpu", &dev), 0);
    assert_int_equal(runner_open(&rn, &m, &o), 0);
    batch_init(&bb, o.max_tok, N_SEQ, 3, N_SEQ);
    compare(&rn, &bb);
    batch_reset(&bb);
    runner_close(&rn);
    model_close(&m);
}

static void fp32(void **state)
{
    same_bits("fp32");
}

static void bf16(void **state)
{
    same_bits("bf16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp32),
        cmocka_unit_test(bf16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
