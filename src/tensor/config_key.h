/* Reading one object of a configuration: values by key with a range, and values that are refused.
 * For config*.c only. */
#ifndef RECTO_TENSOR_CONFIG_KEY_H
#define RECTO_TENSOR_CONFIG_KEY_H

#include "base/json.h"

struct model_config;

/* An object, and how it is called in messages: "config.json: vision_config.width". */
struct place {
    const json_t *obj;
    char where[160];
    int depth;
};

/* The whole file. */
void place_root(struct place *p, const json_t *root, const char *file);
/* The object at key, which must be there. */
int enter(struct place *to, const struct place *from, const char *key);

enum { REQUIRED, OPTIONAL }; /* an optional value that is absent or null leaves *out as it is */

int get_int(const struct place *p, const char *key, int optional, int lo, int hi, int *out);
int get_float(const struct place *p, const char *key, int optional, double lo, double hi,
              float *out);

/* A value that stands for arithmetic which recto does not do, unless it is this one. Absent or null
 * is fine: the official class then has the wanted value (but for use_mla, which is required). */
struct rule {
    const char *key;
    enum { MUST_TRUE, MUST_FALSE, MUST_ABSENT, MUST_NUMBER, MUST_TEXT } kind;
    double number;
    const char *text;
    const char *why; /* "recto has no ..." */
};

int check_rules(const struct place *p, const struct rule *rule, size_t n);

/* config_layout.c: fill c from either layout; p is the whole file, head_dim is left to config.c. */
int config_read_original(const struct place *p, struct model_config *c);
int config_read_native(const struct place *p, struct model_config *c);

#endif
