#include "metrics_put.h"

#include "app.h"
#include "jobs.h"
#include "process.h"

#include <math.h>

void metrics_head(struct text *out, const char *name, const char *type, const char *what)
{
    text_fmt(out, "# HELP recto_%s %s\n# TYPE recto_%s %s\n", name, what, name, type);
}

void metrics_one(struct text *out, const char *name, const char *type, const char *what,
                 double value)
{
    if (isnan(value))
        return;
    metrics_head(out, name, type, what);
    text_fmt(out, "recto_%s %.15g\n", name, value);
}

static void put_build(struct server *s, struct text *out)
{
    metrics_head(out, "build_info", "gauge", "which program reads with what");
    text_fmt(out, "recto_build_info{version=\"%s\",backend=\"%s\",model=\"deepseek-ocr-2\"} 1\n",
             RECTO_VERSION, s->info.backend);
    metrics_one(out, "ready", "gauge", "takes work", s->phase == PHASE_READY);
}

static void put_http(struct server *s, struct text *out)
{
    struct http_counts c;

    http_get_counts(s->http, &c);
    metrics_one(out, "http_in_flight", "gauge", "requests in work", c.busy);
    metrics_head(out, "connections", "gauge", "open connections");
    text_fmt(out, "recto_connections{state=\"busy\"} %d\n", c.busy);
    text_fmt(out, "recto_connections{state=\"idle\"} %d\n", c.conns - c.busy);
}

static void put_engine(struct server *s, struct text *out)
{
    struct recto_stats e = {.size = sizeof e};

    if (s->phase == PHASE_LOADING)
        return;
    recto_get_stats(s->engine, &e);
    metrics_head(out, "engine_requests", "gauge", "pages inside the engines");
    text_fmt(out, "recto_engine_requests{state=\"running\"} %d\n", e.n_running);
    text_fmt(out, "recto_engine_requests{state=\"waiting\"} %d\n", e.n_waiting);
    metrics_head(out, "kv_used_ratio", "gauge", "of the cache of keys and values");
    text_fmt(out, "recto_kv_used_ratio %.6f\n",
             e.n_block > 0 ? 1 - (double)e.n_block_free / e.n_block : 0);
    metrics_head(out, "kv_blocks", "gauge", "blocks of it");
    text_fmt(out, "recto_kv_blocks{state=\"free\"} %d\n", e.n_block_free);
    text_fmt(out, "recto_kv_blocks{state=\"used\"} %d\n", e.n_block - e.n_block_free);
    metrics_one(out, "engine_steps_total", "counter", "steps", (double)e.n_step);
    metrics_one(out, "engine_rows_total", "counter", "rows of them", (double)e.n_row);
    metrics_one(out, "engine_tokens_total", "counter", "new tokens", (double)e.n_out);
    metrics_one(out, "engine_views_total", "counter", "views encoded", (double)e.n_view);
    metrics_one(out, "engine_busy_seconds_total", "counter", "time in steps",
                (double)e.busy_ns / 1e9);
    metrics_one(out, "preemptions_total", "counter", "pages sent back for want of cache",
                (double)e.n_preempted);
    metrics_one(out, "loops_total", "counter", "readings stopped as loops", (double)e.n_loop);
}

/* Of one kind of figure, a line for each device that reports it. */
static void put_of_devices(struct text *out, const char *name, const char *what,
                           const double *value, int n)
{
    bool has_head = false;

    for (int i = 0; i < n; i++) {
        if (isnan(value[i]))
            continue;
        if (!has_head)
            metrics_head(out, name, "gauge", what);
        has_head = true;
        text_fmt(out, "recto_%s{device=\"%d\"} %.15g\n", name, i, value[i]);
    }
}

