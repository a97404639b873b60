#include "omni_norm.h"

#include "files.h"
#include "latex.h"
#include "regex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <utf8proc.h>

/* ---- paragraphs ------------------------------------------------------------------------------ */

/* $...$ and \(...\) on one line that hold more than plain characters. */
static char *with_formulas_read(const char *s)
{
    struct regex *r = regex_make("\\$(.*?)\\$|\\\\\\((.*?)\\\\\\)", 0);
    size_t n = strlen(s), done = 0;
    struct page_text out = {0};
    struct regex_match m;

    for (size_t at = 0; regex_find(r, s, n, at, &m); at = m.to[0]) {
        int g = m.from[1] <= m.to[1] ? 1 : 2;
        char *inner = eval_string("%.*s", (int)(m.to[g] - m.from[g]), s + m.from[g]);

        inner = regex_keep(inner, "\\\\([\\\\_&%^])", 0, -1);
        print_bytes(&out, s + done, m.from[0] - done);
        if (strpbrk(inner, "\\^_")) {
            char *text = latex_to_text(inner);

            print(&out, "%s", text);
            free(text);
        } else
            print_bytes(&out, s + m.from[0], m.to[0] - m.from[0]);
        done = m.to[0];
        free(inner);
    }
    print_bytes(&out, s + done, n - done);
    regex_free(r);
    return out.p;
}

/* What \w matches in Python's re: letters, numbers of all kinds, the underscore. */
static bool is_word(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return true;
    default:
        return c == '_';
    }
}

static struct eval_text words_only(char *s)
{
    static const char *const breaks[] = {"\\\\t", "\\\\n", "/t", "/n"};
    struct eval_text t;
    size_t n = 0;

    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        s = regex_keep(s, breaks[i], 0, -1);
    t = eval_text_of(s, strlen(s), EVAL_AS_IS);
    for (size_t i = 0; i < t.n; i++)
        if (is_word(t.code[i]))
            t.code[n++] = t.code[i];
    t.n = n;
    free(s);
    return t;
}

struct eval_text omni_text(const char *s)
{
    return words_only(with_formulas_read(s));
}

struct eval_text omni_formula_as_text(const char *s)
{
    return words_only(latex_to_text(s));
}

/* ---- formulas -------------------------------------------------------------------------------- */

static char *stripped(char *s, const char *of)
{
    size_t from = strspn(s, of), to = strlen(s);

    while (to > from && strchr(of, s[to - 1]))
        to--;
    char *out = eval_string("%.*s", (int)(to - from), s + from);
    free(s);
    return out;
}

/* What is between \[ and \], if there are such. */
static char *without_brackets(char *s)
{
    struct regex *r = regex_make("\\\\\\[(.+?)(?<!\\\\)\\\\\\]", 0);
    struct regex_match m;

    if (regex_find(r, s, strlen(s), 0, &m)) {
        char *inner = eval_string("%.*s", (int)(m.to[1] - m.from[1]), s + m.from[1]);

        free(s);
        s = stripped(inner, " \t\r\n");
    }
    regex_free(r);
    return s;
}

static char *without(char *s, const char *what)
{
    size_t n = strlen(what);
    char *to = s;

    for (const char *p = s; *p;) {
        if (strncmp(p, what, n) == 0)
            p += n;
        else
            *to++ = *p++;
    }
    *to = '\0';
    return s;
}

struct eval_text omni_formula(const char *s)
{
    static const char *const patterns[] = {"\\\\tag\\{.*?\\}", "\\\\hspace\\{.*?\\}",
                                           "\\\\begin\\{.*?\\}", "\\\\end\\{.*?\\}",
                                           "\\\\arraycolsep.*?\\}"};
    static const char *const filler[] = {"\\mathbf",
                                         "\\mathrm",
                                         "\\mathnormal",
                                         "\\mathit",
                                         "\\mathbb",
                                         "\\mathcal",
                                         "\\mathscr",
                                         "\\mathfrak",
                                         "\\mathsf",
                                         "\\mathtt",
                                         "\\textbf",
                                         "\\text",
                                         "\\boldmath",
                                         "\\boldsymbol",
                                         "\\operatorname",
                                         "\\bm",
                                         "\\symbfit",
                                         "\\mathbfcal",
                                         "\\symbf",
                                         "\\scriptscriptstyle",
                                         "\\notag",
                                         "\\setlength",
                                         "\\coloneqq",
                                         "\\space",
                                         "\\thickspace",
                                         "\\thinspace",
                                         "\\medspace",
                                         "\\nobreakspace",
                                         "\\negmedspace",
                                         "\\quad",
                                         "\\qquad",
                                         "\\enspace",
                                         "\\substackw",
                                         " ",
                                         "$$",
                                         "\\left",
                                         "\\right",
                                         "\\displaystyle",
                                         "\\text"};
    char *t = stripped(stripped(stripped(eval_copy(s), " \t\r\n"), "$"), "\n");

