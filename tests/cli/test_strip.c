/* Markers leave the stream wherever it is cut into pieces; everything else passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "strip.h"

struct sink {
    char text[3 * STRIP_MAX];
    size_t n;
};

static void collect(void *ctx, const char *text, size_t n)
{
    struct sink *s = ctx;
    assert_true(n > 0 && s->n + n < sizeof s->text);
    memcpy(s->text + s->n, text, n);
    s->n += n;
}

static void push_cut(struct sink *out, const char *text, size_t n, size_t cut)
{
    struct strip s = {.n_held = 0};

    *out = (struct sink){.n = 0};
    for (size_t at = 0; at < n; at += cut)
        strip_push(&s, text + at, n - at < cut ? n - at : cut, collect, out);
    strip_end(&s, collect, out);
    out->text[out->n] = 0;
}

static void cases_at_every_cut(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain text\n", "plain text\n"},
        {"<|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n# A\n\nb", "# A\n\nb"},
        {"a\n\n<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4], [5, 6, 7, 8]]<|/det|>\nb\n", "a\n\nb\n"},
        {"x<|ref|>the date<|/ref|>y", "xy"},
        {"<|det|>[[1]]<|/det|>\n\nz", "\nz"}, /* only one newline belongs to the marker */
        {"<<|ref|>a<|/ref|>>", "<>"},
        {"<td>1</td> a < b <| c <|re d", "<td>1</td> a < b <| c <|re d"},
        {"<|/ref|> alone", "<|/ref|> alone"},
        {"end <", "end <"},
        {"end <|re", "end <|re"},
        {"cut <|ref|>tit", "cut "}, /* an unfinished marker at the end of the page */
        {"\n\nstart", "\n\nstart"},
    };
    static struct sink out;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t cut = 1; cut <= strlen(cases[i].in) + 1; cut++) {
            push_cut(&out, cases[i].in, strlen(cases[i].in), cut);
            if (strcmp(out.text, cases[i].out) != 0)
                fail_msg("'%s' cut by %zu: '%s', expected '%s'", cases[i].in, cut, out.text,
                         cases[i].out);
        }
}

static void endless_marker_becomes_visible(void **state)
{
    static char in[STRIP_MAX + 100];
    static struct sink out;

    memset(in, 'x', sizeof in);
    memcpy(in, "<|ref|>", 7);
    push_cut(&out, in, sizeof in, 13);
    assert_int_equal(out.n, sizeof in);
    assert_memory_equal(out.text, in, sizeof in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_at_every_cut),
        cmocka_unit_test(endless_marker_becomes_visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
