/* TEDS: pairs worked out by hand, and the distance of small trees against the recursion that defines it. */
#include "table_tree.h"
#include "teds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void pairs(void **state)
{
    static const struct {
        const char *a, *b;
        double teds, teds_s;
    } pairs[] = {
        /* n, the distance, 1 - distance / n */
        {"<table><tr><td>a</td><td>b</td></tr></table>",
         "<table><tr><td>a</td><td>b</td></tr></table>", 1, 1},
        {"<table><tr><td>a</td><td>b</td></tr></table>",
         "<table><tr><td>a</td><td>c</td></tr></table>", 2.0 / 3, 1}, /* 3, 1 */
        {"<table><tr><td>a</td><td>b</td></tr></table>", "<table><tr><td>a</td></tr></table>",
         2.0 / 3, 2.0 / 3}, /* 3, 1 */
        {"<table><tr><td>abcd</td></tr></table>", "<table><tr><td>abxd</td></tr></table>", 0.875,
         1}, /* 2, 1/4 */
        {"<table><tr><td colspan=2>a</td></tr></table>", "<table><tr><td>a</td></tr></table>", 0.5,
         0.5},
        {"<table><tr><td rowspan=\"3\">a</td></tr></table>",
         "<table><tr><td rowspan='3'>a</td></tr></table>", 1, 1},
        {"<table><tr><td><b>a</b></td></tr></table>", "<table><tr><td>a</td></tr></table>", 7.0 / 9,
         1}, /* 3, 2/3 */
        {"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>",
         "<table><tr><td>a</td><td>b</td></tr></table>", 0.5, 0.5}, /* 6, 3 */
        {"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>",
         "<table><tr><td>a</td><td>b</td><td>c</td><td>d</td></tr></table>", 0.5,
         0.5}, /* 6, 3: two rows go, one comes */
        {"<table><thead><tr><td>a</td></tr></thead></table>", "<table><tr><td>a</td></tr></table>",
         2.0 / 3, 2.0 / 3}, /* 3, 1 */
        {"text <p>before</p><table><tr><td>\u4E2D\u6587</td></tr></table>",
         "<table><tr><td>\u4E2D</td></tr></table>", 0.75, 1},             /* 2, 1/2 */
        {"<table><tr><td>a", "<table><tr><td>a</td></tr></table>", 1, 1}, /* mended */
        {"<table><tr><td></td></tr></table>", "<table><tr><td></td></tr></table>", 1, 1},
        {"<table><tr><td></td></tr></table>", "<table><tr><td>a</td></tr></table>", 0.5,
         1}, /* 2, 1 */
        {"<table><tr><td>a b</td></tr></table>", "<table><tr><td>ab</td></tr></table>", 5.0 / 6,
         1}, /* 2, 1/3 */
        {"<table><tr><td>a</td></tr><tr><td>b</td></tr></table>",
         "<table><tr><td>b</td></tr><tr><td>a</td></tr></table>", 0.5,
         1}, /* 4, 2: both cells renamed */
        {"<table><tr><td>a</td></tr><tr><td>b</td></tr><tr><td>c</td></tr></table>",
         "<table><tr><td>a</td></tr><tr><td>c</td></tr></table>", 2.0 / 3, 2.0 / 3}, /* 6, 2 */
        {"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>",
         "<table><tr><td>a</td></tr><tr><td>c</td></tr></table>", 2.0 / 3,
         2.0 / 3}, /* 6, 2: a column */
        {"<table><tr><td>a</td><td>b</td><td>c</td></tr></table>",
         "<table><tr><td>a</td></tr><tr><td>b</td></tr><tr><td>c</td></tr></table>", 1.0 / 3,
         1.0 / 3}, /* 6, 4: a row goes, three come */
        {"<table><tr><th>a</th></tr></table>", "<table><tr><td>a</td></tr></table>", 0.5,
         0.5}, /* 2, 1 */
        {"<table><tbody><tr><td>a</td></tr></tbody></table>",
         "<table><tbody><tr><td>a</td></tr></tbody></table>", 1, 1},
        {"<table><thead><tr><td>a</td></tr></thead></table>",
         "<table><tbody><tr><td>a</td></tr></tbody></table>", 2.0 / 3, 2.0 / 3}, /* 3, 1 */
        {"<table><caption>x</caption><tr><td>a</td></tr></table>",
         "<table><tr><td>a</td></tr></table>", 2.0 / 3, 2.0 / 3}, /* 3, 1 */
        {"<table><tr><td colspan=2>a</td></tr></table>",
         "<table><tr><td colspan=3>a</td></tr></table>", 0.5, 0.5}, /* 2, 1 */
        {"<table><tr><td rowspan=2 colspan=2>a</td></tr></table>",
         "<table><tr><td colspan=2 rowspan=2>a</td></tr></table>", 1, 1},
        {"<table><tr><td colspan=2>ab</td></tr></table>",
         "<table><tr><td>ab</td><td></td></tr></table>", 1.0 / 3, 1.0 / 3}, /* 3, 2 */
        {"<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
         "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", 0.8, 0.8}, /* 5, 1 */
        {"<table><tr><td>a<br>b</td></tr></table>", "<table><tr><td>ab</td></tr></table>", 5.0 / 6,
         1}, /* 3, 2/4 */
        {"<table><tr><td><b>ab</b></td></tr></table>", "<table><tr><td><i>ab</i></td></tr></table>",
         5.0 / 6, 1}, /* 3, 2/4 */
        {"<table><tr><td>a&amp;b</td></tr></table>", "<table><tr><td>a&#38;b</td></tr></table>", 1,
         1},
        {"<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>",
         "<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>", 1,
         1}, /* inner elements are tokens, and count */
        {"<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>",
         "<table><tr><td><table><tr><td>b</td></tr></table></td></tr></table>", 34.0 / 35,
         1}, /* 5, 1/7 */
        {"<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>",
         "<table><tr><td>a</td></tr></table>", 29.0 / 35, 1}, /* 5, 6/7 */
        {"<table><tr><td>\u4E2D\u6587\u5B57</td></tr></table>",
         "<table><tr><td>\u4E2D\u5B57</td></tr></table>", 5.0 / 6, 1}, /* 2, 1/3 */
        {"<table><tr><td>e\u0301</td></tr></table>", "<table><tr><td>\u00E9</td></tr></table>", 0.5,
         1}, /* 2, 1: codes as they are */
        {"<TABLE><TR><TD>a</TD></TR></TABLE>", "<table><tr><td>a</td></tr></table>", 1, 1},
        {"<table><tr><td>a</td></tr></table><table><tr><td>b</td></tr></table>",
         "<table><tr><td>a</td></tr></table>", 1, 1}, /* the first of each */
        {"no table", "<table><tr><td>a</td></tr></table>", 0, 0},
        {"<table></table>", "<table><tr><td>a</td></tr></table>", 0, 0},
        {"", "", 0, 0},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        for (int swap = 0; swap < 2; swap++) {
            const char *a = swap ? pairs[i].b : pairs[i].a, *b = swap ? pairs[i].a : pairs[i].b;
            double teds = eval_teds(a, b, false, NULL), teds_s = eval_teds(a, b, true, NULL);

            if (teds - pairs[i].teds > 1e-6 || pairs[i].teds - teds > 1e-6 ||
                teds_s - pairs[i].teds_s > 1e-6 || pairs[i].teds_s - teds_s > 1e-6)
                fail_msg("%s and %s: TEDS %f, S %f; expected %f, %f", a, b, teds, teds_s,
                         pairs[i].teds, pairs[i].teds_s);
        }
    }
}

