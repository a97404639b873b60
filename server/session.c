#include "session.h"

#include "api.h"
#include "app.h"
#include "clock.h"
#include "jobs.h"

#include <stdio.h>
#include <string.h>

bool session_find(struct server *s, const char *cookie, struct auth_key *who)
{
    char hash[65], owner[AUTH_OWNER_MAX];

    auth_hash(cookie, hash);
    return s->jobs && jobs_session_get(s->jobs, hash, owner) == 0 && auth_find(s->auth, owner, who);
}

static void set_cookie(const struct server *s, struct request *q, const char *value, int seconds)
{
    char cookie[256];

    snprintf(cookie, sizeof cookie,
             SESSION_COOKIE "=%s; Path=%.100s; Max-Age=%d; HttpOnly; SameSite=Strict%s", value,
             s->set.base_path, seconds, call_of(q)->is_https ? "; Secure" : "");
    answer_header(q, "Set-Cookie", cookie);
}

static void refuse(struct request *q, enum auth_answer why)
{
    if (why == AUTH_TOO_OFTEN) {
        answer_retry(q, 60000);
        answer_fault(q, FAULT_rate_limit_exceeded, "key",
                     "too many wrong keys from this address; wait a minute");
    } else {
        answer_fault(q, FAULT_invalid_api_key, "key", "this key is not known here");
    }
}

/* The key is right: make a session of it. */
static void begin(struct server *s, struct request *q, const struct auth_key *who)
{
    char token[48], hash[65];
    int rc;

    auth_token("rs_", token);
    auth_hash(token, hash);
    rc = jobs_session_put(s->jobs, hash, who->name, clock_wall_ms() + SESSION_S * 1000LL);
    if (rc < 0) {
        jobs_answer_fault(s, q, rc);
        return;
    }
    set_cookie(s, q, token, SESSION_S);
    answer_empty(q, 204);
}

enum run_result session_post(struct server *s, struct request *q)
{
    const struct text *t = &call_of(q)->body.text;
    json_t *v = body_object(q, t->p, t->n);
    const char *key = json_string_value(json_object_get(v, "key"));
    struct auth_key who;
    enum auth_answer answer;

    if (!v)
        return RUN_DONE;
    answer = key ? auth_check(s->auth, key, call_of(q)->address, &who) : AUTH_WRONG;
    if (answer == AUTH_FINE)
        begin(s, q, &who);
    else
        refuse(q, answer);
    json_decref(v);
    return RUN_DONE;
}

enum run_result session_delete(struct server *s, struct request *q)
{
    const char *cookie = request_cookie(q, SESSION_COOKIE);
    char hash[65];

    if (cookie) {
        auth_hash(cookie, hash);
        jobs_session_end(s->jobs, hash);
    }
    set_cookie(s, q, "", 0);
    answer_empty(q, 204);
    return RUN_DONE;
}