static void put_devices(struct server *s, struct text *out)
{
    static const char *const name[][2] = {
        {"device_utilization_ratio", "of the device's time"},
        {"device_power_watts", "power it draws"},
        {"device_temperature_celsius", "its temperature"},
        {"device_memory_used_bytes", "its memory in use"},
        {"device_memory_total_bytes", "its memory"},
    };
    enum { FIGURES = sizeof name / sizeof *name };
    double value[FIGURES][STATS_DEVICES];
    int n = s->phase == PHASE_LOADING ? 0 : stats_devices(s);

    for (int i = 0; i < n; i++) {
        struct recto_device_stats d;
        recto_get_device_stats(s->engine, i, &d);
        value[0][i] = d.utilisation;
        value[1][i] = d.power_w;
        value[2][i] = d.temperature_c;
        value[3][i] = d.memory_used >= 0 ? (double)d.memory_used : NAN;
        value[4][i] = d.memory_total >= 0 ? (double)d.memory_total : NAN;
    }
    for (int k = 0; k < FIGURES; k++)
        put_of_devices(out, name[k][0], name[k][1], value[k], n);
}

static void put_process(struct server *s, struct text *out)
{
    struct process_figures p;

    process_look(&p);
    metrics_one(out, "process_resident_memory_bytes", "gauge", "resident memory",
                (double)p.rss_bytes);
    metrics_one(out, "process_cpu_seconds_total", "counter", "processor time", p.cpu_s);
    metrics_one(out, "process_open_fds", "gauge", "open descriptors", p.n_fd);
    metrics_one(out, "process_start_time_seconds", "gauge", "since 1970",
                (double)s->start_ms / 1000);
}

static void put_queue(const struct jobs_stats *j, struct text *out)
{
    static const char *const names[] = {"interactive", "normal", "batch"};

    metrics_head(out, "queue_pages", "gauge", "pages of jobs that wait");
    for (int i = 0; i < 3; i++)
        text_fmt(out, "recto_queue_pages{class=\"%s\"} %lld\n", names[i],
                 (long long)j->queued_pages[i]);
    metrics_head(out, "queue_oldest_seconds", "gauge", "age of the oldest of them");
    for (int i = 0; i < 3; i++)
        text_fmt(out, "recto_queue_oldest_seconds{class=\"%s\"} %.3f\n", names[i],
                 (double)j->oldest_ms[i] / 1e3);
}

static void put_store(struct server *s, struct text *out)
{
    static const char *const states[] = {"queued", "running", "done", "failed", "cancelled"};
    struct jobs_stats j;

    if (s->phase == PHASE_LOADING)
        return;
    jobs_get_stats(s->jobs, &j);
    put_queue(&j, out);
    metrics_head(out, "jobs", "gauge", "jobs that are kept");
    for (int i = 0; i < 5; i++)
        text_fmt(out, "recto_jobs{state=\"%s\"} %lld\n", states[i], (long long)j.job_state[i]);
    metrics_head(out, "job_pages_total", "counter", "pages of jobs that have ended, by status");
    for (int i = 0; i <= RECTO_PAGE_CANCELLED; i++)
        text_fmt(out, "recto_job_pages_total{status=\"%s\"} %lld\n",
                 recto_status_name((enum recto_status)i), (long long)j.page_status[i]);
    metrics_one(out, "job_pages_in_flight", "gauge", "pages of jobs in the engine's hands",
                (double)j.pages_in_flight);
    metrics_one(out, "job_attempts_total", "counter", "readings of pages of jobs",
                (double)j.attempts);
    metrics_one(out, "store_commits_total", "counter", "transactions", (double)j.commits);
    metrics_one(out, "store_commit_rows_total", "counter", "changes in them",
                (double)j.commit_rows);
    metrics_one(out, "store_commit_seconds_total", "counter", "time in them", j.commit_ms / 1e3);
    metrics_one(out, "disk_free_bytes", "gauge", "free where the store is", (double)j.disk_free);
    metrics_head(out, "disk_used_bytes", "gauge", "held by the store");
    text_fmt(out, "recto_disk_used_bytes{kind=\"blob\"} %lld\n", (long long)j.disk_blob);
    text_fmt(out, "recto_disk_used_bytes{kind=\"cache\"} %lld\n", (long long)j.disk_cache);
}

void metrics_put_rest(struct server *s, struct text *out)
{
    put_build(s, out);
    put_http(s, out);
    put_engine(s, out);
    put_devices(s, out);
    put_process(s, out);
    put_store(s, out);
}
