#include "tensor/config_key.h"

#include "base/err.h"

#include <math.h>
#include <stdio.h>

void place_root(struct place *p, const json_t *root, const char *file)
{
    *p = (struct place){.obj = root};
    snprintf(p->where, sizeof p->where, "%.80s", file);
}

int enter(struct place *to, const struct place *from, const char *key)
{
    json_t *obj;

    TRY(json_get_object(from->obj, from->where, key, false, &obj));
    to->obj = obj;
    to->depth = from->depth + 1;
    snprintf(to->where, sizeof to->where, "%.120s%s%.36s", from->where, from->depth ? "." : ": ",
             key);
    return 0;
}

int get_int(const struct place *p, const char *key, int optional, int lo, int hi, int *out)
{
    int64_t v = *out;

    TRY(json_int(p->obj, p->where, key, optional, lo, hi, &v));
    *out = (int)v;
    return 0;
}

int get_float(const struct place *p, const char *key, int optional, double lo, double hi,
              float *out)
{
    double v = *out;

    TRY(json_double(p->obj, p->where, key, optional, lo, hi, &v));
    *out = (float)v;
    return 0;
}

/* "yarn", true, 2.5, or what kind of thing it is. */
static const char *value_text(const json_t *v, char text[40])
{
    if (json_is_string(v))
        snprintf(text, 40, "\"%.30s\"", json_string_value(v));
    else if (json_is_number(v))
        snprintf(text, 40, "%g", json_number_value(v));
    else
        snprintf(text, 40, "%s",
                 json_is_true(v)    ? "true"
                 : json_is_false(v) ? "false"
                 : json_is_array(v) ? "a list"
                                    : "an object");
    return text;
}

static const char *wanted_text(const struct rule *r, char text[40])
{
    if (r->kind == MUST_TEXT)
        snprintf(text, 40, "\"%s\"", r->text);
    else if (r->kind == MUST_NUMBER)
        snprintf(text, 40, "%g", r->number);
    else
        snprintf(text, 40, "%s",
                 r->kind == MUST_TRUE    ? "true"
                 : r->kind == MUST_FALSE ? "false"
                                         : "null");
    return text;
}

static bool rule_holds(const struct rule *r, const json_t *v)
{
    switch (r->kind) {
    case MUST_TRUE:
        return json_is_true(v);
    case MUST_FALSE:
        return json_is_false(v);
    case MUST_NUMBER:
        return json_is_number(v) &&
               fabs(json_number_value(v) - r->number) <= 1e-6 * fabs(r->number);
    case MUST_TEXT:
        return json_is_string(v) && strcmp(json_string_value(v), r->text) == 0;
    case MUST_ABSENT:
        break;
    }
    return false;
}

int check_rules(const struct place *p, const struct rule *rule, size_t n)
{
    char found[40], wanted[40];

    for (const struct rule *r = rule; r < rule + n; r++) {
        const json_t *v = json_object_get(p->obj, r->key);

        if (v && !json_is_null(v) && !rule_holds(r, v))
            return err(RECTO_EMODEL, "%s: %s is %s, expected %s: recto has no %s", p->where, r->key,
                       value_text(v, found), wanted_text(r, wanted), r->why);
    }
    return 0;
}
