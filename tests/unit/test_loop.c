#include "decoder/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

enum { CELL_END = 99, BLOCK_START = 98, MAX = 20000 };

static struct loop_opts opt = {.cell_end = CELL_END, .block_start = BLOCK_START};

/* Feed a stream of n ids; the length at which the detector stops it (0: never), and what it keeps. */
static int feed(const int32_t *o, int n, const bool *forced, int *keep)
{
    struct loop l;

    loop_init(&l);
    for (int i = 1; i <= n; i++) {
        *keep = loop_put(&l, &opt, o, i, forced && forced[i - 1]);
        if (*keep >= 0)
            return i;
    }
    return 0;
}

static int32_t stream[MAX];

static int repeat(int start, int unit, int n)
{
    for (int i = 0; i < start; i++)
        stream[i] = 1000 + i;
    for (int i = start; i < n; i++)
        stream[i] = i < start + unit ? 2000 + i : stream[i - unit];
    return n;
}

/* The bound of the definition: need(p) + p ids, with one unit kept. */
static void exact_loops_stop_in_time(void **state)
{
    static const int units[] = {1, 2, 7, 31, 32, 33, 100, 200, 256};
    int keep;

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int p = units[i], need = 4 * p > 128 ? 4 * p : 128, n = repeat(50, p, 3000);

        assert_int_equal(feed(stream, n, NULL, &keep), 50 + p + need);
        assert_int_equal(keep, 50 + p);
    }
    assert_int_equal(feed(stream, repeat(50, 7, 3000), NULL, &keep), 50 + 135);
    assert_int_equal(feed(stream, repeat(50, 200, 3000), NULL, &keep), 50 + 1000);
    assert_int_equal(feed(stream, repeat(50, 257, 9000), NULL, &keep),
                     0); /* longer than the longest period */
}

static void random_text_never_stops(void **state)
{
    uint32_t rng = 5;
    int keep;

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3000; i++) {
            rng = rng * 1664525 + 1013904223;
            stream[i] = (int32_t)(rng >> 16) % 500;
        }
        assert_int_equal(feed(stream, 3000, NULL, &keep), 0);
    }
}

/* Tables: 365 equal cells, five in a row (<tr> 5 x (<td> 7 </td>) </tr>) or one, and 1000 empty ones, are honest. */
static void equal_cells_pass(void **state)
{
    int n = 0, keep;

    for (int row = 0; row < 73; row++) {
        stream[n++] = 1;
        for (int c = 0; c < 5; c++) {
            stream[n++] = 2, stream[n++] = 7, stream[n++] = CELL_END;
        }
        stream[n++] = 3;
    }
    assert_int_equal(n, 1241);
    assert_int_equal(feed(stream, n, NULL, &keep), 0);
    n = 0;
    for (int row = 0; row < 365; row++) {
        stream[n++] = 1, stream[n++] = 2, stream[n++] = 7, stream[n++] = CELL_END, stream[n++] = 3;
    }
    assert_int_equal(feed(stream, n, NULL, &keep), 0);
    n = 0;
    for (int c = 0; c < 1000; c++) {
        stream[n++] = 2, stream[n++] = CELL_END;
    }
    assert_int_equal(feed(stream, n, NULL, &keep), 0);
    for (int c = 0; c < 2000; c++) {
        stream[n++] = 2, stream[n++] = CELL_END;
    }
    assert_int_equal(feed(stream, n, NULL, &keep), 2 + 2000); /* but not without end */
}

static void twelve_interventions_in_256(void **state)
{
    static bool forced[MAX];
    int keep;

    for (int i = 0; i < 5000; i++)
        stream[i] = i, forced[i] = i >= 100 && i < 100 + 12 * 20 && (i - 100) % 20 == 0;
    assert_int_equal(feed(stream, 5000, forced, &keep), 100 + 11 * 20 + 1);
    assert_int_equal(keep, 100);
    for (int i = 0; i < 5000; i++)
        forced[i] = i % 24 == 0; /* eleven in any 256 */
    assert_int_equal(feed(stream, 5000, forced, &keep), 0);
    for (int i = 0; i < 5000; i++)
        forced[i] = i < 12; /* too early to say, and too far back later */
    assert_int_equal(feed(stream, 5000, forced, &keep), 0);
}

static void forced_ignored_on_request(void **state)
{
    static bool forced[MAX];
    int keep;

    for (int i = 0; i < 5000; i++)
        stream[i] = 1000 + i, forced[i] = true;
    opt.ignores_forced = true;
    assert_int_equal(feed(stream, 5000, forced, &keep), 0);
    opt.ignores_forced = false;
    assert_int_equal(feed(stream, 5000, forced, &keep), 64);
}

/* A block of 500 ids, longer than any period: at the start of the fifth equal one the second to fourth are known to repeat. */
static void three_equal_blocks(void **state)
{
    enum { LEN = 500 };
    int keep;

    for (int i = 0; i < 10 * LEN; i++)
        stream[i] = i % LEN == 0 ? BLOCK_START : 1000 + i % LEN;
    assert_int_equal(feed(stream, 10 * LEN, NULL, &keep), 4 * LEN + 1);
    assert_int_equal(keep, LEN);
    for (int b = 2; b < 10; b += 3)
        stream[b * LEN + 7] = b; /* two equal, then another one */
    assert_int_equal(feed(stream, 10 * LEN, NULL, &keep), 0);
}

static void too_many_blocks(void **state)
{
    int keep;

    for (int i = 0; i < MAX; i++)
        stream[i] = i % 10 == 0 ? BLOCK_START : 1000 + i;
    assert_int_equal(feed(stream, MAX, NULL, &keep), 4001);
    assert_int_equal(keep, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_loops_stop_in_time),    cmocka_unit_test(forced_ignored_on_request),
        cmocka_unit_test(three_equal_blocks),          cmocka_unit_test(too_many_blocks),
        cmocka_unit_test(random_text_never_stops),     cmocka_unit_test(equal_cells_pass),
        cmocka_unit_test(twelve_interventions_in_256),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
