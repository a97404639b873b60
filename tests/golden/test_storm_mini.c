/* A storm over the mini model with its real thread: 240 pages of six pictures, with cancels, deadlines, a pool that runs out and
 * a page now and then whose attention breaks; every page that ends well equals its solo run. See storm.h. */
#include "base/clock.h"
#include "storm.h"

#include <time.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if __has_feature(thread_sanitizer)
#define PAGES 40 /* ten times slower there */
#else
#define PAGES 240
#endif

enum { PICTURES = 6, VISUAL = 257, NEW = 40, BROKEN_ID = 305 };

static unsigned char *picture[PICTURES];
static int32_t solo[PICTURES][NEW];
static int n_solo[PICTURES];
static atomic_int n_ended;

static void on_end(struct request *q)
{
    storm_done(q);
    atomic_fetch_add(&n_ended, 1);
}

/* Dark bars on white: enough for the model to write something, different for each picture. */
static void paint(unsigned char *px, int which)
{
    memset(px, 255, 1024 * 1024 * 3);
    for (int y = 100; y < 900; y++)
        for (int x = 100; x < 900; x++)
            if (y / 30 % 2 && x / (7 + 3 * which) % 3 == 0)
                memset(px + 3 * (y * 1024 + x), 20 * which, 3);
}

static struct storm_page *make_page(int which, bool breaks, int max_new)
{
    static const int32_t tail[] = {201, 40, 84, 71, 71};
    struct storm_page *p = mem_zero(1, sizeof *p);
    struct request *q = &p->req;
    int n = 0;

    p->which = which;
    p->may_fail = breaks;
    q->owner = p;
    q->s.cls = (enum sched_class)storm_random(CLASSES);
    q->s.caller = storm_random(3);
    q->id = mem_zero(VISUAL + 16 + (size_t)max_new, sizeof *q->id);
    q->id[n++] = 0;
    while (n < 1 + VISUAL)
        q->id[n++] = 280;
    for (size_t i = 0; i < COUNT(tail); i++)
        q->id[n++] = tail[i];
    if (breaks)
        q->id[n++] = BROKEN_ID;
    q->n_prompt = n;
    q->max_new = max_new;
    q->image_at = 1;
    q->n_visual = VISUAL;
    q->global = picture[which];
    q->image = (struct kv_key){(uint64_t)which + 1, 9};
    q->sampler = (struct sampler){.guard = {40, 180, {-1, -1}}, .top_p = 1};
    q->loops = (struct loop_opts){.cell_end = -1, .block_start = -1};
    q->keeps_going = true;
    q->on_done = on_end;
    return p;
}

static int broken_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                         const struct batch *b)
{
    for (int i = 0; i < b->n_tok; i++)
        if (b->id[i] == BROKEN_ID)
            return err(RECTO_EDEVICE, "device: a fault made for this test");
    return backend_cpu.attend(d, out, q, kv, layer, b);
}

