/* Overlap of boxes, their matching, reading order: values worked out by hand. */
#include "layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true((a) - (b) < 1e-12 && (b) - (a) < 1e-12)

static void overlap(void **state)
{
    struct recto_box a = {0, 0, 10, 10}, half = {5, 0, 15, 10}, far = {20, 20, 30, 30};
    struct recto_box corner = {5, 5, 15, 15}, inside = {2, 2, 4, 7}, line = {0, 0, 10, 0};

    NEAR(eval_iou(a, a), 1);
    NEAR(eval_iou(a, half), 50.0 / 150);
    NEAR(eval_iou(corner, a), 25.0 / 175);
    NEAR(eval_iou(a, inside), 10.0 / 100);
    NEAR(eval_iou(a, far), 0);
    NEAR(eval_iou(line, line), 0);
}

static void matching(void **state)
{
    struct recto_box truth[] = {{0, 0, 10, 10}, {0, 20, 10, 30}, {0, 40, 10, 50}};
    /* the first two both overlap truth 0: 8/10 and 10/10; the better one takes it */
    struct recto_box found[] = {{0, 0, 10, 8}, {0, 0, 10, 10}, {0, 26, 10, 36}};
    struct eval_match m = eval_match_boxes(truth, 3, found, 3, 0.2);

    assert_int_equal(m.n_pair, 2);
    NEAR(m.iou, (1 + 4.0 / 16) / 2);
    m = eval_match_boxes(truth, 3, found, 3, 0.5);
    assert_int_equal(m.n_pair, 1);
    NEAR(eval_recall(&m), 1.0 / 3);
    m = eval_match_boxes(truth, 3, found, 2, 0.5);
    NEAR(eval_precision(&m), 1.0 / 2);
    NEAR(eval_f1(&m), 2 * (1.0 / 3) * (1.0 / 2) / (1.0 / 3 + 1.0 / 2));
    m = eval_match_boxes(truth, 0, found, 0, 0.5);
    NEAR(eval_f1(&m), 1);
    m = eval_match_boxes(truth, 3, found, 0, 0.5);
    NEAR(eval_recall(&m), 0);
    NEAR(m.iou, 0);
}

static void order(void **state)
{
    NEAR(eval_order((int[]){0, 1, 2}, 3), 0);
    NEAR(eval_order((int[]){4, 7, 9}, 3), 0);
    NEAR(eval_order((int[]){1, 0}, 2), 1);
    NEAR(eval_order((int[]){0, 2, 1}, 3), 2.0 / 3);
    NEAR(eval_order((int[]){2, 0, 1}, 3), 2.0 / 3); /* one block moved to the end */
    NEAR(eval_order((int[]){3, 2, 1, 0}, 4), 1);
    NEAR(eval_order((int[]){-1, 0, 1}, 3), 0);
    NEAR(eval_order(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap),
        cmocka_unit_test(matching),
        cmocka_unit_test(order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
