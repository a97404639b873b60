/* Event streams: what a client wants to hear, from its query. */
#include "api.h"
#include "app.h"
#include "hub.h"
#include "jobs.h"

#include <stdlib.h>
#include <string.h>

/* "JOB:PAGE", or on a job's own stream "PAGE". */
static bool read_watch(struct hub_wish *w, const char *text, char job[ROUTE_PARAM_MAX])
{
    const char *colon = text ? strchr(text, ':') : NULL;
    char *end;

    if (!text)
        return true;
    if (colon) {
        if (colon == text || (size_t)(colon - text) >= ROUTE_PARAM_MAX)
            return false;
        memcpy(job, text, (size_t)(colon - text));
        job[colon - text] = 0;
        w->watch_job = job;
        text = colon + 1;
    } else {
        w->watch_job = w->job;
    }
    w->watch_page = (int)strtol(text, &end, 10);
    return w->watch_job && end != text && *end == 0 && w->watch_page > 0;
}

enum run_result events_get(struct server *s, struct request *q)
{
    const char *id = request_header(q, "Last-Event-ID"), *after = request_param(q, "after"),
               *from = id ? id : after, *stats = request_param(q, "stats");
    struct hub_wish w = {.owner = call_owner(q), .from_now = !from};
    char job[ROUTE_PARAM_MAX];
    json_t *object;
    int rc;

    if (app_is_draining(s, q))
        return RUN_DONE;
    if (strcmp(call_of(q)->route->pattern, "/v1/events") != 0) {
        w.job = call_of(q)->param[0];
        rc = jobs_get(s->jobs, w.owner, w.job, &object); /* whose is it? */
        if (rc < 0) {
            jobs_answer_fault(s, q, rc);
            return RUN_DONE;
        }
        json_decref(object);
    }
    if (from && (*from == 0 || strspn(from, "0123456789") != strlen(from) || strlen(from) > 18))
        answer_fault(q, FAULT_invalid_value, id ? "Last-Event-ID" : "after",
                     "expected an event's id");
    else if (!read_watch(&w, request_param(q, "watch"), job))
        answer_fault(q, FAULT_invalid_value, "watch", "watch is JOB:PAGE");
    if (q->answer.status != 0)
        return RUN_DONE;
    w.after = from ? strtoull(from, NULL, 10) : 0;
    w.stats = stats && strcmp(stats, "1") == 0;
    hub_subscribe(s->hub, q, &w);
    return RUN_DONE;
}
