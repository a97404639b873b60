#include "page/range.h"

#include "base/err.h"
#include "base/mem.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Pages a, a + step, ... b, or downwards one by one; step 0: none. */
struct run {
    int64_t a, b;
    int step;
};

struct list {
    const char *at;
    int n_page;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(struct list *l)
{
    while (*l->at == ' ' || *l->at == '\t' || *l->at == '\n' || *l->at == '\r')
        l->at++;
}

static bool take(struct list *l, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(l->at, word, n) != 0)
        return false;
    l->at += n;
    skip_space(l);
    return true;
}

/* 1 or more; what is too large for any document stays too large. */
static bool take_number(struct list *l, int64_t *out)
{
    if (!is_digit(*l->at))
        return false;
    for (*out = 0; is_digit(*l->at); l->at++)
        *out = MIN(*out * 10 + (*l->at - '0'), INT_MAX);
    skip_space(l);
    return *out >= 1;
}

static bool take_item(struct list *l, struct run *r)
{
    *r = (struct run){1, l->n_page, 1};
    if (take(l, "all"))
        return true;
    if (take(l, "last"))
        r->a = l->n_page;
    else if (take(l, "odd"))
        r->step = 2;
    else if (take(l, "even"))
        *r = (struct run){2, l->n_page, l->n_page >= 2 ? 2 : 0};
    else if (take(l, "-"))
        return take_number(l, &r->b);
    else if (take(l, "r")) {
        if (!take_number(l, &r->a))
            return false;
        r->a = r->b = l->n_page + 1 - r->a;
    } else {
        if (!take_number(l, &r->a))
            return false;
        r->b = r->a;
        if (take(l, "-")) {
            if (is_digit(*l->at))
                return take_number(l, &r->b);
            r->b = MAX(r->a, l->n_page); /* "9-" of 8 pages: beyond, not downwards */
        }
    }
    return true;
}

static int bad(const char *text)
{
    return err(RECTO_EPAGERANGE,
               "bad page range '%.60s'; expected the like of 1-3,7 or -2, 5-, r1, last, odd, even",
               text);
}

/* Each run of the list in turn; 1, 0 at the end, or the error. */
static int next_run(struct list *l, const char *text, struct run *r)
{
    if (l->at == text)
        skip_space(l);
    else if (*l->at == 0)
        return 0;
    else if (!take(l, ","))
        return bad(text);
    return take_item(l, r) ? 1 : bad(text);
}

int range_check(const char *text)
{
    struct list l = {text, 1};
    struct run r;
    int rc;

    if (strnlen(text, RANGE_TEXT_MAX + 1) > RANGE_TEXT_MAX)
        return bad(text);
    while ((rc = next_run(&l, text, &r)) == 1)
        continue;
    return rc;
}

struct selection {
    int *page, n, n_page;
    unsigned char *is_in; /* [n_page + 1] */
    bool is_past;
};

static void add_run(struct selection *s, struct run r)
{
    int64_t low = MIN(r.a, r.b), high = MAX(r.a, r.b), n = 0;

    if (r.step == 0)
        return;
    s->is_past |= low < 1 || high > s->n_page;
    low = low < 1 ? 1 : low;
    high = MIN(high, s->n_page);
    n = high >= low ? (high - low) / r.step + 1 : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t page = r.a <= r.b ? low + i * r.step : high - i;

        if (s->is_in[page])
            continue;
        s->is_in[page] = 1;
        s->page[s->n++] = (int)page;
    }
}

int range_select(const char *text, int n_page, int **page, int *n, int *is_past)
{
    const char *list = text ? text : "1-";
    struct selection s = {.n_page = n_page};
    struct list l = {list, n_page};
    struct run r;

    *page = NULL;
    *n = *is_past = 0;
    TRY(range_check(list));
    s.page = mem_alloc((size_t)n_page * sizeof *s.page);
    s.is_in = mem_zero((size_t)n_page + 1, 1);
    while (next_run(&l, list, &r) == 1)
        add_run(&s, r);
    free(s.is_in);
    if (s.n == 0) {
        free(s.page);
        return err(RECTO_EPAGERANGE, "no page in '%.60s' (has %d)", list, n_page);
    }
    *page = s.page;
    *n = s.n;
    *is_past = s.is_past;
    return 0;
}
