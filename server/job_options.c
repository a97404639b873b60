#include "job_options.h"

#include "fault.h"
#include "page_range.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_ = 8192, META_MAX = 4096, YEARS_S = 10 * 366 * 86400 };

/* A member's check: 0, or a fault that names it. */
struct member {
    const char *name;
    int (*check)(const struct member *m, const json_t *v);
    bool is_reading; /* may be given with a retry */
    int64_t lo, hi;
    const char *words[9]; /* values, for check_word and those built on it */
    const char *preset;   /* JSON, what a job has without it; NULL: nothing */
};

static int wrong(const struct member *m, const char *expected)
{
    return fault(JOBS_INVALID_VALUE, m->name, "%s: expected %s", m->name, expected);
}

static bool is_word(const struct member *m, const json_t *v)
{
    const char *s = json_string_value(v);

    for (int i = 0; s && m->words[i]; i++)
        if (strcmp(s, m->words[i]) == 0)
            return true;
    return false;
}

static int expect_words(const struct member *m, const char *more)
{
    char list[200] = "";
    size_t n = 0;

    for (int i = 0; m->words[i]; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", m->words[i]);
    snprintf(list + n, sizeof list - n, "%s", more);
    return wrong(m, list);
}

static int check_word(const struct member *m, const json_t *v)
{
    return is_word(m, v) ? 0 : expect_words(m, "");
}

static int check_number(const struct member *m, const json_t *v)
{
    char expected[80];

    if (json_is_integer(v) && json_integer_value(v) >= m->lo && json_integer_value(v) <= m->hi)
        return 0;
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)m->lo,
             (long long)m->hi);
    return wrong(m, expected);
}

static int check_word_or_number(const struct member *m, const json_t *v)
{
    char more[60];

    if (is_word(m, v))
        return 0;
    if (json_is_integer(v) && json_integer_value(v) >= m->lo && json_integer_value(v) <= m->hi)
        return 0;
    snprintf(more, sizeof more, ", or a whole number from %lld to %lld", (long long)m->lo,
             (long long)m->hi);
    return expect_words(m, more);
}

static int check_rotate(const struct member *m, const json_t *v)
{
    TRY(check_word_or_number(m, v));
    return json_integer_value(v) % 90 == 0 ? 0 : expect_words(m, ", 0, 90, 180 or 270");
}

static int check_text(const struct member *m, const json_t *v)
{
    if (json_is_null(v) ||
        (json_is_string(v) && json_string_length(v) > 0 && json_string_length(v) <= TEXT_MAX_ &&
         strlen(json_string_value(v)) == json_string_length(v)))
        return 0;
    return wrong(m, "a text of 1 to 8192 bytes without NUL, or null");
}

static int check_pages(const struct member *m, const json_t *v)
{
    if (json_is_null(v))
        return 0;
    TRY(check_text(m, v));
    return page_range_check(json_string_value(v), m->name);
}

static bool read_guard(const char *text, int *n, int *w)
{
    char rest;

    return text && sscanf(text, "%d/%d%c", n, w, &rest) == 2 && *n >= 1 && *n <= 1000 && *w >= 1 &&
           *w <= 100000;
}

static int check_guard(const struct member *m, const json_t *v)
{
    int n, w;

    return json_is_null(v) || read_guard(json_string_value(v), &n, &w)
               ? 0
               : wrong(m, "N/WINDOW, such as 20/90");
}

static int check_retry(const struct member *m, const json_t *v)
{
    const char *key;
    json_t *n;

    if (!json_is_object(v))
        return wrong(m, "an object such as {\"max_retries\":3}");
    json_object_foreach((json_t *)v, key, n)
    {
        bool is_attempts = strcmp(key, "max_attempts") == 0;
        json_int_t value = json_integer_value(n) - is_attempts;
        if (!is_attempts && strcmp(key, "max_retries") != 0)
            return fault(JOBS_UNKNOWN_OPTION, m->name, "retry has no member '%.40s'", key);
        if (!json_is_integer(n) || value < 0 || value > RECTO_RETRIES_MAX)
            return wrong(m, "max_retries from 0 to 5, or max_attempts from 1 to 6");
    }
    return 0;
}

static int check_meta(const struct member *m, const json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t n = text ? strlen(text) : 0;

    free(text);
    return n <= META_MAX ? 0 : wrong(m, "at most 4096 bytes of JSON");
}

