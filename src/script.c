#include "script.h"

#include "base/err.h"
#include "base/json.h"

#include <stdio.h>

#define SCRIPT_MAX_FILE (64 << 20)
#define TEXTS           4

/* The texts of an entry, in the order of script_stream.id. */
static const char *const text_key[TEXTS] = {"text", "repeat", "tail", "other"};
static const char *const end_name[] = {"eos", "on", "fail"};

bool script_is_named(const char *device, const char **file)
{
    bool is_named = device && strncmp(device, "script:", 7) == 0;

    *file = is_named ? device + 7 : NULL;
    return is_named;
}

/* ---- reading and checking -------------------------------------------------------------------------------------------- */

static int end_of(const json_t *entry, const char *where, enum script_end *end)
{
    str s = {0};

    *end = SCRIPT_EOS;
    TRY(json_str(entry, where, "end", true, &s));
    if (!s.p)
        return 0;
    for (size_t i = 0; i < COUNT(end_name); i++)
        if (str_eq(s, str_of(end_name[i]))) {
            *end = (enum script_end)i;
            return 0;
        }
    return err(RECTO_EFORMAT, "%s.end: expected eos, on or fail", where);
}

/* What an entry says besides its texts. */
static int numbers_of(const json_t *entry, const char *where, struct script_stream *out)
{
    int64_t times = -1;
    double logp = -0.1, token_ms = 0;

    TRY(json_int(entry, where, "times", true, 0, 1000000, &times));
    TRY(json_double(entry, where, "logp", true, -100, 0, &logp));
    TRY(json_double(entry, where, "token_ms", true, 0, 10000, &token_ms));
    TRY(end_of(entry, where, &out->end));
    out->n_times = (int)times;
    out->logp = (float)logp;
    out->token_us = (int)(token_ms * 1000);
    return 0;
}

static int check_key(const json_t *entry, const char *where, const char *key)
{
    static const char *const numbers[] = {"page", "attempt", "turn", "half"};
    static const char *const words[] = {"document", "rung", "view"};
    static const char *const rest[] = {"times", "logp", "token_ms", "end"};
    int64_t number;
    str s;

    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(key, numbers[i]) == 0)
            return json_int(entry, where, key, false, 0, INT32_MAX, &number);
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(key, words[i]) == 0)
            return json_str(entry, where, key, false, &s);
    for (int i = 0; i < TEXTS; i++)
        if (strcmp(key, text_key[i]) == 0)
            return json_str(entry, where, key, false, &s);
    for (size_t i = 0; i < COUNT(rest); i++)
        if (strcmp(key, rest[i]) == 0)
            return 0; /* numbers_of looks at them */
    return err(RECTO_EFORMAT, "%s: no key '%s' in an entry of a script", where, key);
}

static int check_entries(const json_t *root, const char *file)
{
    json_t *list;
    const json_t *entry;
    size_t i;

    TRY(json_get_array(root, file, "pages", false, &list));
    json_array_foreach(list, i, entry)
    {
        struct script_stream unused;
        char where[300];
        const char *key;
        const json_t *value;

        snprintf(where, sizeof where, "%.200s: pages[%zu]", file, i);
        if (!json_is_object(entry))
            return err(RECTO_EFORMAT, "%s: expected an object", where);
        json_object_foreach((json_t *)entry, key, value) TRY(check_key(entry, where, key));
        TRY(numbers_of(entry, where, &unused));
    }
    return 0;
}

/* "1 2 3 ..." as at least n ids. */
static int count_up(struct script *s, int n)
{
    for (int i = 1; s->on.n < n; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "%d ", i);

        TRY(tokenizer_encode(s->tokenizer, (str){text, (size_t)len}, false, &s->on));
    }
    return 0;
}

int script_open(struct script *s, const char *file, const struct tokenizer *t, int n_context)
{
    *s = (struct script){.tokenizer = t};
    TRY(json_read(&s->root, file, SCRIPT_MAX_FILE));
    TRY(check_entries(s->root, file));
    return count_up(s, n_context);
}

