/* Lists of pages, by a table. */
#include "fault.h"
#include "page_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PAGES = 10 };

static const struct {
    const char *list, *want; /* want: a letter a page, NULL: not a list */
    int code;
} cases[] = {
    {"all", "xxxxxxxxxx", 0},
    {"3", "..x.......", 0},
    {"1-5,8,-1", "xxxxx..x.x", 0},
    {"8-", ".......xxx", 0},
    {"-3--1", ".......xxx", 0},
    {"r2", "........x.", 0},
    {"odd", "x.x.x.x.x.", 0},
    {"even,1", "xx.x.x.x.x", 0},
    {"last", ".........x", 0},
    {"9-99", "........xx", 0},
    {"2,2,2-3", ".xx.......", 0},
    {"-99-2", "xx........", 0},
    {"11", NULL, JOBS_PAGE_OUT_OF_RANGE},
    {"5-3", NULL, JOBS_PAGE_OUT_OF_RANGE},
    {"", NULL, JOBS_INVALID_VALUE},
    {"0", NULL, JOBS_INVALID_VALUE},
    {"1,", NULL, JOBS_INVALID_VALUE},
    {",1", NULL, JOBS_INVALID_VALUE},
    {"1 2", NULL, JOBS_INVALID_VALUE},
    {"1-2-3", NULL, JOBS_INVALID_VALUE},
    {"--1", NULL, JOBS_INVALID_VALUE},
    {"oddly", NULL, JOBS_INVALID_VALUE},
    {"99999999999999999999", NULL, JOBS_PAGE_OUT_OF_RANGE},
};

static void lists_select_pages(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wanted[PAGES + 1];
        char got[PAGES + 1] = "";
        int rc = page_range_select(cases[i].list, PAGES, wanted, "pages");
        for (int p = 1; p <= PAGES; p++)
            got[p - 1] = wanted[p] ? 'x' : '.';
        if (rc != cases[i].code || (rc == 0 && strcmp(got, cases[i].want) != 0))
            fail_msg("'%s': %d, %s", cases[i].list, rc, got);
        assert_int_equal(page_range_check(cases[i].list, "pages"),
                         rc == JOBS_INVALID_VALUE ? rc : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_select_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
