/* Jobs over HTTP: what jobs.h does, with statuses and headers. */
#include "api.h"
#include "app.h"
#include "hub.h"
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- faults ------------------------------------------------------------------------------------------------------------ */
/* How long until so much of the queue is read that it may be tried again. */
static int64_t queue_ms(struct server *s)
{
    struct jobs_stats st;
    int64_t pages;

    jobs_get_stats(s->jobs, &st);
    pages = st.queued_pages[0] + st.queued_pages[1] + st.queued_pages[2];
    double seconds = st.pages_s > 0 ? (double)pages / st.pages_s : 60;
    return (int64_t)(seconds < 1 ? 1 : seconds > 3600 ? 3600 : seconds) * 1000;
}

void jobs_answer_fault(struct server *s, struct request *q, int rc)
{
    enum fault f = fault_find(jobs_error_code(rc));

    if (f == FAULT_queue_full)
        answer_retry(q, queue_ms(s));
    else if (f == FAULT_quota_exceeded || f == FAULT_draining || f == FAULT_store_unavailable)
        answer_retry(q, f == FAULT_quota_exceeded ? 60000 : 5000);
    answer_fault(q, f, jobs_last_param(), "%s", jobs_last_error());
}

static enum run_result fault(struct server *s, struct request *q, int rc)
{
    jobs_answer_fault(s, q, rc);
    return RUN_DONE;
}

static enum run_result wrong(struct request *q, const char *param, const char *why)
{
    answer_fault(q, FAULT_invalid_value, param, "%s", why);
    return RUN_DONE;
}

/* Whose objects the caller sees: NULL: everybody's. */
const char *call_owner(const struct request *q)
{
    const struct auth_key *k = &call_of(q)->key;

    return k->is_admin && *k->name ? NULL : k->name;
}

static const char *job_of(const struct request *q)
{
    return call_of(q)->param[0];
}

/* A number of plain digits up to nine of them; -1. */
static int number(const char *text)
{
    size_t n = text ? strlen(text) : 0;

    return n > 0 && n < 10 && strspn(text, "0123456789") == n ? atoi(text) : -1;
}

/* The page that the path names; 0 after an answer. */
static int page_of(struct request *q)
{
    int page = number(call_of(q)->param[1]);

    if (page <= 0)
        answer_fault(q, FAULT_not_found, NULL, "pages are numbered from 1");
    return page > 0 ? page : 0;
}

static bool is_set(const struct request *q, const char *name)
{
    const char *v = request_param(q, name);

    return v && (strcmp(v, "1") == 0 || strcmp(v, "true") == 0);
}

static void idempotent(struct request *q, bool is_replayed)
{
    if (is_replayed)
        answer_header(q, "Idempotent-Replayed", "true");
}

