#include "route.h"

#include "api.h"

#include <stdio.h>
#include <string.h>

static const struct route routes[] = {
    {"GET", "/healthz", RIGHT_OPEN, BODY_NONE, ROUTE_QUICK | ROUTE_PROBE, ops_health,
     "Is the process alive?"},
    {"GET", "/readyz", RIGHT_OPEN, BODY_NONE, ROUTE_QUICK | ROUTE_PROBE, ops_ready,
     "Can it take work?"},
    {"GET", "/v1/models", RIGHT_USER, BODY_NONE, ROUTE_QUICK, openai_models, "The model"},
    {"GET", "/v1/models/{model}", RIGHT_USER, BODY_NONE, ROUTE_QUICK, openai_model, "The model"},
    {"POST", "/v1/chat/completions", RIGHT_USER, BODY_CHAT, ROUTE_WORK, openai_chat,
     "Read pictures and PDF files of up to 32 pages"},
    {"POST", "/v1/session", RIGHT_OPEN, BODY_JSON, ROUTE_STORE, session_post,
     "Log in: {\"key\": \"rk_...\"} gives the page its cookie"},
    {"DELETE", "/v1/session", RIGHT_OPEN, BODY_NONE, ROUTE_STORE, session_delete, "Log out"},
    {"GET", "/v1/quota", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_quota_get,
     "What the key has used of what it may"},
    {"POST", "/v1/jobs", RIGHT_USER, BODY_UPLOAD, ROUTE_WORK, jobs_post,
     "Read a document: multipart with `file` and `options`, or the file as the body"},
    {"GET", "/v1/jobs", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_list_get,
     "Jobs, newest first: limit, before, state, q"},
    {"GET", "/v1/jobs/{job}", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_get_one,
     "A job; after=SEQ waits up to wait_s seconds for news"},
    {"PATCH", "/v1/jobs/{job}", RIGHT_USER, BODY_JSON, ROUTE_STORE, jobs_patch,
     "Rename: {\"name\": \"...\"}"},
    {"DELETE", "/v1/jobs/{job}", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_delete_one,
     "Cancel, and remove all of it"},
    {"POST", "/v1/jobs/{job}/cancel", RIGHT_USER, BODY_JSON, ROUTE_STORE, jobs_cancel_post,
     "Stop; finished pages stay"},
    {"POST", "/v1/jobs/{job}/retry", RIGHT_USER, BODY_JSON, ROUTE_WORK, jobs_retry_post,
     "Read pages again: {\"pages\": \"3,7\", \"options\": {}}"},
    {"GET", "/v1/jobs/{job}/events", RIGHT_USER, BODY_NONE, ROUTE_STORE, events_get,
     "Events of a job: after, watch, stats"},
    {"GET", "/v1/events", RIGHT_USER, BODY_NONE, ROUTE_STORE, events_get,
     "Events of all jobs of the key: after, watch, stats"},
    {"GET", "/v1/jobs/{job}/pages", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_pages_get,
     "Pages of a job: from, limit"},
    {"GET", "/v1/jobs/{job}/pages/{page}.{format}", RIGHT_USER, BODY_NONE, ROUTE_STORE,
     jobs_page_get, "A page as md, txt, html or json; version=model, attempt=N"},
    {"PUT", "/v1/jobs/{job}/pages/{page}/text", RIGHT_USER, BODY_TEXT, ROUTE_STORE, jobs_text_put,
     "The user's own text for a page (If-Match); an empty one restores the model's"},
    {"POST", "/v1/jobs/{job}/pages/{page}/keep", RIGHT_USER, BODY_JSON, ROUTE_STORE, jobs_keep_post,
     "Make a reading the page's own: {\"attempt\": N}"},
    {"GET", "/v1/jobs/{job}/pages/{page}/image", RIGHT_USER, BODY_NONE, ROUTE_STORE | ROUTE_PICTURE,
     jobs_image_get, "The page's picture: w=160, 800, 1600 or full"},
    {"GET", "/v1/jobs/{job}/pages/{page}/overlay", RIGHT_USER, BODY_NONE,
     ROUTE_STORE | ROUTE_PICTURE, jobs_overlay_get, "The page's picture with its boxes"},
    {"GET", "/v1/jobs/{job}/pages/{page}/crops/{k}.jpg", RIGHT_USER, BODY_NONE,
     ROUTE_STORE | ROUTE_PICTURE, jobs_crop_get, "A figure of the page"},
    {"GET", "/v1/jobs/{job}/input/{k}", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_input_get,
     "A file of the job as it came, counted from 0"},
    {"GET", "/v1/jobs/{job}/result.{format}", RIGHT_USER, BODY_NONE, ROUTE_STORE, jobs_result_get,
     "The document as md, txt, html, json, jsonl, pdf or zip; partial=1"},
    {"GET", "/metrics", RIGHT_ADMIN, BODY_NONE, ROUTE_OPS, ops_metrics, "Figures for Prometheus"},
    {"GET", "/v1/stats", RIGHT_USER, BODY_NONE, ROUTE_OPS, ops_stats,
     "Device, engine, queue; history=1: the last ten minutes"},
    {"GET", "/openapi.json", RIGHT_OPEN, BODY_NONE, ROUTE_QUICK, openapi_get,
     "This description of the API"},
    {"GET", "/v1/schema/layout.json", RIGHT_OPEN, BODY_NONE, ROUTE_QUICK, layout_schema_get,
     "JSON Schema of the layout of a document"},
    {"GET", "/", RIGHT_OPEN, BODY_NONE, ROUTE_QUICK, page_file, "The web page"},
    {"GET", "/{file}", RIGHT_OPEN, BODY_NONE, ROUTE_QUICK, page_file, "Files of the web page"},
};

const struct route *route_at(int i)
{
    return i >= 0 && i < (int)(sizeof routes / sizeof *routes) ? &routes[i] : NULL;
}

/* Take what a {name} stands for: up to the byte that follows it in the pattern, or the end. */
static const char *take(const char *path, char stop, char *param)
{
    size_t n = 0;

    while (path[n] && path[n] != '/' && !(stop && path[n] == stop))
        n++;
    if (n == 0 || n >= ROUTE_PARAM_MAX)
        return NULL;
    memcpy(param, path, n);
    param[n] = 0;
    return path + n;
}

bool route_fits(const char *pattern, const char *path, char param[][ROUTE_PARAM_MAX], int n_param)
{
    int n = 0;

    while (*pattern) {
        if (*pattern == '{') {
            pattern = strchr(pattern, '}') + 1;
            path = n < n_param ? take(path, *pattern, param[n++]) : NULL;
            if (!path)
                return false;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == 0;
}

static void add_method(char allow[64], const char *method)
{
    size_t n = strlen(allow);

    if (!strstr(allow, method))
        snprintf(allow + n, 64 - n, "%s%s", n ? ", " : "", method);
}

const struct route *route_find(const char *method, const char *path, char param[][ROUTE_PARAM_MAX],
                               int n_param, char allow[64])
{
    const struct route *r;

    *allow = 0;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    for (int i = 0; (r = route_at(i)); i++) {
        if (!route_fits(r->pattern, path, param, n_param))
            continue;
        if (strcmp(r->method, method) == 0)
            return r;
        add_method(allow, r->method);
    }
    return NULL;
}
