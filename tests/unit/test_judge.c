/* When a reading is not trusted, and what is blank before anything is read. */
#include "base/mem.h"
#include "judge.h"
#include "result/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum recto_status judged(const char *text, enum recto_block_kind kind, struct ink ink,
                                double conf, enum recto_task task)
{
    struct recto_block b = {.kind = kind, .text = (char *)text, .n_text = strlen(text)};
    struct recto_page p = {.block = &b, .n_block = 1, .n_token = 10, .conf = conf};
    struct recto_options o = {.task = task};
    bool warns;

    judge_page(&p, &ink, &o);
    warns = p.n_warning == 1;
    assert_int_equal(warns, p.status == RECTO_PAGE_SUSPECT);
    for (int i = 0; i < p.n_warning; i++)
        free(p.warning[i]);
    free(p.warning);
    return p.status;
}

static void statuses(void **state)
{
    const struct ink much = {.n_kept = 100, .n_ink = 10000, .n_pixel = 100000};
    const struct ink few = {.n_kept = 11, .n_ink = 10000, .n_pixel = 100000};
    const struct ink thin = {.n_kept = 100, .n_ink = 40, .n_pixel = 100000};
    const struct ink unknown = {0};
    char lots[202];

    memset(lots, 'x', 201);
    lots[201] = 0;
    assert_int_equal(judged("text", RECTO_BLOCK_TEXT, much, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_OK);
    assert_int_equal(judged("", RECTO_BLOCK_TEXT, much, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_SUSPECT);
    assert_int_equal(judged("", RECTO_BLOCK_TEXT, few, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_BLANK);
    assert_int_equal(judged("", RECTO_BLOCK_FIGURE, much, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_OK);
    assert_int_equal(judged(lots, RECTO_BLOCK_TEXT, few, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_SUSPECT);
    assert_int_equal(judged(lots, RECTO_BLOCK_TEXT, thin, 0.9, RECTO_TASK_OCR), RECTO_PAGE_SUSPECT);
    assert_int_equal(judged(lots + 1, RECTO_BLOCK_TEXT, few, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_OK);
    assert_int_equal(judged(lots, RECTO_BLOCK_TEXT, much, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_OK);
    assert_int_equal(judged(lots, RECTO_BLOCK_TEXT, few, 0.9, RECTO_TASK_DESCRIBE), RECTO_PAGE_OK);
    assert_int_equal(judged("", RECTO_BLOCK_TEXT, unknown, 0.9, RECTO_TASK_TEXT), RECTO_PAGE_OK);
    assert_int_equal(judged("text", RECTO_BLOCK_TEXT, much, 0.49, RECTO_TASK_TEXT),
                     RECTO_PAGE_SUSPECT);
}

/* White paper of any size is blank; a dark square on it is not. */
static void ink_on_rasters(void **state)
{
    static const struct {
        int w, h;
    } sizes[] = {{1, 5000}, {5000, 1}, {1, 1}, {100, 80}, {3001, 7000}, {1780, 2304}};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct recto_image im = {sizes[i].w, sizes[i].h, NULL};
        size_t n = (size_t)im.width * (size_t)im.height * 3, at;
        struct ink ink;

        im.rgb = mem_alloc(n);
        memset(im.rgb, 250, n);
        assert_int_equal(ink_of_raster(&ink, &im), 0);
        assert_true(ink_is_blank(&ink));
        for (int y = 0; y < 24 && im.width >= 80 && im.height >= 80; y++) {
            at = ((size_t)(im.height / 2 + y) * (size_t)im.width + (size_t)im.width / 2) * 3;
            memset(im.rgb + at, 120, 24 * 3);
        }
        if (im.width >= 80 && im.height >= 80) {
            assert_int_equal(ink_of_raster(&ink, &im), 0);
            assert_int_equal(ink.n_kept, 1);
            assert_false(ink_is_blank(&ink));
        }
        free(im.rgb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses),
        cmocka_unit_test(ink_on_rasters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
