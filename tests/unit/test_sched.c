#include "engine/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

struct fixture {
    struct kv_pool pool;
    struct sched s;
};

static void open_sched(struct fixture *f, int n_block, struct sched_opts o)
{
    kv_pool_init(&f->pool, n_block, 16);
    sched_init(&f->s, &o, &f->pool);
}

static void close_sched(struct fixture *f)
{
    assert_int_equal(f->pool.n_free, f->pool.n_block);
    sched_reset(&f->s);
    kv_pool_reset(&f->pool);
}

static struct sched_page page_of(enum sched_class cls, uint64_t caller, uint64_t job, int n_prompt,
                                 int max_tok)
{
    return (struct sched_page){.cls = cls,
                               .caller = caller,
                               .job = job,
                               .n_prompt = n_prompt,
                               .max_tok = max_tok,
                               .n_encoded = 1};
}

static const struct sched_opts small = {.max_running = 4, .chunk_tok = 8, .view_batch = 4};

static void expect_part(const struct sched *s, int i, const struct sched_page *p, int n_tok,
                        bool is_last)
{
    assert_ptr_equal(s->step.part[i].page, p);
    assert_int_equal(s->step.part[i].n_tok, n_tok);
    assert_int_equal(s->step.part[i].is_last, is_last);
}

static void prompts_share_the_chunk_and_decoding_is_beside_it(void **state)
{
    struct fixture f;
    struct sched_page a = page_of(CLASS_NORMAL, 0, 0, 20, 40),
                      b = page_of(CLASS_NORMAL, 0, 0, 6, 40);

    open_sched(&f, 64, small);
    assert_int_equal(sched_add(&f.s, &a), 0);
    assert_int_equal(sched_add(&f.s, &b), 0);
    assert_true(sched_next(&f.s, 0)); /* the older prompt takes the whole chunk */
    assert_int_equal(f.s.step.n_part, 1);
    expect_part(&f.s, 0, &a, 8, false);
    sched_commit(&f.s, 1);
    assert_true(sched_next(&f.s, 0));
    expect_part(&f.s, 0, &a, 8, false);
    sched_commit(&f.s, 1);
    assert_true(sched_next(&f.s, 0)); /* its end and the start of the next */
    assert_int_equal(f.s.step.n_part, 2);
    expect_part(&f.s, 0, &a, 4, true);
    expect_part(&f.s, 1, &b, 4, false);
    sched_commit(&f.s, 1);
    a.n_known++;
    assert_true(sched_next(&f.s, 0)); /* one row that decodes, and the rest of b */
    expect_part(&f.s, 0, &a, 1, true);
    expect_part(&f.s, 1, &b, 2, true);
    sched_commit(&f.s, 1);
    assert_false(sched_next(&f.s, 0)); /* nothing new is known */
    sched_drop(&f.s, &a);
    sched_drop(&f.s, &b);
    close_sched(&f);
}

static void views_of_both_sizes_come_from_many_pages(void **state)
{
    struct fixture f;
    struct sched_page a = page_of(CLASS_NORMAL, 0, 0, 20, 40), b = a, c = a;

    a.image_end = b.image_end = c.image_end = 10;
    a.n_tile = 3, a.n_encoded = 0;
    b.n_tile = 0, b.n_encoded = 0;
    c.n_tile = 2, c.n_encoded = 0;
    open_sched(&f, 64, small);
    sched_add(&f.s, &a);
    sched_add(&f.s, &b);
    sched_add(&f.s, &c);
    assert_true(sched_next(&f.s, 0)); /* all of a: three tiles and the global view */
    assert_int_equal(f.s.step.n_view, 4);
    assert_ptr_equal(f.s.step.view[3].page, &a);
    assert_int_equal(f.s.step.view[3].view, 3);
    assert_int_equal(f.s.step.n_part, 0);
    sched_commit(&f.s, 1);
    assert_true(sched_next(&f.s, 0)); /* the one view of b and all of c, while a's prompt runs */
    assert_int_equal(f.s.step.n_view, 4);
    assert_ptr_equal(f.s.step.view[0].page, &b);
    assert_ptr_equal(f.s.step.view[1].page, &c);
    expect_part(&f.s, 0, &a, 8, false);
    sched_drop(&f.s, &a);
    assert_int_equal(f.s.step.n_part, 0); /* a page that leaves is out of the planned step too */
    sched_drop(&f.s, &b);
    sched_drop(&f.s, &c);
    assert_int_equal(f.s.step.n_view, 0);
    close_sched(&f);
}

