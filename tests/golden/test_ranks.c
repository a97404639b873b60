/* One model cut over ranks is the same model: the ids of one rank, uneven shares (5 heads on 2 are 3 and 2) included, in batches
 * and alone; and a rank that fails costs the page at fault, no other, and no waiting. (recto verify --parallel tp=N compares
 * taps: cli/verify.) */
#include "engine/engine.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "golden/tiny_pages.h"

enum { N_PAGE = 3 };

static void open_engine(struct engine *e, int n_rank, int running, const char *weights)
{
    struct device_opts dev[COMM_RANKS];
    struct engine_opts o = {.max_running = running,
                            .chunk_tok = running == 1 ? 8192 : 200,
                            .max_waiting = 8,
                            .kv_block_tok = 16,
                            .kv_tok = 4096,
                            .n_rank = n_rank};

    for (int r = 0; r < n_rank; r++)
        dev[r] = (struct device_opts){.name = "cpu",
                                      .precision = "fp32",
                                      .kernels = "auto",
                                      .threads = 1,
                                      .weights = weights};
    if (engine_open(e, TEST_DIR "/golden/tiny", "cpu", dev, &o) < 0)
        fail_msg("%s", err_text());
}

static void read_all(struct engine *e, struct page page[N_PAGE])
{
    int n_done = 0;

    for (int i = 0; i < N_PAGE; i++) {
        make_page(&page[i], i);
        engine_add(e, &page[i].req);
    }
    for (int turn = 0; turn < 10000 && n_done < N_PAGE; turn++) {
        engine_turn(e);
        for (int i = n_done = 0; i < N_PAGE; i++)
            n_done += page[i].is_done;
    }
    assert_int_equal(n_done, N_PAGE);
    assert_int_equal(e->runner.pool.n_free, e->runner.pool.n_block);
}

static void same_ids(int n_rank, const char *weights)
{
    struct page one[N_PAGE], many[N_PAGE];
    struct engine a, b;

    open_engine(&a, 1, 1, weights);
    open_engine(&b, n_rank, N_PAGE, weights);
    read_all(&a, one);
    read_all(&b, many);
    compare(one, many, N_PAGE);
    engine_close(&a);
    engine_close(&b);
    for (int i = 0; i < N_PAGE; i++) {
        free_page(&one[i]);
        free_page(&many[i]);
    }
}

static void two_ranks(void **state)
{
    same_ids(2, "auto");
}

static void three_ranks(void **state)
{
    same_ids(3, "auto");
}

static void five_ranks(void **state)
{
    same_ids(5, "auto");
}

static void more_ranks_than_heads_are_refused(void **state)
{
    struct device_opts dev[6];
    struct engine_opts o = {.max_running = 1, .chunk_tok = 64, .max_waiting = 8, .n_rank = 6};
    struct engine e;

    for (int r = 0; r < 6; r++)
        dev[r] = (struct device_opts){.name = "cpu", .precision = "fp32", .threads = 1};
    assert_int_equal(engine_open(&e, TEST_DIR "/golden/tiny", "cpu", dev, &o), RECTO_EUSAGE);
    assert_non_null(strstr(err_text(), "fewer ranks"));
    engine_close(&e);
}

/* ---- a rank that fails ----------------------------------------------------------------------------------------------- */
static struct backend broken;
static int until_fault;

/* Only the rank with this record calls it. */
static int failing_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                          enum linear_mode mode)
{
    if (until_fault > 0 && --until_fault == 0)
        return err(RECTO_EDEVICE, "device: a fault for the test");
    return backend_cpu.linear(d, y, x, w, mode);
}

/* Reads the pages on two ranks, the second failing at its at-th product; what is then left of at. */
static int left_after(int at, struct page one[N_PAGE])
{
    struct page many[N_PAGE];
    struct engine b;

    open_engine(&b, 2, N_PAGE, "auto");
    b.runner.peer[0].run.be = &broken;
    until_fault = at;
    read_all(&b, many);
    compare(one, many, N_PAGE);
    engine_close(&b);
    for (int i = 0; i < N_PAGE; i++)
        free_page(&many[i]);
    return until_fault;
}

static void a_fault_costs_no_page(void **state)
{
    struct page one[N_PAGE];
    struct engine a;
    int n_product;

    broken = backend_cpu;
    broken.linear = failing_linear;
    open_engine(&a, 1, 1, "auto");
    read_all(&a, one);
    n_product = INT_MAX - left_after(INT_MAX, one); /* of rank 1, when none fails */
    assert_true(n_product > 100);
    for (int i = 1; i < 8; i += 3) /* in views and in rows: the step runs again */
        assert_int_equal(left_after(n_product * i / 8, one), 0);
    engine_close(&a);
    for (int i = 0; i < N_PAGE; i++)
        free_page(&one[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(three_ranks),
        cmocka_unit_test(five_ranks),
        cmocka_unit_test(more_ranks_than_heads_are_refused),
        cmocka_unit_test(a_fault_costs_no_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
