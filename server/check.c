#include "check.h"

#include "listen.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- behind proxies -------------------------------------------------------------------------------------------------- */
static bool is_trusted(const struct server *s, const char *address)
{
    for (int i = 0; i < s->set.trusted_proxy.n; i++)
        if (address_in(address, s->set.trusted_proxy.item[i]))
            return true;
    return false;
}

/* The last address that no trusted proxy has; a list grows at its end. */
static void read_forwarded(const struct server *s, const char *list, char out[64])
{
    char copy[1024], *comma;

    if (strlen(list) >= sizeof copy)
        return;
    strcpy(copy, list);
    do {
        comma = strrchr(copy, ',');
        const char *one = comma ? comma + 1 : copy;
        one += strspn(one, " \t");
        if (address_in(one, "0.0.0.0/0") || address_in(one, "::/0"))
            snprintf(out, 64, "%.63s", one);
        if (!is_trusted(s, out))
            return;
        if (comma)
            *comma = 0;
    } while (comma);
}

void check_address(const struct server *s, struct request *q)
{
    struct call *c = call_of(q);
    const char *list = request_header(q, "X-Forwarded-For"),
               *proto = request_header(q, "X-Forwarded-Proto");

    snprintf(c->address, sizeof c->address, "%.63s", q->address);
    if (!is_trusted(s, q->address))
        return;
    if (list)
        read_forwarded(s, list, c->address);
    c->is_https = proto && strcasecmp(proto, "https") == 0;
}

/* ---- Host ------------------------------------------------------------------------------------------------------------ */
bool host_is_known(const struct server_list *names, const char *host)
{
    char name[256];
    size_t n = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

    if (n == 0 || n >= sizeof name || strlen(host) < n ||
        strspn(host + n, ":0123456789") != strlen(host + n))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)n, host);
    if (name[0] == '[') {
        name[n - 1] = 0;
        return address_in(name + 1, "::/0");
    }
    if (address_in(name, "0.0.0.0/0") || strcasecmp(name, "localhost") == 0)
        return true;
    for (int i = 0; i < names->n; i++)
        if (strcasecmp(name, names->item[i]) == 0)
            return true;
    return false;
}

bool check_host(const struct server *s, struct request *q)
{
    const char *host = request_header(q, "Host");

    if (!host || strcmp(q->address, "unix") == 0 || host_is_known(&s->set.host_name, host))
        return true;
    answer_fault(q, FAULT_bad_host, "Host",
                 "this server is not called '%.100s'; if it should be, start it with --host-name",
                 host);
    return false;
}

/* ---- origins --------------------------------------------------------------------------------------------------------- */
static bool is_listed(const struct server *s, const char *origin)
{
    for (int i = 0; i < s->set.cors_origin.n; i++)
        if (strcmp(s->set.cors_origin.item[i], origin) == 0 ||
            strcmp(s->set.cors_origin.item[i], "*") == 0)
            return true;
    return false;
}

