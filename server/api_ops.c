/* Operation: health, readiness. */
#include "api.h"
#include "app.h"
#include "jobs.h"
#include "stats.h"

#include <string.h>

enum run_result ops_health(struct server *s, struct request *q)
{
    if (stats_is_alive(s->stats))
        answer_bytes(q, 200, "text/plain", "ok\n", 3);
    else
        answer_fault(q, FAULT_internal, NULL,
                     "the engine has made no step for 30 s; restart the server");
    return RUN_DONE;
}

static void add_reason(json_t *reasons, bool is_so, const char *reason)
{
    if (is_so)
        json_array_append_new(reasons, json_string(reason));
}

enum run_result ops_ready(struct server *s, struct request *q)
{
    json_t *reasons = json_array();
    struct jobs_stats j = {.can_write = true};
    int phase = s->phase;

    if (phase != PHASE_LOADING)
        jobs_get_stats(s->jobs, &j);
    add_reason(reasons, phase == PHASE_LOADING, "loading");
    add_reason(reasons, phase >= PHASE_LEAVING, "draining");
    add_reason(reasons, !j.can_write, "store");
    add_reason(reasons, j.is_low, "disk");
    bool is_ready = json_array_size(reasons) == 0;
    answer_json(q, is_ready ? 200 : 503,
                json_pack("{s:b, s:o}", "ready", is_ready, "reasons", reasons));
    return RUN_DONE;
}

enum run_result ops_metrics(struct server *s, struct request *q)
{
    struct text t = {0};

    metrics_write(s, &t);
    answer_text(q, 200, "text/plain; version=0.0.4; charset=utf-8", &t);
    return RUN_DONE;
}

enum run_result ops_stats(struct server *s, struct request *q)
{
    const char *history = request_param(q, "history");

    answer_json(q, 200, stats_json(s, history && strcmp(history, "1") == 0));
    return RUN_DONE;
}
