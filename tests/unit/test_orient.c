/* The eight orientations of a small picture whose pixels are all different. */
#include "page/orient.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Stored is  a b c   and this is what each orientation shows, row by row, by the table of the EXIF
 *            d e f   standard: which side the stored first row and first column are on. */
static const struct {
    int w, h;
    const char *rows;
} shown[9] = {
    [1] = {3, 2, "abcdef"}, [2] = {3, 2, "cbafed"}, [3] = {3, 2, "fedcba"}, [4] = {3, 2, "defabc"},
    [5] = {2, 3, "adbecf"}, [6] = {2, 3, "daebfc"}, [7] = {2, 3, "fcebda"}, [8] = {2, 3, "cfbead"}};

static struct recto_image letters(void)
{
    struct recto_image im = {.width = 3, .height = 2, .rgb = mem_alloc(18)};

    for (int i = 0; i < 6; i++) {
        im.rgb[3 * i] = (unsigned char)('a' + i);
        im.rgb[3 * i + 1] = (unsigned char)i;
        im.rgb[3 * i + 2] = (unsigned char)(200 + i);
    }
    return im;
}

static void all_eight(void **state)
{
    for (int o = 1; o <= 8; o++) {
        struct recto_image im = letters();

        assert_int_equal(orient_apply(&im, o), 0);
        assert_int_equal(im.width, shown[o].w);
        assert_int_equal(im.height, shown[o].h);
        for (int i = 0; i < 6; i++) {
            int k = shown[o].rows[i] - 'a';

            assert_int_equal(im.rgb[3 * i], 'a' + k);
            assert_int_equal(im.rgb[3 * i + 1], k);
            assert_int_equal(im.rgb[3 * i + 2], 200 + k);
        }
        free(im.rgb);
    }
}

static void unknown_means_upright(void **state)
{
    static const int odd[] = {0, -1, 9, 255, 1 << 20};

    for (size_t k = 0; k < COUNT(odd); k++) {
        struct recto_image im = letters(), same = letters();

        assert_int_equal(orient_apply(&im, odd[k]), 0);
        assert_int_equal(im.width, 3);
        assert_memory_equal(im.rgb, same.rgb, 18);
        free(im.rgb);
        free(same.rgb);
    }
}

/* Sizes around the block of the inner loop; turning there and back gives the picture again. */
static void there_and_back(void **state)
{
    static const int back[9] = {0, 1, 2, 3, 4, 5, 8, 7, 6};
    static const int sizes[][2] = {{1, 1}, {1, 70}, {31, 33}, {32, 64}, {65, 2}, {100, 67}};

    for (size_t k = 0; k < COUNT(sizes); k++) {
        size_t n = (size_t)sizes[k][0] * (size_t)sizes[k][1] * 3;

        for (int o = 1; o <= 8; o++) {
            struct recto_image im = {sizes[k][0], sizes[k][1], mem_alloc(n)};
            unsigned char *was = mem_alloc(n);

            for (size_t i = 0; i < n; i++)
                was[i] = im.rgb[i] = (unsigned char)(i * 2654435761u >> 20);
            assert_int_equal(orient_apply(&im, o), 0);
            assert_int_equal(orient_apply(&im, back[o]), 0);
            assert_int_equal(im.width, sizes[k][0]);
            assert_int_equal(im.height, sizes[k][1]);
            assert_memory_equal(im.rgb, was, n);
            free(im.rgb);
            free(was);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_eight),
        cmocka_unit_test(unknown_means_upright),
        cmocka_unit_test(there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
