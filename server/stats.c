#include "stats.h"

#include "app.h"
#include "clock.h"
#include "jobs.h"
#include "process.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 600, BEAT_MS = 30000 };

struct sample {
    int64_t time_ms;
    double utilization, power_w, memory_used, tokens_s, pages_s, kv_used, cpu;
    int running, waiting;
};

struct stats {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct server *server;
    void (*tick)(void *ctx);
    void *ctx;
    bool is_stopping;
    struct sample sample[SAMPLES];
    int n, at; /* at: where the next goes */
    /* of the sample before */
    int64_t last_ms, last_out, last_done;
    int64_t last_step, moved_ms; /* steps of the engine; when it made one, or had nothing to do */
    double last_cpu;
};

/* ---- sampling -------------------------------------------------------------------------------------------------------- */
static double per_second(int64_t now, int64_t before, double seconds)
{
    return seconds > 0 && now >= before ? (double)(now - before) / seconds : 0;
}

int stats_devices(const struct server *s)
{
    int n = s->info.n_replica * s->info.n_rank;

    return n < STATS_DEVICES ? n : STATS_DEVICES;
}

static void look_at_devices(struct server *s, struct sample *a)
{
    int n = stats_devices(s);

    a->utilization = a->power_w = a->memory_used = 0;
    for (int i = 0; i < n; i++) {
        struct recto_device_stats d;
        recto_get_device_stats(s->engine, i, &d);
        a->utilization += d.utilisation / n;
        a->power_w += d.power_w;
        a->memory_used += d.memory_used >= 0 ? (double)d.memory_used : NAN;
    }
}

static void look_at_engine(struct stats *st, struct sample *a, double seconds)
{
    struct recto_stats e = {.size = sizeof e};

    a->utilization = a->power_w = a->memory_used = NAN;
    if (st->server->phase == PHASE_LOADING)
        return;
    recto_get_stats(st->server->engine, &e);
    look_at_devices(st->server, a);
    if (e.n_running == 0 || e.n_step != st->last_step)
        st->moved_ms = clock_ms();
    st->last_step = e.n_step;
    a->running = e.n_running;
    a->waiting = e.n_waiting;
    a->kv_used = e.n_block > 0 ? 1 - (double)e.n_block_free / e.n_block : 0;
    a->tokens_s = per_second(e.n_out, st->last_out, seconds);
    a->pages_s = per_second(e.n_done, st->last_done, seconds);
    st->last_out = e.n_out;
    st->last_done = e.n_done;
}

static void take_sample(struct stats *st)
{
    struct sample a = {.time_ms = clock_wall_ms()};
    struct process_figures p;
    double seconds = (double)(clock_ms() - st->last_ms) / 1e3;

    process_look(&p);
    look_at_engine(st, &a, seconds);
    a.cpu = seconds > 0 ? (p.cpu_s - st->last_cpu) / seconds : 0;
    st->last_cpu = p.cpu_s;
    st->last_ms = clock_ms();
    st->sample[st->at] = a;
    st->at = (st->at + 1) % SAMPLES;
    st->n += st->n < SAMPLES;
}

static void *run(void *ctx)
{
    struct stats *st = ctx;

    pthread_mutex_lock(&st->lock);
    while (!st->is_stopping) {
        struct timespec until;
        take_sample(st);
        pthread_mutex_unlock(&st->lock);
        if (st->tick)
            st->tick(st->ctx);
        pthread_mutex_lock(&st->lock);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        if (!st->is_stopping)
            pthread_cond_timedwait(&st->wake, &st->lock, &until);
    }
    pthread_mutex_unlock(&st->lock);
    return NULL;
}

struct stats *stats_open(struct server *s, void (*tick)(void *ctx), void *ctx)
{
    struct stats *st = server_zero(1, sizeof *st);

    pthread_mutex_init(&st->lock, NULL);
    pthread_cond_init(&st->wake, NULL);
    st->server = s;
    st->tick = tick;
    st->ctx = ctx;
    st->last_ms = st->moved_ms = clock_ms();
    if (pthread_create(&st->thread, NULL, run, st) == 0)
        return st;
    free(st);
    return NULL;
}

bool stats_is_alive(struct stats *st)
{
    pthread_mutex_lock(&st->lock);
    bool is_alive = clock_ms() - st->moved_ms < BEAT_MS;
    pthread_mutex_unlock(&st->lock);
    return is_alive || st->server->phase == PHASE_LOADING;
}

void stats_close(struct stats *st)
{
    if (!st)
        return;
    pthread_mutex_lock(&st->lock);
    st->is_stopping = true;
    pthread_cond_signal(&st->wake);
    pthread_mutex_unlock(&st->lock);
    pthread_join(st->thread, NULL);
    pthread_cond_destroy(&st->wake);
    pthread_mutex_destroy(&st->lock);
    free(st);
}