static const char *idempotency_key(struct request *q)
{
    const char *key = request_header(q, "Idempotency-Key");

    if (key && (strlen(key) > 128 || *key == 0))
        answer_fault(q, FAULT_invalid_value, "Idempotency-Key", "the key has 1 to 128 characters");
    return key;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------------- */
enum run_result jobs_post(struct server *s, struct request *q)
{
    struct body *b = &call_of(q)->body;
    const char *key = idempotency_key(q);
    bool is_replayed = false;
    char where[160];
    json_t *job;
    int rc;

    if (q->answer.status != 0)
        return RUN_DONE;
    rc = jobs_upload_commit(b->upload, key, &job, &is_replayed);
    if (rc < 0)
        return fault(s, q, rc);
    b->upload = NULL;
    snprintf(where, sizeof where, "/v1/jobs/%s", json_string_value(json_object_get(job, "id")));
    answer_header(q, "Location", where);
    idempotent(q, is_replayed);
    answer_json(q, 202, job);
    return RUN_DONE;
}

enum run_result jobs_list_get(struct server *s, struct request *q)
{
    struct jobs_query query = {.before = request_param(q, "before"),
                               .state = request_param(q, "state"),
                               .text = request_param(q, "q")};
    json_t *list;
    int rc;

    query.limit = request_param(q, "limit") ? number(request_param(q, "limit")) : 50;
    if (query.limit < 1 || query.limit > 200)
        return wrong(q, "limit", "limit is a number from 1 to 200");
    if (query.state && *query.state == 0)
        query.state = NULL;
    if (query.text && *query.text == 0)
        query.text = NULL;
    rc = jobs_list(s->jobs, call_owner(q), &query, &list);
    if (rc < 0)
        return fault(s, q, rc);
    answer_json(q, 200, list);
    return RUN_DONE;
}

/* With after=SEQ: wait until the job's seq is newer, or wait_s is over. */
enum run_result jobs_get_one(struct server *s, struct request *q)
{
    const char *after = request_param(q, "after"), *wait = request_param(q, "wait_s");
    int seconds = wait ? number(wait) : after ? 30 : 0;
    json_t *job;
    int rc;

    if (seconds < 0)
        return wrong(q, "wait_s", "wait_s is a number of seconds, up to 60");
    rc = jobs_get(s->jobs, call_owner(q), job_of(q), &job);
    if (rc < 0)
        return fault(s, q, rc);
    if (after && seconds > 0 && !call_of(q)->has_waited &&
        json_integer_value(json_object_get(job, "seq")) <= strtoll(after, NULL, 10)) {
        call_of(q)->has_waited = true;
        json_decref(job);
        hub_wait(s->hub, q, job_of(q), strtoull(after, NULL, 10), seconds > 60 ? 60 : seconds);
        return RUN_LATER;
    }
    answer_json(q, 200, job);
    return RUN_DONE;
}

enum run_result jobs_delete_one(struct server *s, struct request *q)
{
    int rc = jobs_delete(s->jobs, call_owner(q), job_of(q));

    if (rc < 0)
        return fault(s, q, rc);
    answer_empty(q, 204);
    return RUN_DONE;
}

enum run_result jobs_patch(struct server *s, struct request *q)
{
    const struct text *t = &call_of(q)->body.text;
    json_t *v = body_object(q, t->p, t->n), *job;
    const char *name;
    int rc;

    if (!v)
        return RUN_DONE;
    name = json_string_value(json_object_get(v, "name"));
    if (!name || json_object_size(v) != 1) {
        json_decref(v);
        return wrong(q, "name", "the body is {\"name\": \"...\"}");
    }
    rc = jobs_rename(s->jobs, call_owner(q), job_of(q), name, &job);
    json_decref(v);
    if (rc < 0)
        return fault(s, q, rc);
    answer_json(q, 200, job);
    return RUN_DONE;
}

enum run_result jobs_cancel_post(struct server *s, struct request *q)
{
    json_t *job;
    int rc = jobs_cancel(s->jobs, call_owner(q), job_of(q), &job);

    if (rc < 0)
        return fault(s, q, rc);
    answer_json(q, 202, job);
    return RUN_DONE;
}

enum run_result jobs_retry_post(struct server *s, struct request *q)
{
    const struct text *t = &call_of(q)->body.text;
    const char *key = idempotency_key(q);
    bool is_replayed = false;
    json_t *job;
    int rc;

    if (q->answer.status != 0)
        return RUN_DONE;
    rc = jobs_retry(s->jobs, call_owner(q), job_of(q), t->n ? t->p : "{}", t->n ? t->n : 2, key,
                    &job, &is_replayed);
    if (rc < 0)
        return fault(s, q, rc);
    idempotent(q, is_replayed);
    answer_json(q, 202, job);
    return RUN_DONE;
}

/* ---- pages ------------------------------------------------------------------------------------------------------------- */
enum run_result jobs_pages_get(struct server *s, struct request *q)
{
    const char *from = request_param(q, "from"), *limit = request_param(q, "limit");
    json_t *pages;
    int rc, first = from ? number(from) : 1, most = limit ? number(limit) : 200;

    if (first < 1 || most < 1 || most > 1000)
        return wrong(q, first < 1 ? "from" : "limit", "from is 1 or more, limit 1 to 1000");
    rc = jobs_pages(s->jobs, call_owner(q), job_of(q), first, most, &pages);
    if (rc < 0)
        return fault(s, q, rc);
    answer_json(q, 200, pages);
    return RUN_DONE;
}

enum run_result jobs_keep_post(struct server *s, struct request *q)
{
    const struct text *t = &call_of(q)->body.text;
    int page = page_of(q), rc;
    json_t *v = page ? body_object(q, t->p, t->n) : NULL, *row;

    if (!v)
        return RUN_DONE;
    rc = jobs_keep(s->jobs, call_owner(q), job_of(q), page,
                   (int)json_integer_value(json_object_get(v, "attempt")), &row);
    json_decref(v);
    if (rc < 0)
        return fault(s, q, rc);
    answer_json(q, 200, row);
    return RUN_DONE;
}

/* The etag in If-Match, without its quotes; NULL: none was sent, or *. */
static const char *if_match(const struct request *q, char out[80])
{
    const char *given = request_header(q, "If-Match");

    if (!given || strcmp(given, "*") == 0)
        return NULL;
    given += *given == '"';
    snprintf(out, 80, "%.*s", (int)strcspn(given, "\""), given);
    return out;
}

static void put_etag(struct request *q, const char *etag)
{
    char quoted[90];

    snprintf(quoted, sizeof quoted, "\"%s\"", etag);
    answer_header(q, "ETag", quoted);
}

enum run_result jobs_text_put(struct server *s, struct request *q)
{
    const struct text *t = &call_of(q)->body.text;
    int page = page_of(q), rc;
    char match[80], etag[80];

    if (!page)
        return RUN_DONE;
    rc = jobs_edit(s->jobs, call_owner(q), job_of(q), page, if_match(q, match), t->n ? t->p : "",
                   t->n, etag);
    if (rc < 0)
        return fault(s, q, rc);
    put_etag(q, etag);
    answer_empty(q, 204);
    return RUN_DONE;
}

/* ---- files ------------------------------------------------------------------------------------------------------------- */
/* A file name for people (RFC 6266 with RFC 8187): everything but plain letters is percent-encoded. */
static void put_disposition(struct request *q, const char *kind, const char *name)
{
    struct text t = {0};

    text_fmt(&t, "%s; filename*=UTF-8''", kind);
    for (const char *p = name; *p; p++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_", *p))
            text_char(&t, *p);
        else
            text_fmt(&t, "%%%02X", (unsigned char)*p);
    answer_header(q, "Content-Disposition", t.p);
    text_reset(&t);
}

static bool is_same(const struct request *q, const char *etag)
{
    const char *known = request_header(q, "If-None-Match");

    return known && *etag && strstr(known, etag);
}

/* Markup that was made of a stranger's document: never a page of this server's (S30). */
static void put_guard(struct request *q, const struct jobs_body *b)
{
    bool is_html = strncmp(b->media_type, "text/html", 9) == 0;
    bool is_picture = strncmp(b->media_type, "image/", 6) == 0;

    answer_header(q, "Content-Security-Policy",
                  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:");
    if (is_picture)
        answer_header(q, "Cache-Control", "private, no-cache");
    if (b->name)
        put_disposition(q, is_html || is_set(q, "download") ? "attachment" : "inline", b->name);
}

static enum run_result send_body(struct server *s, struct request *q, int rc, struct jobs_body *b)
{
    if (rc < 0)
        return fault(s, q, rc);
    put_etag(q, b->etag);
    if (is_same(q, b->etag)) {
        answer_empty(q, 304);
    } else {
        put_guard(q, b);
        answer_file(q, 200, b->media_type, b->fd, (uint64_t)b->size);
        b->fd = -1;
    }
    jobs_body_reset(b);
    return RUN_DONE;
}

enum run_result jobs_result_get(struct server *s, struct request *q)
{
    struct jobs_body b = {.fd = -1};
    int rc = jobs_result(s->jobs, call_owner(q), job_of(q), call_of(q)->param[1],
                         is_set(q, "partial"), &b);

    return send_body(s, q, rc, &b);
}

enum run_result jobs_page_get(struct server *s, struct request *q)
{
    const char *version = request_param(q, "version"), *attempt = request_param(q, "attempt");
    struct jobs_body b = {.fd = -1};
    int page = page_of(q), n = attempt ? number(attempt) : 0;

    if (!page)
        return RUN_DONE;
    if (version && strcmp(version, "model") != 0)
        return wrong(q, "version", "version is model, or is left out");
    if (n < 0)
        return wrong(q, "attempt", "attempt is a number");
    int rc = jobs_page_result(s->jobs, call_owner(q), job_of(q), page, call_of(q)->param[2],
                              version != NULL, n, &b);
    return send_body(s, q, rc, &b);
}

enum run_result jobs_image_get(struct server *s, struct request *q)
{
    const char *w = request_param(q, "w");
    struct jobs_body b = {.fd = -1};
    int page = page_of(q), width = !w || strcmp(w, "full") == 0 ? 0 : number(w);

    if (!page)
        return RUN_DONE;
    if (w && width != 160 && width != 800 && width != 1600 && strcmp(w, "full") != 0)
        return wrong(q, "w", "w is 160, 800, 1600 or full");
    return send_body(s, q, jobs_page_image(s->jobs, call_owner(q), job_of(q), page, width, &b), &b);
}

enum run_result jobs_overlay_get(struct server *s, struct request *q)
{
    struct jobs_body b = {.fd = -1};
    int page = page_of(q);

    if (!page)
        return RUN_DONE;
    return send_body(s, q, jobs_page_overlay(s->jobs, call_owner(q), job_of(q), page, &b), &b);
}

enum run_result jobs_crop_get(struct server *s, struct request *q)
{
    struct jobs_body b = {.fd = -1};
    int page = page_of(q), k = number(call_of(q)->param[2]);

    if (!page)
        return RUN_DONE;
    return send_body(s, q, jobs_page_crop(s->jobs, call_owner(q), job_of(q), page, k, &b), &b);
}

enum run_result jobs_input_get(struct server *s, struct request *q)
{
    struct jobs_body b = {.fd = -1};

    return send_body(
        s, q, jobs_input(s->jobs, call_owner(q), job_of(q), number(call_of(q)->param[1]), &b), &b);
}

enum run_result jobs_quota_get(struct server *s, struct request *q)
{
    const struct auth_key *k = &call_of(q)->key;
    json_t *usage;
    int rc = jobs_usage(s->jobs, k->name, &usage);

    if (rc < 0)
        return fault(s, q, rc);
    json_object_set_new(usage, "limits",
                        json_pack("{s:I, s:I, s:I, s:f}", "pages_day", (json_int_t)k->pages_day,
                                  "jobs", (json_int_t)k->jobs, "bytes", (json_int_t)k->bytes,
                                  "rate", k->rate >= 0 ? k->rate : s->set.rate));
    answer_json(q, 200, usage);
    return RUN_DONE;
}
