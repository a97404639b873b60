/* /openapi.json, made of the table of routes, and the schema of the layout. */
#include "api.h"
#include "app.h"
#include "assets.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "/v1/jobs/{job}" has the parameter job. */
static json_t *parameters(const struct route *r)
{
    json_t *list = json_array();
    char name[64];

    for (const char *p = strchr(r->pattern, '{'); p; p = strchr(p + 1, '{')) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 1, "}"), p + 1);
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:{s:s}}", "name", name, "in",
                                              "path", "required", 1, "schema", "type", "string"));
    }
    return list;
}

static json_t *content(const char *type, json_t *schema)
{
    return json_pack("{s:{s:o}}", type, "schema", schema);
}

/* NULL: the call has no body. */
static json_t *request_body(const struct route *r)
{
    json_t *v = NULL;

    switch (r->body) {
    case BODY_NONE:
        return NULL;
    case BODY_JSON:
    case BODY_CHAT:
        v = content("application/json", json_pack("{s:s}", "type", "object"));
        break;
    case BODY_TEXT:
        v = content("text/markdown", json_pack("{s:s}", "type", "string"));
        break;
    case BODY_UPLOAD:
        v = content("multipart/form-data",
                    json_pack("{s:s, s:{s:{s:s, s:s}, s:{s:s}}, s:[s]}", "type", "object",
                              "properties", "file", "type", "string", "format", "binary", "options",
                              "type", "object", "required", "file"));
        json_object_set_new(
            v, "application/octet-stream",
            json_pack("{s:{s:s, s:s}}", "schema", "type", "string", "format", "binary"));
        break;
    }
    return json_pack("{s:o}", "content", v);
}

/* "get /v1/jobs/{job}" as get_v1_jobs_job. */
static void operation_id(const struct route *r, char out[128])
{
    size_t n = 0;

    for (const char *p = r->method; *p; p++)
        out[n++] = (char)tolower((unsigned char)*p);
    for (const char *p = r->pattern; *p && n < 126; p++)
        if (isalnum((unsigned char)*p))
            out[n++] = *p;
        else if (out[n - 1] != '_')
            out[n++] = '_';
    while (n > 0 && out[n - 1] == '_')
        n--;
    out[n] = 0;
}

static json_t *operation(const struct route *r)
{
    char id[128];
    json_t *v, *body = request_body(r);

    operation_id(r, id);
    v = json_pack(
        "{s:s, s:s, s:o, s:{s:{s:s}, s:{s:s, s:o}}}", "operationId", id, "summary", r->what,
        "parameters", parameters(r), "responses", "2XX", "description", "done", "default",
        "description", "a fault", "content",
        content("application/json", json_pack("{s:s}", "$ref", "#/components/schemas/Error")));
    if (body)
        json_object_set_new(v, "requestBody", body);
    if (r->right != RIGHT_OPEN)
        json_object_set_new(v, "security", json_pack("[{s:[]}, {s:[]}]", "key", "session"));
    return v;
}

static json_t *codes(void)
{
    json_t *list = json_array();

    for (int f = 1; f < N_FAULT; f++)
        json_array_append_new(list, json_string(fault_code((enum fault)f)));
    return list;
}

static json_t *components(void)
{
    json_t *error = json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:[s,s]}, s:{s:s, s:o}, s:{s:s}}}",
                              "type", "object", "properties", "message", "type", "string", "type",
                              "type", "string", "param", "type", "string", "null", "code", "type",
                              "string", "enum", codes(), "request_id", "type", "string");

    return json_pack("{s:{s:{s:s, s:{s:o}}}, s:{s:{s:s, s:s}, s:{s:s, s:s, s:s}}}", "schemas",
                     "Error", "type", "object", "properties", "error", error, "securitySchemes",
                     "key", "type", "http", "scheme", "bearer", "session", "type", "apiKey", "in",
                     "cookie", "name", "recto_session");
}

static json_t *openapi_json(void)
{
    json_t *paths = json_object();
    const struct route *r;
    char method[8];

    for (int i = 0; (r = route_at(i)); i++) {
        json_t *path = json_object_get(paths, r->pattern);
        size_t n = 0;
        if (!path) {
            path = json_object();
            json_object_set_new(paths, r->pattern, path);
        }
        for (const char *p = r->method; *p && n < sizeof method - 1; p++)
            method[n++] = (char)tolower((unsigned char)*p);
        method[n] = 0;
        json_object_set_new(path, method, operation(r));
    }
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:o}", "openapi", "3.1.0", "info", "title",
                     "recto", "version", RECTO_VERSION, "description",
                     "Pages to text with DeepSeek-OCR-2. Prose: docs/server.md.", "paths", paths,
                     "components", components());
}

enum run_result openapi_get(struct server *s, struct request *q)
{
    answer_json(q, 200, openapi_json());
    return RUN_DONE;
}

enum run_result layout_schema_get(struct server *s, struct request *q)
{
    for (int i = 0; i < n_assets; i++)
        if (strcmp(assets[i].name, "recto-layout-1.schema.json") == 0) {
            answer_fixed(q, 200, "application/schema+json", assets[i].bytes, assets[i].n);
            return RUN_DONE;
        }
    answer_fault(q, FAULT_not_found, NULL, "this build has no copy of the schema");
    return RUN_DONE;
}