/* ---- showing --------------------------------------------------------------------------------------------------------- */
/* Rounded to four places, so that a line stays short; null for what is not known. */
static json_t *real(double x)
{
    return isnan(x) ? json_null() : json_real(round(x * 1e4) / 1e4);
}

static json_t *bytes(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *device_json(struct server *s, int i)
{
    struct recto_device_stats d = {NAN, NAN, NAN, -1, -1};
    bool is_cpu = strcmp(s->info.backend, "cpu") == 0,
         is_cuda = strcmp(s->info.backend, "cuda") == 0;

    if (s->phase != PHASE_LOADING)
        recto_get_device_stats(s->engine, i, &d);
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:n, s:o, s:s?}", "index", i, "kind",
                     s->info.backend, "name", is_cpu ? s->info.kernels : s->info.backend,
                     "utilization", real(d.utilisation), "memory_used_bytes", bytes(d.memory_used),
                     "memory_total_bytes", bytes(d.memory_total), "power_w", real(d.power_w),
                     "power_limit_w", "temperature_c", real(d.temperature_c), "source",
                     is_cuda ? "nvml" : NULL);
}

/* While the model is being loaded: one, of which nothing is known. */
static json_t *devices_json(struct server *s)
{
    json_t *list = json_array();
    int n = s->phase == PHASE_LOADING ? 1 : stats_devices(s);

    for (int i = 0; i < n; i++)
        json_array_append_new(list, device_json(s, i));
    return list;
}

static json_t *history_json(const struct stats *st)
{
    json_t *list = json_array();

    for (int i = 0; i < st->n; i++) {
        const struct sample *a = &st->sample[(st->at - st->n + i + SAMPLES) % SAMPLES];
        json_array_append_new(list, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}",
                                              "time_ms", (json_int_t)a->time_ms, "utilization",
                                              real(a->utilization), "power_w", real(a->power_w),
                                              "memory_used_bytes", real(a->memory_used), "tokens_s",
                                              real(a->tokens_s), "pages_s", real(a->pages_s),
                                              "kv_used", real(a->kv_used), "cpu", real(a->cpu),
                                              "running", a->running, "waiting", a->waiting));
    }
    return list;
}

static json_t *host_json(const struct sample *a, const struct jobs_stats *j)
{
    struct process_figures p;
    struct host_figures h;

    process_look(&p);
    host_look(&h);
    return json_pack("{s:I, s:o, s:i, s:I, s:I, s:o}", "rss_bytes", (json_int_t)p.rss_bytes, "cpu",
                     real(a->cpu), "cores", h.n_core, "memory_total_bytes",
                     (json_int_t)h.memory_total, "memory_available_bytes",
                     (json_int_t)h.memory_available, "disk_free_bytes", bytes(j->disk_free));
}

static json_t *queue_json(const struct jobs_stats *j)
{
    int64_t oldest = 0;

    for (int i = 0; i < 3; i++)
        oldest = j->oldest_ms[i] > oldest ? j->oldest_ms[i] : oldest;
    return json_pack("{s:I, s:I, s:I, s:I}", "interactive", (json_int_t)j->queued_pages[0],
                     "normal", (json_int_t)j->queued_pages[1], "batch",
                     (json_int_t)j->queued_pages[2], "oldest_s", (json_int_t)(oldest / 1000));
}

static json_t *limits_json(const struct server *s)
{
    return json_pack("{s:I, s:i, s:I}", "upload_bytes", (json_int_t)s->set.max_upload, "pages",
                     s->set.max_pages, "pixels", (json_int_t)s->set.engine.max_pixels);
}

static json_t *engine_json(const struct sample *a)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o}", "running", a->running, "waiting", a->waiting,
                     "kv_used", real(a->kv_used), "tokens_s", real(a->tokens_s), "pages_s",
                     real(a->pages_s));
}

json_t *stats_json(struct server *s, bool with_history)
{
    struct stats *st = s->stats;
    json_t *v, *history = NULL;
    struct jobs_stats j = {.disk_free = -1};
    struct sample a;

    if (s->phase != PHASE_LOADING)
        jobs_get_stats(s->jobs, &j);
    pthread_mutex_lock(&st->lock);
    a = st->sample[(st->at + SAMPLES - 1) % SAMPLES];
    if (with_history)
        history = history_json(st);
    pthread_mutex_unlock(&st->lock);
    v = json_pack("{s:I, s:I, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:{s:s, s:b}}", "time_ms",
                  (json_int_t)clock_wall_ms(), "uptime_s",
                  (json_int_t)((clock_wall_ms() - s->start_ms) / 1000), "ready",
                  s->phase == PHASE_READY, "version", RECTO_VERSION, "devices", devices_json(s),
                  "engine", engine_json(&a), "queue", queue_json(&j), "host", host_json(&a, &j),
                  "limits", limits_json(s), "model", "name", s->info.model_name, "is_default",
                  s->info.is_default_model);
    if (history)
        json_object_set_new(v, "history", history);
    return v;
}
