/* kill -9, at ten seeded moments of a job of 200 pages: every page ends exactly once, and who follows the log from the last
 * number it has seen finds neither a gap nor a repeat. */
#include "desk_process.h"

enum { PAGES = 200, KILLS = 10, DEATHS_MAX = 6 };

static void killed_ten_times_every_page_ends_once(void **state)
{
    struct client c = {.n_page = PAGES};
    unsigned seed = 20261130;

    new_data(&c);
    for (int i = 0; i < KILLS; i++) {
        int n = (int)((seed = seed * 1103515245u + 12345u) >> 16) % 60 + 1;
        start(&c);
        while (n-- > 0)
            assert_true(next_event(&c));
        usleep((seed >> 8) % 20000); /* not only at the end of a commit */
        stop(&c, true);
    }
    start(&c);
    while (strcmp(c.job_state, "done") != 0)
        assert_true(next_event(&c));
    stop(&c, false);
    for (int p = 1; p <= PAGES; p++) {
        assert_int_equal(c.n_ended[p], 1);
        assert_int_equal(c.attempt[p], 1);
    }
    end_data(&c);
}

/* A page that takes the process with it: given up at the third death; the others are read. */
static void a_page_that_kills_is_given_up(void **state)
{
    struct client c = {.n_page = 20, .poison = 7};
    int n_death = 0;

    new_data(&c);
    for (; strcmp(c.job_state, "done") != 0; n_death++) {
        assert_true(n_death < DEATHS_MAX);
        start(&c);
        while (strcmp(c.job_state, "done") != 0 && next_event(&c))
            ;
        stop(&c, strcmp(c.job_state, "done") != 0);
    }
    assert_int_equal(n_death - 1, 3);
    for (int p = 1; p <= 20; p++) {
        assert_int_equal(c.n_ended[p], 1);
        assert_int_equal(c.n_lost[p], p == 7);
    }
    end_data(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_ten_times_every_page_ends_once),
        cmocka_unit_test(a_page_that_kills_is_given_up),
    };

    if (desk_is_asked(argc, argv))
        return desk_process(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
