/* Who has which part of a matrix: shares cover everything once, in whole units, and differ by one unit at most. */
#include "tensor/cut.h"
#include "tensor/quant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void heads_of_issue(void **state)
{
    static const struct {
        int heads, ranks, want[5];
    } all[] = {{5, 2, {3, 2}},        {5, 3, {2, 2, 1}}, {5, 5, {1, 1, 1, 1, 1}},
               {10, 4, {3, 3, 2, 2}}, {10, 2, {5, 5}},   {10, 5, {2, 2, 2, 2, 2}},
               {10, 3, {4, 3, 3}}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int r = 0, from = 0; r < all[i].ranks; r++) {
            struct cut_share s = cut_share((struct cut_rank){r, all[i].ranks}, 128 * all[i].heads,
                                           128);

            assert_int_equal(s.from, 128 * from);
            assert_int_equal(s.n, 128 * all[i].want[r]);
            from += all[i].want[r];
        }
}

static void covers(int64_t total, int n, enum weight_kind kind)
{
    int64_t at = 0, least = total, most = 0, unit = cut_unit((struct cut_rank){0, n}, total, kind);

    for (int r = 0; r < n; r++) {
        struct cut_rank rank = {r, n};
        struct cut_share s = cut_share(rank, total, unit);

        assert_int_equal(cut_unit(rank, total, kind), unit);
        assert_int_equal(s.from, at);
        at += s.n;
        least = s.n < least ? s.n : least;
        most = s.n > most ? s.n : most;
        if (quant_is(kind))
            assert_int_equal(s.from % quant_group(kind), 0);
    }
    assert_int_equal(at, total);
    assert_true(most - least < 2 * unit); /* the last unit may be short */
}

/* The released widths, mini's and tiny's. */
static void widths_are_covered(void **state)
{
    static const int64_t width[] = {896, 1792, 6848, 129280, 96, 192, 40, 80, 160, 640, 320};

    for (size_t i = 0; i < sizeof width / sizeof *width; i++)
        for (int n = 1; n <= 8; n++) {
            covers(width[i], n, WEIGHT_BF16);
            if (width[i] >= 64 * n)
                covers(width[i], n, WEIGHT_INT8);
            if (width[i] >= 32 * n)
                covers(width[i], n, WEIGHT_INT4);
        }
}

static void two_ranks_of_the_released_model_are_equal(void **state)
{
    const struct cut_rank second = {1, 2};

    assert_int_equal(cut_unit(second, 896, WEIGHT_BF16), 64);
    assert_int_equal(cut_share(second, 896, 64).n, 448);
    assert_int_equal(cut_unit(second, 6848, WEIGHT_BF16), 32);
    assert_int_equal(cut_share(second, 6848, 32).n, 3424);
    assert_int_equal(cut_share(second, 129280, cut_unit(second, 129280, WEIGHT_BF16)).from, 64640);
}

static void too_many_ranks_get_nothing(void **state)
{
    assert_int_equal(cut_share((struct cut_rank){5, 6}, 5 * 16, 16).n, 0);
    assert_int_equal(cut_share((struct cut_rank){4, 6}, 5 * 16, 16).n, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_of_issue),
        cmocka_unit_test(widths_are_covered),
        cmocka_unit_test(two_ranks_of_the_released_model_are_equal),
        cmocka_unit_test(too_many_ranks_get_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
