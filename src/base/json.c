#include "base/json.h"

#include "base/err.h"
#include "base/file.h"

int json_parse(json_t **root, str text, const char *name)
{
    json_error_t e;

    *root = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (!*root)
        return err(RECTO_EFORMAT, "%s: not valid JSON: %s (line %d, column %d)", name, e.text,
                   e.line, e.column);
    return 0;
}

int json_read(json_t **root, const char *path, size_t max_bytes)
{
    struct buf b = {0};
    int rc = file_read(&b, path, max_bytes);

    *root = NULL;
    if (rc == 0)
        rc = json_parse(root, buf_view(&b), path);
    buf_reset(&b);
    return rc;
}

/* 1: present, 0: absent and optional, else an error. */
static int find(const json_t *obj, const char *where, const char *key, bool optional,
                const json_t **out)
{
    *out = json_object_get(obj, key);
    if (*out && !json_is_null(*out))
        return 1;
    return optional ? 0 : err(RECTO_EFORMAT, "%s: %s is missing", where, key);
}

static int expected(const char *where, const char *key, const char *what)
{
    return err(RECTO_EFORMAT, "%s: %s: expected %s", where, key, what);
}

int json_int(const json_t *obj, const char *where, const char *key, bool optional, int64_t lo,
             int64_t hi, int64_t *out)
{
    const json_t *v;
    int rc = find(obj, where, key, optional, &v);

    if (rc <= 0)
        return rc;
    if (!json_is_integer(v))
        return expected(where, key, "a whole number");
    int64_t n = json_integer_value(v);
    if (n < lo || n > hi)
        return err(RECTO_EFORMAT, "%s: %s is %lld, expected %lld to %lld", where, key, (long long)n,
                   (long long)lo, (long long)hi);
    *out = n;
    return 0;
}

int json_double(const json_t *obj, const char *where, const char *key, bool optional, double lo,
                double hi, double *out)
{
    const json_t *v;
    int rc = find(obj, where, key, optional, &v);

    if (rc <= 0)
        return rc;
    if (!json_is_number(v))
        return expected(where, key, "a number");
    double d = json_number_value(v);
    if (!(d >= lo && d <= hi))
        return err(RECTO_EFORMAT, "%s: %s is %g, expected %g to %g", where, key, d, lo, hi);
    *out = d;
    return 0;
}

int json_bool(const json_t *obj, const char *where, const char *key, bool optional, bool *out)
{
    const json_t *v;
    int rc = find(obj, where, key, optional, &v);

    if (rc <= 0)
        return rc;
    if (!json_is_boolean(v))
        return expected(where, key, "true or false");
    *out = json_is_true(v);
    return 0;
}

int json_str(const json_t *obj, const char *where, const char *key, bool optional, str *out)
{
    const json_t *v;
    int rc = find(obj, where, key, optional, &v);

    if (rc <= 0)
        return rc;
    if (!json_is_string(v))
        return expected(where, key, "a string");
    *out = (str){json_string_value(v), json_string_length(v)};
    return 0;
}

int json_get_object(const json_t *obj, const char *where, const char *key, bool optional,
                    json_t **out)
{
    const json_t *v;
    int rc = find(obj, where, key, optional, &v);

    *out = NULL;
    if (rc <= 0)
        return rc;
    if (!json_is_object(v))
        return expected(where, key, "an object");
    *out = (json_t *)v;
    return 0;
}

int json_get_array(const json_t *obj, const char *where, const char *key, bool optional,
                   json_t **out)
{
    const json_t *v;
    int rc = find(obj, where, key, optional, &v);

    *out = NULL;
    if (rc <= 0)
        return rc;
    if (!json_is_array(v))
        return expected(where, key, "an array");
    *out = (json_t *)v;
    return 0;
}
