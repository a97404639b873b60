/* 12,000 pages in 14,000 and more events over the simulated device: see storm.h. */
#include "backend/sim/sim.h"
#include "storm.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer)
#define COUNTS_CALLS 1 /* the allocator is ours to stand in front of */
#else
#define COUNTS_CALLS 0
#endif

static int64_t n_calls;

#if COUNTS_CALLS
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

__attribute__((visibility("default"))) void *malloc(size_t n)
{
    n_calls++;
    return __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    n_calls++;
    return __libc_calloc(n, size);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
    n_calls++;
    return __libc_realloc(p, n);
}
#endif

enum { PAGES = 12000, PROMPT = 400, VISUAL = 257, NEW = 1200 };

static struct storm_page *make_page(int i)
{
    struct storm_page *p = mem_zero(1, sizeof *p);
    struct request *q = &p->req;

    p->which = 1 + (int)storm_random(PAGES /
                                     4); /* every picture about four times: the caches have work */
    q->owner = p;
    q->s.cls = (enum sched_class)storm_random(CLASSES);
    q->s.caller = storm_random(5);
    q->s.job = storm_random(40);
    q->id = mem_zero(PROMPT + NEW, sizeof *q->id);
    for (int k = 0; k < PROMPT; k++)
        q->id[k] = k < 300 ? 7 : p->which % 50 + k; /* the ids are a function of the picture */
    q->n_prompt = PROMPT;
    q->max_new = NEW;
    q->image_at = 1;
    q->n_visual = VISUAL;
    q->image = (struct kv_key){(uint64_t)p->which, 3};
    q->sampler.top_p = 1;
    q->loops = (struct loop_opts){.cell_end = -1, .block_start = -1};
    q->on_done = storm_done;
    p->may_fail = p->which % 97 == 0;
    return p;
}

/* What the page would have read alone. */
static void expect_solo(const struct storm_page *p, int vocab)
{
    const struct request *q = &p->req;

    assert_int_equal(q->rc, 0);
    assert_int_equal(q->finish, RECTO_FINISH_EOS);
    assert_int_equal(request_new(q), sim_page_length(q->image.a));
    for (int i = 0; i < request_new(q); i++)
        assert_int_equal(q->id[PROMPT + i], sim_page_id(q->image.a, i, vocab));
}

/* After the storm: every place and block is free, and every page has ended once. */
static void expect_calm(struct engine *e, struct storm_page *const *page, int n)
{
    assert_int_equal(e->n_live, 0);
    assert_int_equal(e->sched.n_running, 0);
    assert_int_equal(waiting_count(&e->sched.waiting), 0);
    assert_int_equal(e->runner.pool.n_free, e->runner.pool.n_block);
    for (int i = 0; i < e->runner.pool.n_block; i++)
        assert_int_equal(e->runner.pool.block[i].n_holder, 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(page[i]->n_done, 1);
}

static void storm_on_the_simulated_device(void **state)
{
    struct device_opts dev = {.name = "sim:h200"};
    struct engine_opts o = {
        .max_running = 64,
        .max_waiting = 100,
        .reserve = 4,
        .chunk_tok = 2048,
        .kv_tok = 64 * 300, /* pages grow to 500 to 1500 tokens: there is never room for all */
        .image_bytes = 1 << 30,
        .view_batch_shared = 2,
    };
    static struct storm_page *page[PAGES];
    struct engine e;
    int n = 0, n_cancel = 0, n_late = 0, n_ok = 0, n_broken = 0;

    assert_int_equal(
        engine_open(&e, SOURCE_DIR "/tests/fixtures/config_released.json", "sim:h200", &dev, &o),
        0);
    sim_break_pages(e.model.dev, 97);
    while (n < PAGES || e.n_live) {
        while (n < PAGES && e.n_live < e.max_live && storm_random(3)) {
            struct storm_page *p = page[n] = make_page(n);

            if (storm_random(12) == 0)
                p->req.deadline_ns = runner_now_ns(&e.runner) + 1 + storm_random(3000) * 1000000LL;
            engine_add(&e, &p->req);
            n++;
        }
        if (n && storm_random(50) == 0)
            atomic_store(
                &page[n - 1 - (int)storm_random((uint32_t)(n < 200 ? n : 200))]->req.is_cancelled,
                true);
        engine_turn(&e);
    }
    expect_calm(&e, page, PAGES);
    assert_in_range(e.sched.n_preempted, 300, INT64_MAX); /* the pool did run out */
    assert_in_range(e.images.n_hit, 1000, INT64_MAX);
    assert_in_range(e.runner.pool.n_shared_tok, 10000, INT64_MAX);
    for (int i = 0; i < PAGES; i++) {
        int rc = page[i]->req.rc;

        n_cancel += rc == RECTO_ECANCELED;
        n_late += rc == RECTO_EDEADLINE;
        n_broken += rc == RECTO_EDEVICE;
        n_ok += rc == 0;
        if (rc == RECTO_EDEVICE)
            assert_true(page[i]->may_fail);
        if (rc == 0)
            expect_solo(page[i], e.model.cfg.decoder.vocab);
        free(page[i]->req.id);
        free(page[i]);
    }
    print_message(
        "%d pages: %d ok, %d cancelled, %d late, %d broken; %lld preempted, %lld images and %lld tokens found\n",
        PAGES, n_ok, n_cancel, n_late, n_broken, (long long)e.sched.n_preempted,
        (long long)e.images.n_hit, (long long)e.runner.pool.n_shared_tok);
    assert_int_equal(n_ok + n_cancel + n_late + n_broken, PAGES);
    assert_in_range(n_ok, PAGES / 3, PAGES);
    assert_in_range(n_broken, 30, PAGES);
    assert_in_range(n_cancel, 300, PAGES);
    assert_in_range(n_late, 100, PAGES);
    engine_close(&e);
}

/* A row of 60 turns in full swing calls no allocator. */
static void steps_allocate_nothing(void **state)
{
    struct device_opts dev = {.name = "sim:h200"};
    struct engine_opts o = {
        .max_running = 64, .max_waiting = 64, .chunk_tok = 2048, .kv_tok = 64 * 2000};
    static struct storm_page *page[64];
    struct engine e;
    int64_t before;

    if (!COUNTS_CALLS)
        skip();
    assert_int_equal(
        engine_open(&e, SOURCE_DIR "/tests/fixtures/config_released.json", "sim:h200", &dev, &o),
        0);
    for (int i = 0; i < 64; i++) {
        page[i] = make_page(i);
        page[i]->req.image.a |= 1ULL << 63; /* 600 ids each */
        engine_add(&e, &page[i]->req);
    }
    for (int i = 0; i < 64;) { /* until every page decodes */
        engine_turn(&e);
        while (i < 64 && request_new(&page[i]->req) > 0)
            i++;
    }
    assert_int_equal(e.sched.n_running, 64);
    before = n_calls;
    assert_true(before > 0);
    for (int i = 0; i < 60; i++)
        assert_true(engine_turn(&e));
    assert_int_equal(n_calls, before);
    engine_close(&e);
    for (int i = 0; i < 64; i++) {
        free(page[i]->req.id);
        free(page[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storm_on_the_simulated_device),
        cmocka_unit_test(steps_allocate_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