static void the_youngest_gives_way_and_comes_back(void **state)
{
    struct fixture f;
    struct sched_page a = page_of(CLASS_NORMAL, 0, 0, 16, 64),
                      b = page_of(CLASS_NORMAL, 0, 0, 16, 64);

    open_sched(&f, 4, small); /* four blocks: each page starts with two and may want four */
    sched_add(&f.s, &a);
    sched_add(&f.s, &b);
    for (int i = 0; i < 200 && b.n_preempted == 0; i++) {
        assert_true(sched_next(&f.s, 0));
        sched_commit(&f.s, 1);
        a.n_known += a.n_cached == a.n_known;
        b.n_known += b.state == SCHED_RUNNING && b.n_cached == b.n_known;
    }
    assert_int_equal(b.n_preempted, 1);
    assert_int_equal(a.n_preempted, 0);
    assert_int_equal(b.state, SCHED_WAITING);
    assert_int_equal(b.n_cached, 0);
    assert_in_range(b.n_known, 17, 64); /* what it had read is still known */
    sched_drop(&f.s, &a);
    assert_true(sched_next(&f.s, 0));
    assert_int_equal(b.state, SCHED_RUNNING);
    assert_int_equal(f.s.step.n_part, 1);
    sched_drop(&f.s, &b);
    close_sched(&f);
}

static void a_page_that_can_never_fit_is_refused(void **state)
{
    struct fixture f;
    struct sched_page a = page_of(CLASS_NORMAL, 0, 0, 16, 65);

    open_sched(&f, 4, small);
    assert_int_equal(sched_add(&f.s, &a), RECTO_ENOSPC);
    assert_int_equal(waiting_count(&f.s.waiting), 0);
    close_sched(&f);
}

static void a_known_prompt_is_taken_over(void **state)
{
    const struct kv_key key[] = {{1, 1}, {2, 2}, {3, 3}};
    struct sched_opts o = small;
    struct fixture f;
    struct sched_page a = page_of(CLASS_NORMAL, 0, 0, 48, 80), b = a;

    o.chunk_tok = 64;
    a.key = b.key = key;
    a.n_key = b.n_key = 3;
    a.image_end = b.image_end = 30;
    b.n_encoded = 0; /* nobody has seen b's picture, but its rows are in the cache */
    open_sched(&f, 16, o);
    sched_add(&f.s, &a);
    assert_true(sched_next(&f.s, 0));
    sched_commit(&f.s, 1);
    sched_add(&f.s, &b);
    a.n_known++;
    assert_true(sched_next(&f.s, 0));
    assert_int_equal(b.n_cached,
                     32); /* the last block holds the last known id: it is computed again */
    assert_true(b.is_covered);
    assert_int_equal(f.s.step.n_view, 0);
    assert_int_equal(f.pool.block[a.kv.block[0]].n_holder, 2);
    expect_part(&f.s, 1, &b, 16, true);
    sched_drop(&f.s, &a);
    sched_drop(&f.s, &b);
    close_sched(&f);
}

/* With everybody waiting, admissions go 8 : 3 : 1, callers take turns, and a small job does not wait for a large one. */
static void shares_and_fairness(void **state)
{
    enum { N = 240 };
    struct waiting w = {0};
    struct sched_page *p = calloc(4 * N, sizeof *p);
    int n[CLASSES] = {0}, small_done = 0;

    for (int i = 0; i < 3 * N; i++) {
        p[i].cls = (enum sched_class)(i % 3);
        waiting_add(&w, &p[i], false);
    }
    for (int i = 0; i < 120; i++) {
        struct sched_page *q = waiting_peek(&w, CLASSES);

        n[q->cls]++;
        waiting_take(&w, q);
    }
    assert_int_equal(n[0], 80);
    assert_int_equal(n[1], 30);
    assert_int_equal(n[2], 10);
    waiting_reset(&w);

    for (int i = 0; i < N;
         i++) { /* a large job of one caller, then three pages of another job of the same caller */
        p[i] = (struct sched_page){.cls = CLASS_BATCH, .caller = 1, .job = i < N - 3 ? 1 : 2};
        waiting_add(&w, &p[i], false);
    }
    for (int i = 0; i < 7; i++) {
        struct sched_page *q = waiting_peek(&w, CLASSES);

        small_done += q->job == 2;
        waiting_take(&w, q);
    }
    assert_int_equal(small_done, 3);
    waiting_reset(&w);
    free(p);
}

