/* The engine's equalities on the tiny model, bit for bit: batch = single, KV block 16 = 64, chunked = whole prompt,
 * one thread = two, steps filled up = not; cancelling and refusing leave nothing behind. A page is compared by its ids and by the bits of their log-probabilities, which
 * move if any logit of any step moves. */
#include "engine/engine.h"
#include "hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_PAGE = 4, N_NEW = 24, TILE_BYTES = 768 * 768 * 3, GLOBAL_BYTES = 1024 * 1024 * 3 };

struct page {
    unsigned char *tile, *global;
    int n_tile;
    struct request req;
    atomic_int n_done, n_token;
};

static const int tiles_of[N_PAGE] = {0, 2, 0, 3};

static void on_done(struct request *q)
{
    struct page *p = q->owner;

    atomic_fetch_add(&p->n_done, 1);
}

static void on_token(struct request *q, struct pick pick)
{
    struct page *p = q->owner;

    atomic_fetch_add(&p->n_token, 1);
}

/* Different pictures: coarse noise, so that views differ from each other and within. */
static void paint(unsigned char *px, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)(i / 97) * 2654435761u + seed * 40503u;

        px[i] = (unsigned char)(x >> 13 ^ x >> 22);
    }
}

static void make_page(struct page *p, int i, int n_new)
{
    struct request *q = &p->req;
    int n_visual = 257 + 144 * tiles_of[i], n = 0;

    *p = (struct page){.n_tile = tiles_of[i]};
    p->tile = malloc((size_t)(p->n_tile ? p->n_tile : 1) * TILE_BYTES);
    p->global = malloc(GLOBAL_BYTES);
    paint(p->tile, (size_t)p->n_tile * TILE_BYTES, (uint32_t)(i + 1));
    paint(p->global, GLOBAL_BYTES, (uint32_t)(i + 11));
    q->owner = p;
    q->n_visual = n_visual;
    q->max_new = n_new;
    q->id = malloc(sizeof *q->id * (size_t)(n_visual + 16 + n_new));
    q->logp = malloc(sizeof *q->logp * (size_t)n_new);
    q->id[n++] = 0;
    q->image_at = n;
    while (n < 1 + n_visual)
        q->id[n++] = 600;
    for (int k = 0; k < 5 + i; k++)
        q->id[n++] = 11 * (k + 1) + i;
    q->n_prompt = n;
    q->tile = p->tile;
    q->global = p->global;
    q->n_tile = p->n_tile;
    q->sampler = (struct sampler){.guard = {20, 90, {-1, -1}}, .top_p = 1};
    q->keeps_going = true;
    q->on_done = on_done;
    q->on_token = on_token;
}

static void free_page(struct page *p)
{
    free(p->tile);
    free(p->global);
    free(p->req.id);
    free(p->req.logp);
}

static void await(struct page *p)
{
    struct timespec ms = {0, 1000000};

    for (int i = 0; i < 600000 && !atomic_load(&p->n_done);
         i++) /* ten minutes: a hang guard only */
        nanosleep(&ms, NULL);
    assert_int_equal(atomic_load(&p->n_done), 1);
}

struct config {
    const char *precision, *kernels;
    int threads, block, chunk, running;
    bool fills; /* decoding steps are filled up with rows of no page */
};

static void open_engine(struct engine *e, const struct config *c)
{
    struct device_opts dev = {
        .name = "cpu", .precision = c->precision, .kernels = c->kernels, .threads = c->threads};
    struct engine_opts o = {.max_running = c->running,
                            .chunk_tok = c->chunk,
                            .max_waiting = 8,
                            .kv_block_tok = c->block};
    int rc = engine_open(e, TEST_DIR "/golden/tiny", "cpu", &dev, &o);

    if (rc == 0)
        e->model.info.replays = c->fills;
    if (rc < 0 || engine_start(e) < 0)
        fail_msg("%s", err_text());
}

/* All pages through one engine; with running = 1 they run one after the other. */
static void run(struct page page[N_PAGE], const struct config *c)
{
    struct engine e;

    open_engine(&e, c);
    for (int i = 0; i < N_PAGE; i++) {
        make_page(&page[i], i, N_NEW);
        assert_int_equal(engine_submit_wait(&e, &page[i].req), 0);
    }
    for (int i = 0; i < N_PAGE; i++) {
        await(&page[i]);
        assert_int_equal(page[i].req.rc, 0);
        assert_int_equal(page[i].req.finish, RECTO_FINISH_LENGTH);
        assert_int_equal(atomic_load(&page[i].n_token), N_NEW);
    }
    assert_int_equal(e.runner.pool.n_free, e.runner.pool.n_block);
    engine_close(&e);
}

static void expect_equal(const char *what, const struct config *a, const struct config *b)
{
    struct page pa[N_PAGE], pb[N_PAGE];

    print_message("%s (%s, %s)\n", what, a->precision, a->kernels);
    run(pa, a);
    run(pb, b);
    for (int i = 0; i < N_PAGE; i++) {
        const struct request *x = &pa[i].req, *y = &pb[i].req;

        assert_memory_equal(x->id, y->id, sizeof *x->id * (size_t)(x->n_prompt + N_NEW));
        assert_memory_equal(x->logp, y->logp, sizeof *x->logp * N_NEW);
        free_page(&pa[i]);
        free_page(&pb[i]);
    }
}

