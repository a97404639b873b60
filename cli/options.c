#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int options_fail(struct options *o, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(o->error, sizeof o->error, fmt, args);
    va_end(args);
    return -1;
}

int options_find(unsigned mask, const char *name, size_t n)
{
    int other = -1;

    for (int k = 0; k < N_OPT; k++)
        if (strlen(option_table[k].name) == n && memcmp(option_table[k].name, name, n) == 0) {
            if (option_table[k].mask & mask)
                return k;
            other = k;
        }
    return other;
}

static int find_letter(char letter)
{
    for (int k = 0; k < N_OPT; k++)
        if (letter && option_table[k].letter == letter)
            return k;
    return -1;
}

/* RECTO_MAX_TOKENS for max-tokens. */
static const char *variable_of(enum option k, char name[64])
{
    int n = snprintf(name, 64, "RECTO_%s", option_table[k].name);
    for (int i = 0; i < n; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    return name;
}

static const char *place(const struct options *o, enum option k, enum option_source source)
{
    static char text[1100];
    char name[64];

    if (source == SOURCE_ENVIRONMENT)
        snprintf(text, sizeof text, "%s", variable_of(k, name));
    else if (source == SOURCE_FILE)
        snprintf(text, sizeof text, "%s in %s", option_table[k].name, o->config);
    else
        snprintf(text, sizeof text, "--%s", option_table[k].name);
    return text;
}

const char *opt_origin(const struct options *o, enum option k)
{
    return place(o, k, o->source[k]);
}

/* --- one value -------------------------------------------------------------------------------- */
static bool in_list(const char *list, const char *value)
{
    size_t n = strlen(value);

    for (const char *p = list; n > 0 && *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == n && memcmp(p, value, n) == 0)
            return true;
    return false;
}

/* 1, 0, or -1 for neither. */
static int yes_or_no(const char *value)
{
    if (in_list("yes|true|on|1", value))
        return 1;
    return in_list("no|false|off|0", value) ? 0 : -1;
}

static bool is_number(const struct option_def *d, const char *value)
{
    char *end;
    double x = 0;

    errno = 0;
    if (isspace((unsigned char)*value))
        return false;
    if (d->type == TYPE_INT)
        x = (double)strtoll(value, &end, 10);
    else
        x = strtod(value, &end);
    return end != value && *end == 0 && errno == 0 && x >= d->min && x <= d->max;
}

/* "512MiB" with units as factors; -1 if it is none. */
static double number_with_unit(const char *value, const char *const *unit, const double *factor)
{
    char *end;
    double x = strtod(value, &end);

    if (end == value || !isdigit((unsigned char)*value))
        return -1;
    while (*end == ' ')
        end++;
    for (int i = 0; unit[i]; i++)
        if (strcasecmp(end, unit[i]) == 0)
            return x * factor[i];
    return -1;
}

static double size_of(const char *value)
{
    static const char *const unit[] = {"",  "B",   "K",  "KiB", "KB",  "M",  "MiB", "MB",
                                       "G", "GiB", "GB", "T",   "TiB", "TB", NULL};
    static const double factor[] = {1,   1,      0x1p10, 0x1p10, 1e3,    0x1p20, 0x1p20,
                                    1e6, 0x1p30, 0x1p30, 1e9,    0x1p40, 0x1p40, 1e12};

    return number_with_unit(value, unit, factor);
}

static double seconds_of(const char *value)
{
    static const char *const unit[] = {"", "s", "m", "min", "h", "d", NULL};
    static const double factor[] = {1, 1, 60, 60, 3600, 86400};

    return number_with_unit(value, unit, factor);
}

static int check_unit(struct options *o, const struct option_def *d, const char *from,
                      const char *value)
{
    bool is_size = d->type == TYPE_SIZE;
    double x = is_size ? size_of(value) : seconds_of(value);

    if (x >= d->min && x <= d->max)
        return 0;
    return options_fail(o, "%s: '%.60s' is not %s from %.15g to %.15g", from, value,
                        is_size ? "a size in bytes, KiB, MiB or GiB" : "a time in s, m, h or d",
                        d->min, d->max);
}

/* Does the value start with the name before the space in values, and then =SOMETHING? */
static bool is_pair(const char *values, const char *value)
{
    size_t n = strcspn(values, " ");

    return strncmp(value, values, n) == 0 && value[n] == '=' && value[n + 1];
}

static int check(struct options *o, enum option k, const char *value, enum option_source source)
{
    const struct option_def *d = &option_table[k];
    const char *from = place(o, k, source);

    if (d->type == TYPE_FLAG && yes_or_no(value) < 0)
        return options_fail(o, "%s: '%.60s' is neither yes nor no", from, value);
    if (d->type == TYPE_CHOICE && !in_list(d->values, value))
        return options_fail(o, "%s: '%.60s' is not one of %s", from, value, d->values);
    if (d->type == TYPE_PAIR && !is_pair(d->values, value))
        return options_fail(o, "%s: '%.60s' is not %s", from, value, d->values);
    if ((d->type == TYPE_TEXT || d->type == TYPE_LIST) && *value == 0)
        return options_fail(o, "%s: the value is empty", from);
    if ((d->type == TYPE_INT || d->type == TYPE_REAL) && !is_number(d, value))
        return options_fail(o, "%s: '%.60s' is not %s from %.15g to %.15g", from, value,
                            d->type == TYPE_INT ? "a whole number" : "a number", d->min, d->max);
    if (d->type == TYPE_SIZE || d->type == TYPE_TIME)
        return check_unit(o, d, from, value);
    return 0;
}

/* Behind what the same source has given so far; the commas of a variable become line breaks. */
static int add_item(struct options *o, enum option k, const char *value, enum option_source source)
{
    size_t n = o->value[k] ? strlen(o->value[k]) : 0, more = strlen(value);
    char *all = realloc(o->owned[k], n + more + 2);

    if (!all)
        return options_fail(o, "not enough memory");
    if (n > 0)
        all[n++] = '\n';
    memcpy(all + n, value, more + 1);
    for (char *p = all + n; source == SOURCE_ENVIRONMENT && *p; p++)
        *p = *p == ',' ? '\n' : *p;
    o->value[k] = o->owned[k] = all;
    o->source[k] = source;
    return 0;
}

int options_set(struct options *o, enum option k, const char *value, enum option_source source)
{
    if (o->value[k] && !(source == SOURCE_ARGUMENT && o->source[k] == SOURCE_ARGUMENT))
        return 0;
    if (check(o, k, value, source) < 0)
        return -1;
    if (option_table[k].type == TYPE_LIST)
        return add_item(o, k, value, source);
    o->source[k] = source;
    o->value[k] = value;
    if (source == SOURCE_FILE)
        o->value[k] = o->owned[k] = strdup(value);
    return o->value[k] ? 0 : options_fail(o, "not enough memory");
}

/* --- arguments -------------------------------------------------------------------------------- */
static int known(struct options *o, int k, const char *as_typed)
{
    static const struct {
        unsigned mask;
        const char *name;
    } cmds[] = {{FOR_READ, "read"},   {FOR_INSPECT, "inspect"},   {FOR_VERIFY, "verify"},
                {FOR_BENCH, "bench"}, {FOR_QUANTIZE, "quantize"}, {FOR_SERVE, "serve"},
                {FOR_KEY, "key"},     {FOR_STORE, "store"},       {FOR_EVAL, "eval"}};

    if (k < 0)
        return options_fail(o, "unknown option %.60s; see recto %s --help", as_typed, o->command);
    if (option_table[k].mask & o->mask)
        return 0;
    for (size_t i = 0; i < sizeof cmds / sizeof *cmds; i++)
        if (option_table[k].mask & cmds[i].mask)
            return options_fail(o, "%.60s belongs to recto %s, not to recto %s", as_typed,
                                cmds[i].name, o->command);
    return 0;
}

/* --name FIRST SECOND, kept as FIRST=SECOND. */
static int take_pair(struct options *o, enum option k, int argc, char **argv)
{
    char *pair = NULL;

    if (argc < 3)
        return options_fail(o, "%s needs two values: %s", argv[0], option_table[k].values);
    if (asprintf(&pair, "%s=%s", argv[1], argv[2]) < 0)
        return options_fail(o, "not enough memory");
    free(o->owned[k]);
    o->owned[k] = pair;
    return options_set(o, k, pair, SOURCE_ARGUMENT) < 0 ? -1 : 3;
}

/* --name, --name=value, --name value; returns how many of argv were used, or -1. */
static int take_long(struct options *o, int argc, char **argv)
{
    const char *name = argv[0] + 2;
    size_t n = strcspn(name, "=");
    int k = options_find(o->mask, name, n);
    const char *value = name[n] == '=' ? name + n + 1 : NULL;

    if (known(o, k, argv[0]) < 0)
        return -1;
    if (value || option_table[k].type == TYPE_FLAG)
        return options_set(o, k, value ? value : "yes", SOURCE_ARGUMENT) < 0 ? -1 : 1;
    if (argc < 2)
        return options_fail(o, "%s needs a value: %s", argv[0], option_table[k].values);
    if (option_table[k].type == TYPE_PAIR && !strchr(argv[1], '='))
        return take_pair(o, k, argc, argv);
    return options_set(o, k, argv[1], SOURCE_ARGUMENT) < 0 ? -1 : 2;
}

/* -q, -qv, -oFILE, -o FILE. */
static int take_short(struct options *o, int argc, char **argv)
{
    for (const char *p = argv[0] + 1; *p; p++) {
        char typed[] = {'-', *p, 0};
        int k = find_letter(*p);
        if (*p == 'h') {
            o->wants_help = true;
            continue;
        }
        if (known(o, k, typed) < 0)
            return -1;
        if (option_table[k].type == TYPE_FLAG) {
            if (options_set(o, k, "yes", SOURCE_ARGUMENT) < 0)
                return -1;
            continue;
        }
        if (p[1])
            return options_set(o, k, p + 1, SOURCE_ARGUMENT) < 0 ? -1 : 1;
        if (argc < 2)
            return options_fail(o, "%s needs a value: %s", typed, option_table[k].values);
        return options_set(o, k, argv[1], SOURCE_ARGUMENT) < 0 ? -1 : 2;
    }
    return 1;
}

static int parse_arguments(struct options *o, int argc, char **argv)
{
    bool only_operands = false;

    for (int i = 0; i < argc;) {
        const char *a = argv[i];
        int used = 1;

        if (only_operands || a[0] != '-' || a[1] == 0)
            o->input[o->n_input++] = a;
        else if (strcmp(a, "--") == 0)
            only_operands = true;
        else if (strcmp(a, "--help") == 0)
            o->wants_help = true;
        else
            used = a[1] == '-' ? take_long(o, argc - i, argv + i)
                               : take_short(o, argc - i, argv + i);
        if (used < 0)
            return -1;
        i += used;
    }
    return 0;
}

static int parse_environment(struct options *o)
{
    char name[64];

    for (int k = 0; k < N_OPT; k++) {
        const char *value = getenv(variable_of(k, name));
        if (value && *value && (option_table[k].mask & o->mask) &&
            options_set(o, k, value, SOURCE_ENVIRONMENT) < 0)
            return -1;
    }
    return 0;
}

int options_parse(struct options *o, const char *command, unsigned mask, int argc, char **argv)
{
    *o = (struct options){.command = command, .mask = mask};
    o->input = calloc((size_t)argc + 1, sizeof *o->input);
    if (!o->input)
        return options_fail(o, "not enough memory");
    if (parse_arguments(o, argc, argv) < 0)
        return -1;
    if (o->wants_help) /* help must come even when the environment or the file is wrong */
        return 0;
    return parse_environment(o) < 0 ? -1 : config_read(o);
}

void options_reset(struct options *o)
{
    for (int k = 0; k < N_OPT; k++)
        free(o->owned[k]);
    free(o->input);
    *o = (struct options){0};
}

/* --- values ----------------------------------------------------------------------------------- */
bool opt_given(const struct options *o, enum option k)
{
    return o->value[k] != NULL;
}

const char *opt_text(const struct options *o, enum option k)
{
    return o->value[k];
}

bool opt_flag(const struct options *o, enum option k)
{
    return o->value[k] && yes_or_no(o->value[k]) == 1;
}

long long opt_int(const struct options *o, enum option k, long long fallback)
{
    return o->value[k] ? strtoll(o->value[k], NULL, 10) : fallback;
}

long long opt_size(const struct options *o, enum option k, long long fallback)
{
    if (!o->value[k])
        return fallback;
    return (long long)(option_table[k].type == TYPE_SIZE ? size_of(o->value[k])
                                                         : seconds_of(o->value[k]));
}

const char *opt_item(const struct options *o, enum option k, int i, char *out, size_t n)
{
    const char *p = o->value[k];

    while (p && i-- > 0) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    if (!p)
        return NULL;
    snprintf(out, n, "%.*s", (int)strcspn(p, "\n"), p);
    return out;
}

double opt_real(const struct options *o, enum option k, double fallback)
{
    return o->value[k] ? strtod(o->value[k], NULL) : fallback;
}

void options_help(FILE *out, unsigned mask)
{
    for (int k = 0; k < N_OPT; k++) {
        const struct option_def *d = &option_table[k];
        char left[64], letter[8] = "    ";

        if (!(d->mask & mask))
            continue;
        if (d->letter)
            snprintf(letter, sizeof letter, "-%c, ", d->letter);
        snprintf(left, sizeof left, "%s--%s %s", letter, d->name, d->values ? d->values : "");
        fprintf(out, "  %-32s %s\n", left, d->help);
    }
    fprintf(out, "  -h, --help                       print this\n");
}
