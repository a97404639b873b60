#include "prompt/added.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

void added_put(struct added *a, str text, int32_t id)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? a->cap * 2 : 32;
        a->token = mem_grow(a->token, (size_t)a->cap, sizeof(*a->token));
    }
    a->token[a->n++] = (struct added_token){text, id};
    a->starts[(unsigned char)text.p[0]] = true;
}

void added_reset(struct added *a)
{
    free(a->token);
    *a = (struct added){0};
}

static int compare(const void *pa, const void *pb)
{
    str a = ((const struct added_token *)pa)->text, b = ((const struct added_token *)pb)->text;
    int c = memcmp(a.p, b.p, MIN(a.n, b.n));

    return c ? c : a.n < b.n ? -1 : a.n > b.n;
}

int added_sort(struct added *a)
{
    if (a->n)
        qsort(a->token, (size_t)a->n, sizeof(*a->token), compare);
    for (int i = 1; i < a->n; i++)
        if (str_eq(a->token[i - 1].text, a->token[i].text))
            return err(RECTO_EFORMAT, "ids %d and %d have the same text", a->token[i - 1].id,
                       a->token[i].id);
    return 0;
}

/* First token in [lo, hi) whose byte k is at least c; all there are longer than k and agree before
 * it. */
static int first_with(const struct added *a, int lo, int hi, size_t k, int c)
{
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;

        if ((unsigned char)a->token[mid].text.p[k] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The longest token that text starts with: its index, or -1. */
static int longest(const struct added *a, str text)
{
    int lo = 0, hi = a->n, best = -1;

    for (size_t k = 0; lo < hi; k++) { /* tokens [lo, hi) agree with text in k bytes */
        if (a->token[lo].text.n == k)  /* a prefix of the others sorts before them */
            best = lo++;
        if (k == text.n)
            break;
        int c = (unsigned char)text.p[k];
        lo = first_with(a, lo, hi, k, c);
        hi = first_with(a, lo, hi, k, c + 1);
    }
    return best;
}

int32_t added_find(const struct added *a, str text)
{
    int i = longest(a, text);

    return i >= 0 && a->token[i].text.n == text.n ? a->token[i].id : -1;
}

int32_t added_next(const struct added *a, str text, size_t from, size_t *start, size_t *len)
{
    for (size_t at = from; at < text.n; at++) {
        if (!a->starts[(unsigned char)text.p[at]])
            continue;
        int i = longest(a, (str){text.p + at, text.n - at});
        if (i >= 0) {
            *start = at;
            *len = a->token[i].text.n;
            return a->token[i].id;
        }
    }
    return -1;
}
