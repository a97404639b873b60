/* Whose pages are next, by small cases. */
#include "fair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Serve n pages, one by one; counts by job (below 10) and by class. */
static void serve(struct fair *f, int n, int by_job[10], int by_class[3])
{
    enum recto_class class;
    int64_t job;

    memset(by_job, 0, 10 * sizeof *by_job);
    memset(by_class, 0, 3 * sizeof *by_class);
    for (int i = 0; i < n && fair_next(f, false, &job, &class); i++) {
        by_job[job]++;
        by_class[class]++;
        fair_served(f, class, job, 1, fair_waiting(f, class, job) - 1);
    }
}

static void classes_share_eight_to_three_to_one(void **state)
{
    struct fair *f = fair_new();
    int job[10], class[3];

    fair_add(f, RECTO_CLASS_BATCH, "a", 1, 1000);
    fair_add(f, RECTO_CLASS_NORMAL, "a", 2, 1000);
    fair_add(f, RECTO_CLASS_INTERACTIVE, "a", 3, 1000);
    serve(f, 120, job, class);
    assert_int_equal(class[RECTO_CLASS_INTERACTIVE], 80);
    assert_int_equal(class[RECTO_CLASS_NORMAL], 30);
    assert_int_equal(class[RECTO_CLASS_BATCH], 10);
    fair_free(f);
}

/* An owner with many jobs gets no more than one with a single job. */
static void owners_share_alike_then_their_jobs(void **state)
{
    struct fair *f = fair_new();
    int job[10], class[3];

    fair_add(f, RECTO_CLASS_NORMAL, "anna", 1, 1000);
    for (int i = 2; i <= 5; i++)
        fair_add(f, RECTO_CLASS_NORMAL, "bert", i, 1000);
    serve(f, 80, job, class);
    assert_int_equal(job[1], 40);
    for (int i = 2; i <= 5; i++)
        assert_int_equal(job[i], 10);
    fair_free(f);
}

/* Three pages that come while three thousand wait are through after six. */
static void a_small_job_is_soon_through(void **state)
{
    struct fair *f = fair_new();
    int job[10], class[3];

    fair_add(f, RECTO_CLASS_NORMAL, "a", 1, 3000);
    serve(f, 500, job, class);
    fair_add(f, RECTO_CLASS_NORMAL, "a", 2, 3);
    serve(f, 6, job, class);
    assert_int_equal(job[2], 3);
    assert_int_equal(job[1], 3);
    fair_free(f);
}

/* Who was away is not owed the past. */
static void idle_time_is_not_saved_up(void **state)
{
    struct fair *f = fair_new();
    int job[10], class[3];

    fair_add(f, RECTO_CLASS_NORMAL, "a", 1, 1);
    fair_add(f, RECTO_CLASS_BATCH, "b", 2, 1000);
    serve(f, 400, job, class);
    fair_add(f, RECTO_CLASS_NORMAL, "a", 3, 1000);
    serve(f, 40, job, class);
    assert_in_range(job[2], 9, 11);
    fair_free(f);
}

static void what_is_dropped_is_not_served(void **state)
{
    struct fair *f = fair_new();
    int job[10], class[3];
    enum recto_class c;
    int64_t j;

    fair_add(f, RECTO_CLASS_NORMAL, "a", 1, 10);
    fair_add(f, RECTO_CLASS_INTERACTIVE, "a", 1, 2);
    fair_add(f, RECTO_CLASS_BATCH, "a", 2, 10);
    assert_true(fair_next(f, true, &j, &c));
    fair_drop(f, 1);
    assert_false(fair_next(f, true, &j, &c));
    serve(f, 100, job, class);
    assert_int_equal(job[1], 0);
    assert_int_equal(job[2], 10);
    assert_false(fair_next(f, false, &j, &c));
    fair_free(f);
}

struct told {
    int n, ahead[10];
};

static void hear(void *ctx, int64_t job, int n_ahead)
{
    struct told *t = ctx;

    assert_in_range(job, 0, 9);
    t->ahead[job] = n_ahead;
    t->n++;
}

/* What is said to be ahead is what is served before. */
static void looking_ahead_says_what_comes(void **state)
{
    struct fair *f = fair_new();
    struct told t = {0};
    enum recto_class class;
    int64_t job;

    fair_add(f, RECTO_CLASS_BATCH, "a", 1, 100);
    fair_add(f, RECTO_CLASS_NORMAL, "a", 2, 30);
    fair_add(f, RECTO_CLASS_NORMAL, "b", 3, 7);
    fair_add(f, RECTO_CLASS_NORMAL, "b", 4, 9);
    fair_add(f, RECTO_CLASS_INTERACTIVE, "c", 5, 40);
    fair_look_ahead(f, 4, 1000, hear, &t);
    assert_int_equal(t.n, 5);
    bool was_served[10] = {0};
    for (int n = 0; fair_next(f, false, &job, &class);) {
        int left = fair_waiting(f, class, job), take = left < 4 ? left : 4;
        if (!was_served[job])
            assert_int_equal(t.ahead[job], n);
        was_served[job] = true;
        n += take;
        fair_served(f, class, job, take, left - take);
    }
    t.n = 0;
    fair_look_ahead(f, 4, 1000, hear, &t); /* nobody waits */
    assert_int_equal(t.n, 0);
    fair_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_share_eight_to_three_to_one),
        cmocka_unit_test(owners_share_alike_then_their_jobs),
        cmocka_unit_test(a_small_job_is_soon_through),
        cmocka_unit_test(idle_time_is_not_saved_up),
        cmocka_unit_test(what_is_dropped_is_not_served),
        cmocka_unit_test(looking_ahead_says_what_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
