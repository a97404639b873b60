#include "page_range.h"

#include "fault.h"

#include <string.h>

enum { PAGE_MAX = 1000000, LIST_MAX = 4096 };

struct cursor {
    const char *at;
    int n_page;
};

static bool take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A page's number, which may lie outside 1..n_page; false: none stands here. */
static bool take_number(struct cursor *c, int *page)
{
    bool from_end = *c->at == '-' || *c->at == 'r';
    const char *p = c->at + from_end;
    int v = 0;

    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        v = v < PAGE_MAX ? 10 * v + (*p - '0') : v;
    c->at = p;
    if (v == 0)
        return false;
    *page = from_end ? c->n_page + 1 - v : v;
    return true;
}

static void mark(bool *wanted, int n_page, int first, int last, int step)
{
    for (int i = first < 1 ? 1 : first; wanted && i <= last && i <= n_page; i += step)
        wanted[i] = true;
}

static bool take_part(struct cursor *c, bool *wanted)
{
    int first, last;

    if (take_word(c, "all")) {
        mark(wanted, c->n_page, 1, c->n_page, 1);
    } else if (take_word(c, "odd")) {
        mark(wanted, c->n_page, 1, c->n_page, 2);
    } else if (take_word(c, "even")) {
        mark(wanted, c->n_page, 2, c->n_page, 2);
    } else if (take_word(c, "last")) {
        mark(wanted, c->n_page, c->n_page, c->n_page, 1);
    } else {
        if (!take_number(c, &first))
            return false;
        last = first;
        if (take_word(c, "-") && !take_number(c, &last))
            last = c->n_page;
        mark(wanted, c->n_page, first, last, 1);
    }
    return *c->at == 0 || *c->at == ',';
}

static int parse(const char *list, int n_page, bool *wanted, const char *param)
{
    struct cursor c = {list, n_page};

    if (strnlen(list, LIST_MAX) == LIST_MAX)
        return fault(JOBS_INVALID_VALUE, param, "%s is longer than %d bytes", param,
                     (int)LIST_MAX - 1);
    do {
        if (!take_part(&c, wanted))
            return fault(
                JOBS_INVALID_VALUE, param,
                "%s is '%.60s': expected ranges such as 1-5,8,12-,-1 (the last), odd, even", param,
                list);
    } while (*c.at++ == ',');
    return 0;
}

int page_range_check(const char *list, const char *param)
{
    return parse(list, PAGE_MAX, NULL, param);
}

int page_range_select(const char *list, int n_page, bool *wanted, const char *param)
{
    memset(wanted, 0, ((size_t)n_page + 1) * sizeof *wanted);
    TRY(parse(list, n_page, wanted, param));
    for (int i = 1; i <= n_page; i++)
        if (wanted[i])
            return 0;
    return fault(JOBS_PAGE_OUT_OF_RANGE, param, "%s is '%.60s', the document has %d page%s", param,
                 list, n_page, n_page == 1 ? "" : "s");
}
