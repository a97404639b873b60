#include "cli.h"
#include "output.h"
#include "progress.h"

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

/* --- names ------------------------------------------------------------------------------------ */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* DIR/BELOW/STEM.EXT; the stem is the base name, without its last suffix unless keep_suffix. */
static char *file_name(const char *dir, const struct input *in, bool keep_suffix,
                       const char *extension)
{
    const char *input = in->path;
    const char *base = strcmp(input, "-") == 0 ? "stdin" : base_of(input);
    const char *dot = strrchr(base, '.');
    int n = dot && dot != base && !keep_suffix ? (int)(dot - base) : (int)strlen(base);
    size_t n_dir = strlen(dir);
    char *path = NULL;

    while (n_dir > 1 && dir[n_dir - 1] == '/')
        n_dir--;
    if (asprintf(&path, "%.*s/%s%.*s%s", (int)n_dir, dir, in->below, n, base, extension) < 0)
        return NULL;
    for (char *s = path + n_dir + 1; *s; s++)
        if ((unsigned char)*s < 0x20)
            *s = '_';
    return path;
}

struct entry {
    const char *name;
    int doc;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Mark every document that has a file of the same name as another's; true if there was one. */
static bool find_clashes(const struct plan *p, bool *clashes)
{
    int n = 0;
    struct entry *e = calloc((size_t)p->n_doc * (size_t)p->n_format, sizeof *e);
    bool any = false;

    if (!e)
        abort();
    for (int i = 0; i < p->n_doc; i++) {
        clashes[i] = false;
        for (int f = 0; f < p->n_format; f++)
            e[n++] = (struct entry){p->target[i].file[f], i};
    }
    qsort(e, (size_t)n, sizeof *e, by_name);
    for (int i = 0; i + 1 < n; i++)
        if (strcmp(e[i].name, e[i + 1].name) == 0)
            any = clashes[e[i].doc] = clashes[e[i + 1].doc] = true;
    free(e);
    return any;
}

static int name_document(struct plan *p, int doc, const char *dir, bool keep_suffix)
{
    struct target *t = &p->target[doc];

    for (int f = 0; f < p->n_format; f++) {
        free(t->file[f]);
        t->file[f] = file_name(dir, t->in, keep_suffix, recto_format_find(p->format[f])->extension);
        if (!t->file[f])
            return EXIT_BUG;
    }
    return 0;
}

static int refuse_clash(const struct plan *p, const bool *clashes)
{
    for (int i = 0; i < p->n_doc; i++)
        if (clashes[i]) {
            say(SAY_ERROR, "two inputs would both be written to %s; read them in separate runs",
                p->target[i].file[0]);
            return EXIT_USAGE;
        }
    return EXIT_BUG;
}

/* a.png and a.jpg become a.png.md and a.jpg.md, both of them; x/a.png and y/a.png cannot be told
 * apart. */
static int name_in_dir(struct plan *p, const char *dir)
{
    bool *clashes = calloc((size_t)p->n_doc, sizeof *clashes);
    int rc = clashes ? 0 : EXIT_BUG;

    for (int i = 0; i < p->n_doc && rc == 0; i++)
        rc = name_document(p, i, dir, false);
    if (rc == 0 && find_clashes(p, clashes)) {
        for (int i = 0; i < p->n_doc && rc == 0; i++)
            if (clashes[i])
                rc = name_document(p, i, dir, true);
        if (rc == 0 && find_clashes(p, clashes))
            rc = refuse_clash(p, clashes);
    }
    free(clashes);
    return rc;
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

static int check_file(const struct plan *p, const char *file, bool force)
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
    if (force)
        return 0;
    say(SAY_ERROR, "%s exists; --force replaces it", file);
    return EXIT_USAGE;
}

static int check_outputs(const struct plan *p, bool force)
{
    int rc = 0;

    for (int i = 0; i < p->n_doc; i++)
        for (int f = 0; f < p->n_format; f++)
            if (check_file(p, p->target[i].file[f], force) != 0)
                rc = EXIT_USAGE;
    return rc;
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
        char *file = p->target[i].file[0], *slash = strrchr(file, '/');
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
static int plan_files(struct plan *p, const char *out, bool force)
{
    size_t n = strlen(out);
    bool into_dir = out[n - 1] == '/' || is_dir(out);
    int rc;

    if (!into_dir && (p->n_doc > 1 || p->n_format > 1))
        return usage("several results need -o DIR/, a folder (the slash makes a new one), not -o ",
                     out);
    if (into_dir)
        rc = name_in_dir(p, out);
    else
        rc = (p->target[0].file[0] = strdup(out)) ? 0 : EXIT_BUG;
    if (rc == 0)
        rc = check_outputs(p, force);
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

    *p = (struct plan){.json_lines = opt_flag(o, OPT_JSON_LINES)};
    rc = inputs_gather(&p->inputs, o);
    if (rc == 0)
        rc = name_targets(p);
    if (rc == 0)
        rc = parse_formats(p, list ? list : "md");
    if (rc)
        return rc;
    p->to_stdout = !out || strcmp(out, "-") == 0;
    if (!p->to_stdout)
        return plan_files(p, out, opt_flag(o, OPT_FORCE));
    if (p->json_lines && (list || out))
        return usage("--json-lines takes standard output; give the formats a folder: -o DIR/", "");
    if (p->json_lines) {
        p->n_format = 0;
        p->to_stdout = false;
    }
    if (p->n_format > 1)
        return usage("several formats need a folder: -o DIR/", "");
    return 0;
}

void plan_reset(struct plan *p)
{
    for (int i = 0; p->target && i < p->n_doc; i++)
        for (int f = 0; f < MAX_FORMAT; f++)
            free(p->target[i].file[f]);
    free(p->target);
    inputs_reset(&p->inputs);
    *p = (struct plan){0};
}
