/* States of pages and jobs: every step from every state; every small set of counters. */
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_step_from_every_state(void **state)
{
    /* "from step": what it leads to; all that is not here cannot happen. */
    static const struct {
        enum page_state from;
        enum page_step step;
        enum page_state to;
    } can[] = {
        {PAGE_QUEUED, STEP_CLAIM, PAGE_RENDERING},  {PAGE_QUEUED, STEP_CANCEL, PAGE_ENDED},
        {PAGE_RENDERING, STEP_START, PAGE_READING}, {PAGE_RENDERING, STEP_END, PAGE_ENDED},
        {PAGE_RENDERING, STEP_BACK, PAGE_QUEUED},   {PAGE_READING, STEP_END, PAGE_ENDED},
        {PAGE_READING, STEP_BACK, PAGE_QUEUED},     {PAGE_ENDED, STEP_RETRY, PAGE_QUEUED},
    };
    int n = 0;

    for (int from = 0; from < PAGE_STATES; from++)
        for (int step = 0; step < PAGE_STEPS; step++) {
            int to = -1;
            for (size_t i = 0; i < sizeof can / sizeof *can; i++)
                if ((int)can[i].from == from && (int)can[i].step == step)
                    to = (int)can[i].to;
            assert_int_equal(page_step((enum page_state)from, (enum page_step)step), to);
            n += to >= 0;
        }
    assert_int_equal(n, sizeof can / sizeof *can);
}

/* All jobs of up to three pages: written down once more, from the rules. */
static void check_job(const int count[JOB_COUNTS], bool has_begun, bool is_cancelled)
{
    int left = count[PAGE_QUEUED] + count[PAGE_RENDERING] + count[PAGE_READING];
    int bad = count[PAGE_ENDED + RECTO_PAGE_ERROR],
        cancelled = count[PAGE_ENDED + RECTO_PAGE_CANCELLED];
    int good = job_total(count) - left - bad - cancelled;
    enum job_state is = job_state_of(count, has_begun, is_cancelled);

    if (left)
        assert_int_equal(is, has_begun ? JOB_RUNNING : JOB_QUEUED);
    else if (is_cancelled || (good == 0 && bad == 0))
        assert_int_equal(is, JOB_CANCELLED);
    else
        assert_int_equal(is, good ? JOB_DONE : JOB_FAILED);
}

static void the_pages_make_the_job(void **state)
{
    for (int a = 0; a < JOB_COUNTS; a++)
        for (int b = 0; b < JOB_COUNTS; b++)
            for (int c = 0; c < JOB_COUNTS; c++)
                for (int flags = 0; flags < 4; flags++) {
                    int count[JOB_COUNTS] = {0};
                    count[a]++;
                    count[b]++;
                    count[c]++;
                    check_job(count, flags & 1, flags & 2);
                }
}

static void names_are_their_own_inverse(void **state)
{
    for (int s = 0; s < JOB_STATES; s++)
        assert_int_equal(job_state_of_name(job_state_name((enum job_state)s)), s);
    assert_int_equal(job_state_of_name("finished"), -1);
    for (int i = 0; i < JOB_COUNTS; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(job_count_name(i), job_count_name(k));
}

/* A strict order: nothing is better than itself, and never are two better than each other. */
static void readings_are_ordered(void **state)
{
    struct reading_rank all[(RECTO_PAGE_CANCELLED + 1) * 4];
    int n = 0;

    for (int s = 0; s <= RECTO_PAGE_CANCELLED; s++)
        for (int k = 0; k < 4; k++)
            all[n++] = (struct reading_rank){(enum recto_status)s, k & 1 ? 0.9 : 0.5,
                                             k & 2 ? 100 : 10};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            assert_false(reading_is_better(&all[i], &all[k]) &&
                         reading_is_better(&all[k], &all[i]));
    struct reading_rank ok = {RECTO_PAGE_OK, 0.5, 10}, loop = {RECTO_PAGE_LOOP, 0.9, 5000};
    struct reading_rank longer = {RECTO_PAGE_LENGTH, 0.1, 6000}, error = {RECTO_PAGE_ERROR, 0, 0};
    assert_true(reading_is_better(&ok, &loop));
    assert_true(reading_is_better(&longer, &loop));
    assert_true(reading_is_better(&loop, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_from_every_state),
        cmocka_unit_test(the_pages_make_the_job),
        cmocka_unit_test(names_are_their_own_inverse),
        cmocka_unit_test(readings_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
