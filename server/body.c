#include "body.h"

#include "app.h"
#include "jobs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 32 };

static int64_t limit_of(const struct server *s, enum body_kind kind)
{
    switch (kind) {
    case BODY_NONE:
        break;
    case BODY_JSON:
    case BODY_TEXT:
        return BODY_SMALL_MAX;
    case BODY_CHAT:
        return s->set.max_json;
    case BODY_UPLOAD:
        return s->set.max_upload + BODY_SLACK;
    }
    return 0;
}

static bool is_json_type(const char *type)
{
    return !type || strncasecmp(type, "application/json", 16) == 0;
}

/* ---- uploads ----------------------------------------------------------------------------------------------------------- */
static int part_begin(void *ctx, const struct multipart_part *part)
{
    struct body *b = ctx;

    b->is_file = strcmp(part->name, "file") == 0;
    b->is_options = strcmp(part->name, "options") == 0;
    text_clear(&b->text);
    if (!b->is_file && !b->is_options) {
        b->multipart.error = "a part is named file or options";
        return -1;
    }
    if (!b->is_file)
        return 0;
    b->n_file++;
    b->jobs_rc = jobs_upload_file(b->upload, *part->filename ? part->filename : "document");
    return b->jobs_rc < 0 ? -1 : 0;
}

static int part_content(void *ctx, const char *bytes, size_t n)
{
    struct body *b = ctx;

    if (b->is_file) {
        b->jobs_rc = jobs_upload_write(b->upload, bytes, n);
        return b->jobs_rc < 0 ? -1 : 0;
    }
    if (b->text.n + n > BODY_OPTIONS_MAX) {
        b->multipart.error = "the part options is longer than 65536 bytes";
        return -1;
    }
    text_add(&b->text, bytes, n);
    return 0;
}

static int part_end(void *ctx)
{
    struct body *b = ctx;

    if (b->is_options)
        b->jobs_rc = jobs_upload_options(b->upload, b->text.n ? b->text.p : "", b->text.n);
    return b->jobs_rc < 0 ? -1 : 0;
}

struct each_option {
    struct body *body;
    bool has_name;
};

/* A parameter of the query is an option. */
static bool take_option(void *ctx, const char *name, const char *value)
{
    struct each_option *e = ctx;

    e->has_name |= strcmp(name, "name") == 0;
    e->body->jobs_rc = jobs_upload_option(e->body->upload, name, value);
    return e->body->jobs_rc == 0;
}

/* The body is the file itself. */
static void open_raw(struct request *q, struct body *b)
{
    const char *name = request_param(q, "name");

    b->n_file = 1;
    b->is_file = true;
    if (b->jobs_rc == 0)
        b->jobs_rc = jobs_upload_file(b->upload, name && *name ? name : "document");
}

static void open_upload(struct server *s, struct request *q, struct body *b)
{
    const char *type = request_header(q, "Content-Type"),
               *password = request_header(q, "X-Recto-Password");
    const struct auth_key *k = &call_of(q)->key;
    struct jobs_limits limits = {
        .pages_day = k->pages_day, .jobs = k->jobs, .bytes = k->bytes, .may_interactive = true};
    struct multipart_calls calls = {part_begin, part_content, part_end, b};
    struct each_option each = {b, false};

    b->jobs_rc = jobs_upload_begin(s->jobs, k->name, &limits, &b->upload);
    if (b->jobs_rc == 0)
        request_each_param(q, take_option, &each);
    if (b->jobs_rc == 0 && password)
        b->jobs_rc = jobs_upload_option(b->upload, "password", password);
    if (b->jobs_rc == 0 && type && strncasecmp(type, "multipart/", 10) == 0) {
        b->is_multipart = true;
        if (multipart_begin(&b->multipart, type, &calls) < 0)
            answer_fault(q, FAULT_bad_request, "Content-Type", "%s", b->multipart.error);
    } else {
        open_raw(q, b);
    }
    if (b->jobs_rc < 0)
        jobs_answer_fault(s, q, b->jobs_rc);
}

