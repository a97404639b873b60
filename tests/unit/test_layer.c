/* When the text of a PDF is trusted: the rules of page/layer.h on what pdftotext and pdffonts print. */
#include "base/mem.h"
#include "page/layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEADINGS                                                                                      \
    "name                                 type              encoding         emb sub uni object ID\n" \
    "------------------------------------ ----------------- ---------------- --- --- --- ---------\n"
#define GOOD \
    HEADINGS \
    "Helvetica                            Type 1            Standard         no  no  no       3  0\n"

/* n letters, then `more`. */
static const char *doubt(int n, const char *more, const char *fonts)
{
    struct buf text = {0};
    struct layer l;
    const char *why;

    for (int i = 0; i < n; i++)
        buf_text(&text, i % 2 ? "\xC3\xA9" : "x");
    buf_text(&text, more);
    layer_judge(&l, buf_view(&text), str_of(fonts));
    assert_int_equal(l.n_letter, n);
    why = l.doubt;
    layer_reset(&l);
    buf_reset(&text);
    return why;
}

static void letters(void **state)
{
    assert_null(doubt(200, " 1234567890 .,;:\n", GOOD));
    assert_non_null(doubt(199, " 1234567890 \xE2\x80\x9C.,;:!\n", GOOD));
}

/* One in a hundred may be foreign: three of 300, not three of 299. The last of them is no UTF-8. */
static void foreign(void **state)
{
    assert_null(doubt(297, "\xEF\xBF\xBD\xEE\x80\x80\xFF", GOOD));
    assert_non_null(doubt(296, "\xEF\xBF\xBD\xEE\x80\x80\xFF", GOOD));
}

static void fonts(void **state)
{
    static const char *const bad[] = {
        HEADINGS,
        "",
        GOOD
        "AAAAAA+CMSY10                        Type 1C           Builtin          yes yes no      12  0\n",
        GOOD
        "[none]                               Type 3            Custom           yes no  no      12  0\n",
        GOOD
        "AAAAAA+Song                          CID TrueType      Identity-H       yes yes no      12  0\n",
        GOOD "Broken\n",
    };

    for (size_t i = 0; i < COUNT(bad); i++)
        assert_non_null(doubt(300, "", bad[i]));
    assert_null(doubt(
        300, "",
        GOOD
        "A name of two words, longer than its column yes yes yes CID TrueType Identity-H yes yes yes 12  0\n"
        "BBBBBB+Inline                        TrueType          WinAnsi          yes yes no [none]\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters),
        cmocka_unit_test(foreign),
        cmocka_unit_test(fonts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
