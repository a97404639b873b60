#include "regex.h"

#include "files.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct regex {
    pcre2_code *code;
    pcre2_match_data *data;
};

struct regex *regex_make(const char *pattern, int flags)
{
    struct regex *r = eval_alloc(1, sizeof *r);
    uint32_t options = (flags & REGEX_DOTALL ? PCRE2_DOTALL : 0) |
                       (flags & REGEX_LINES ? PCRE2_MULTILINE : 0) |
                       (flags & REGEX_NOCASE ? PCRE2_CASELESS : 0);
    PCRE2_SIZE at;
    int why;

    r->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &why, &at, NULL);
    r->data = r->code ? pcre2_match_data_create(REGEX_GROUPS, NULL) : NULL;
    if (!r->data) {
        fprintf(stderr, "recto: the pattern %s is wrong (E_INTERNAL)\n", pattern);
        exit(1);
    }
    return r;
}

void regex_free(struct regex *r)
{
    if (!r)
        return;
    pcre2_match_data_free(r->data);
    pcre2_code_free(r->code);
    free(r);
}

bool regex_find(struct regex *r, const char *s, size_t n, size_t from, struct regex_match *m)
{
    int groups = from <= n ? pcre2_match(r->code, (PCRE2_SPTR)s, n, from, 0, r->data, NULL) : -1;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->data);

    for (int g = 0; g < REGEX_GROUPS && groups > 0; g++) {
        bool is_set = g < groups && at[2 * g] != PCRE2_UNSET;

        m->from[g] = is_set ? at[2 * g] : 1;
        m->to[g] = is_set ? at[2 * g + 1] : 0;
    }
    return groups > 0;
}

static char *replace(char *s, const char *pattern, int flags, int group, const char *text)
{
    struct regex *r = regex_make(pattern, flags);
    size_t n = strlen(s), from = 0, done = 0;
    struct page_text out = {0};
    struct regex_match m;

    while (from <= n && regex_find(r, s, n, from, &m)) {
        print_bytes(&out, s + done, m.from[0] - done);
        if (group >= 0 && m.from[group] <= m.to[group])
            print_bytes(&out, s + m.from[group], m.to[group] - m.from[group]);
        print_bytes(&out, text, strlen(text));
        done = m.to[0];
        from = m.to[0] > m.from[0] ? m.to[0] : m.to[0] + 1; /* an empty match: go on */
    }
    print_bytes(&out, s + done, n - done);
    regex_free(r);
    free(s);
    return out.p;
}

char *regex_keep(char *s, const char *pattern, int flags, int group)
{
    return replace(s, pattern, flags, group, "");
}

char *regex_put(char *s, const char *pattern, int flags, const char *text)
{
    return replace(s, pattern, flags, -1, text);
}
