#include "text.h"

#include "recto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

void *eval_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) {
        fprintf(stderr, "recto: not enough memory to compare texts (E_NO_MEMORY)\n");
        exit(1);
    }
    return p;
}

void *eval_grow(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) || !(p = realloc(p, bytes ? bytes : 1))) {
        fprintf(stderr, "recto: not enough memory to compare texts (E_NO_MEMORY)\n");
        exit(1);
    }
    return p;
}

void eval_text_reset(struct eval_text *t)
{
    free(t->code);
    *t = (struct eval_text){0};
}

const char *eval_norm_name(enum eval_norm norm)
{
    static const char *const names[] = {"as is", "raw", "N1", "N2"};

    return names[norm];
}

/* ---- code points ----------------------------------------------------------------------------- */

static struct eval_text decode(const char *utf8, size_t n)
{
    struct eval_text t = {.code = eval_alloc(n, sizeof *t.code)};

    while (n > 0) {
        utf8proc_int32_t code;
        utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)utf8,
                                                 (utf8proc_ssize_t)n, &code);

        if (step <= 0) {
            code = 0xFFFD;
            step = 1;
        }
        t.code[t.n++] = code;
        utf8 += step;
        n -= (size_t)step;
    }
    return t;
}

static bool is_space(int32_t code)
{
    if (code < 128)
        return code == ' ' || (code >= '\t' && code <= '\r');
    utf8proc_category_t c = utf8proc_category(code);
    return c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
}

static void strip(struct eval_text *t)
{
    size_t from = 0;

    while (from < t->n && is_space(t->code[from]))
        from++;
    while (t->n > from && is_space(t->code[t->n - 1]))
        t->n--;
    t->n -= from;
    memmove(t->code, t->code + from, t->n * sizeof *t->code);
}

static void collapse(struct eval_text *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        bool space = is_space(t->code[i]);

        if (!space || (n > 0 && t->code[n - 1] != ' '))
            t->code[n++] = space ? ' ' : t->code[i];
    }
    t->n = n;
    strip(t);
}

void eval_text_squeeze(struct eval_text *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        if (!is_space(t->code[i]))
            t->code[n++] = t->code[i];
    t->n = n;
}

/* ---- normal forms ---------------------------------------------------------------------------- */

/* Marks on a letter in canonical order: utf8proc_normalize_utf32 composes, but does not order. */
static void order_marks(struct eval_text *t)
{
    for (size_t i = 0; i + 1 < t->n;) {
        int a = utf8proc_get_property(t->code[i])->combining_class;
        int b = utf8proc_get_property(t->code[i + 1])->combining_class;

        if (a <= b || b == 0) {
            i++;
            continue;
        }
        int32_t swap = t->code[i];
        t->code[i] = t->code[i + 1];
        t->code[i + 1] = swap;
        i = i > 0 ? i - 1 : i + 1;
    }
}

/* Decompose each code, then order and compose: what utf8proc_map does for UTF-8. */
static void normalise(struct eval_text *t, utf8proc_option_t options)
{
    struct eval_text out = {0};
    size_t cap = t->n + 16;
    int last_boundclass = UTF8PROC_BOUNDCLASS_START;

    out.code = eval_alloc(cap, sizeof *out.code);
    for (size_t i = 0; i < t->n; i++) {
        utf8proc_int32_t parts[32];
        utf8proc_ssize_t n = utf8proc_decompose_char(t->code[i], parts, 32, options,
                                                     &last_boundclass);

        if (n < 0 || n > 32) { /* not a character: as it is */
            parts[0] = t->code[i];
            n = 1;
        }
        if (out.n + (size_t)n > cap)
            out.code = eval_grow(out.code, cap = 2 * cap + 32, sizeof *out.code);
        memcpy(out.code + out.n, parts, (size_t)n * sizeof *parts);
        out.n += (size_t)n;
    }
    order_marks(&out);
    utf8proc_ssize_t n = utf8proc_normalize_utf32(out.code, (utf8proc_ssize_t)out.n,
                                                  options | UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    out.n = n < 0 ? out.n : (size_t)n;
    free(t->code);
    *t = out;
}

void eval_text_compose(struct eval_text *t)
{
    normalise(t, UTF8PROC_DECOMPOSE);
}

static int32_t plain_mark(int32_t code)
{
    switch (code) {
    case 0x2018:
    case 0x2019:
    case 0x201A:
    case 0x201B:
    case 0x2032:
    case 0x02BC:
    case 0x2039:
    case 0x203A:
        return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E:
    case 0x201F:
    case 0x2033:
    case 0x00AB:
    case 0x00BB:
        return '"';
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2015:
    case 0x2212:
        return '-';
    default:
        return code;
    }
}

/* As the writer of plain text writes it. */
static char *without_marks(const char *utf8, size_t n, size_t *n_out)
{
    char *text = eval_alloc(n + 1, 1), *out = NULL;
    struct recto_block block = {.kind = RECTO_BLOCK_TEXT, .text = text, .n_text = n};
    struct recto_page page = {.number = 1, .n_block = 1, .block = &block};
    const struct recto_page *pages = &page;

    memcpy(text, utf8, n);
    block.label = "text";
    block.raw = text;
    block.n_raw = n;
    if (recto_write("txt", &pages, 1, &out, n_out) < 0)
        out = NULL;
    free(text);
    return out;
}

void eval_text_fold(struct eval_text *t)
{
    normalise(t, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD);
    for (size_t i = 0; i < t->n; i++)
        t->code[i] = plain_mark(t->code[i]);
    collapse(t);
}

/* What stands for a character in HTML, which Markdown holds where a text has < or &. */
static size_t undo_entities(char *s, size_t n)
{
    static const struct {
        const char *name;
        char as;
    } known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}};
    size_t to = 0;

    for (size_t i = 0; i < n; to++) {
        size_t step = 1;

        s[to] = s[i];
        for (size_t k = 0; s[i] == '&' && k < sizeof known / sizeof *known; k++) {
            size_t len = strlen(known[k].name);

            if (len <= n - i && memcmp(s + i, known[k].name, len) == 0) {
                s[to] = known[k].as;
                step = len;
                break;
            }
        }
        i += step;
    }
    return to;
}

