/* A model over ranks of any device against the same on one rank, and a rank that fails: what test_ranks and test_ranks_cuda share. */
#ifndef TESTS_RANKS_SAME_H
#define TESTS_RANKS_SAME_H

#include "backend/comm.h"
#include "engine/engine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "golden/tiny_pages.h"

enum { N_PAGE = 3 };

/* What the ranks are on; with n_device, rank r is on number r of these, and around again. */
static struct tested {
    const char *name;
    const struct backend *be;
    int n_device;
} tested;

static void open_engine(struct engine *e, int n_rank, int running, const char *weights)
{
    struct device_opts dev[COMM_RANKS];
    char name[COMM_RANKS][16];
    struct engine_opts o = {.max_running = running,
                            .chunk_tok = running == 1 ? 8192 : 200,
                            .max_waiting = 8,
                            .kv_block_tok = 16,
                            .kv_tok = 4096,
                            .n_rank = n_rank};

    for (int r = 0; r < n_rank; r++) {
        snprintf(name[r], sizeof name[r], tested.n_device ? "%s:%d" : "%s", tested.name,
                 tested.n_device ? r % tested.n_device : 0);
        dev[r] = (struct device_opts){.name = name[r],
                                      .precision = "fp32",
                                      .kernels = "auto",
                                      .threads = 1,
                                      .weights = weights};
    }
    if (engine_open(e, TEST_DIR "/golden/tiny", tested.name, dev, &o) < 0)
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

/* ---- a rank that fails ----------------------------------------------------------------------------------------------- */
static struct backend broken;
static int until_fault;

/* Only the rank with this record calls it. */
static int failing_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                          enum linear_mode mode)
{
    if (until_fault > 0 && --until_fault == 0)
        return err(RECTO_EDEVICE, "device: a fault for the test");
    return tested.be->linear(d, y, x, w, mode);
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

    broken = *tested.be;
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

#endif
