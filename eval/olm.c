#include "olm.h"

#include "olm_table.h"
#include "olm_text.h"
#include "omni_items.h"
#include "regex.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

enum verdict { FAILED, PASSED, UNRENDERED };

/* ---- small things ---------------------------------------------------------------------------- */

static const char *string_of(const json_t *test, const char *key)
{
    const char *s = json_string_value(json_object_get(test, key));

    return s ? s : "";
}

static size_t count_of(const json_t *test, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(test, key));

    return n > 0 ? (size_t)n : 0;
}

static bool flag_of(const json_t *test, const char *key, bool otherwise)
{
    const json_t *v = json_object_get(test, key);

    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

/* 1 - max_diffs / |text| */
static double threshold_of(const json_t *test, const struct eval_text *text)
{
    return 1 - (double)count_of(test, "max_diffs") / (double)(text->n ? text->n : 1);
}

static bool is_letter_or_digit(int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);

    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) ||
           (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

static void keep_letters(struct eval_text *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (is_letter_or_digit(t->code[i]))
            t->code[n++] = t->code[i];
    t->n = n;
}

/* ---- present, absent, order ------------------------------------------------------------------- */

/* The first first_n and the last last_n characters, or all. */
static void crop(struct eval_text *t, size_t first, size_t last)
{
    size_t head = first < t->n ? first : t->n, tail = last < t->n ? last : t->n;

    if (first == 0 && last == 0)
        return;
    memmove(t->code + head, t->code + (t->n - tail), tail * sizeof *t->code);
    t->n = head + tail;
    if (t->n > 0 && first + last > 0 && head + tail > first + last)
        t->n = first + last;
}

static enum verdict test_present(const json_t *test, const char *md)
{
    struct eval_text text = olm_fold(string_of(test, "text")), page = olm_fold(md), whole;
    size_t first = count_of(test, "first_n"), last = count_of(test, "last_n");
    bool is_there;

    if (!flag_of(test, "case_sensitive", true)) {
        olm_lower(&text);
        olm_lower(&page);
    }
    whole = (struct eval_text){eval_alloc(2 * page.n, sizeof(int32_t)), page.n};
    memcpy(whole.code, page.code, page.n * sizeof *page.code);
    crop(&whole, first, last);
    /* a page shorter than the text cannot hold it, whatever part of the text it is alike */
    is_there = whole.n + count_of(test, "max_diffs") >= text.n &&
               olm_partial_ratio(&text, &whole) >= threshold_of(test, &text);
    eval_text_reset(&text);
    eval_text_reset(&page);
    eval_text_reset(&whole);
    return is_there == (strcmp(string_of(test, "type"), "present") == 0) ? PASSED : FAILED;
}

static enum verdict test_order(const json_t *test, const char *md)
{
    enum { MOST = 1000 };
    size_t *before = eval_alloc(MOST, sizeof *before), *after = eval_alloc(MOST, sizeof *after);
    struct eval_text page = olm_fold(md), a = olm_fold(string_of(test, "before")),
                     b = olm_fold(string_of(test, "after"));
    int n_a = olm_find(&a, &page, count_of(test, "max_diffs"), before, MOST),
        n_b = olm_find(&b, &page, count_of(test, "max_diffs"), after, MOST);
    bool is_fine = n_a > 0 && n_b > 0 && before[0] < after[n_b - 1]; /* both lists rise */

    eval_text_reset(&page);
    eval_text_reset(&a);
    eval_text_reset(&b);
    free(before);
    free(after);
    return is_fine ? PASSED : FAILED;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_like(const json_t *test, const struct eval_text *want, const struct eval_text *got)
{
    double least = threshold_of(test, want);

    return olm_ratio(want, got) >= (least > 0.5 ? least : 0.5);
}

/* Every neighbour that the test names is there. */
static bool has_neighbours(const json_t *test, const struct olm_table *t,
                           const struct olm_cell *cell)
{
    static const char *const keys[] = {"up",    "down",        "left",
                                       "right", "top_heading", "left_heading"};
    bool has_all = true;

    for (int side = 0; side < 6 && has_all; side++) {
        struct eval_text want = olm_fold(string_of(test, keys[side]));
        bool has_it = want.n == 0;

        for (int i = 0; i < t->n && !has_it; i++)
            has_it = olm_is_at(cell, (enum olm_side)side, &t->cell[i]) &&
                     is_like(test, &want, &t->cell[i].text);
        has_all = has_it;
        eval_text_reset(&want);
    }
    return has_all;
}

static enum verdict test_table(const json_t *test, const char *md)
{
    struct omni_items items = omni_items_of(md);
    struct eval_text want = olm_fold(string_of(test, "cell"));
    bool is_found = false;

    for (int i = 0; i < items.n && !is_found; i++) {
        struct olm_table t = {0};

        if (items.item[i].kind == OMNI_HTML_TABLE)
            t = olm_table_of(items.item[i].text);
        for (int k = 0; k < t.n && !is_found; k++)
            is_found = is_like(test, &want, &t.cell[k].text) &&
                       has_neighbours(test, &t, &t.cell[k]);
        olm_table_reset(&t);
    }
    eval_text_reset(&want);
    omni_items_reset(&items);
    return is_found ? PASSED : FAILED;
}

/* ---- formulas -------------------------------------------------------------------------------- */

static char *trimmed(const char *s, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", *s))
        s++, n--;
    while (n > 0 && strchr(" \t\r\n", s[n - 1]))
        n--;
    return eval_string("%.*s", (int)n, s);
}

static enum verdict test_math(const json_t *test, const char *md)
{
    static const char *const patterns[] = {"\\\\\\((.+?)\\\\\\)", "\\\\\\[(.+?)\\\\\\]",
                                           "\\$\\$(.+?)\\$\\$", "\\$(.+?)\\$"};
    int n_pattern = flag_of(test, "ignore_dollar_delimited", false) ? 2 : 4;
    const char *want = string_of(test, "math");
    char *rest = eval_copy(md);
    bool is_found = false;

    for (int k = 0; k < n_pattern; k++) {
        struct regex *r = regex_make(patterns[k], REGEX_DOTALL);
        struct regex_match m;
        size_t n = strlen(rest);

        for (size_t at = 0; !is_found && regex_find(r, rest, n, at, &m); at = m.to[0]) {
            char *formula = trimmed(rest + m.from[1], m.to[1] - m.from[1]);

            is_found = strcmp(formula, want) == 0;
            free(formula);
        }
        regex_free(r);
        rest = regex_keep(rest, patterns[k], REGEX_DOTALL, -1);
    }
    free(rest);
    return is_found ? PASSED : UNRENDERED;
}

/* ---- baseline -------------------------------------------------------------------------------- */

/* How often the last n characters stand at the end, one behind the other. */
static size_t repeats_at_end(const struct eval_text *t, size_t n)
{
    size_t count = t->n >= n;

    while ((count + 1) * n <= t->n &&
           memcmp(t->code + t->n - n, t->code + t->n - (count + 1) * n, n * sizeof *t->code) == 0)
        count++;
    return count;
}

static bool is_disallowed(int32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3040 && c <= 0x30FF) ||
           (c >= 0x1F600 && c <= 0x1F64F) || (c >= 0x1F300 && c <= 0x1F5FF) ||
           (c >= 0x1F680 && c <= 0x1F6FF) || (c >= 0x1F1E0 && c <= 0x1F1FF);
}

static enum verdict test_baseline(const json_t *test, const char *md)
{
    const json_t *most = json_object_get(test, "max_length"),
                 *repeats = json_object_get(test, "max_repeats");
    size_t max_repeats = json_is_integer(repeats) ? (size_t)json_integer_value(repeats) : 30;
    bool skips_pictures = flag_of(test, "max_length_skips_image_alt_tags", false) &&
                          json_is_integer(most);
    char *s = eval_copy(md);
    struct eval_text page, letters;
    bool is_fine;

    s = skips_pictures ? regex_keep(s, "!\\[.*?\\]\\(.*?\\)", 0, -1) : s;
    letters = eval_text_of(s, strlen(s), EVAL_AS_IS);
    keep_letters(&letters);
    free(s);
    s = regex_put(eval_copy(md), "\\s+", 0, " ");
    page = eval_text_of(s, strlen(s), EVAL_AS_IS);
    free(s);
    is_fine = json_is_integer(most) ? letters.n <= (size_t)json_integer_value(most) : letters.n > 0;
    for (size_t n = 1; n <= 5 && is_fine && !json_is_integer(most); n++)
        is_fine = repeats_at_end(&page, n) <= max_repeats;
    for (size_t i = 0; i < page.n && is_fine && !json_is_integer(most) &&
                       flag_of(test, "check_disallowed_characters", true);
         i++)
        is_fine = !is_disallowed(page.code[i]);
    eval_text_reset(&letters);
    eval_text_reset(&page);
    return is_fine ? PASSED : FAILED;
}

/* ---- format, footnotes ----------------------------------------------------------------------- */

struct format {
    const char *name, *pattern;
    int flags;
};
static const struct format formats[] = {
    {"heading", "^#{1,6}\\s+(.+?)$", REGEX_LINES},
    {"heading", "<h[1-6][^>]*>(.*?)</h[1-6]>", REGEX_NOCASE | REGEX_DOTALL},
    {"bold", "\\*\\*(.*?)\\*\\*", REGEX_DOTALL},
    {"bold", "__(.*?)__", REGEX_DOTALL},
    {"bold", "<b[^>]*>(.*?)</b>", REGEX_NOCASE | REGEX_DOTALL},
    {"bold", "<strong[^>]*>(.*?)</strong>", REGEX_NOCASE | REGEX_DOTALL},
    {"italic", "(?<!\\*)\\*(?!\\*)(.*?)(?<!\\*)\\*(?!\\*)", REGEX_DOTALL},
    {"italic", "(?<!_)_(?!_)(.*?)(?<!_)_(?!_)", REGEX_DOTALL},
    {"italic", "<i[^>]*>(.*?)</i>", REGEX_NOCASE | REGEX_DOTALL},
    {"italic", "<em[^>]*>(.*?)</em>", REGEX_NOCASE | REGEX_DOTALL},
};

/* Is the text in a part that the pattern finds? */
static bool is_formatted(const json_t *test, const struct format *f, const char *md,
                         const struct eval_text *text)
{
    struct regex *r = regex_make(f->pattern, f->flags);
    size_t n = strlen(md), at = 0;
    struct regex_match m;
    bool is_found = false;

    while (!is_found && regex_find(r, md, n, at, &m)) {
        char *inner = eval_string("%.*s", (int)(m.to[1] - m.from[1]), md + m.from[1]);
        struct eval_text got = olm_fold(inner);

        if (!flag_of(test, "case_sensitive", true))
            olm_lower(&got);
        is_found = got.n > 0 && olm_partial_ratio(text, &got) >= threshold_of(test, text);
        eval_text_reset(&got);
        free(inner);
        at = m.to[0] > at ? m.to[0] : at + 1;
    }
    regex_free(r);
    return is_found;
}

static enum verdict test_format(const json_t *test, const char *md)
{
    struct eval_text text = olm_fold(string_of(test, "text"));
    bool is_found = false;

    if (!flag_of(test, "case_sensitive", true))
        olm_lower(&text);
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !is_found; i++)
        if (strcmp(formats[i].name, string_of(test, "format")) == 0)
            is_found = is_formatted(test, &formats[i], md, &text);
    eval_text_reset(&text);
    return is_found ? PASSED : FAILED;
}