bool check_origin(const struct server *s, struct request *q)
{
    const char *origin = request_header(q, "Origin");
    bool is_known = origin && is_listed(s, origin);

    if (is_known) {
        answer_header(q, "Access-Control-Allow-Origin", origin);
        answer_header(q, "Vary", "Origin");
        answer_header(q, "Access-Control-Expose-Headers",
                      "X-Request-Id, Retry-After, Location, ETag");
    }
    if (strcmp(q->method, "OPTIONS") != 0)
        return true;
    if (!is_known) {
        answer_fault(q, FAULT_forbidden, "Origin",
                     "pages of this origin may not call; --cors-origin lets them");
        return false;
    }
    answer_header(q, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE");
    answer_header(
        q, "Access-Control-Allow-Headers",
        "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, "
        "X-Request-Id, X-Recto-Password, X-Recto-Timeout-Ms");
    answer_header(q, "Access-Control-Max-Age", "600");
    answer_empty(q, 204);
    return false;
}

/* ---- keys ------------------------------------------------------------------------------------------------------------ */
static bool refuse_key(struct request *q, const char *why)
{
    answer_header(q, "WWW-Authenticate", "Bearer");
    answer_fault(q, FAULT_invalid_api_key, "Authorization", "%s", why);
    return false;
}

static bool check_bearer(struct server *s, struct request *q, const char *header)
{
    struct call *c = call_of(q);
    const char *key = header + strcspn(header, " ");

    if (strncasecmp(header, "Bearer ", 7) != 0)
        return refuse_key(q, "the Authorization header is not 'Bearer rk_...'");
    key += strspn(key, " ");
    switch (auth_check(s->auth, key, c->address, &c->key)) {
    case AUTH_FINE:
        return true;
    case AUTH_TOO_OFTEN:
        answer_retry(q, 60000);
        answer_fault(q, FAULT_rate_limit_exceeded, "Authorization",
                     "too many wrong keys from this address; wait a minute");
        return false;
    case AUTH_WRONG:
        break;
    }
    return refuse_key(q, "this key is not known here");
}

/* A page of another site can make a browser send the cookie along, but not these headers of the browser's own. */
static bool check_site(struct request *q)
{
    const char *site = request_header(q, "Sec-Fetch-Site"), *origin = request_header(q, "Origin"),
               *host = request_header(q, "Host"), *rest = origin ? strstr(origin, "://") : NULL;
    bool is_read = strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;

    if (is_read || (site && strcmp(site, "same-origin") == 0) ||
        (!site && rest && host && strcmp(rest + 3, host) == 0))
        return true;
    answer_fault(q, FAULT_forbidden, "Sec-Fetch-Site",
                 "a call with a session's cookie must come from the page of this server itself");
    return false;
}

static bool check_cookie(struct server *s, struct request *q)
{
    struct call *c = call_of(q);
    const char *cookie = request_cookie(q, SESSION_COOKIE);

    if (!cookie || !session_find(s, cookie, &c->key))
        return refuse_key(q, "this call needs a key: Authorization: Bearer rk_...");
    c->by_cookie = true;
    return check_site(q);
}

/* No keys: the caller is on this machine, or everybody may call; but a foreign page in a browser here must not write. */
static bool check_no_keys(struct request *q)
{
    const char *site = request_header(q, "Sec-Fetch-Site");

    return !site || strcmp(site, "cross-site") != 0 || check_site(q);
}

static bool check_right(struct request *q)
{
    const struct call *c = call_of(q);

    if (c->route->right != RIGHT_ADMIN || c->key.is_admin)
        return true;
    answer_fault(q, FAULT_forbidden, NULL, "this call needs a key with the role admin");
    return false;
}

bool check_key(struct server *s, struct request *q)
{
    struct call *c = call_of(q);
    const char *header = request_header(q, "Authorization");
    bool is_fine;

    c->key = (struct auth_key){.rate = -1};
    if (c->route->right == RIGHT_OPEN)
        return true;
    if (!auth_has_keys(s->auth)) {
        c->key.is_admin = true;
        return check_no_keys(q);
    }
    is_fine = header ? check_bearer(s, q, header) : check_cookie(s, q);
    return is_fine && check_right(q);
}

/* ---- rate ------------------------------------------------------------------------------------------------------------ */
static void tell_rate(struct request *q, const struct limit_state *l)
{
    char text[24];

    snprintf(text, sizeof text, "%d", l->limit);
    answer_header(q, "x-ratelimit-limit-requests", text);
    snprintf(text, sizeof text, "%d", l->remaining);
    answer_header(q, "x-ratelimit-remaining-requests", text);
    snprintf(text, sizeof text, "%lldms", (long long)l->reset_ms);
    answer_header(q, "x-ratelimit-reset-requests", text);
}

bool check_rate(struct server *s, struct request *q)
{
    const struct call *c = call_of(q);
    double rate = c->key.rate >= 0 ? c->key.rate : s->set.rate;
    struct limit_state state;
    bool may;

    if (c->route->right == RIGHT_OPEN || (c->route->flags & ROUTE_PICTURE) || rate <= 0)
        return true;
    may = limit_take(s->limit, *c->key.name ? c->key.name : c->address, rate, s->set.burst, &state);
    tell_rate(q, &state);
    if (may)
        return true;
    answer_retry(q, state.retry_ms);
    answer_fault(q, FAULT_rate_limit_exceeded, NULL,
                 "more than %g calls a second; wait as Retry-After says", rate);
    return false;
}
