/* The web page's files. */
#include "api.h"
#include "app.h"
#include "assets.h"

#include <string.h>

/* Only the page's own files may be loaded, nothing is evaluated, nobody may frame it. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src "
    "'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

static const struct asset *find(const char *name)
{
    for (int i = 0; i < n_assets; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

static void add_headers(struct request *q, const struct asset *a)
{
    answer_header(q, "Content-Security-Policy", policy);
    answer_header(q, "Referrer-Policy", "no-referrer");
    answer_header(q, "Cross-Origin-Opener-Policy", "same-origin");
    answer_header(q, "Cross-Origin-Resource-Policy", "same-origin");
    answer_header(q, "Cache-Control", "no-cache");
    answer_header(q, "ETag", a->etag);
    answer_header(q, "Vary", "Accept-Encoding");
}

static bool takes_gzip(const struct request *q)
{
    const char *accept = request_header(q, "Accept-Encoding");

    return accept && strstr(accept, "gzip") && !strstr(accept, "gzip;q=0");
}

enum run_result page_file(struct server *s, struct request *q)
{
    const char *name = q->path[1] ? q->path + 1 : "index.html";
    const struct asset *a = s->set.web ? find(name) : NULL;
    const char *known = request_header(q, "If-None-Match");

    if (!a) {
        answer_fault(q, FAULT_not_found, NULL,
                     "there is nothing at this path; GET /openapi.json lists all");
        return RUN_DONE;
    }
    add_headers(q, a);
    if (known && strstr(known, a->etag)) {
        answer_empty(q, 304);
    } else if (a->gzip && takes_gzip(q)) {
        answer_header(q, "Content-Encoding", "gzip");
        answer_fixed(q, 200, a->type, a->gzip, a->n_gzip);
    } else {
        answer_fixed(q, 200, a->type, a->bytes, a->n);
    }
    return RUN_DONE;
}