/* The letters of up to 200 bytes at one side of a marker. */
static struct eval_text letters_beside(const char *md, size_t from, size_t to)
{
    char *s = eval_string("%.*s", (int)(to - from), md + from);
    struct eval_text t = olm_fold(s);

    keep_letters(&t);
    olm_lower(&t);
    free(s);
    return t;
}

/* `key`, if the test has it, is near the end (or start) of what is beside the marker. */
static bool has_beside(const json_t *test, const char *key, const char *md, size_t from, size_t to,
                       bool is_before)
{
    struct eval_text want = olm_fold(string_of(test, key)), got = letters_beside(md, from, to);
    double least = threshold_of(test, &want);
    bool has_it = want.n == 0;

    keep_letters(&want);
    olm_lower(&want);
    size_t n = got.n < 2 * want.n ? got.n : 2 * want.n;
    struct eval_text near = olm_part(&got, is_before ? got.n - n : 0, n);
    has_it = has_it || (got.n > 0 && olm_partial_ratio(&want, &near) >= least);
    eval_text_reset(&want);
    eval_text_reset(&got);
    return has_it;
}

/* Quoted for a pattern. */
static char *quoted(const char *s)
{
    return eval_string("\\Q%s\\E", strstr(s, "\\E") ? "" : s);
}