static void open_mini(struct engine *e, struct backend *be, int64_t kv_tok, int running)
{
    struct device_opts dev = {.name = "cpu", .precision = "fp32", .kernels = "auto", .threads = 2};
    struct engine_opts o = {.max_running = running,
                            .max_waiting = 16,
                            .reserve = running > 1,
                            .chunk_tok = 100,
                            .kv_block_tok = 16,
                            .kv_tok = kv_tok,
                            .image_bytes = 1 << 20}; /* three of the six pictures */

    if (engine_open(e, SOURCE_DIR "/models/mini", "cpu", &dev, &o) < 0)
        fail_msg("%s", err_text());
    *be = backend_cpu;
    be->attend = broken_attend;
    e->runner.run.be = be;
    assert_int_equal(engine_start(e), 0);
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void await(int n)
{
    for (int i = 0; i < 300000 && atomic_load(&n_ended) < n;
         i++) /* ten minutes: a hang guard only */
        nap();
    assert_int_equal(atomic_load(&n_ended), n);
}

static void free_page(struct storm_page *p)
{
    free(p->req.id);
    free(p);
}

static void read_alone(void)
{
    struct backend be;
    struct engine e;

    open_mini(&e, &be, 2048, 1);
    for (int i = 0; i < PICTURES; i++) {
        struct storm_page *p = make_page(i, false, NEW);

        p->req.image = (struct kv_key){0};
        assert_int_equal(engine_submit_wait(&e, &p->req), 0);
        await(i + 1);
        assert_int_equal(p->req.rc, 0);
        n_solo[i] = request_new(&p->req);
        memcpy(solo[i], p->req.id + p->req.n_prompt, sizeof solo[i]);
        free_page(p);
    }
    engine_close(&e);
    atomic_store(&n_ended, 0);
}

static void expect_calm(struct engine *e)
{
    struct engine_stats s;

    for (int i = 0; i < 5000; i++) {
        engine_get_stats(e, &s);
        if (s.n_done == PAGES && s.n_running + s.n_waiting == 0 && s.n_block_free == s.n_block)
            break;
        nap();
    }
    assert_int_equal(s.n_done, PAGES);
    assert_int_equal(s.n_running, 0);
    assert_int_equal(s.n_waiting, 0);
    assert_int_equal(s.n_block_free, s.n_block);
}

static void storm_on_the_mini_model(void **state)
{
    static struct storm_page *page[PAGES];
    struct backend be;
    struct engine e;
    int n_ok = 0, n_cancel = 0, n_late = 0, n_broken = 0, n_event;

    for (int i = 0; i < PICTURES; i++) {
        picture[i] = mem_alloc(1024 * 1024 * 3);
        paint(picture[i], i);
    }
    read_alone();
    open_mini(&e, &be, 1200, 6); /* four pages of 263 + 40 tokens: six do not fit */
    for (int i = 0; i < PAGES; i++) {
        page[i] = make_page((int)storm_random(PICTURES), storm_random(15) == 0,
                            8 + (int)storm_random(NEW - 7));
        if (storm_random(8) == 0)
            page[i]->req.deadline_ns = clock_ns() + 1000000 + storm_random(200) * 1000000LL;
        assert_int_equal(engine_submit_wait(&e, &page[i]->req), 0);
        if (storm_random(5) == 0)
            atomic_store(&page[i - (int)storm_random((uint32_t)MIN(i + 1, 12))]->req.is_cancelled,
                         true);
    }
    await(PAGES);
    expect_calm(&e);
    engine_close(&e);
    for (int i = 0; i < PAGES; i++) {
        const struct request *q = &page[i]->req;

        assert_int_equal(page[i]->n_done, 1);
        n_ok += q->rc == 0;
        n_cancel += q->rc == RECTO_ECANCELED;
        n_late += q->rc == RECTO_EDEADLINE;
        n_broken += q->rc == RECTO_EDEVICE;
        if (q->rc == RECTO_EDEVICE || q->rc == 0)
            assert_int_equal(q->rc == RECTO_EDEVICE, page[i]->may_fail);
        if (q->rc == 0)
            assert_memory_equal(q->id + q->n_prompt, solo[page[i]->which],
                                (size_t)q->max_new * sizeof *q->id);
    }
    n_event = 2 * PAGES + n_cancel + n_late + n_broken; /* each joins and leaves */
    print_message("%d events: %d ok, %d cancelled, %d late, %d broken\n", n_event, n_ok, n_cancel,
                  n_late, n_broken);
    assert_int_equal(n_ok + n_cancel + n_late + n_broken, PAGES);
    assert_in_range(n_ok, PAGES / 4, PAGES);
    assert_in_range(n_broken, 1, PAGES);
    assert_in_range(n_cancel, 5, PAGES);
    for (int i = 0; i < PAGES; i++)
        free_page(page[i]);
    for (int i = 0; i < PICTURES; i++)
        free(picture[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storm_on_the_mini_model)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