void script_close(struct script *s)
{
    json_decref(s->root);
    ids_reset(&s->on);
    *s = (struct script){0};
}

/* ---- finding --------------------------------------------------------------------------------------------------------- */

static bool fits_int(const json_t *entry, const char *key, int value)
{
    const json_t *v = json_object_get(entry, key);

    return !v || json_integer_value(v) == value;
}

static bool fits_str(const json_t *entry, const char *key, const char *value)
{
    const json_t *v = json_object_get(entry, key);

    return !v || strcmp(json_string_value(v), value) == 0;
}

static bool fits(const json_t *entry, const struct script_ask *a)
{
    return fits_str(entry, "document", a->document) && fits_int(entry, "page", a->page) &&
           fits_int(entry, "attempt", a->attempt) && fits_str(entry, "rung", a->rung) &&
           fits_int(entry, "turn", a->turn) && fits_int(entry, "half", a->half) &&
           fits_str(entry, "view", a->view);
}

/* The value of a name in braces at the front of s; its length with them, 0: none of ours. */
static size_t put_name(struct buf *out, str s, const struct script_ask *a)
{
    const struct {
        const char *name, *text;
        int number;
    } all[] = {{"{page}", NULL, a->page},       {"{document}", a->document, 0},
               {"{attempt}", NULL, a->attempt}, {"{rung}", a->rung, 0},
               {"{turn}", NULL, a->turn},       {"{half}", NULL, a->half}};

    for (size_t i = 0; i < COUNT(all); i++) {
        if (!str_starts(s, str_of(all[i].name)))
            continue;
        if (all[i].text)
            buf_text(out, all[i].text);
        else
            buf_fmt(out, "%d", all[i].number);
        return strlen(all[i].name);
    }
    return 0;
}

static void fill_in(struct buf *out, str s, const struct script_ask *a)
{
    for (size_t i = 0; i < s.n;) {
        size_t n = s.p[i] == '{' ? put_name(out, (str){s.p + i, s.n - i}, a) : 0;

        if (n == 0)
            buf_char(out, s.p[i++]);
        i += n;
    }
}

static int encode_text(const struct script *s, const struct script_ask *a, const char *text,
                       struct ids *ids, int *n)
{
    struct buf filled = {0};
    int before = ids->n, rc;

    fill_in(&filled, str_of(text), a);
    rc = tokenizer_encode(s->tokenizer, buf_view(&filled), true, ids);
    buf_reset(&filled);
    *n = ids->n - before;
    return rc;
}

static int make_stream(const struct script *s, const json_t *entry, const struct script_ask *a,
                       struct script_stream *out)
{
    int *n[TEXTS] = {&out->n_head, &out->n_unit, &out->n_tail, &out->n_other}, rc;
    struct ids ids = {0};

    TRY(numbers_of(entry, "script", out));
    for (int i = 0; i < TEXTS; i++) {
        const char *text = json_string_value(json_object_get(entry, text_key[i]));

        TRY_OUT(encode_text(s, a, text ? text : i == 3 ? "0123456789" : "", &ids, n[i]));
    }
    out->on = s->on.id;
    out->n_on = s->on.n;
    out->id = ids.id;
    return 0;
out:
    ids_reset(&ids);
    return rc;
}

int script_find(const struct script *s, const struct script_ask *ask, struct script_stream *out)
{
    const json_t *entry;
    size_t i;

    *out = (struct script_stream){0};
    json_array_foreach(json_object_get(s->root, "pages"), i, entry)
    {
        if (fits(entry, ask))
            return make_stream(s, entry, ask, out);
    }
    return err(RECTO_EDEVICE,
               "device: the script has nothing for %s page %d, attempt %d (%s), turn %d, half %d",
               ask->document, ask->page, ask->attempt, ask->rung, ask->turn, ask->half);
}
