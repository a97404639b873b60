/* Begin with a document: what an earlier run has left of it, the rest for the engine. */
#include "json_lines.h"
#include "progress.h"
#include "save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Are all outputs there, and nothing of an interrupted run? Formats of side files alone stand in STEM.files. */
static bool has_outputs(const struct run *r, const struct target *t)
{
    if (!t->work || exists(t->work))
        return false;
    for (int f = 0; f < r->plan.n_format; f++)
        if (t->file[f] && !exists(t->file[f]))
            return false;
    return true;
}

/* An earlier run has finished it: its pages count, and that is all. */
static bool take_over_result(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    const struct target *t = &r->plan.target[doc];
    const struct manifest_file *m;

    if (!r->resumes || r->plan.to_stdout || !has_outputs(r, t))
        return false;
    m = t->key ? manifest_find(&r->manifest, t->key, d->id.digest) : NULL;
    if (!m) {
        say(SAY_WARN,
            "%s: warning: nothing shows that its outputs are of the same file, model and settings; "
            "they are made anew",
            t->name);
        return false;
    }
    for (int s = 0; s < N_STATUS; s++)
        for (int i = 0; i < m->n_status[s]; i++)
            read_count(r, doc, (enum recto_status)s);
    d->n_page = d->n_come;
    r->n_all_page += d->n_page - 1;
    d->is_done_before = true;
    return true;
}

/* The pages that the work file holds. */
static void take_over_pages(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    enum recto_status status;

    if (d->work.n_known == 0)
        return;
    d->n_page = d->work.n_page;
    r->n_all_page += d->n_page - 1;
    for (int i = 0; i < d->n_page; i++)
        if (work_has(&d->work, i, &status))
            read_count(r, doc, status);
    say(SAY_INFO, "%s: %d of %d page%s known from before", r->plan.target[doc].name,
        d->work.n_known, d->n_page, d->n_page > 1 ? "s" : "");
}

static int open_work(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    const struct target *t = &r->plan.target[doc];

    if (work_open(&d->work, t->work, d->id.line, r->resumes) < 0) {
        if (errno == EWOULDBLOCK)
            say(SAY_ERROR, "%s: another run is at work on it (%s)", t->work,
                recto_error_name(RECTO_EOUTPUT));
        else
            say(SAY_ERROR, "cannot write %s: %s (%s)", t->work ? t->work : "a temporary file",
                strerror(errno), recto_error_name(RECTO_EOUTPUT));
        read_end(r, EXIT_OUTPUT);
        return RECTO_EOUTPUT;
    }
    if (d->work.was_other && r->resumes)
        say(SAY_WARN,
            "%s: warning: %s is of another file, model or setting; this document starts anew",
            t->name, t->work);
    for (int f = 0; d->work.was_there && f < r->plan.n_format; f++)
        if (t->file[f])
            save_sweep(t->file[f]);
    take_over_pages(r, doc);
    return 0;
}

/* The file is hashed only when something is kept of it. */
static int prepare(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    struct recto_input in = read_input(r, doc);

    d->is_prepared = true;
    d->work.fd = -1;
    if (!r->plan.to_stdout && r->plan.n_format > 0)
        identity_make(&d->id, &r->identity, &in);
    return take_over_result(r, doc) ? 0 : open_work(r, doc);
}

static int submit(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    struct recto_input in = read_input(r, doc);
    bool *known = work_known(&d->work);

    in.skip = known;
    in.n_skip = known ? d->work.n_page : 0;
    int rc = recto_submit(r->engine, &in, &r->page, &d->request);
    free(known);
    if (rc < 0 && rc != RECTO_EAGAIN)
        read_end(r, report_failure(rc));
    return rc;
}

/* Pages of an earlier run are told as they come, too. */
static void tell_known(struct run *r, int doc)
{
    struct recto_page p;
    enum recto_status status;
    const struct work *w = &r->doc[doc].work;

    for (int i = 0; r->json.as_they_come && i < w->n_page; i++)
        if (work_has(w, i, &status) && work_get(w, i, &p) == 0) {
            json_page(r, doc, &p);
            recto_page_reset(&p);
        }
}

int read_begin(struct run *r, int doc)
{
    struct doc *d = &r->doc[doc];
    bool is_first = !d->is_prepared;
    int rc = is_first ? prepare(r, doc) : 0;

    if (rc < 0)
        return rc;
    if (is_first)
        tell_known(r, doc);
    bool is_whole = d->is_done_before || (d->work.n_page > 0 && d->work.n_known == d->work.n_page);
    rc = is_whole ? 0 : submit(r, doc);
    if (rc < 0)
        return rc;
    r->n_submitted = doc + 1;
    d->state = DOC_ACTIVE;
    if (is_whole)
        read_ended(r, doc);
    return 0;
}
