#include "metrics_put.h"

#include "app.h"
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

    if (!s->engine)
        return;
    recto_get_stats(s->engine, &e);
    metrics_head(out, "engine_requests", "gauge", "pages inside the engine");
    text_fmt(out, "recto_engine_requests{state=\"running\",device=\"0\"} %d\n", e.n_running);
    text_fmt(out, "recto_engine_requests{state=\"waiting\",device=\"0\"} %d\n", e.n_waiting);
    metrics_head(out, "kv_used_ratio", "gauge", "of the cache of keys and values");
    text_fmt(out, "recto_kv_used_ratio{device=\"0\"} %.6f\n",
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

static void put_device(struct server *s, struct text *out)
{
    struct recto_device_stats d;

    if (!s->engine)
        return;
    recto_get_device_stats(s->engine, &d);
    metrics_one(out, "device_utilization_ratio", "gauge", "of the device's time", d.utilisation);
    metrics_one(out, "device_power_watts", "gauge", "power it draws", d.power_w);
    metrics_one(out, "device_temperature_celsius", "gauge", "its temperature", d.temperature_c);
    metrics_one(out, "device_memory_used_bytes", "gauge", "its memory in use",
                d.memory_used >= 0 ? (double)d.memory_used : NAN);
    metrics_one(out, "device_memory_total_bytes", "gauge", "its memory",
                d.memory_total >= 0 ? (double)d.memory_total : NAN);
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

void metrics_put_rest(struct server *s, struct text *out)
{
    put_build(s, out);
    put_http(s, out);
    put_engine(s, out);
    put_device(s, out);
    put_process(s, out);
}