/* One page at a time, whole prompts, one thread, against each change alone and all of them together. */
static void equalities(const char *precision, const char *kernels)
{
    const struct config plain = {precision, kernels, 1, 16, 8192, 1, false};
    const struct config batch = {precision, kernels, 1, 16, 8192, N_PAGE, false};
    const struct config block = {precision, kernels, 1, 64, 8192, 1, false};
    const struct config chunk = {precision, kernels, 1, 16, 37, 1, false};
    const struct config two = {precision, kernels, 2, 16, 8192, 1, false};
    const struct config all = {precision, kernels, 2, 64, 37, N_PAGE, false};

    if (!INSTRUMENTED) { /* one by one, to see at once which of them broke */
        expect_equal("batch of 4 = 4 singles", &plain, &batch);
        expect_equal("KV block 16 = 64", &plain, &block);
        expect_equal("chunked prefill = whole", &plain, &chunk);
        expect_equal("1 thread = 2 threads", &plain, &two);
    }
    expect_equal("all of these at once", &plain, &all);
}

static void equal_in_fp32(void **state)
{
    equalities("fp32", "auto");
}

static void equal_in_default_precision(void **state)
{
    const struct config plain = {"auto", "auto", 1, 16, 8192, 1, false},
                        all = {"auto", "auto", 2, 64, 37, N_PAGE, false};

    expect_equal("all at once, default precision", &plain, &all);
}

static void equal_in_portable_c(void **state)
{
    const struct config plain = {"fp32", "c", 1, 16, 8192, 1, false},
                        all = {"fp32", "c", 2, 64, 37, N_PAGE, true};

    expect_equal("all at once and steps filled up, portable C", &plain, &all);
}

static void cancel_frees_slot_and_blocks(void **state)
{
    const struct config c = {"fp32", "auto", 1, 16, 64, 2, false};
    struct engine e;
    struct page p[2];
    struct timespec ms = {0, 1000000};

    open_engine(&e, &c);
    make_page(&p[0], 0, 4000);
    make_page(&p[1], 1, 4);
    assert_int_equal(engine_submit_wait(&e, &p[0].req), 0);
    for (int i = 0; i < 600000 && atomic_load(&p[0].n_token) < 3; i++)
        nanosleep(&ms, NULL);
    atomic_store(&p[0].req.is_cancelled, true);
    await(&p[0]);
    assert_int_equal(p[0].req.rc, RECTO_ECANCELED);
    assert_int_equal(engine_submit_wait(&e, &p[1].req), 0);
    await(&p[1]);
    assert_int_equal(p[1].req.rc, 0);
    assert_int_equal(e.runner.pool.n_free, e.runner.pool.n_block);
    engine_close(&e);
    free_page(&p[0]);
    free_page(&p[1]);
}

static void a_page_that_never_fits_is_refused_alone(void **state)
{
    struct device_opts dev = {.name = "cpu", .precision = "fp32", .kernels = "auto", .threads = 1};
    struct engine_opts o = {
        .max_running = 2, .chunk_tok = 64, .max_waiting = 8, .kv_block_tok = 16, .kv_tok = 320};
    struct engine e;
    struct page p[2];

    assert_int_equal(engine_open(&e, TEST_DIR "/golden/tiny", "cpu", &dev, &o), 0);
    assert_int_equal(engine_start(&e), 0);
    make_page(&p[0], 0, 400); /* 257 + 6 + 400 > 320 */
    make_page(&p[1], 0, 4);
    assert_int_equal(engine_submit_wait(&e, &p[0].req), 0);
    assert_int_equal(engine_submit_wait(&e, &p[1].req), 0);
    await(&p[0]);
    await(&p[1]);
    assert_int_equal(p[0].req.rc, RECTO_EDEVICE);
    assert_non_null(strstr(p[0].req.rc_text, "KV cache"));
    assert_int_equal(p[1].req.rc, 0);
    engine_close(&e);
    free_page(&p[0]);
    free_page(&p[1]);
}

static void closing_cancels_what_runs_and_waits(void **state)
{
    const struct config c = {"fp32", "auto", 1, 16, 64, 1, false};
    struct engine e;
    struct page p[N_PAGE];

    open_engine(&e, &c);
    for (int i = 0; i < N_PAGE; i++) {
        make_page(&p[i], i, 4000);
        assert_int_equal(engine_submit_wait(&e, &p[i].req), 0);
    }
    engine_close(&e);
    for (int i = 0; i < N_PAGE; i++) {
        assert_int_equal(atomic_load(&p[i].n_done), 1);
        assert_int_equal(p[i].req.rc, RECTO_ECANCELED);
        free_page(&p[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_in_fp32),
        cmocka_unit_test(equal_in_default_precision),
        cmocka_unit_test(equal_in_portable_c),
        cmocka_unit_test(cancel_frees_slot_and_blocks),
        cmocka_unit_test(a_page_that_never_fits_is_refused_alone),
        cmocka_unit_test(closing_cancels_what_runs_and_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
