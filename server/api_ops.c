/* Operation: health, readiness. */
#include "api.h"
#include "app.h"
#include "stats.h"

#include <string.h>

enum run_result ops_health(struct server *s, struct request *q)
{
    answer_bytes(q, 200, "text/plain", "ok\n", 3);
    return RUN_DONE;
}

enum run_result ops_ready(struct server *s, struct request *q)
{
    json_t *reasons = json_array();
    int phase = s->phase;

    if (phase == PHASE_LOADING)
        json_array_append_new(reasons, json_string("loading"));
    if (phase >= PHASE_LEAVING)
        json_array_append_new(reasons, json_string("draining"));
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
