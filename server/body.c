#include "body.h"

#include "app.h"

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
    else
        text_add(&b->text, bytes, n);
}

void body_end(struct request *q, struct body *b)
{
}

void body_reset(struct body *b)
{
    text_reset(&b->text);
    sieve_reset(&b->sieve);
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
