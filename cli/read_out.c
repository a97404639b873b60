/* Where finished pages go: from the work file, in page order, into files or to standard output. */
#include "json_lines.h"
#include "progress.h"
#include "save.h"

#include <errno.h>
#include <string.h>

/* --- standard output -------------------------------------------------------------------------- */
void read_print(struct run *r, const char *text, size_t n)
{
    if (r->exit || n == 0)
        return;
    progress_clear();
    if (put_text(text, n) == 0)
        return;
    if (errno != EPIPE)
        say(SAY_ERROR, "cannot write to standard output: %s (%s)", strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
    read_end(r, errno == EPIPE ? EXIT_PIPE : EXIT_OUTPUT);
}

void read_cannot_write(struct run *r, const char *path)
{
    say(SAY_ERROR, "cannot write %s: %s (%s)", path, strerror(errno),
        recto_error_name(RECTO_EOUTPUT));
    read_end(r, EXIT_OUTPUT);
}

/* What parts one document from the next where several share standard output. */
static void print_parting(struct run *r, int doc)
{
    const char *format = r->plan.format[0];
    char line[600];

    if (r->plan.n_doc == 1 || strcmp(format, "json") == 0)
        return;
    if (strcmp(format, "md") != 0) {
        if (doc > 0)
            read_print(r, "\f", 1);
        return;
    }
    int n = snprintf(line, sizeof line, "%s<!-- %.500s", doc > 0 ? "\n" : "",
                     r->plan.target[doc].name);
    for (char *p = line + (doc > 0) + 5; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == '>' || (p[0] == '-' && p[1] == '-'))
            *p = '_'; /* a name cannot close the comment */
    n += snprintf(line + n, sizeof line - (size_t)n, " -->\n");
    read_print(r, line, (size_t)n);
}

static void print_streamed(void *ctx, const char *text, size_t n)
{
    struct run *r = ctx;

    read_print(r, text, n);
    r->last_streamed = text[n - 1];
}

void out_stream(struct run *r, const char *text, size_t n)
{
    if (strcmp(r->plan.format[0], "raw") == 0 && n > 0)
        print_streamed(r, text, n);
    else
        strip_push(&r->strip, text, n, print_streamed, r);
}

void out_stream_end(struct run *r)
{
    strip_end(&r->strip, print_streamed, r);
    if (r->last_streamed && r->last_streamed != '\n')
        read_print(r, "\n", 1);
}

/* --- from the work file to the outputs ---------------------------------------------------------- */
bool out_is_in_order(const struct run *r)
{
    return r->plan.to_stdout || (r->json.is_on && !r->json.as_they_come);
}

/* A page that is known; false after a failure, which ends the run. */
static bool take_back(struct run *r, int doc, int index, struct recto_page *p)
{
    const struct work *w = &r->doc[doc].work;

    if (work_get(w, index, p) == 0)
        return true;
    say(SAY_ERROR, "%s: a page cannot be read back: %s (%s)",
        w->path ? w->path : "a temporary file", strerror(errno), recto_error_name(RECTO_EOUTPUT));
    read_end(r, EXIT_OUTPUT);
    return false;
}

static bool begin_sheets(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];

    if (!d->sheets && r->plan.to_stdout)
        print_parting(r, doc);
    if (!d->sheets)
        d->sheets = sheets_open(r, doc);
    return d->sheets != NULL;
}

/* A document of which no page can be read is not written, so nothing is begun before there is a good one. */
static void feed_sheets(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    enum recto_status status;
    struct recto_page p;

    if (r->plan.n_format == 0 || (r->page.stream && r->plan.to_stdout) ||
        d->n_come == d->n_status[RECTO_PAGE_ERROR] + d->n_status[RECTO_PAGE_CANCELLED])
        return;
    while (!r->exit && work_has(&d->work, d->n_sheet, &status) && status != RECTO_PAGE_CANCELLED &&
           begin_sheets(r, doc) && take_back(r, doc, d->n_sheet, &p)) {
        sheets_page(d->sheets, &p);
        recto_page_reset(&p);
        d->n_sheet++;
    }
}

static void feed_json(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    enum recto_status status;
    struct recto_page p;

    while (!r->exit && work_has(&d->work, d->n_json, &status) && take_back(r, doc, d->n_json, &p)) {
        json_page(r, doc, &p);
        recto_page_reset(&p);
        d->n_json++;
    }
}

void out_pump(struct run *r, int doc)
{
    bool is_turn = doc == r->n_printed;

    if (!r->plan.to_stdout || is_turn)
        feed_sheets(r, doc);
    if (r->json.is_on && !r->json.as_they_come && is_turn)
        feed_json(r, doc);
}

/* --- the end of a document ---------------------------------------------------------------------- */
/* Outputs get their names, then the manifest tells of them, then the work file goes: after a kill in between the next run
 * does the rest again. What is not whole stays in the work file. */
void out_finish(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    const struct target *t = &r->plan.target[doc];
    bool is_whole = !r->exit && !d->has_cancelled;

    if (d->sheets)
        is_whole = sheets_close(d->sheets, is_whole) && is_whole;
    d->sheets = NULL;
    if (is_whole && t->key &&
        manifest_document(&r->manifest, t->name, t->key, &d->id, d->n_status) < 0)
        read_cannot_write(r, r->manifest.path);
    if (work_end(&d->work, is_whole) < 0 && !r->exit)
        read_cannot_write(r, t->work);
}

void out_release(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];

    work_close(&d->work);
    identity_reset(&d->id);
}

void out_print(struct run *r)
{
    while (r->n_printed < r->plan.n_doc && r->doc[r->n_printed].state == DOC_ENDED) {
        struct doc *d = &r->doc[r->n_printed];
        out_pump(r, r->n_printed);
        if (d->sheets)
            sheets_close(d->sheets, true);
        d->sheets = NULL;
        if (r->json.is_on && !r->json.as_they_come)
            json_document(r, r->n_printed);
        if (out_is_in_order(r))
            out_release(r, r->n_printed);
        d->state = DOC_PRINTED;
        r->n_printed++;
    }
    if (r->n_printed < r->n_submitted)
        out_pump(r, r->n_printed);
}
