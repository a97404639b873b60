/* The body of a call, as its route wants it: JSON or text in memory, a chat call through the sieve, an upload into a job's
 * files. All functions run on the request's I/O thread, before the handler does. */
#ifndef RECTO_SERVER_BODY_H
#define RECTO_SERVER_BODY_H

#include "http.h"
#include "multipart.h"
#include "route.h"
#include "sieve.h"

#include <jansson.h>

enum { BODY_SMALL_MAX = 1 << 20, BODY_OPTIONS_MAX = 64 << 10, BODY_SLACK = 1 << 20 };

struct server;
struct jobs_upload;

struct body {
    enum body_kind kind;
    struct text text;   /* BODY_JSON, BODY_TEXT */
    struct sieve sieve; /* BODY_CHAT */
    /* BODY_UPLOAD */
    struct jobs_upload *upload; /* taken by the handler (set to NULL) */
    struct multipart multipart;
    bool is_multipart, is_file, is_options; /* inside a part of that kind */
    int n_file;
    int jobs_rc; /* what jobs.h said last */
};

/* Before the first byte: check the declared length, get ready. Answers q on a fault. */
void body_open(struct server *s, struct request *q, struct body *b);
/* The next bytes. Answers q on a fault. */
void body_add(struct request *q, struct body *b, const char *bytes, size_t n);
/* After the last. Answers q on a fault. */
void body_end(struct request *q, struct body *b);
void body_reset(struct body *b);

/* Text as a JSON object: at most 32 deep, no key twice, strict UTF-8. NULL after an answer. */
json_t *body_object(struct request *q, const char *text, size_t n);

#endif