    t = without_brackets(t);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        t = regex_keep(t, patterns[i], 0, -1);
    t = stripped(t, ".");
    for (size_t i = 0; i < sizeof filler / sizeof *filler; i++)
        t = without(t, filler[i]);
    struct eval_text out = eval_text_of(t, strlen(t), EVAL_AS_IS);
    for (size_t i = 0; i < out.n; i++)
        out.code[i] = utf8proc_tolower(out.code[i]);
    free(t);
    return out;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *const unwrapped[] = {"thead", "span", "tbody"};

/* Tags of which only the content stays, whatever their attributes; th is td. */
static char *with_plain_tags(const char *html)
{
    struct page_text out = {0};

    print_bytes(&out, "", 0);
    for (const char *p = html; *p;) {
        size_t n = *p == '<' ? strcspn(p, ">") + 1 : 1, slash = p[0] == '<' && p[1] == '/';
        const char *name = p + 1 + slash;
        size_t n_name = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        bool is_gone = false;

        if (*p != '<' || p[n - 1] != '>') {
            print_bytes(&out, p++, 1);
            continue;
        }
        for (size_t i = 0; i < sizeof unwrapped / sizeof *unwrapped; i++)
            is_gone |= n_name == strlen(unwrapped[i]) &&
                       strncasecmp(name, unwrapped[i], n_name) == 0;
        if (n_name == 2 && strncasecmp(name, "th", 2) == 0)
            print(&out, "<%std%.*s", slash ? "/" : "", (int)(n - 3 - slash), name + 2);
        else if (!is_gone)
            print_bytes(&out, p, n);
        p += n;
    }
    return out.p;
}

/* &amp; &lt; &gt; &quot; &nbsp; and numbers; other names stay. */
static char *without_entities(char *s)
{
    static const struct {
        const char *name, *as;
    } known[] = {{"&lt;", "<"},   {"&gt;", ">"},        {"&quot;", "\""}, {"&#39;", "'"},
                 {"&apos;", "'"}, {"&nbsp;", "\u00A0"}, {"&amp;", "&"}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        s = regex_put(s, known[i].name, 0, known[i].as);
    return s;
}

static char *nfkc(char *s)
{
    struct eval_text t = eval_text_of(s, strlen(s), EVAL_AS_IS);
    struct page_text valid = {0};
    utf8proc_uint8_t *out = NULL, bytes[4];

    print_bytes(&valid, "", 0);
    for (size_t i = 0; i < t.n; i++)
        print_bytes(&valid, (const char *)bytes, (size_t)utf8proc_encode_char(t.code[i], bytes));
    eval_text_reset(&t);
    free(s);
    out = utf8proc_NFKC((const utf8proc_uint8_t *)valid.p);
    if (!out)
        return valid.p;
    free(valid.p);
    return (char *)out;
}

char *omni_table(const char *html)
{
    static const char *const attributes[] = {" style=\".*?\"", " height=\".*?\"", " width=\".*?\"",
                                             " align=\".*?\"", " class=\".*?\""};
    static const char *const tags[] = {"</?sup>", "</?sub>", "</?span>",
                                       "</?div>", "</?p>",   "<colgroup>.*?</colgroup>"};
    struct regex *table = regex_make("<table\\b[^>]*>(.*)</table>", REGEX_DOTALL | REGEX_NOCASE);
    char *s = without(without_entities(with_plain_tags(html)), "\n"), *out;
    struct regex_match m;

    s = nfkc(s);
    out = regex_find(table, s, strlen(s), 0, &m)
              ? eval_string("<table border=\"1\" >%.*s</table>", (int)(m.to[1] - m.from[1]),
                            s + m.from[1])
              : eval_copy("");
    regex_free(table);
    free(s);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        out = regex_keep(out, attributes[i], 0, -1);
    out = regex_put(out, "\\s+", 0, " ");
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        out = regex_keep(out, tags[i], 0, -1);
    return out;
}
