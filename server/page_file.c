#include "page_file.h"

#include "fault.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

static int make(json_t **out, int attempt, const json_t *options, const json_t *retry,
                const struct recto_page *p)
{
    char *text;
    size_t n;

    if (recto_page_to_json(p, &text, &n) < 0)
        return fault(JOBS_INTERNAL, NULL, "a page cannot be written as JSON: %s",
                     recto_last_error());
    json_t *page = json_loadb(text, n, 0, NULL);
    recto_free(text);
    if (!page)
        return fault(JOBS_INTERNAL, NULL, "a page's JSON cannot be read back");
    *out = json_pack("{sisiso}", "recto-page", 1, "attempt", attempt, "page", page);
    json_object_set(*out, "options", (json_t *)options);
    if (retry)
        json_object_set(*out, "retry", (json_t *)retry);
    return 0;
}

int page_file_write(const struct blob *b, const char *job, int page, int attempt,
                    const json_t *options, const json_t *retry, const struct recto_page *p,
                    char sha256[SHA_BYTES])
{
    json_t *o = NULL;

    TRY(make(&o, attempt, options, retry, p));
    char *text = json_dumps(o, JSON_COMPACT), *path = blob_page(b, job, page, attempt);
    size_t n = strlen(text);
    int rc = blob_write(path, text, n);
    SHA256Data((const uint8_t *)text, n, sha256);
    json_decref(o);
    free(text);
    free(path);
    return rc;
}

int page_file_json(const struct blob *b, const char *job, int page, int attempt, json_t **out)
{
    char *path = blob_page(b, job, page, attempt), *text;
    size_t n;
    int rc = blob_read(path, &text, &n);

    free(path);
    *out = NULL;
    TRY(rc);
    json_t *o = json_loadb(text, n, 0, NULL);
    free(text);
    *out = json_incref(json_object_get(o, "page"));
    json_decref(o);
    return *out ? 0
                : fault(JOBS_INTERNAL, NULL,
                        "%s: page %d, attempt %d: the file is damaged; retry the page", job, page,
                        attempt);
}

int page_file_read(const struct blob *b, const char *job, int page, int attempt,
                   struct recto_page *p)
{
    json_t *o;

    TRY(page_file_json(b, job, page, attempt, &o));
    char *text = json_dumps(o, JSON_COMPACT);
    int rc = recto_page_from_json(text, strlen(text), p);
    free(text);
    json_decref(o);
    return rc < 0 ? fault(JOBS_INTERNAL, NULL, "%s: page %d, attempt %d: %s", job, page, attempt,
                          recto_last_error())
                  : 0;
}