struct eval_text eval_text_of(const char *utf8, size_t n, enum eval_norm norm)
{
    struct eval_text t;

    if (norm <= EVAL_N0) {
        t = decode(utf8, n);
        if (norm == EVAL_N0)
            strip(&t);
        return t;
    }
    size_t n_plain = 0;
    char *plain = without_marks(utf8, n, &n_plain);
    n_plain = plain ? undo_entities(plain, n_plain) : 0;
    t = decode(plain ? plain : "", n_plain);
    recto_free(plain);
    normalise(&t, UTF8PROC_DECOMPOSE);
    collapse(&t);
    if (norm == EVAL_N2)
        eval_text_fold(&t);
    return t;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_word_alone(int32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x31F0 && c <= 0x31FF) ||
           (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF66 && c <= 0xFF9F) ||
           (c >= 0x20000 && c <= 0x3134F);
}

struct word {
    const int32_t *code;
    size_t n;
    int32_t *number; /* where its number goes */
};

struct words {
    struct word *word;
    size_t n, cap;
};

static void add_word(struct words *w, const int32_t *code, size_t n)
{
    if (n == 0)
        return;
    if (w->n == w->cap)
        w->word = eval_grow(w->word, w->cap = 2 * w->cap + 64, sizeof *w->word);
    w->word[w->n++] = (struct word){code, n, NULL};
}

/* Returns how many. */
static size_t cut(const struct eval_text *t, struct words *w)
{
    size_t from = 0, before = w->n;

    for (size_t i = 0; i < t->n; i++) {
        bool alone = is_word_alone(t->code[i]);

        if (!alone && !is_space(t->code[i]))
            continue;
        add_word(w, t->code + from, i - from);
        if (alone)
            add_word(w, t->code + i, 1);
        from = i + 1;
    }
    add_word(w, t->code + from, t->n - from);
    return w->n - before;
}

static int by_text(const void *a, const void *b)
{
    const struct word *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return memcmp(x->code, y->code, x->n * sizeof *x->code);
}

void eval_words_of(const struct eval_text *a, const struct eval_text *b, struct eval_text *words_a,
                   struct eval_text *words_b)
{
    struct words w = {0};
    int32_t number = 0;

    words_a->n = cut(a, &w);
    words_b->n = cut(b, &w);
    words_a->code = eval_alloc(words_a->n, sizeof *words_a->code);
    words_b->code = eval_alloc(words_b->n, sizeof *words_b->code);
    for (size_t i = 0; i < w.n; i++)
        w.word[i].number = i < words_a->n ? &words_a->code[i] : &words_b->code[i - words_a->n];
    if (w.n > 0)
        qsort(w.word, w.n, sizeof *w.word, by_text);
    for (size_t i = 0; i < w.n; i++)
        *w.word[i].number = i > 0 && by_text(&w.word[i - 1], &w.word[i]) == 0 ? number : ++number;
    free(w.word);
}
