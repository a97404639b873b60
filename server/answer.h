/* Answers: what a handler leaves in request.answer.
 *
 * An answer is made once; a second one for the same request is ignored, so that the first fault found is the one told.
 * http.c adds X-Request-Id, nosniff and, where the handler has not said otherwise, Cache-Control: no-store. */
#ifndef RECTO_SERVER_ANSWER_H
#define RECTO_SERVER_ANSWER_H

#include "http.h"

#include <jansson.h>

/* Faults: the code that clients see, its status, its type. */
#define TYPE_INVALID "invalid_request_error"
#define TYPE_RATE    "rate_limit_error"
#define TYPE_SERVER  "server_error"
#define ANSWER_FAULTS(X)                          \
    X(invalid_json, 400, TYPE_INVALID)            \
    X(invalid_value, 400, TYPE_INVALID)           \
    X(unknown_option, 400, TYPE_INVALID)          \
    X(unsupported_parameter, 400, TYPE_INVALID)   \
    X(too_many_pages, 400, TYPE_INVALID)          \
    X(context_length_exceeded, 400, TYPE_INVALID) \
    X(bad_request, 400, TYPE_INVALID)             \
    X(invalid_api_key, 401, TYPE_INVALID)         \
    X(forbidden, 403, TYPE_INVALID)               \
    X(url_fetch_disabled, 403, TYPE_INVALID)      \
    X(url_not_allowed, 403, TYPE_INVALID)         \
    X(not_found, 404, TYPE_INVALID)               \
    X(model_not_found, 404, TYPE_INVALID)         \
    X(method_not_allowed, 405, TYPE_INVALID)      \
    X(request_timeout, 408, TYPE_INVALID)         \
    X(job_not_finished, 409, TYPE_INVALID)        \
    X(job_finished, 409, TYPE_INVALID)            \
    X(idempotency_in_progress, 409, TYPE_INVALID) \
    X(edit_conflict, 409, TYPE_INVALID)           \
    X(expired, 410, TYPE_INVALID)                 \
    X(body_too_large, 413, TYPE_INVALID)          \
    X(uri_too_long, 414, TYPE_INVALID)            \
    X(unsupported_media_type, 415, TYPE_INVALID)  \
    X(bad_host, 421, TYPE_INVALID)                \
    X(document_unreadable, 422, TYPE_INVALID)     \
    X(password_required, 422, TYPE_INVALID)       \
    X(password_wrong, 422, TYPE_INVALID)          \
    X(page_out_of_range, 422, TYPE_INVALID)       \
    X(image_too_large, 422, TYPE_INVALID)         \
    X(idempotency_mismatch, 422, TYPE_INVALID)    \
    X(rate_limit_exceeded, 429, TYPE_RATE)        \
    X(queue_full, 429, TYPE_RATE)                 \
    X(quota_exceeded, 429, TYPE_RATE)             \
    X(headers_too_large, 431, TYPE_INVALID)       \
    X(internal, 500, TYPE_SERVER)                 \
    X(loading, 503, TYPE_SERVER)                  \
    X(draining, 503, TYPE_SERVER)                 \
    X(store_unavailable, 503, TYPE_SERVER)        \
    X(deadline_exceeded, 504, TYPE_SERVER)        \
    X(storage_full, 507, TYPE_SERVER)

enum fault {
    FAULT_NONE,
#define X(name, status, type) FAULT_##name,
    ANSWER_FAULTS(X)
#undef X
        N_FAULT
};
const char *fault_code(enum fault f);
int fault_status(enum fault f);
/* FAULT_internal for a code that is none. */
enum fault fault_find(const char *code);

/* {"error":{...}}, or problem+json if the client asked for it. param: the member or header at fault, or NULL. The message
 * says what to do. 429, 503: set a header Retry-After as well (answer_retry). */
void answer_fault(struct request *q, enum fault f, const char *param, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same envelope as one JSON object for a stream; the caller decrefs. */
json_t *fault_json(enum fault f, const char *param, const char *message, const char *request_id);
/* Retry-After and retry-after-ms. */
void answer_retry(struct request *q, int64_t ms);

/* v is taken. */
void answer_json(struct request *q, int status, json_t *v);
/* Bytes are copied. */
void answer_bytes(struct request *q, int status, const char *type, const void *bytes, size_t n);
/* t's bytes are taken. */
void answer_text(struct request *q, int status, const char *type, struct text *t);
/* Bytes that outlive the server. */
void answer_fixed(struct request *q, int status, const char *type, const void *bytes, size_t n);
/* A file from its beginning; fd is taken. */
void answer_file(struct request *q, int status, const char *type, int fd, uint64_t length);
/* What s brings; the caller stays its writer. */
void answer_stream(struct request *q, const char *type, struct stream *s);
void answer_empty(struct request *q, int status);
/* Another header; before or after the answer itself. Line breaks and control characters in value become '?'. */
void answer_header(struct request *q, const char *name, const char *value);
/* Free; http.c only. */
void answer_reset(struct answer *a);

#endif