/* clang-format off */
#define READING .is_reading = true
static const struct member members[] = {
    {.name = "pages", .check = check_pages, .preset = "null"},
    {.name = "mode", .check = check_word, READING, .preset = "\"markdown\"",
     .words = {"markdown", "text", "free", "ocr", "figure", "describe", "locate", "custom"}},
    {.name = "prompt", .check = check_text, READING, .preset = "null"},
    {.name = "query", .check = check_text, READING, .preset = "null"},
    {.name = "dpi", .check = check_word_or_number, READING, .lo = 36, .hi = 600, .words = {"auto"}, .preset = "\"auto\""},
    {.name = "view", .check = check_word, READING, .words = {"auto", "global"}, .preset = "\"auto\""},
    {.name = "rotate", .check = check_rotate, READING, .lo = 0, .hi = 270, .words = {"auto", "exif"}, .preset = "\"auto\""},
    {.name = "text_layer", .check = check_word, READING, .words = {"ignore", "auto", "prefer", "compare"}, .preset = "\"ignore\""},
    {.name = "max_tokens", .check = check_number, READING, .lo = 1, .hi = 1000000},
    {.name = "ngram_size", .check = check_number, READING, .lo = 0, .hi = 1000},
    {.name = "ngram_window", .check = check_number, READING, .lo = 1, .hi = 100000},
    {.name = "guard", .check = check_guard, READING},
    {.name = "blank", .check = check_word, READING, .words = {"skip", "read"}, .preset = "\"skip\""},
    {.name = "retry", .check = check_retry, READING, .preset = "{\"max_retries\":3}"},
    {.name = "class", .check = check_word, .words = {"interactive", "normal", "batch"}, .preset = "\"normal\""},
    {.name = "deadline_s", .check = check_number, .lo = 1, .hi = YEARS_S, .preset = "86400"},
    {.name = "retain_s", .check = check_number, .lo = 1, .hi = YEARS_S},
    {.name = "name", .check = check_text, .preset = "null"},
    {.name = "meta", .check = check_meta, .preset = "null"},
    {.name = "password", .check = check_text},
};
/* clang-format on */
enum { N_MEMBER = sizeof members / sizeof *members };

static int find(const char *name, bool is_retry, const struct member **out)
{
    for (int i = 0; i < N_MEMBER; i++)
        if (strcmp(members[i].name, name) == 0 && (!is_retry || members[i].is_reading)) {
            *out = &members[i];
            return 0;
        }
    return fault(JOBS_UNKNOWN_OPTION, NULL, "there is no option '%.60s'%s", name,
                 is_retry ? " for a retry" : "");
}

/* ---- taking in ------------------------------------------------------------------------------------------------------------------ */
int options_merge(json_t *to, const json_t *from, bool is_retry)
{
    const struct member *m;
    const char *key;
    json_t *v;

    if (!json_is_object(from))
        return fault(JOBS_INVALID_JSON, NULL, "options: expected a JSON object");
    json_object_foreach((json_t *)from, key, v)
    {
        TRY(find(key, is_retry, &m));
        TRY(m->check(m, v));
        json_object_set(to, key, v);
    }
    return 0;
}

/* Numbers as numbers, "null" as null, the rest as text; {"max_retries":2} as JSON. */
static json_t *value_of_text(const char *text)
{
    char *end;

    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*text && !*end && errno == 0)
        return json_integer(n);
    if (strcmp(text, "null") == 0)
        return json_null();
    json_t *v = *text == '{' ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    return v ? v : json_string(text);
}

int options_set_text(json_t *to, const char *name, const char *value)
{
    const struct member *m;

    TRY(find(name, false, &m));
    bool is_text = m->check == check_text || m->check == check_pages;
    json_t *v = is_text ? json_string(value) : value_of_text(value);
    if (!v)
        return wrong(m, "UTF-8");
    int rc = m->check(m, v);
    if (rc == 0)
        json_object_set(to, name, v);
    json_decref(v);
    return rc;
}

int options_check(const json_t *options)
{
    const char *mode = options_text(options, "mode");

    if (mode && strcmp(mode, "locate") == 0 && !options_text(options, "query"))
        return fault(JOBS_INVALID_VALUE, "query", "mode locate: query says what to look for");
    if (mode && strcmp(mode, "custom") == 0 && !options_text(options, "prompt"))
        return fault(JOBS_INVALID_VALUE, "prompt",
                     "mode custom: prompt is what the model is asked");
    return 0;
}