static void reserved_places_are_for_interactive_pages(void **state)
{
    struct sched_opts o = small;
    struct fixture f;
    struct sched_page p[6];

    o.reserve = 1;
    open_sched(&f, 64, o);
    for (int i = 0; i < 5; i++) {
        p[i] = page_of(CLASS_BATCH, 0, 0, 16, 32);
        sched_add(&f.s, &p[i]);
    }
    sched_next(&f.s, 0);
    assert_int_equal(f.s.n_running, 3);
    p[5] = page_of(CLASS_INTERACTIVE, 0, 0, 16, 32);
    sched_add(&f.s, &p[5]);
    sched_next(&f.s, 0);
    assert_int_equal(p[5].state, SCHED_RUNNING);
    assert_true(f.s.step.is_interactive); /* and it runs alone first */
    assert_int_equal(f.s.step.n_part, 1);
    for (int i = 0; i < 6; i++)
        sched_drop(&f.s, &p[i]);
    close_sched(&f);
}

/* A first reading takes the place of a retry, which waits until no other page does and then goes on where it was. */
static void retries_never_delay_others(void **state)
{
    struct fixture f;
    struct sched_page retry[4], first[2];

    open_sched(&f, 64, (struct sched_opts){.max_running = 4, .chunk_tok = 64, .view_batch = 4});
    for (int i = 0; i < 4; i++) {
        retry[i] = page_of(CLASS_RETRY, 0, 0, 4, 40);
        assert_int_equal(sched_add(&f.s, &retry[i]), 0);
    }
    assert_true(sched_next(&f.s, 0));
    assert_int_equal(f.s.step.n_part, 4);
    sched_commit(&f.s, 1);
    for (int i = 0; i < 4; i++)
        retry[i].n_known++;
    for (int i = 0; i < 2; i++) {
        first[i] = page_of(i ? CLASS_NORMAL : CLASS_BATCH, 0, 0, 4, 40);
        assert_int_equal(sched_add(&f.s, &first[i]), 0);
    }
    assert_true(sched_next(&f.s, 0));
    assert_int_equal(first[0].state, SCHED_RUNNING);
    assert_int_equal(first[1].state, SCHED_RUNNING);
    assert_int_equal(f.s.n_running, 4);
    assert_int_equal(f.s.n_retry, 2);
    assert_int_equal(retry[3].state, SCHED_WAITING); /* the youngest gave way */
    assert_int_equal(retry[2].state, SCHED_WAITING);
    assert_int_equal(retry[2].n_known, 5); /* and keeps what it has read */
    sched_commit(&f.s, 1);
    sched_drop(&f.s, &first[0]);
    assert_true(sched_next(&f.s, 0));
    assert_int_equal(f.s.n_retry, 3);
    for (int i = 0; i < 4; i++)
        sched_drop(&f.s, &retry[i]);
    sched_drop(&f.s, &first[1]);
    close_sched(&f);
}

/* The only place there is, too. */
static void a_retry_gives_up_the_last_place(void **state)
{
    struct fixture f;
    struct sched_page retry = page_of(CLASS_RETRY, 0, 0, 4, 40),
                      first = page_of(CLASS_NORMAL, 0, 0, 4, 40);

    open_sched(&f, 64, (struct sched_opts){.max_running = 1, .chunk_tok = 64, .view_batch = 4});
    assert_int_equal(sched_add(&f.s, &retry), 0);
    assert_true(sched_next(&f.s, 0));
    sched_commit(&f.s, 1);
    assert_int_equal(sched_add(&f.s, &first), 0);
    assert_true(sched_next(&f.s, 0));
    assert_int_equal(first.state, SCHED_RUNNING);
    assert_int_equal(retry.state, SCHED_WAITING);
    sched_drop(&f.s, &retry);
    sched_drop(&f.s, &first);
    close_sched(&f);
}

