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
    {"GET", "/metrics", RIGHT_ADMIN, BODY_NONE, ROUTE_OPS, ops_metrics, "Figures for Prometheus"},
    {"GET", "/v1/stats", RIGHT_USER, BODY_NONE, ROUTE_OPS, ops_stats,
     "Device, engine, queue; history=1: the last ten minutes"},
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
