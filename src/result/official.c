#include "result/official.h"

#include "base/mem.h"

#include <stdlib.h>

#define REF   STR("<|ref|>")
#define MID   STR("<|/ref|><|det|>")
#define END   STR("<|/det|>")
#define IMAGE STR("<|ref|>image<|/ref|>")

struct matches {
    str *m; /* views of the text they were found in */
    int n;
};

/* Where a match begins, any later beginning has the same end: one look ahead is enough. */
static void find_matches(struct matches *k, str text)
{
    size_t at = 0;

    *k = (struct matches){0};
    for (;;) {
        size_t from = str_find(text, REF, at), mid = str_find(text, MID, from), end;

        if (mid == text.n)
            return;
        end = str_find(text, END, mid + MID.n);
        if (end == text.n)
            return;
        k->m = mem_grow(k->m, (size_t)k->n + 1, sizeof *k->m);
        at = end + END.n;
        k->m[k->n++] = (str){text.p + from, at - from};
    }
}

static bool is_image(str match)
{
    return str_find(match, IMAGE, 0) < match.n;
}

/* All occurrences of `from` become `to`. */
static void replace(struct buf *text, str from, str to)
{
    str all = buf_view(text);
    size_t at = str_find(all, from, 0), done = 0;
    struct buf out = {0};

    if (at == all.n)
        return;
    for (; at < all.n; at = str_find(all, from, done)) {
        buf_add(&out, all.p + done, at - done);
        buf_str(&out, to);
        done = at + from.n;
    }
    buf_add(&out, all.p + done, all.n - done);
    buf_reset(text);
    *text = out;
}

static void collapse(struct buf *text)
{
    replace(text, STR("\n\n\n\n"), STR("\n\n"));
    replace(text, STR("\n\n\n"), STR("\n\n"));
}

/* ---- formulas, of eval ----------------------------------------------------------------------- */

/* Length of the white space that s begins with, one character; 0 if none. Python's str.isspace. */
static size_t space_at(str s)
{
    uint32_t c;
    int n = utf8_next(s, &c);

    if (n <= 0)
        return 0;
    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
                   c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
                   c == 0x202F || c == 0x205F || c == 0x3000
               ? (size_t)n
               : 0;
}

static str stripped(str s)
{
    size_t n, last = 0;

    while (s.n && (n = space_at(s)))
        s.p += n, s.n -= n;
    for (size_t i = 0; i < s.n; i += n ? n : 1) {
        n = space_at((str){s.p + i, s.n - i});
        if (!n)
            last = i + 1;
    }
    return (str){s.p, last};
}

/* Length of "\quad (...)" at the front of s; 0 if there is none. */
static size_t number_at(str s)
{
    size_t i = STR("\\quad").n, n;

    if (!str_starts(s, STR("\\quad")))
        return 0;
    while (i < s.n && (n = space_at((str){s.p + i, s.n - i})))
        i += n;
    if (i == s.n || s.p[i] != '(')
        return 0;
    i = str_find(s, STR(")"), i);
    return i < s.n ? i + 1 : 0;
}

static void put_formula(struct buf *out, str tex)
{
    struct buf kept = {0};

    for (size_t i = 0, n; i < tex.n; i += n ? n : 1) {
        n = tex.p[i] == '\\' ? number_at((str){tex.p + i, tex.n - i}) : 0;
        if (!n)
            buf_char(&kept, tex.p[i]);
    }
    buf_text(out, "\\[");
    buf_str(out, stripped(buf_view(&kept)));
    buf_text(out, "\\]");
    buf_reset(&kept);
}

static void clean_formulas(struct buf *out, str text)
{
    for (size_t i = 0; i < text.n;) {
        size_t open = str_find(text, STR("\\["), i), line, close;

        buf_add(out, text.p + i, open - i);
        if (open == text.n)
            return;
        line = str_find(text, STR("\n"), open);
        close = str_find((str){text.p, line}, STR("\\]"), open + 2);
        if (close < line) {
            put_formula(out, (str){text.p + open + 2, close - open - 2});
            i = close + 2;
        } else { /* nor does any other on this line end */
            buf_add(out, text.p + open, line - open);
            i = line;
        }
    }
}

/* ---- the three ------------------------------------------------------------------------------- */

static void put_links(struct buf *text, const struct matches *k, enum official mode, int page)
{
    struct buf link = {0};
    int n = 0;

    for (int i = 0; i < k->n; i++) {
        if (!is_image(k->m[i]))
            continue;
        buf_clear(&link);
        if (mode == OFFICIAL_PDF)
            buf_fmt(&link, "![](images/%d_%d.jpg)\n", page, n++);
        else
            buf_fmt(&link, "![](images/%d.jpg)\n", n++);
        replace(text, k->m[i], buf_view(&link));
    }
    buf_reset(&link);
}

void official_put(struct buf *out, enum official mode, str text, int page)
{
    struct buf source = {0}, now = {0};
    struct matches k;

    if (mode == OFFICIAL_EVAL)
        clean_formulas(&source, text);
    else
        buf_str(&source, text);
    buf_str(&now, buf_view(&source));
    find_matches(&k, buf_view(&source));
    if (mode != OFFICIAL_EVAL)
        put_links(&now, &k, mode, page);
    for (int i = 0; i < k.n; i++) {
        if (mode != OFFICIAL_EVAL && is_image(k.m[i]))
            continue;
        replace(&now, k.m[i], STR(""));
        if (mode != OFFICIAL_EVAL) {
            replace(&now, STR("\\coloneqq"), STR(":="));
            replace(&now, STR("\\eqqcolon"), STR("=:"));
        }
        if (mode != OFFICIAL_IMAGE)
            collapse(&now);
    }
    buf_str(out, buf_view(&now));
    free(k.m);
    buf_reset(&now);
    buf_reset(&source);
}
