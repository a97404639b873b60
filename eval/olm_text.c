#include "olm_text.h"

#include "files.h"
#include "regex.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

static int32_t plain(int32_t c)
{
    switch (c) {
    case 0x2018:
    case 0x2019:
    case 0x201A:
        return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E:
        return '"';
    case 0xFF3F:
        return '_';
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2212:
        return '-';
    case 0xB5:
        return 0x3BC;
    default:
        return c;
    }
}

static bool is_space(int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);

    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F) || c == 0x85 ||
           k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL || k == UTF8PROC_CATEGORY_ZP;
}

struct eval_text olm_fold(const char *md)
{
    char *s = regex_put(eval_copy(md), "<br/?>", 0, " ");
    struct eval_text t;
    size_t n = 0;

    s = regex_keep(s, "\\*\\*(.*?)\\*\\*", 0, 1);
    s = regex_keep(s, "__(.*?)__", 0, 1);
    s = regex_keep(s, "</?[bi]>", 0, -1);
    s = regex_keep(s, "(\\*|_)(.*?)\\1", 0, 2);
    t = eval_text_of(s, strlen(s), EVAL_AS_IS);
    free(s);
    for (size_t i = 0; i < t.n; i++) {
        bool space = is_space(t.code[i]);

        if (!space || n == 0 || t.code[n - 1] != ' ')
            t.code[n++] = space ? ' ' : t.code[i];
    }
    t.n = n;
    eval_text_compose(&t);
    for (size_t i = 0; i < t.n; i++)
        t.code[i] = plain(t.code[i]);
    return t;
}

void olm_lower(struct eval_text *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->code[i] = utf8proc_tolower(t->code[i]);
}

struct eval_text olm_part(const struct eval_text *t, size_t from, size_t n)
{
    return (struct eval_text){t->code + from, n};
}

/* ---- alikeness ------------------------------------------------------------------------------- */

/* Bits of a text of at most 64 n_block codes, by code; small and slow to look up, as texts are short here. */
struct bits {
    int32_t *code;
    uint64_t *row; /* [n_code][n_block] */
    size_t n_code, n_block;
};

static void bits_make(struct bits *b, const struct eval_text *t)
{
    *b = (struct bits){eval_alloc(t->n, sizeof(int32_t)), NULL, 0, (t->n + 63) / 64};
    b->row = eval_alloc(t->n * b->n_block, sizeof(uint64_t));
    for (size_t i = 0; i < t->n; i++) {
        size_t k = 0;

        while (k < b->n_code && b->code[k] != t->code[i])
            k++;
        b->n_code += k == b->n_code;
        b->code[k] = t->code[i];
        b->row[k * b->n_block + i / 64] |= (uint64_t)1 << i % 64;
    }
}

static void bits_reset(struct bits *b)
{
    free(b->code);
    free(b->row);
}

/* state: a 0 bit for each code of the pattern that a common subsequence has used; [n_block] words of scratch. */
static size_t lcs(const struct bits *b, size_t n_pattern, const int32_t *text, size_t n,
                  uint64_t *state)
{
    size_t length = 0;

    memset(state, 255, b->n_block * sizeof *state);
    for (size_t j = 0; j < n; j++) {
        size_t k = 0;
        uint64_t carry = 0;

        while (k < b->n_code && b->code[k] != text[j])
            k++;
        if (k == b->n_code)
            continue;
        for (size_t w = 0; w < b->n_block; w++) {
            uint64_t v = state[w], u = v & b->row[k * b->n_block + w], sum = v + u + carry;

            carry = sum < v || (carry && sum == v);
            state[w] = sum | (v - u);
        }
    }
    for (size_t i = 0; i < n_pattern; i++)
        length += ~state[i / 64] >> i % 64 & 1;
    return length;
}

double olm_ratio(const struct eval_text *a, const struct eval_text *b)
{
    struct bits bits;

    if (a->n + b->n == 0)
        return 1;
    bits_make(&bits, a);
    uint64_t *state = eval_alloc(bits.n_block, sizeof *state);
    size_t common = lcs(&bits, a->n, b->code, b->n, state);
    bits_reset(&bits);
    free(state);
    return 2.0 * (double)common / (double)(a->n + b->n);
}

double olm_partial_ratio(const struct eval_text *a, const struct eval_text *b)
{
    const struct eval_text *few = a->n <= b->n ? a : b, *many = a->n <= b->n ? b : a;
    struct bits bits;
    double best = 0;

    if (few->n == 0)
        return many->n == 0;
    bits_make(&bits, few);
    uint64_t *state = eval_alloc(bits.n_block, sizeof *state);
    for (size_t end = 1; end < many->n + few->n && best < 1; end++) {
        size_t from = end > few->n ? end - few->n : 0, to = end < many->n ? end : many->n;
        double common = (double)lcs(&bits, few->n, many->code + from, to - from, state);
        double r = 2 * common / (double)(few->n + to - from);

        best = r > best ? r : best;
    }
    bits_reset(&bits);
    free(state);
    return best;
}

/* ---- places ---------------------------------------------------------------------------------- */

struct match {
    size_t start, end, edits;
};

/* The column of the table of edits for each end in the text; where the path to its foot began comes along. */
int olm_find(const struct eval_text *what, const struct eval_text *in, size_t most, size_t *starts,
             int cap)
{
    size_t m = what->n, *cost = eval_alloc(m + 1, sizeof *cost),
           *from = eval_alloc(m + 1, sizeof *from);
    struct match last = {0};
    int n = 0;

    for (size_t i = 0; i <= m; i++)
        cost[i] = i;
    for (size_t j = 0; j <= in->n; j++) {
        size_t corner = cost[0], corner_from = from[0];

        from[0] = j;
        for (size_t i = 1; i <= m && j > 0; i++) {
            size_t same = corner + (what->code[i - 1] != in->code[j - 1]), before = cost[i],
                   before_from = from[i], at = same, at_from = corner_from;

            if (before + 1 < at)
                at = before + 1, at_from = before_from;
            if (cost[i - 1] + 1 < at)
                at = cost[i - 1] + 1, at_from = from[i - 1];
            corner = before, corner_from = before_from;
            cost[i] = at, from[i] = at_from;
        }
        if (cost[m] > most)
            continue;
        bool is_new = n == 0 || from[m] >= last.end;
        if (is_new && n == cap)
            break;
        if (is_new || cost[m] < last.edits) {
            last = (struct match){from[m], j, cost[m]};
            starts[is_new ? n++ : n - 1] = last.start;
        }
    }
    free(cost);
    free(from);
    return n;
}
