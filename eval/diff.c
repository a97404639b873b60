#include "diff.h"

#include "files.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 6000 }; /* words of a text; the table has a byte for each pair */

struct token {
    size_t from, n; /* codes */
};

struct side {
    const struct eval_text *text;
    struct token *token;
    size_t n;
};

static bool stands_alone(int32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) || c >= 0x20000;
}

/* Words, single spaces, single ideographs. */
static struct side cut(const struct eval_text *t)
{
    struct side s = {t, eval_alloc(t->n, sizeof *s.token), 0};

    for (size_t i = 0, end; i < t->n; i = end) {
        end = i + 1;
        if (t->code[i] != ' ' && !stands_alone(t->code[i]))
            while (end < t->n && t->code[end] != ' ' && !stands_alone(t->code[end]))
                end++;
        s.token[s.n++] = (struct token){i, end - i};
    }
    return s;
}

static bool equal(const struct side *a, size_t i, const struct side *b, size_t j)
{
    const struct token *x = &a->token[i], *y = &b->token[j];

    return x->n == y->n && memcmp(a->text->code + x->from, b->text->code + y->from,
                                  x->n * sizeof *a->text->code) == 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void put_code(struct page_text *out, int32_t c)
{
    char s[4];
    size_t n = 0;

    if (c < 0x80)
        s[n++] = (char)c;
    else if (c < 0x800)
        s[n++] = (char)(0xC0 | c >> 6);
    else if (c < 0x10000)
        s[n++] = (char)(0xE0 | c >> 12);
    else
        s[n++] = (char)(0xF0 | c >> 18);
    if (c >= 0x10000)
        s[n++] = (char)(0x80 | (c >> 12 & 63));
    if (c >= 0x800)
        s[n++] = (char)(0x80 | (c >> 6 & 63));
    if (c >= 0x80)
        s[n++] = (char)(0x80 | (c & 63));
    print_escaped(out, s, n);
}

static void add(struct diff *d, enum diff_kind kind, const struct side *s, size_t i)
{
    struct page_text out = {0};
    const struct token *t = &s->token[i];

    if (d->n > 0 && d->part[d->n - 1].kind == kind) {
        char *before = d->part[--d->n].text;

        out = (struct page_text){before, strlen(before), strlen(before) + 1};
    } else
        d->part = eval_grow(d->part, (size_t)d->n + 1, sizeof *d->part);
    for (size_t k = 0; k < t->n; k++)
        put_code(&out, s->text->code[t->from + k]);
    d->part[d->n++] = (struct diff_part){kind, out.p};
}

/* ---- the table ------------------------------------------------------------------------------- */

enum step { KEEP, LOSE, ADD };

/* From the ends to the beginnings, so that the way back is the way forward. */
static unsigned char *steps_of(const struct side *a, const struct side *b)
{
    size_t width = b->n + 1;
    unsigned char *step = eval_alloc((a->n + 1) * width, 1);
    int32_t *row = eval_alloc(width, sizeof *row);

    for (size_t j = b->n; j-- > 0;) {
        row[j] = row[j + 1] + 1;
        step[a->n * width + j] = ADD;
    }
    for (size_t i = a->n; i-- > 0;) {
        int32_t corner = row[b->n];

        row[b->n]++;
        step[i * width + b->n] = LOSE;
        for (size_t j = b->n; j-- > 0;) {
            int32_t below = row[j];
            bool same = equal(a, i, b, j);

            step[i * width + j] = same ? KEEP : below <= row[j + 1] ? LOSE : ADD;
            row[j] = same ? corner : (below <= row[j + 1] ? below : row[j + 1]) + 1;
            corner = below;
        }
    }
    free(row);
    return step;
}

/* Changed words between two kept ones: all lost ones first, then the added. */
static void walk(struct diff *d, const struct side *a, const struct side *b,
                 const unsigned char *step)
{
    size_t i = 0, j = 0, width = b->n + 1;

    while (i < a->n || j < b->n) {
        size_t i1 = i, j1 = j;

        while ((i1 < a->n || j1 < b->n) && step[i1 * width + j1] != KEEP) {
            if (step[i1 * width + j1] == LOSE)
                i1++;
            else
                j1++;
        }
        for (; i < i1; i++)
            add(d, DIFF_LOST, a, i);
        for (; j < j1; j++)
            add(d, DIFF_ADDED, b, j);
        for (; i < a->n && j < b->n && step[i * width + j] == KEEP; i++, j++)
            add(d, DIFF_SAME, a, i);
    }
}

struct diff diff_of(const struct eval_text *truth, const struct eval_text *text)
{
    struct side a = cut(truth), b = cut(text);
    struct diff d = {.is_cut = a.n > MOST || b.n > MOST};

    a.n = a.n < MOST ? a.n : MOST;
    b.n = b.n < MOST ? b.n : MOST;
    unsigned char *step = steps_of(&a, &b);
    walk(&d, &a, &b, step);
    free(step);
    free(a.token);
    free(b.token);
    return d;
}

void diff_reset(struct diff *d)
{
    for (int i = 0; i < d->n; i++)
        free(d->part[i].text);
    free(d->part);
    *d = (struct diff){0};
}
