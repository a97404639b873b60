/* One page's text: given out, and edited. */
#include "result.h"

#include "page_file.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EDIT_MAX = 1 << 20 };

/* best-SHA256 of the user's text, or best-0; of another version it only has to differ. */
static void make_etag(char etag[80], const struct page_row *row, bool by_model, int attempt)
{
    if (by_model || attempt)
        snprintf(etag, 80, "m%d", attempt ? attempt : row->best);
    else
        snprintf(etag, 80, "%d-%s", row->best, row->edited[0] ? row->edited : "0");
}

static int as_json(const struct recto_page *p, const struct job_row *job,
                   const struct page_row *row, int attempt, char **text, size_t *n)
{
    char *plain;

    if (recto_page_to_json(p, &plain, n) < 0)
        return fault(JOBS_INTERNAL, NULL, "page %d: %s", row->page, recto_last_error());
    json_t *o = json_loadb(plain, *n, 0, NULL);
    recto_free(plain);
    json_object_set_new(o, "job", json_string(job->id));
    json_object_set_new(o, "attempt", json_integer(attempt ? attempt : row->best));
    json_object_set_new(o, "edited", json_boolean(row->edited[0] != 0));
    *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(o);
    *n = strlen(*text);
    return 0;
}

/* The user's Markdown is given back as it came. */
static int make_text(struct jobs *j, const struct job_row *job, const struct page_row *row,
                     const char *format, bool by_model, int attempt, char **text, size_t *n)
{
    bool is_json = strcmp(format, "json") == 0;
    struct recto_page p;
    const struct recto_page *page = &p;
    char *plain;

    if (!by_model && !attempt && row->edited[0] && strcmp(format, "md") == 0)
        return job_page_edit(j, job, row, text, n);
    TRY(job_page_load(j, job, row, by_model || is_json ? VERSION_MODEL : VERSION_USER, attempt,
                      &p));
    int rc = 0;
    if (is_json)
        rc = as_json(&p, job, row, attempt, text, n);
    else if (recto_write(format, &page, 1, &plain, n) < 0)
        rc = fault(JOBS_INTERNAL, NULL, "page %d as %s: %s", row->page, format, recto_last_error());
    else {
        *text = strndup(plain, *n);
        recto_free(plain);
    }
    recto_page_reset(&p);
    return rc;
}

static int check_format(const char *format)
{
    static const char *const known[] = {"md", "txt", "html", "json"};

    for (int i = 0; i < 4; i++)
        if (strcmp(format, known[i]) == 0)
            return 0;
    return fault(JOBS_INVALID_VALUE, NULL,
                 "a page is to be had as md, txt, html or json, not as '%.20s'", format);
}

static int give_text(struct jobs *j, const struct job_row *job, const struct page_row *row,
                     const char *format, bool by_model, int attempt, struct jobs_body *out)
{
    char *text = NULL, suffix[32];
    size_t n = 0;

    if (row->best == 0 && row->state != PAGE_ENDED && !row->edited[0])
        return fault(JOBS_JOB_NOT_FINISHED, NULL, "page %d is %s: wait until it has ended",
                     row->page, page_state_name(row->state));
    TRY(make_text(j, job, row, format, by_model, attempt, &text, &n));
    int rc = body_of_bytes(out, text, n, media_of_format(format));
    free(text);
    make_etag(out->etag, row, by_model, attempt);
    snprintf(suffix, sizeof suffix, "p%d.%s", row->page, format);
    body_name(out, job->name, suffix);
    return rc;
}

int jobs_page_result(struct jobs *j, const char *owner, const char *id, int page,
                     const char *format, bool by_model, int attempt, struct jobs_body *out)
{
    struct page_row row = {0};
    struct job_row job = {0};

    *out = (struct jobs_body){.fd = -1};
    TRY(check_format(format));
    int rc = job_find_page(j, owner, id, page, &job, &row);
    if (rc == 0)
        rc = give_text(j, &job, &row, format, by_model, attempt, out);
    page_row_reset(&row);
    job_row_reset(&job);
    if (rc < 0)
        jobs_body_reset(out);
    return rc;
}

/* ---- edits ---------------------------------------------------------------------------------------------------------------------- */
/* "3-SHA256" or "3-0" into its parts. */
static bool read_etag(const char *etag, int *best, const char **sha256)
{
    char *end;

    *best = (int)strtol(etag, &end, 10);
    if (end == etag || *end != '-')
        return false;
    *sha256 = strcmp(end + 1, "0") == 0 ? "" : end + 1;
    return true;
}

static int check_text(const char *text, size_t n)
{
    json_t *v = json_stringn(text, n);

    json_decref(v);
    if (!v)
        return fault(JOBS_INVALID_VALUE, NULL, "the text is not UTF-8");
    return n <= EDIT_MAX && !memchr(text, 0, n)
               ? 0
               : fault(JOBS_INVALID_VALUE, NULL, "a page's text has at most %d bytes, and no NUL",
                       (int)EDIT_MAX);
}

static int keep_text(struct jobs *j, const struct job_row *job, int page, const char *text,
                     size_t n, char sha256[SHA_BYTES])
{
    SHA256Data((const uint8_t *)text, n, sha256);
    char *path = blob_edit(&j->blob, job->id, page, sha256);
    int rc = blob_write(path, text, n);
    free(path);
    return rc;
}

/* The text that is no longer the page's. */
static void drop_text(struct jobs *j, const struct job_row *job, const struct page_row *was,
                      const char *is)
{
    if (!was->edited[0] || strcmp(was->edited, is) == 0)
        return;
    char *path = blob_edit(&j->blob, job->id, was->page, was->edited);
    unlink(path);
    free(path);
}

int jobs_edit(struct jobs *j, const char *owner, const char *id, int page, const char *if_match,
              const char *text, size_t n, char etag[80])
{
    char sha256[SHA_BYTES] = "";
    const char *was_sha = NULL;
    struct page_row row = {0};
    struct job_row job = {0}, after = {0};
    int was_best = 0, rc = check_text(text, n);

    if (rc == 0 && if_match && !read_etag(if_match, &was_best, &was_sha))
        rc = fault(JOBS_EDIT_CONFLICT, NULL, "If-Match is not the ETag of a page's text");
    if (rc == 0)
        rc = job_find_page(j, owner, id, page, &job, &row);
    if (rc == 0 && n > 0)
        rc = keep_text(j, &job, page, text, n, sha256);
    if (rc == 0)
        rc = store_edit(j->store, owner, id, page, was_best, was_sha, sha256, &after);
    if (rc == 0) {
        drop_text(j, &job, &row, sha256);
        memcpy(row.edited, sha256, sizeof row.edited);
        make_etag(etag, &row, false, 0);
    }
    page_row_reset(&row);
    job_row_reset(&job);
    job_row_reset(&after);
    return rc;
}
