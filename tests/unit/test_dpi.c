/* How large a page is drawn. */
#include "base/err.h"
#include "page/dpi.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MANY ((int64_t)64 << 20)

static void draws(double w_pt, double h_pt, int dpi, double want_dpi, int w, int h)
{
    struct raster_size s;

    if (raster_size_of(&s, w_pt, h_pt, dpi, MANY) < 0)
        fail_msg("%g x %g: %s", w_pt, h_pt, err_text());
    if (s.w != w || s.h != h || fabs(s.dpi - want_dpi) > 0.05)
        fail_msg("%g x %g: %d x %d at %.2f dpi, expected %d x %d at %.2f", w_pt, h_pt, s.w, s.h,
                 s.dpi, w, h, want_dpi);
}

static void auto_fills_the_frame(void **state)
{
    draws(595.28, 841.89, 0, 197.04, 1629, 2304);  /* A4 */
    draws(612, 792, 0, 209.45, 1780, 2304);        /* Letter */
    draws(841.89, 1190.55, 0, 139.34, 1629, 2304); /* A3 */
    draws(2383.94, 3370.39, 0, 49.22, 1630, 2304); /* A0 */
    draws(960, 540, 0, 115.2, 1536, 864);          /* 16:9 */
    draws(2160, 2160, 0, 51.2, 1536, 1536);
}

static void auto_of_small_and_huge(void **state)
{
    draws(216, 216, 0, 300, 900, 900);
    draws(400, 72, 0, 300, 1667, 300);
    draws(8400, 8400, 0, 13.17, 1536, 1536);
}

static void given(void **state)
{
    draws(595.28, 841.89, 144, 144, 1191, 1684); /* as the official script */
    draws(612, 792, 36, 36, 306, 396);
    draws(1, 5000, 72, 72, 1, 5000);
}

static void refused(void **state)
{
    struct raster_size s;

    assert_int_equal(raster_size_of(&s, 0, 0, 0, MANY), RECTO_EDAMAGED);
    assert_int_equal(raster_size_of(&s, 0.5, 800, 0, MANY), RECTO_EDAMAGED);
    assert_int_equal(raster_size_of(&s, NAN, 800, 0, MANY), RECTO_EDAMAGED);
    assert_int_equal(raster_size_of(&s, INFINITY, 800, 0, MANY), RECTO_EDAMAGED);
    assert_int_equal(raster_size_of(&s, -5, 800, 0, MANY), RECTO_EDAMAGED);
    assert_int_equal(raster_size_of(&s, 8400, 8400, 600, MANY), RECTO_ETOOLARGE);
    assert_non_null(strstr(err_text(), "70000 x 70000"));
    assert_int_equal(raster_size_of(&s, 612, 792, 0, 1000), RECTO_ETOOLARGE);
    assert_int_equal(raster_size_of(&s, 900000, 1, 72, MANY), RECTO_ETOOLARGE); /* a side */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_fills_the_frame),
        cmocka_unit_test(auto_of_small_and_huge),
        cmocka_unit_test(given),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