static char *superscript(const char *marker)
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    struct page_text out = {0};

    print_bytes(&out, "", 0);
    for (; *marker >= '0' && *marker <= '9'; marker++)
        print(&out, "%s", digits[*marker - '0']);
    if (*marker) /* not of digits alone: there is no such thing */
        out.p[out.n = 0] = '\0';
    return out.p;
}

static void look_at_markers(const json_t *test, const char *md, char *pattern, bool *seen,
                            bool *before, bool *after)
{
    struct regex *r = regex_make(pattern, REGEX_NOCASE);
    size_t n = strlen(md);
    struct regex_match m;

    for (size_t at = 0; regex_find(r, md, n, at, &m) && m.to[0] > m.from[0]; at = m.to[0]) {
        size_t from = m.from[0] > 200 ? m.from[0] - 200 : 0,
               to = m.to[0] + 200 < n ? m.to[0] + 200 : n;

        *seen = true;
        *before |= has_beside(test, "appears_before_marker", md, from, m.from[0], true);
        *after |= has_beside(test, "appears_after_marker", md, m.to[0], to, false);
    }
    regex_free(r);
    free(pattern);
}

static enum verdict test_footnote(const json_t *test, const char *md)
{
    char *marker = quoted(string_of(test, "marker")),
         *raised = superscript(string_of(test, "marker"));
    bool seen = false, before = false, after = false;

