/* Which pages a list of pages means. */
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "page/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void selects(const char *text, int n_page, const char *want, bool past)
{
    struct buf got = {0};
    int *page, n, is_past;

    if (range_select(text, n_page, &page, &n, &is_past) < 0)
        fail_msg("'%s': %s", text, err_text());
    for (int i = 0; i < n; i++)
        buf_fmt(&got, "%s%d", i ? " " : "", page[i]);
    assert_string_equal(got.p, want);
    assert_int_equal(is_past, past);
    buf_reset(&got);
    free(page);
}

static void refuses(const char *text, int n_page, const char *why)
{
    int *page, n, is_past;

    if (range_select(text, n_page, &page, &n, &is_past) != RECTO_EPAGERANGE ||
        !strstr(err_text(), why))
        fail_msg("'%s' of %d: got \"%s\", expected \"%s\"", text, n_page, err_text(), why);
    assert_null(page);
}

static void each_item(void **state)
{
    selects(NULL, 3, "1 2 3", false);
    selects("1-3,7", 8, "1 2 3 7", false);
    selects("-2", 8, "1 2", false);
    selects("r1", 8, "8", false);
    selects("r8", 8, "1", false);
    selects("odd", 8, "1 3 5 7", false);
    selects("odd", 7, "1 3 5 7", false);
    selects("even", 7, "2 4 6", false);
    selects("last", 8, "8", false);
    selects("6-", 8, "6 7 8", false);
    selects("8-", 8, "8", false);
    selects("5-2", 8, "5 4 3 2", false);
    selects("even,1", 1, "1", false);
}

static void order_and_duplicates(void **state)
{
    selects("7,1-3,2,last", 8, "7 1 2 3 8", false);
    selects(" 1 - 3 , 7\t,\nodd ", 8, "1 2 3 7 5", false);
    selects("3-1,1-3", 3, "3 2 1", false);
}

static void past_the_end(void **state)
{
    selects("7-12", 8, "7 8", true);
    selects("12-7", 8, "8 7", true);
    selects("1,99999999999999999999", 8, "1", true);
    selects("-99", 3, "1 2 3", true);
    selects("1,r9", 8, "1", true);
    refuses("9-", 8, "no page in '9-' (has 8)");
    refuses("9", 8, "no page in '9' (has 8)");
    refuses("r9", 8, "no page in 'r9' (has 8)");
    refuses("even", 1, "no page in 'even' (has 1)");
}

static void bad_lists(void **state)
{
    static const char *const bad[] = {"x",     "",      " ",       ",",   "1,",   ",1",    "1,,2",
                                      "0",     "0-3",   "3-0",     "-0",  "-",    "r0",    "r",
                                      "r-1",   "1-2-3", "1 2",     "1.5", "+1",   "odd2",  "--2",
                                      "lastx", "1;2",   "oddeven", "-r1", "1-r1", "1-last"};
    char *far = mem_zero(RANGE_TEXT_MAX + 2, 1);

    for (size_t i = 0; i < COUNT(bad); i++) {
        refuses(bad[i], 8, "bad page range '");
        assert_int_equal(range_check(bad[i]), RECTO_EPAGERANGE);
    }
    memset(far, '1', RANGE_TEXT_MAX + 1);
    refuses(far, 8, "bad page range '");
    free(far);
    assert_int_equal(range_check("1-3,7"), 0);
    assert_int_equal(range_check("9-"), 0);
    selects("all", 3, "1 2 3", false);
    selects("2,all", 3, "2 1 3", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item),
        cmocka_unit_test(order_and_duplicates),
        cmocka_unit_test(past_the_end),
        cmocka_unit_test(bad_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
