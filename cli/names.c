/* How results are called: DIR/STEM.EXT, DIR/STEM.files/, DIR/STEM.recto-work; with --official the formats mmd and raw have the
 * names that the script gives them.
 * Source of those: run_dpsk_ocr2_pdf.py and run_dpsk_ocr2_eval_batch.py of deepseek-ai/DeepSeek-OCR-2. */
#include "progress.h"

#include "cli.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* DIR/BELOW/STEM; the stem is the base name, without its last suffix unless keep_suffix. */
static char *stem_of(const char *dir, const struct input *in, bool keep_suffix, size_t *n_dir)
{
    const char *input = in->path;
    const char *base = strcmp(input, "-") == 0 ? "stdin" : base_of(input);
    const char *dot = strrchr(base, '.');
    int n = dot && dot != base && !keep_suffix ? (int)(dot - base) : (int)strlen(base);
    char *path = NULL;

    *n_dir = strlen(dir);
    while (*n_dir > 1 && dir[*n_dir - 1] == '/')
        --*n_dir;
    if (asprintf(&path, "%.*s/%s%.*s", (int)*n_dir, dir, in->below, n, base) < 0)
        return NULL;
    for (char *s = path + *n_dir + 1; *s; s++)
        if ((unsigned char)*s < 0x20)
            *s = '_';
    return path;
}

struct entry {
    const char *stem;
    int doc;
};

static int by_stem(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->stem, ((const struct entry *)b)->stem);
}

/* Mark every document whose stem is another's, too; true if there was one. */
static bool find_clashes(const struct plan *p, bool *clashes)
{
    struct entry *e = calloc((size_t)p->n_doc, sizeof *e);
    bool any = false;

    if (!e)
        abort();
    for (int i = 0; i < p->n_doc; i++) {
        clashes[i] = false;
        e[i] = (struct entry){p->target[i].stem, i};
    }
    qsort(e, (size_t)p->n_doc, sizeof *e, by_stem);
    for (int i = 0; i + 1 < p->n_doc; i++)
        if (strcmp(e[i].stem, e[i + 1].stem) == 0)
            any = clashes[e[i].doc] = clashes[e[i + 1].doc] = true;
    free(e);
    return any;
}

static int give_stem(struct plan *p, int doc, const char *dir, bool keep_suffix)
{
    struct target *t = &p->target[doc];
    size_t n_dir;

    free(t->stem);
    t->stem = stem_of(dir, t->in, keep_suffix, &n_dir);
    t->key = t->stem ? t->stem + n_dir + 1 : NULL;
    return t->stem ? 0 : EXIT_BUG;
}

static int refuse_clash(const struct plan *p, const bool *clashes)
{
    const struct recto_format *f = recto_format_find(p->format[0]);

    for (int i = 0; i < p->n_doc; i++)
        if (clashes[i]) {
            say(SAY_ERROR, "two inputs would both be written to %s%s; read them in separate runs",
                p->target[i].stem, f->extension ? f->extension : ".files");
            return EXIT_USAGE;
        }
    return EXIT_BUG;
}

/* a.png and a.jpg become a.png.md and a.jpg.md, both of them; x/a.png and y/a.png cannot be told
 * apart. */
static int give_stems(struct plan *p, const char *dir)
{
    bool *clashes = calloc((size_t)p->n_doc, sizeof *clashes);
    int rc = clashes ? 0 : EXIT_BUG;

    for (int i = 0; i < p->n_doc && rc == 0; i++)
        rc = give_stem(p, i, dir, false);
    if (rc == 0 && find_clashes(p, clashes)) {
        for (int i = 0; i < p->n_doc && rc == 0; i++)
            if (clashes[i])
                rc = give_stem(p, i, dir, true);
        if (rc == 0 && find_clashes(p, clashes))
            rc = refuse_clash(p, clashes);
    }
    free(clashes);
    return rc;
}

static char *joined(const char *stem, const char *extension)
{
    char *path = NULL;

    return asprintf(&path, "%s%s", stem, extension) < 0 ? NULL : path;
}

/* ---- names of the published scripts ------------------------------------------------------------ */

/* A new string in which every `what` of s is `with`; s is freed. */
static char *replaced(char *s, const char *what, const char *with)
{
    size_t n_what = strlen(what), n_out = 0;
    char *out = NULL;
    FILE *f = s ? open_memstream(&out, &n_out) : NULL;

    for (const char *at = s, *hit; f && at; at = hit ? hit + n_what : NULL) {
        hit = strstr(at, what);
        fprintf(f, "%.*s%s", hit ? (int)(hit - at) : (int)strlen(at), at, hit ? with : "");
    }
    if (f)
        fclose(f);
    free(s);
    return out;
}