/* Blocks too: what a first reading needs to grow, the retry gives back, were it the oldest of all. */
static void retries_give_blocks_back(void **state)
{
    struct fixture f;
    struct sched_page retry = page_of(CLASS_RETRY, 0, 0, 30, 64),
                      first = page_of(CLASS_NORMAL, 0, 0, 30, 64);

    open_sched(&f, 5, (struct sched_opts){.max_running = 4, .chunk_tok = 64, .view_batch = 4});
    assert_int_equal(sched_add(&f.s, &retry), 0);
    assert_true(sched_next(&f.s, 0));
    sched_commit(&f.s, 1);
    assert_int_equal(sched_add(&f.s, &first), 0);
    assert_true(sched_next(&f.s, 0));
    sched_commit(&f.s, 1);
    for (first.n_known++; first.n_known < 64; first.n_known++) {
        assert_true(sched_next(&f.s, 0));
        sched_commit(&f.s, 1);
        assert_int_equal(first.state, SCHED_RUNNING);
    }
    assert_int_equal(retry.state, SCHED_WAITING);
    assert_int_equal(first.n_preempted, 0);
    sched_drop(&f.s, &retry);
    sched_drop(&f.s, &first);
    close_sched(&f);
}

/* One more id for everybody who decodes; the views that the next step encodes. */
static int views_of_a_step(struct sched *s)
{
    assert_true(sched_next(s, 0));
    for (int i = 0; i < s->step.n_part; i++)
        s->step.part[i].page->n_known++;

    int n = s->step.n_view;

    sched_commit(s, 1);
    return n;
}

/* With 192 places taken and pages waiting, new ones begin by threes, or after 64 steps; when nobody waits, at once. */
static void new_pages_are_held_together(void **state)
{
    enum { PLACES = 192, PAGES = PLACES + 5 };
    struct fixture f;
    static struct sched_page p[PAGES];

    open_sched(&f, PAGES * 16, (struct sched_opts){PLACES, .chunk_tok = 4096, .view_batch = 28});
    for (int i = 0; i < PAGES; i++) {
        p[i] = page_of(CLASS_NORMAL, 0, 0, 4, 250);
        p[i].n_encoded = i < PLACES;
        p[i].image_end = 2;
        assert_int_equal(sched_add(&f.s, &p[i]), 0);
    }
    assert_int_equal(views_of_a_step(&f.s), 0);
    for (int i = 0; i < 2; i++) {
        sched_drop(&f.s, &p[i]);
        assert_int_equal(views_of_a_step(&f.s), 0);
    }
    sched_drop(&f.s, &p[2]);
    assert_int_equal(views_of_a_step(&f.s), 3);
    sched_drop(&f.s, &p[3]);
    for (int i = 0; i < 64; i++)
        assert_int_equal(views_of_a_step(&f.s), 0);
    assert_int_equal(views_of_a_step(&f.s), 1);
    sched_drop(&f.s, &p[4]);
    assert_int_equal(views_of_a_step(&f.s), 1); /* the last one that waited */
    for (int i = 5; i < PAGES; i++)
        sched_drop(&f.s, &p[i]);
    close_sched(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retries_never_delay_others),
        cmocka_unit_test(a_retry_gives_up_the_last_place),
        cmocka_unit_test(retries_give_blocks_back),
        cmocka_unit_test(prompts_share_the_chunk_and_decoding_is_beside_it),
        cmocka_unit_test(views_of_both_sizes_come_from_many_pages),
        cmocka_unit_test(the_youngest_gives_way_and_comes_back),
        cmocka_unit_test(a_page_that_can_never_fit_is_refused),
        cmocka_unit_test(a_known_prompt_is_taken_over),
        cmocka_unit_test(shares_and_fairness),
        cmocka_unit_test(reserved_places_are_for_interactive_pages),
        cmocka_unit_test(new_pages_are_held_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