/* ---- the definition ------------------------------------------------------------------------------ */

static double rename_cost(const struct table_node *a, const struct table_node *b)
{
    size_t longer = a->content.n > b->content.n ? a->content.n : b->content.n;

    if (strcmp(a->tag, b->tag) != 0 || a->colspan != b->colspan || a->rowspan != b->rowspan)
        return 1;
    return longer ? (double)eval_lev(&a->content, &b->content) / (double)longer : 0;
}

/* Forests of the nodes a0 ... a1 and b0 ... b1 in postorder: their last roots go, come, or are matched. */
static double forests(const struct table_tree *a, int a0, int a1, const struct table_tree *b,
                      int b0, int b1)
{
    if (a1 < a0 || b1 < b0)
        return (a1 < a0 ? 0 : a1 - a0 + 1) + (b1 < b0 ? 0 : b1 - b0 + 1);
    int la = a->node[a1].left, lb = b->node[b1].left;
    double gone = forests(a, a0, a1 - 1, b, b0, b1) + 1,
           come = forests(a, a0, a1, b, b0, b1 - 1) + 1;
    double matched = forests(a, la, a1 - 1, b, lb, b1 - 1) + forests(a, a0, la - 1, b, b0, lb - 1) +
                     rename_cost(&a->node[a1], &b->node[b1]);

    gone = come < gone ? come : gone;
    return matched < gone ? matched : gone;
}