/* What the script makes of the input's base name; NULL: this script or format has no name of its own. */
static char *official_base(const char *script, const char *format, const char *base)
{
    bool is_mmd = strcmp(format, "mmd") == 0, is_det = strcmp(format, "raw") == 0;

    if (script && strcmp(script, "pdf") == 0 && is_mmd)
        return replaced(strdup(base), "pdf", "mmd");
    if (script && strcmp(script, "pdf") == 0 && is_det)
        return replaced(strdup(base), ".pdf", "_det.mmd");
    if (script && strcmp(script, "eval") == 0 && is_mmd)
        return replaced(replaced(strdup(base), ".jpg", ".md"), ".png", ".md");
    return NULL;
}

/* The path of a format's file under that name. A name that the script would leave as it is, say of a TIFF, is not taken: the
 * result would be called like the input. */
static char *official_path(const struct plan *p, int doc, const char *format)
{
    const char *stem = p->target[doc].stem, *input = p->target[doc].in->path;
    const char *base = strcmp(input, "-") == 0 ? "stdin" : base_of(input);
    char *name = official_base(p->official, format, base), *path = NULL;

    if (name && strcmp(name, base) != 0 &&
        asprintf(&path, "%.*s%s", (int)(base_of(stem) - stem), stem, name) < 0)
        path = NULL;
    for (char *s = path ? path + (base_of(stem) - stem) : NULL; s && *s; s++)
        if ((unsigned char)*s < 0x20)
            *s = '_';
    free(name);
    return path;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those names may meet each other ("a.jpg" and "a.png"), or another format's. */
static int refuse_same_files(const struct plan *p)
{
    const char **all = calloc((size_t)p->n_doc * MAX_FORMAT + 1, sizeof *all);
    size_t n = 0;
    int rc = all ? 0 : EXIT_BUG;

    for (int i = 0; all && i < p->n_doc; i++)
        for (int f = 0; f < p->n_format; f++)
            if (p->target[i].file[f])
                all[n++] = p->target[i].file[f];
    if (all)
        qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; rc == 0 && i + 1 < n; i++)
        if (strcmp(all[i], all[i + 1]) == 0) {
            say(SAY_ERROR,
                "two results would both be %s, as the script names them; read or write them in "
                "separate runs",
                all[i]);
            rc = EXIT_USAGE;
        }
    free(all);
    return rc;
}

static int name_files(struct plan *p, struct target *t)
{
    int doc = (int)(t - p->target);

    t->work = joined(t->stem, ".recto-work");
    if (!t->work)
        return EXIT_BUG;
    for (int f = 0; f < p->n_format; f++) {
        const char *extension = recto_format_find(p->format[f])->extension;

        t->file[f] = official_path(p, doc, p->format[f]);
        if (!t->file[f] && extension)
            t->file[f] = joined(t->stem, extension);
        if (!t->file[f] && extension)
            return EXIT_BUG;
    }
    return 0;
}

int names_in_dir(struct plan *p, const char *dir)
{
    int rc = give_stems(p, dir);

    for (int i = 0; i < p->n_doc && rc == 0; i++)
        rc = name_files(p, &p->target[i]);
    return rc == 0 && p->official ? refuse_same_files(p) : rc;
}

/* The stem is FILE without what the format adds, or else without its last suffix. */
int names_of_file(struct plan *p, const char *file)
{
    struct target *t = &p->target[0];
    const char *extension = recto_format_find(p->format[0])->extension, *dot = strrchr(file, '.');
    size_t n = strlen(file), n_ext = extension ? strlen(extension) : 0;
    bool has_ext = n_ext && n > n_ext && strcmp(file + n - n_ext, extension) == 0 &&
                   file[n - n_ext - 1] != '/';
    size_t n_stem = has_ext ? n - n_ext : dot && dot > base_of(file) ? (size_t)(dot - file) : n;

    struct stat st;
    bool is_device = stat(file, &st) == 0 &&
                     !S_ISREG(st.st_mode); /* or a pipe: nothing stands beside it */

    t->stem = strndup(file, n_stem);
    t->file[0] = strdup(file);
    t->work = t->stem && !is_device ? joined(t->stem, ".recto-work") : NULL;
    return t->stem && t->file[0] && (t->work || is_device) ? 0 : EXIT_BUG;
}
