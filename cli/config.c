/* The configuration file.  libinih splits lines; this file feeds it, since the library itself
 * neither tells the line number to the handler nor complains about a line longer than its
 * buffer, whose rest it would read as a line of its own. */
#include "options.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct options *o;
    FILE *file;
    int line;
    bool failed;
    char *value[2][N_OPT]; /* at the top; in the section of the command */
};

static const char *const commands[] = {"read",     "inspect", "verify", "bench",
                                       "quantize", "serve",   "key",    "store"};

static char *next_line(char *text, int cap, void *ctx)
{
    struct reading *r = ctx;

    if (r->failed || !fgets(text, cap, r->file))
        return NULL;
    r->line++;
    if (!strchr(text, '\n') && !feof(r->file)) {
        options_fail(r->o, "%s line %d: longer than %d bytes", r->o->config, r->line, cap - 3);
        r->failed = true;
        return NULL;
    }
    return text;
}

static bool is_command(const char *section)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(section, commands[i]) == 0)
            return true;
    return false;
}

/* Returns 1, or 0 with r->failed: inih's convention. */
static int refuse(struct reading *r, const char *what, const char *name)
{
    options_fail(r->o, "%s line %d: %s '%.60s'", r->o->config, r->line, what, name);
    r->failed = true;
    return 0;
}

/* A list goes on. */
static int take_again(struct reading *r, char **list, const char *value)
{
    size_t n = strlen(*list), more = strlen(value);
    char *all = realloc(*list, n + more + 2);

    if (!all)
        return refuse(r, "not enough memory for", value);
    all[n] = '\n';
    memcpy(all + n + 1, value, more + 1);
    *list = all;
    return 1;
}

static int take(void *ctx, const char *section, const char *name, const char *value)
{
    struct reading *r = ctx;
    int k = options_find(r->o->mask, name, strlen(name)), depth = *section ? 1 : 0;

    if (r->failed)
        return 0;
    if (*section && !is_command(section))
        return refuse(r, "no command is called", section);
    if (k < 0 || k == OPT_CONFIG)
        return refuse(r, "unknown option", name);
    if (*section && strcmp(section, r->o->command) != 0)
        return 1;
    if (r->value[depth][k] && option_table[k].type == TYPE_LIST)
        return take_again(r, &r->value[depth][k], value);
    if (r->value[depth][k])
        return refuse(r, "given twice (or continued on a line that starts with a space):", name);
    r->value[depth][k] = strdup(value);
    return r->value[depth][k] ? 1 : refuse(r, "not enough memory for", name);
}

/* ~/.config/recto/recto.ini; "" if there is no home. */
static void default_path(char *path, size_t cap)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    *path = 0;
    if (xdg && *xdg == '/')
        snprintf(path, cap, "%s/recto/recto.ini", xdg);
    else if (home && *home)
        snprintf(path, cap, "%s/.config/recto/recto.ini", home);
}

/* The command's own section wins over the top of the file. */
static int apply(struct reading *r)
{
    for (int depth = 1; depth >= 0; depth--)
        for (int k = 0; k < N_OPT; k++)
            if (r->value[depth][k] && (option_table[k].mask & r->o->mask) &&
                options_set(r->o, k, r->value[depth][k], SOURCE_FILE) < 0)
                return -1;
    return 0;
}

int config_read(struct options *o)
{
    struct reading r = {.o = o};
    const char *given = opt_text(o, OPT_CONFIG);
    int rc = 0;

    if (given)
        snprintf(o->config, sizeof o->config, "%s", given);
    else
        default_path(o->config, sizeof o->config);
    r.file = *o->config ? fopen(o->config, "re") : NULL;
    if (!r.file && !given && (o->mask & FOR_SERVE)) { /* a service has no home */
        snprintf(o->config, sizeof o->config, "/etc/recto.ini");
        r.file = fopen(o->config, "re");
    }
    if (!r.file) {
        rc = given ? options_fail(o, "%s: %s", o->config, strerror(errno)) : 0;
        *o->config = 0;
        return rc;
    }
    int bad_line = ini_parse_stream(next_line, &r, take, &r);
    if (ferror(r.file))
        rc = options_fail(o, "%s: %s", o->config, strerror(errno));
    else if (r.failed)
        rc = -1;
    else if (bad_line != 0)
        rc = options_fail(o, "%s line %d: neither [command] nor name = value", o->config, bad_line);
    else
        rc = apply(&r);
    fclose(r.file);
    for (int k = 0; k < N_OPT; k++) {
        free(r.value[0][k]);
        free(r.value[1][k]);
    }
    return rc;
}