static void random_table(char *out, unsigned *seed)
{
    static const char *const wraps[] = {"thead", "tbody", NULL, NULL};
    const char *letters = "abcabc", *wrap = wraps[rand_r(seed) % 4];
    int n_row = 1 + rand_r(seed) % 2;

    out += sprintf(out, "<table>");
    if (wrap)
        out += sprintf(out, "<%s>", wrap);
    for (int r = 0; r < n_row; r++) {
        int n_cell = rand_r(seed) % 3;

        out += sprintf(out, "<tr>");
        for (int c = 0; c < n_cell; c++)
            out += sprintf(out, "<td%s>%.*s</td>", rand_r(seed) % 5 ? "" : " colspan=2",
                           rand_r(seed) % 4, letters + rand_r(seed) % 3);
        out += sprintf(out, "</tr>");
    }
    sprintf(out, "%s</table>", wrap && wrap[1] == 'h' ? "</thead>" : wrap ? "</tbody>" : "");
}

static void against_the_definition(void **state)
{
    unsigned seed = 5;

    for (int k = 0; k < 300; k++) {
        char x[512], y[512];

        random_table(x, &seed);
        random_table(y, &seed);
        struct table_tree a = table_tree_of(x, false), b = table_tree_of(y, false);
        int longer = a.n_below > b.n_below ? a.n_below : b.n_below;
        double d = forests(&a, 0, a.n - 1, &b, 0, b.n - 1), teds = eval_teds(x, y, false, NULL);

        assert_true(a.n_below > 0 && b.n_below > 0);
        if (1 - d / longer - teds > 1e-6 || teds - 1 + d / longer > 1e-6)
            fail_msg("%s and %s: TEDS %f, by definition %f", x, y, teds, 1 - d / longer);
        table_tree_reset(&a);
        table_tree_reset(&b);
    }
}

/* More nodes than the tree distance is given: rows are compared, and it says so. */
static char *tall_table(int n_row, int changed)
{
    char *html = malloc((size_t)n_row * 64 + 64), *at = html;

    at += sprintf(at, "<table>");
    for (int i = 0; i < n_row; i++)
        at += sprintf(at, "<tr><td>%d</td><td>%s</td></tr>", i, i == changed ? "xyz" : "abc");
    sprintf(at, "</table>");
    return html;
}

static void large_tables(void **state)
{
    char *a = tall_table(2200, -1), *b = tall_table(2200, 700), *c = tall_table(2199, -1);
    bool is_rough;
    double n = 2200 * 3;

    assert_true(eval_teds(a, a, false, &is_rough) == 1 && is_rough);
    assert_true(eval_teds(a, b, false, NULL) - (1 - 1 / n) < 1e-9);
    assert_true(eval_teds(a, b, false, NULL) < 1);
    assert_true(eval_teds(a, c, false, NULL) - (1 - 3 / n) < 1e-9);
    assert_true(eval_teds(a, c, false, NULL) > 1 - 4 / n);
    free(a);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),
        cmocka_unit_test(against_the_definition),
        cmocka_unit_test(large_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