static void add_upload(struct request *q, struct body *b, const char *bytes, size_t n)
{
    int rc;

    if (b->is_multipart)
        rc = multipart_push(&b->multipart, bytes, n);
    else
        rc = b->jobs_rc = jobs_upload_write(b->upload, bytes, n);
    if (b->jobs_rc < 0)
        jobs_answer_fault(call_of(q)->server, q, b->jobs_rc);
    else if (rc < 0)
        answer_fault(q, FAULT_bad_request, NULL, "%s", b->multipart.error);
}

static void end_upload(struct request *q, struct body *b)
{
    if (b->is_multipart && multipart_finish(&b->multipart) < 0)
        answer_fault(q, FAULT_bad_request, NULL, "%s", b->multipart.error);
    else if (b->n_file == 0)
        answer_fault(q, FAULT_invalid_value, "file", "there is no part named file");
}

/* ---- all kinds --------------------------------------------------------------------------------------------------------- */
void body_open(struct server *s, struct request *q, struct body *b)
{
    const char *type = request_header(q, "Content-Type");

    *b = (struct body){.kind = call_of(q)->route->body};
    q->body_max = limit_of(s, b->kind);
    if (b->kind == BODY_NONE && q->length != 0)
        answer_fault(q, FAULT_bad_request, NULL, "this call has no body");
    else if (q->length > q->body_max)
        answer_fault(q, FAULT_body_too_large, NULL, "the body is %lld bytes, the limit is %lld",
                     (long long)q->length, (long long)q->body_max);
    else if ((b->kind == BODY_JSON || b->kind == BODY_CHAT) && !is_json_type(type))
        answer_fault(q, FAULT_unsupported_media_type, NULL,
                     "the body must be JSON (Content-Type: application/json)");
    else if (b->kind == BODY_CHAT)
        sieve_begin(&b->sieve, s->spool);
    else if (b->kind == BODY_UPLOAD)
        open_upload(s, q, b);
}

static void add_chat(struct request *q, struct body *b, const char *bytes, size_t n)
{
    if (sieve_push(&b->sieve, bytes, n) == 0)
        return;
    answer_fault(q, b->sieve.is_full ? FAULT_storage_full : FAULT_invalid_value, "messages", "%s",
                 b->sieve.error);
}

void body_add(struct request *q, struct body *b, const char *bytes, size_t n)
{
    if (b->kind == BODY_CHAT)
        add_chat(q, b, bytes, n);
    else if (b->kind == BODY_UPLOAD)
        add_upload(q, b, bytes, n);
    else
        text_add(&b->text, bytes, n);
}

void body_end(struct request *q, struct body *b)
{
    if (b->kind == BODY_UPLOAD)
        end_upload(q, b);
}

void body_reset(struct body *b)
{
    text_reset(&b->text);
    sieve_reset(&b->sieve);
    multipart_reset(&b->multipart);
    jobs_upload_abort(b->upload);
}

/* Brackets outside of strings. jansson's own limit of depth is 2048. */
static int depth_of(const char *text, size_t n)
{
    int depth = 0, most = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            most = ++depth > most ? depth : most;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return most;
}

json_t *body_object(struct request *q, const char *text, size_t n)
{
    json_error_t e;
    json_t *v;

    if (n > 0 && depth_of(text, n) > DEPTH_MAX) {
        answer_fault(q, FAULT_invalid_json, NULL, "the JSON is nested more than 32 deep");
        return NULL;
    }
    v = json_loadb(n ? text : "", n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (!v)
        answer_fault(q, FAULT_invalid_json, NULL, "not valid JSON: %s (line %d, column %d)", e.text,
                     e.line, e.column);
    if (v && !json_is_object(v)) {
        answer_fault(q, FAULT_invalid_json, NULL, "expected a JSON object");
        json_decref(v);
        return NULL;
    }
    return v;
}
