/* One model cut over ranks is the same model: the ids of one rank, uneven shares (5 heads on 2 are 3 and 2) included, in batches
 * and alone; and a rank that fails costs the page at fault, no other, and no waiting. (recto verify --parallel tp=N compares
 * taps: cli/verify.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "golden/ranks_same.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(three_ranks),
        cmocka_unit_test(five_ranks),
        cmocka_unit_test(more_ranks_than_heads_are_refused),
        cmocka_unit_test(a_fault_costs_no_page),
    };

    tested = (struct tested){"cpu", &backend_cpu, 0};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