    look_at_markers(test, md, eval_string("\\[\\^%s\\](?!:)", marker), &seen, &before, &after);
    look_at_markers(test, md, eval_string("<sup[^>]*>%s</sup>", marker), &seen, &before, &after);
    if (raised[0])
        look_at_markers(test, md, quoted(raised), &seen, &before, &after);
    free(marker);
    free(raised);
    return seen && before && after ? PASSED : FAILED;
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    enum verdict (*run)(const json_t *test, const char *md);
} kinds[] = {
    {"present", test_present}, {"absent", test_present},    {"order", test_order},
    {"table", test_table},     {"math", test_math},         {"baseline", test_baseline},
    {"format", test_format},   {"footnote", test_footnote},
};

static enum verdict run_once(const json_t *test, const char *md)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].type, string_of(test, "type")) == 0)
            return kinds[i].run(test, md);
    return FAILED; /* set_olmocr.c lets no others in */
}

/* More than half of the repeats. */
static enum verdict run_test(const json_t *test, const struct eval_pred *p)
{
    int n = p->n_repeat ? p->n_repeat : 1, count[3] = {0};

    for (int i = 0; i < n; i++)
        count[run_once(test, p->n_repeat ? p->repeat[i] : p->md ? p->md : "")]++;
    return 2 * count[PASSED] > n ? PASSED : count[UNRENDERED] ? UNRENDERED : FAILED;
}

json_t *olm_score(const json_t *tests, const struct eval_pred *p)
{
    json_t *list = json_array(), *obj;
    const json_t *test;
    int count[3] = {0};
    size_t i;

    json_array_foreach(tests, i, test)
    {
        enum verdict v = run_test(test, p);

        count[v]++;
        json_array_append_new(
            list, json_pack("{ssssssso}", "id", string_of(test, "id"), "type",
                            string_of(test, "type"), "set", string_of(test, "set"), "passed",
                            v == UNRENDERED ? json_null() : json_boolean(v == PASSED)));
    }
    obj = json_pack("{sosisisi}", "tests", list, "passed", count[PASSED], "failed", count[FAILED],
                    "unrendered", count[UNRENDERED]);
    if (count[PASSED] + count[FAILED] > 0)
        json_object_set_new(obj, "pass_rate",
                            json_real((double)count[PASSED] / (count[PASSED] + count[FAILED])));
    return json_pack("{so}", "olmocr", obj);
}
