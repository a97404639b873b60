#include "cli.h"
#include "output.h"
#include "progress.h"
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int usage(const char *what, const char *which)
{
    say(SAY_ERROR, "%s%s", what, which);
    return EXIT_USAGE;
}

/* --- formats ---------------------------------------------------------------------------------- */
static int no_such_format(const char *list)
{
    char all[200] = "";
    const struct recto_format *f;
    size_t n = 0;

    for (int i = 0; (f = recto_format_at(i)) && n < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", f->name);
    say(SAY_ERROR, "--format knows %s, not: %s", all, list);
    return EXIT_USAGE;
}

static bool is_in(const struct plan *p, const char *format)
{
    for (int i = 0; i < p->n_format; i++)
        if (p->format[i] == format)
            return true;
    return false;
}

static int parse_formats(struct plan *p, const char *list)
{
    char name[16];

    for (const char *s = list;; s++) {
        size_t n = strcspn(s, ",");
        const struct recto_format *f;

        snprintf(name, sizeof name, "%.*s", (int)n, s);
        f = n < sizeof name ? recto_format_find(name) : NULL;
        if (!f)
            return no_such_format(list);
        if (!is_in(p, f->name) && p->n_format < MAX_FORMAT)
            p->format[p->n_format++] = f->name;
        s += n;
        if (*s == 0)
            return 0;
    }
}

/* --- checks before any work ------------------------------------------------------------------- */
static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool same_file(const struct stat *a, const char *path)
{
    struct stat b;
    return strcmp(path, "-") != 0 && stat(path, &b) == 0 && a->st_dev == b.st_dev &&
           a->st_ino == b.st_ino;
}

/* A new file, or one that may be replaced. */
static int check_file(const struct plan *p, const char *file, bool may_exist)
{
    struct stat st;

    if (stat(file, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return 0;
    if (S_ISDIR(st.st_mode)) {
        say(SAY_ERROR, "%s: the result would have the name of a folder", file);
        return EXIT_USAGE;
    }
    for (int i = 0; i < p->n_doc; i++)
        if (same_file(&st, p->target[i].name)) {
            say(SAY_ERROR, "%s: the result would replace an input", file);
            return EXIT_USAGE;
        }
    if (may_exist)
        return 0;
    say(SAY_ERROR, "%s exists; --force replaces it, --resume goes on with what is missing", file);
    return EXIT_USAGE;
}

/* A format without a main file is there when STEM.files is. */
static int check_side_dir(const struct target *t, bool may_exist)
{
    char *dir = NULL;

    if (may_exist)
        return 0;
    if (asprintf(&dir, "%s.files", t->stem) < 0)
        return EXIT_BUG;
    bool exists = access(dir, F_OK) == 0;
    if (exists)
        say(SAY_ERROR, "%s exists; --force replaces what is in it", dir);
    free(dir);
    return exists ? EXIT_USAGE : 0;
}

/* What a run that was interrupted, or goes on, has left. */
static int check_work(const struct target *t, bool may_exist)
{
    int is_locked = t->work ? work_is_locked(t->work) : -1;

    if (is_locked > 0) {
        say(SAY_ERROR, "%s: another run is at work on it (%s)", t->work,
            recto_error_name(RECTO_EOUTPUT));
        return EXIT_OUTPUT;
    }
    if (is_locked < 0 || may_exist)
        return 0;
    say(SAY_ERROR,
        "%s exists: a run was interrupted; --resume goes on with it, --force starts anew", t->work);
    return EXIT_USAGE;
}

static int check_outputs(const struct plan *p, bool may_exist)
{
    int worst = 0;

    for (int i = 0; i < p->n_doc; i++) {
        const struct target *t = &p->target[i];
        for (int f = 0; f < p->n_format; f++) {
            int rc = t->file[f] ? check_file(p, t->file[f], may_exist)
                                : check_side_dir(t, may_exist);
            worst = rc > worst ? rc : worst;
        }
        int rc = check_work(t, may_exist);
        worst = rc > worst ? rc : worst;
    }
    return worst;
}

/* Make DIR and the folders above it, as `mkdir -p`; then it must be writable. */
static int prepare_dir(const char *path)
{
    char *dir = strdup(path);

    for (char *s = dir ? strchr(dir + 1, '/') : NULL; s; s = strchr(s + 1, '/')) {
        *s = 0;
        mkdir(dir, 0777);
        *s = '/';
    }
    int rc = dir && (mkdir(dir, 0777) == 0 || is_dir(dir)) && access(dir, W_OK | X_OK) == 0
                 ? 0
                 : EXIT_OUTPUT;
    if (rc)
        say(SAY_ERROR, "cannot write into %s: %s (%s)", path, strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
    free(dir);
    return rc;
}

/* DIR, and the folders below it that mirror those of -r. */
static int prepare_dirs(const struct plan *p, const char *out)
{
    int rc = prepare_dir(out);

    for (int i = 0; i < p->n_doc && rc == 0; i++) {
        char *file = p->target[i].stem, *slash = strrchr(file, '/');
        if (!p->target[i].in->below[0])
            continue;
        *slash = 0;
        rc = prepare_dir(file);
        *slash = '/';
    }
    return rc;
}

static int check_parent(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *dir = !slash          ? strdup(".")
                : slash == file ? strdup("/")
                                : strndup(file, (size_t)(slash - file));
    struct stat st;
    bool good = dir && stat(dir, &st) == 0 && access(dir, W_OK | X_OK) == 0;
    int rc = good && S_ISDIR(st.st_mode) ? 0 : EXIT_OUTPUT;

    if (good && rc)
        errno = ENOTDIR;

    if (rc)
        say(SAY_ERROR, "cannot write %s: %s (%s)", file, strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
    free(dir);
    return rc;
}

/* --- the plan --------------------------------------------------------------------------------- */
static int plan_files(struct plan *p, const char *out, bool may_exist)
{
    size_t n = strlen(out);
    bool into_dir = out[n - 1] == '/' || is_dir(out);
    int rc;

    if (!into_dir && (p->n_doc > 1 || p->n_format > 1))
        return usage("several results need -o DIR/, a folder (the slash makes a new one), not -o ",
                     out);
    p->dir = into_dir ? out : NULL;
    rc = into_dir ? names_in_dir(p, out) : names_of_file(p, out);
    if (rc == 0)
        rc = check_outputs(p, may_exist);
    if (rc)
        return rc;
    return into_dir ? prepare_dirs(p, out) : check_parent(out);
}

static int name_targets(struct plan *p)
{
    p->n_doc = p->inputs.n;
    if (p->n_doc < 1)
        return usage("nothing to read; name an image or a PDF: recto read page.png", "");
    p->target = calloc((size_t)p->n_doc, sizeof *p->target);
    if (!p->target)
        return EXIT_BUG;
    for (int i = 0; i < p->n_doc; i++) {
        p->target[i].in = &p->inputs.in[i];
        p->target[i].name = p->inputs.in[i].path;
    }
    return 0;
}

int plan_make(struct plan *p, const struct options *o)
{
    const char *out = opt_text(o, OPT_OUT), *list = opt_text(o, OPT_FORMAT);
    int rc;

    *p = (struct plan){.json_lines = opt_flag(o, OPT_JSON_LINES),
                       .official = opt_text(o, OPT_OFFICIAL)};
    rc = inputs_gather(&p->inputs, o);
    if (rc == 0)
        rc = name_targets(p);
    if (rc == 0)
        rc = parse_formats(p, list ? list : "md");
    if (rc)
        return rc;
    p->to_stdout = !out || strcmp(out, "-") == 0;
    if (!p->to_stdout)
        return plan_files(p, out, opt_flag(o, OPT_FORCE) || opt_flag(o, OPT_RESUME));
    if (p->json_lines && (list || out))
        return usage("--json-lines takes standard output; give the formats a folder: -o DIR/", "");
    if (p->json_lines) {
        p->n_format = 0;
        p->to_stdout = false;
    }
    if (p->n_format == 1 && !recto_format_find(p->format[0])->is_text)
        return usage("this format is no text and needs -o: ", p->format[0]);
    if (p->n_format > 1)
        return usage("several formats need a folder: -o DIR/", "");
    return 0;
}

void plan_reset(struct plan *p)
{
    for (int i = 0; p->target && i < p->n_doc; i++) {
        for (int f = 0; f < MAX_FORMAT; f++)
            free(p->target[i].file[f]);
        free(p->target[i].stem);
        free(p->target[i].work);
    }
    free(p->target);
    inputs_reset(&p->inputs);
    *p = (struct plan){0};
}
