/* What a handler may ask of a request: headers, parameters, cookies. */
#include "http.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

const char *request_header(const struct request *q, const char *name)
{
    return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

struct count {
    const char *name;
    int n;
};

static enum MHD_Result count_one(void *ctx, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct count *c = ctx;

    c->n += strcasecmp(name, c->name) == 0;
    return MHD_YES;
}

int request_header_count(const struct request *q, const char *name)
{
    struct count c = {.name = name};

    MHD_get_connection_values(q->mhd, MHD_HEADER_KIND, count_one, &c);
    return c.n;
}

const char *request_param(const struct request *q, const char *name)
{
    return MHD_lookup_connection_value(q->mhd, MHD_GET_ARGUMENT_KIND, name);
}

struct each {
    bool (*fn)(void *ctx, const char *name, const char *value);
    void *ctx;
};

static enum MHD_Result each_one(void *ctx, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    struct each *e = ctx;

    return e->fn(e->ctx, name, value ? value : "") ? MHD_YES : MHD_NO;
}

void request_each_param(const struct request *q,
                        bool (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
    struct each e = {fn, ctx};

    MHD_get_connection_values(q->mhd, MHD_GET_ARGUMENT_KIND, each_one, &e);
}

const char *request_cookie(const struct request *q, const char *name)
{
    return MHD_lookup_connection_value(q->mhd, MHD_COOKIE_KIND, name);
}
