#include "sheets.h"

#include "progress.h"
#include "read.h"
#include "save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sheet {
    struct sheets *of;
    struct recto_writer *writer;
    struct save file; /* the main file; closed on standard output, and for formats without one */
    bool has_file;
    bool is_refused; /* told; the other formats go on */
};

struct sheets {
    struct run *run;
    int doc;
    struct recto_document *pixels; /* NULL: no format needs them */
    char *side_dir;                /* STEM.files; NULL on standard output */
    const char *stem;
    struct recto_write_options opts;
    struct recto_input input;
    bool has_side_dir, is_broken;
    char last; /* character on standard output */
    struct sheet sheet[MAX_FORMAT];
};

/* --- failures --------------------------------------------------------------------------------- */
static void cannot_write(struct sheets *s, const char *path)
{
    if (!s->is_broken) {
        say(SAY_ERROR, "cannot write %s: %s (%s)", path, strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
        read_end(s->run, EXIT_OUTPUT);
    }
    s->is_broken = true;
}

/* A writer that cannot begin: a wrong option, which ends the run. */
static void check_open(struct sheets *s, int rc)
{
    if (rc < 0 && !s->is_broken) {
        read_end(s->run, report_failure(rc));
        s->is_broken = true;
    }
}

/* A writer's own failure (that of the sink was told there): this document is not to be had in this format, say as PDF when
 * it is encrypted. */
static void check(struct sheet *t, int rc)
{
    struct sheets *s = t->of;

    if (rc >= 0 || s->is_broken || t->is_refused)
        return;
    say(SAY_ERROR, "%s: no %s: %s (%s)", s->run->plan.target[s->doc].name,
        s->run->plan.format[t - s->sheet], recto_last_error(), recto_error_name(rc));
    t->is_refused = true;
    s->run->n_refused++;
}

static void warn(void *ctx, const char *line)
{
    const struct sheets *s = ctx;

    say(SAY_WARN, "%s: warning: %s", s->run->plan.target[s->doc].name, line);
}

/* --- bytes ------------------------------------------------------------------------------------ */
static int put_side(struct sheets *s, const char *side, const void *bytes, size_t n)
{
    char *path = NULL;
    int rc = 0;

    if (!s->has_side_dir && mkdir(s->side_dir, 0777) < 0 && errno != EEXIST) {
        cannot_write(s, s->side_dir);
        return RECTO_EOUTPUT;
    }
    s->has_side_dir = true;
    if (asprintf(&path, "%s/%s", s->side_dir, side) < 0)
        return RECTO_ENOMEM;
    if (save_file(path, bytes, n) < 0) {
        cannot_write(s, path);
        rc = RECTO_EOUTPUT;
    }
    free(path);
    return rc;
}

static int sink(void *ctx, const char *side, const void *bytes, size_t n)
{
    struct sheet *t = ctx;
    struct sheets *s = t->of;

    if (side)
        return put_side(s, side, bytes, n);
    if (!s->side_dir) {
        read_print(s->run, bytes, n);
        s->last = n > 0 ? ((const char *)bytes)[n - 1] : s->last;
        s->is_broken = s->run->exit != 0; /* which was told */
        return s->is_broken ? RECTO_EOUTPUT : 0;
    }
    if (save_put(&t->file, bytes, n) == 0)
        return 0;
    cannot_write(s, t->file.path);
    return RECTO_EOUTPUT;
}

/* --- opening ---------------------------------------------------------------------------------- */
/* On standard output there is no place for figures but inside the file. */
static bool needs_pixels(const struct run *r, const struct recto_format *f)
{
    bool is_foreign = strcmp(f->name, "json") == 0 && r->write.json_as &&
                      strcmp(r->write.json_as, "recto") != 0; /* it links figures, as md does */

    if (is_foreign)
        return !r->plan.to_stdout;
    return f->uses_pixels && (!r->plan.to_stdout || !f->has_side_files || r->write.embed);
}

static void open_pixels(struct sheets *s)
{
    const struct run *r = s->run;
    bool needs = false;

    for (int f = 0; f < r->plan.n_format; f++)
        needs = needs || needs_pixels(r, recto_format_find(r->plan.format[f]));
    if (needs && recto_document_open(&s->pixels, &s->input, &r->settings) < 0)
        s->pixels = NULL; /* the writers say what they leave out */
}

static void fill_options(struct sheets *s)
{
    const struct run *r = s->run;
    const struct doc *d = &r->doc[s->doc];
    struct recto_write_options *o = &s->opts;
    const char *slash = strrchr(s->input.name, '/');

    *o = r->write;
    o->doc = s->pixels;
    o->name = strcmp(s->input.name, "-") == 0 ? "stdin" : slash ? slash + 1 : s->input.name;
    o->stem = s->stem;
    o->source_kind = d->id.kind[0] ? d->id.kind : NULL;
    o->source_sha256 = d->id.sha256[0] ? d->id.sha256 : NULL;
    o->n_pages = s->input.pages || s->input.frames ? -1 : d->work.n_page;
    o->warn = warn;
    o->warn_ctx = s;
}

static bool open_sheet(struct sheets *s, int f)
{
    const struct run *r = s->run;
    struct sheet *t = &s->sheet[f];
    const char *path = r->plan.target[s->doc].file[f];

    t->of = s;
    t->file.fd = -1;
    if (path) {
        t->has_file = true;
        if (save_open(&t->file, path) < 0) {
            cannot_write(s, path);
            return false;
        }
    }
    int rc = recto_writer_open(&t->writer, r->plan.format[f], &s->opts, sink, t);
    check_open(s, rc);
    return rc == 0 && !s->is_broken;
}

struct sheets *sheets_open(struct run *r, int doc)
{
    struct sheets *s = calloc(1, sizeof *s);
    const char *stem = r->plan.target[doc].stem;
    bool good = true;

    if (!s)
        abort();
    s->run = r;
    s->doc = doc;
    s->input = read_input(r, doc);
    if (!r->plan.to_stdout) {
        const char *slash = strrchr(stem, '/');
        s->stem = slash ? slash + 1 : stem;
        if (asprintf(&s->side_dir, "%s.files", stem) < 0)
            abort();
    }
    open_pixels(s);
    fill_options(s);
    for (int f = 0; f < r->plan.n_format && good; f++)
        good = open_sheet(s, f);
    if (good)
        return s;
    sheets_close(s, false);
    return NULL;
}

void sheets_page(struct sheets *s, const struct recto_page *p)
{
    for (int f = 0; f < s->run->plan.n_format && !s->is_broken; f++)
        if (!s->sheet[f].is_refused)
            check(&s->sheet[f], recto_writer_page(s->sheet[f].writer, p));
}

/* --- the end ---------------------------------------------------------------------------------- */
static void end_on_stdout(struct sheets *s)
{
    if (s->last && s->last != '\n')
        read_print(s->run, "\n", 1);
}

/* All are whole before the first gets its name, so that few moments lie between the first and the last. */
bool sheets_close(struct sheets *s, bool keeps)
{
    int n_format = s->run->plan.n_format;

    for (int f = 0; f < n_format; f++) {
        if (keeps)
            check(&s->sheet[f], recto_writer_close(s->sheet[f].writer));
        else
            recto_writer_abort(s->sheet[f].writer);
    }
    if (keeps && !s->side_dir)
        end_on_stdout(s);
    for (int f = 0; f < n_format; f++) {
        struct sheet *t = &s->sheet[f];
        if (!t->has_file)
            continue;
        if (!keeps || s->is_broken || t->is_refused)
            save_abort(&t->file);
        else if (save_commit(&t->file) < 0)
            cannot_write(s, s->run->plan.target[s->doc].file[f]);
    }
    bool is_good = !s->is_broken;
    recto_document_close(s->pixels);
    free(s->side_dir);
    free(s);
    return is_good;
}
