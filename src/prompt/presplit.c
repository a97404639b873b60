#include "prompt/presplit.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <assert.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define STEPS_BASE 10000 /* steps of backtracking allowed at one start position ... */
#define STEPS_PER_BYTE \
    16 /* ... and more by the piece's length: \s*[\r\n]+ tries each of n spaces */
#define STEPS_PER_CALL (1 << 26) /* bounds one call of pcre2_match to about a second */
#define JIT_STACK_MAX  (1 << 20)
#define HEAP_KIB_MAX   (64 << 10)

void presplit_reset(struct presplit *p)
{
    for (int i = 0; i < p->n_step; i++)
        pcre2_code_free(p->step[i]);
    *p = (struct presplit){0};
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Copy the pattern with white space spelled as the Unicode property; see presplit.h. */
static int translate(str regex, struct buf *out)
{
    for (size_t i = 0; i < regex.n; i++) {
        char c = regex.p[i];

        if (c != '\\' || i + 1 == regex.n) {
            buf_char(out, c);
            continue;
        }
        c = regex.p[++i];
        bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (is_word && !strchr("pPsSrnt", c))
            return err(RECTO_EMODEL,
                       "\\%c in the pattern is not supported (only \\p \\P \\s \\S \\r \\n \\t)",
                       c);
        if (c == 's' || c == 'S')
            buf_text(out, c == 's' ? "\\p{White_Space}" : "\\P{White_Space}");
        else
            buf_add(out, (char[]){'\\', c}, 2);
    }
    return 0;
}

static pcre2_code *compile(str pattern)
{
    int code;
    PCRE2_SIZE at;
    pcre2_code *re = pcre2_compile(
        (PCRE2_SPTR)pattern.p, pattern.n,
        PCRE2_UTF | PCRE2_UCP | PCRE2_USE_OFFSET_LIMIT | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);

    if (re) {
        pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* if it cannot, matching is interpreted */
        return re;
    }
    PCRE2_UCHAR what[128];
    pcre2_get_error_message(code, what, sizeof(what));
    err(RECTO_EMODEL, "not a regular expression: %s (byte %zu of \"%.120s\")", (char *)what, at,
        pattern.p);
    return NULL;
}

int presplit_add(struct presplit *p, str regex)
{
    struct buf pattern = {0};
    int rc = 0;

    if (p->n_step == PRESPLIT_MAX_STEPS)
        return err(RECTO_EMODEL, "more than %d split steps", PRESPLIT_MAX_STEPS);
    if (regex.n == 0 || regex.n > PRESPLIT_MAX_REGEX)
        return err(RECTO_EMODEL, "a pattern of %zu bytes, expected 1 to %d", regex.n,
                   PRESPLIT_MAX_REGEX);
    rc = translate(regex, &pattern);
    if (rc == 0) {
        p->step[p->n_step] = compile(buf_view(&pattern));
        if (p->step[p->n_step])
            p->n_step++;
        else
            rc = RECTO_EMODEL;
    }
    buf_reset(&pattern);
    return rc;
}

/* ---- matching -------------------------------------------------------------------------------- */

struct run {
    const struct presplit *p;
    presplit_fn *each;
    void *ctx;
    pcre2_match_context *limits;
    pcre2_match_data *match;
    pcre2_jit_stack *stack;
    int64_t start_ns;
};

static int call(struct run *r, int step, str text, size_t from)
{
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int rc = pcre2_match(r->p->step[step], (PCRE2_SPTR)text.p, text.n, from, options, r->match,
                         r->limits);

    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter keeps its stack on the heap */
        rc = pcre2_match(r->p->step[step], (PCRE2_SPTR)text.p, text.n, from, options | PCRE2_NO_JIT,
                         r->match, r->limits);
    return rc;
}

static size_t next_char(str text, size_t at)
{
    while (at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* The first match at or after `from`: 1 and its range, 0 if there is none. */
static int find(struct run *r, int step, str text, size_t from, size_t *start, size_t *end)
{
    size_t limit = STEPS_BASE + STEPS_PER_BYTE * text.n;
    size_t window = MAX((size_t)STEPS_PER_CALL / limit, (size_t)16);

    pcre2_set_match_limit(r->limits, (uint32_t)MIN(limit, (size_t)UINT32_MAX));
    while (from < text.n) {
        size_t last = from + MIN(window, text.n - from);

        pcre2_set_offset_limit(r->limits, last);
        int rc = call(r, step, text, from);
        if (rc >= 0) {
            const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->match);
            *start = at[0], *end = at[1];
            assert(at[0] >= from && at[1] > at[0]); /* no empty match, and \K is refused */
            return 1;
        }
        if (rc != PCRE2_ERROR_NOMATCH)
            return err(RECTO_EMODEL,
                       "split pattern %d needs too much backtracking (PCRE2 error %d)", step + 1,
                       rc);
        if (clock_ms_since(r->start_ns) > PRESPLIT_TIMEOUT_MS)
            return err(RECTO_EMODEL, "split pattern %d is too slow for this text", step + 1);
        from = next_char(text, last + 1 < text.n ? last + 1 : text.n);
    }
    return 0;
}

static int split(struct run *r, int step, str text)
{
    size_t from = 0, start = 0, end = 0;
    int rc;

    if (text.n == 0)
        return 0;
    if (step == r->p->n_step) {
        r->each(r->ctx, text);
        return 0;
    }
    while ((rc = find(r, step, text, from, &start, &end)) > 0) {
        TRY(split(r, step + 1, (str){text.p + from, start - from}));
        TRY(split(r, step + 1, (str){text.p + start, end - start}));
        from = end;
        if (clock_ms_since(r->start_ns) > PRESPLIT_TIMEOUT_MS)
            return err(RECTO_EMODEL, "split pattern %d is too slow for this text", step + 1);
    }
    TRY(rc);
    return split(r, step + 1, (str){text.p + from, text.n - from});
}

int presplit_run(const struct presplit *p, str text, presplit_fn *each, void *ctx)
{
    struct run r = {.p = p, .each = each, .ctx = ctx, .start_ns = clock_ns()};
    int rc = RECTO_ENOMEM;

    r.limits = pcre2_match_context_create(NULL);
    r.match = pcre2_match_data_create(1, NULL);
    r.stack = pcre2_jit_stack_create(32 << 10, JIT_STACK_MAX, NULL);
    if (r.limits && r.match) {
        pcre2_set_heap_limit(r.limits, HEAP_KIB_MAX);
        if (r.stack)
            pcre2_jit_stack_assign(r.limits, NULL, r.stack);
        rc = split(&r, 0, text);
    } else {
        err(rc, "no memory to split a text of %zu bytes", text.n);
    }
    pcre2_jit_stack_free(r.stack);
    pcre2_match_data_free(r.match);
    pcre2_match_context_free(r.limits);
    return rc;
}
