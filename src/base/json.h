/* JSON by jansson, with getters whose errors name the place: `config.json: language_config.hidden_size: expected a
 * whole number`. Strict UTF-8; duplicate keys are refused. Values belong to the root; json_close frees it. */
#ifndef RECTO_BASE_JSON_H
#define RECTO_BASE_JSON_H

#include "base/str.h"

#include <jansson.h>

/* Parse text; name is for messages only. RECTO_EFORMAT with line and column. *root is owned by the caller (json_decref). */
int json_parse(json_t **root, str text, const char *name);
/* As json_parse, from a file of at most max_bytes. */
int json_read(json_t **root, const char *path, size_t max_bytes);

/* obj[key] as a whole number in [lo, hi]. Missing or null: *out is left alone and 0 returned when `optional`, else
 * RECTO_EFORMAT. where is the printed place of obj ("config.json: language_config"). */
int json_int(const json_t *obj, const char *where, const char *key, bool optional, int64_t lo,
             int64_t hi, int64_t *out);
int json_double(const json_t *obj, const char *where, const char *key, bool optional, double lo,
                double hi, double *out);
int json_bool(const json_t *obj, const char *where, const char *key, bool optional, bool *out);
/* The string belongs to obj. */
int json_str(const json_t *obj, const char *where, const char *key, bool optional, str *out);
/* obj[key] as an object or array; NULL in *out when optional and missing. */
int json_get_object(const json_t *obj, const char *where, const char *key, bool optional,
                    json_t **out);
int json_get_array(const json_t *obj, const char *where, const char *key, bool optional,
                   json_t **out);

#endif
