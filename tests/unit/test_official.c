/* The published scripts' text: 200 stored texts against a transcription in Python, the worked example,
 * and the files of several pages. */
#include "unit/written.h"

#include "base/json.h"
#include "result/official.h"

#include <string.h>

static const char *const modes[] = {"image", "pdf", "eval"};

static void expect_equal(str want, const struct buf *got, const char *mode, size_t i)
{
    if (!str_eq(want, buf_view(got)))
        print_error("case %zu, %s:\nwant: %.*s\ngot:  %s\n", i, mode, (int)want.n, want.p, got->p);
    assert_true(str_eq(want, buf_view(got)));
}

static void test_stored(void **state)
{
    json_t *root, *c;
    size_t i;

    assert_int_equal(json_read(&root, SOURCE_DIR "/tests/fixtures/official/cases.json", 1 << 24),
                     0);
    assert_int_equal(json_array_size(root), 200);
    json_array_foreach(root, i, c)
    {
        for (int m = OFFICIAL_IMAGE; m <= OFFICIAL_EVAL; m++) {
            int64_t page = 0;
            str text, want;
            struct buf b = {0};

            assert_int_equal(json_str(c, "case", "text", false, &text), 0);
            assert_int_equal(json_str(c, "case", modes[m], false, &want), 0);
            assert_int_equal(json_int(c, "case", "page", false, 0, 99, &page), 0);
            official_put(&b, (enum official)m, text, (int)page);
            expect_equal(want, &b, modes[m], i);
            buf_reset(&b);
        }
    }
    json_decref(root);
}

static void expect_pages(const char *format, const char *mode, struct recto_page *p, int n,
                         const char *want)
{
    struct recto_write_options o;
    struct written w = {0};

    recto_write_options_init(&o);
    o.official = mode;
    assert_string_equal(written(&w, format, &o, NULL, p, n), want);
    assert_int_equal(w.n_side, 0);
    written_reset(&w);
}

#define SPLIT "\n\n<--- Page Split --->\n"

static const char example[] = EXAMPLE;

static void test_example(void **state)
{
    struct recto_page p = {.number = 1,
                           .finish = RECTO_FINISH_EOS,
                           .raw = (char *)example,
                           .n_raw = sizeof example - 1};

    expect_pages(
        "mmd", "image", &p, 1,
        "\n# Report\n\n\nCost is $5 (2024).\n\n\n\\[ E := mc^{2} \\quad (1) \\]\n\n\n" EXAMPLE_TABLE
        "\n\n![](images/0.jpg)\n\n\n\n\nFig. 1. Map");
    expect_pages(
        "mmd", "pdf", &p, 1,
        "\n# Report\n\nCost is $5 (2024).\n\n\\[ E := mc^{2} \\quad (1) \\]\n\n" EXAMPLE_TABLE
        "\n\n![](images/0_0.jpg)\n\nFig. 1. Map" SPLIT);
    expect_pages("mmd", "eval", &p, 1,
                 "\n# Report\n\nCost is $5 (2024).\n\n\\[E \\coloneqq mc^{2}\\]\n\n" EXAMPLE_TABLE
                 "\n\nFig. 1. Map");
}

/* The pdf script drops a page without an end, and later ones move up; recto does so only here. */
static void test_pages(void **state)
{
    static char image[] = REF("image") DET("[]") "\n";
    struct recto_page p[3] = {
        {.finish = RECTO_FINISH_EOS, .raw = image, .n_raw = sizeof image - 1},
        {.finish = RECTO_FINISH_LENGTH, .raw = image, .n_raw = sizeof image - 1},
        {.finish = RECTO_FINISH_EOS, .raw = image, .n_raw = sizeof image - 1}};
    struct recto_page none = {.status = RECTO_PAGE_ERROR};

    expect_pages("mmd", "pdf", p, 3,
                 "![](images/0_0.jpg)\n\n" SPLIT "![](images/1_0.jpg)\n\n" SPLIT);
    expect_pages("mmd", "image", p, 2, "![](images/0.jpg)\n\n" SPLIT "![](images/0.jpg)\n\n");
    expect_pages("raw", "pdf", p, 2, REF("image") DET("[]") "\n" SPLIT);
    expect_pages("mmd", "image", &none, 1, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