char *options_complete(json_t *options)
{
    const char *text = options_text(options, "password");
    char *password = text ? strdup(text) : NULL;

    json_object_del(options, "password");
    for (int i = 0; i < N_MEMBER; i++)
        if (members[i].preset && !json_object_get(options, members[i].name))
            json_object_set_new(options, members[i].name,
                                json_loads(members[i].preset, JSON_DECODE_ANY, NULL));
    return password;
}

/* ---- giving out ----------------------------------------------------------------------------------------------------------------- */
int64_t options_int(const json_t *options, const char *name, int64_t otherwise)
{
    const json_t *v = json_object_get(options, name);

    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

const char *options_text(const json_t *options, const char *name)
{
    return json_string_value(json_object_get(options, name));
}

enum recto_class options_class(const json_t *options)
{
    const char *class = options_text(options, "class");

    if (class && strcmp(class, "interactive") == 0)
        return RECTO_CLASS_INTERACTIVE;
    return class && strcmp(class, "batch") == 0 ? RECTO_CLASS_BATCH : RECTO_CLASS_NORMAL;
}

/* The retry's member if it has one, else the job's. */
static const json_t *member(const json_t *options, const json_t *retry, const char *name)
{
    const json_t *v = json_object_get(retry, name);

    return v ? v : json_object_get(options, name);
}

static void apply_mode(const json_t *o, const json_t *r, struct recto_options *to)
{
    static const char *const name[] = {"markdown", "text", "ocr", "figure", "describe", "locate"};
    const char *mode = json_string_value(member(o, r, "mode"));

    to->phrase = json_string_value(member(o, r, "query"));
    to->prompt = json_string_value(member(o, r, "prompt"));
    if (mode && strcmp(mode, "free") == 0)
        mode = "text";
    for (int i = 0; mode && i <= RECTO_TASK_LOCATE; i++)
        if (strcmp(mode, name[i]) == 0)
            to->task = (enum recto_task)i;
}

static void apply_guard(const json_t *o, const json_t *r, struct recto_options *to)
{
    const json_t *size = member(o, r, "ngram_size"), *window = member(o, r, "ngram_window");
    const char *guard = json_string_value(member(o, r, "guard"));

    if (json_is_integer(size))
        to->guard_n = json_integer_value(size) ? (int)json_integer_value(size) : -1;
    to->guard_w = json_is_integer(window) ? (int)json_integer_value(window)
                  : to->guard_n > 0       ? 90
                                          : 0;
    if (json_is_integer(window) && to->guard_n == 0)
        to->guard_n = 20;
    if (guard)
        read_guard(guard, &to->guard_n, &to->guard_w);
}

static void apply_retries(const json_t *o, const json_t *r, struct recto_options *to)
{
    const json_t *retry = member(o, r, "retry"), *n = json_object_get(retry, "max_retries");
    const json_t *attempts = json_object_get(retry, "max_attempts");

    if (json_is_integer(attempts))
        to->retries = (int)json_integer_value(attempts) - 1;
    if (json_is_integer(n))
        to->retries = (int)json_integer_value(n);
    to->max_tokens = (int)json_integer_value(member(o, r, "max_tokens"));
    if (to->max_tokens)
        to->retries = 0; /* a cut at the client's own limit is not a fault */
}

static bool is_text(const json_t *v, const char *text)
{
    const char *s = json_string_value(v);

    return s && strcmp(s, text) == 0;
}

void options_apply(const json_t *options, const json_t *retry, struct recto_options *to,
                   struct recto_input *in)
{
    const json_t *rotate = member(options, retry, "rotate"),
                 *layer = member(options, retry, "text_layer");

    apply_mode(options, retry, to);
    apply_guard(options, retry, to);
    apply_retries(options, retry, to);
    if (json_is_integer(rotate) || is_text(rotate, "exif"))
        to->rotate = (int)json_integer_value(rotate);
    if (is_text(layer, "auto") || is_text(layer, "prefer"))
        to->text_layer = RECTO_LAYER_PREFER;
    if (is_text(layer, "compare"))
        to->text_layer = RECTO_LAYER_COMPARE;
    to->whole_view = is_text(member(options, retry, "view"), "global");
    to->no_blank_check = is_text(member(options, retry, "blank"), "read");
    in->dpi = (int)json_integer_value(member(options, retry, "dpi"));
}
