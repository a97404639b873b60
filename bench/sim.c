/* Plans and compares policies: the real engine over simulated devices (backend/sim/sim.h).
 *
 *   bench_sim [--config FILE] [--machine sim:h200] [--devices N] [--pages N] [--running N] [--interactive SECONDS]
 *             [--static] [--fixed] [--host-us N]
 *             [--prepare-ms N --workers N]
 *
 * All pages are A4 (six tiles and the global view, 1131 prompt ids, 100 to 1100 new ids, with --fixed 600). The batch work is there from the
 * start and always waits; interactive pages come as a Poisson stream over all devices, one every SECONDS on average, and go to
 * the device with the fewest pages. First the same interactive page runs alone on an idle device. --static is the policy of
 * fixed batches: 32 pages or 100 ms, none joins. --host-us is charged on every step as time in which the device waits.
 * --prepare-ms is what one of --workers threads, which all devices share, takes to decode and cut a page of the batch work; a page that is not
 * ready cannot start. --interactive 0: none. */
#include "backend/sim/sim.h"
#include "base/clock.h"
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan {
    const char *config, *machine;
    int devices, running, host_us, workers;
    double prepare_ms;
    int64_t pages;
    double interactive_s;
    bool is_static, is_fixed;
};

struct page {
    struct request req;
    struct device_run *on;
    int64_t arrived_ns;
    struct page *next_free;
};

struct device_run {
    struct engine engine;
    struct sim_run *all;
    int n_inside;
    int64_t idle_ns;
};

struct sim_run {
    const struct plan *plan;
    struct device_run *dev;
    struct page *free;
    int64_t n_sent, n_done, n_tok, n_late_ids;
    double *latency_ms, *first_ms; /* of interactive pages */
    int n_interactive, cap_interactive;
    uint64_t n_made;
    double kv_sum;
    int64_t kv_n;
};

enum { N_PROMPT = 1131, N_VISUAL = 1121, N_TILE = 6, MAX_NEW = 1200 };

static void note_interactive(struct sim_run *r, const struct page *p)
{
    if (r->n_interactive == r->cap_interactive) {
        r->cap_interactive = MAX(1024, 2 * r->cap_interactive);
        r->latency_ms = mem_grow(r->latency_ms, (size_t)r->cap_interactive, sizeof *r->latency_ms);
        r->first_ms = mem_grow(r->first_ms, (size_t)r->cap_interactive, sizeof *r->first_ms);
    }
    r->first_ms[r->n_interactive] = (double)(p->req.first_ns - p->arrived_ns) / 1e6;
    r->latency_ms[r->n_interactive++] = (double)(p->req.done_ns - p->arrived_ns) / 1e6;
}

static void on_done(struct request *q)
{
    struct page *p = q->owner;
    struct sim_run *r = p->on->all;

    if (q->rc < 0 || request_new(q) != sim_page_length(q->image.a)) {
        fprintf(stderr, "bench_sim: a page went wrong: %s\n", q->rc_text);
        exit(1);
    }
    r->n_done++;
    r->n_tok += request_new(q);
    if (q->s.cls == CLASS_INTERACTIVE)
        note_interactive(r, p);
    p->on->n_inside--;
    p->next_free = r->free;
    r->free = p;
}

/* Ids and views are not looked at by a simulated device: all pages share them, apart from the room for new ids. */
static struct page *new_page(struct sim_run *r, struct device_run *d, enum sched_class cls,
                             int64_t at_ns)
{
    struct page *p = r->free;
    int32_t *id;

    if (p)
        r->free = p->next_free;
    else {
        p = mem_zero(1, sizeof *p);
        p->req.id = mem_zero(N_PROMPT + MAX_NEW, sizeof *p->req.id);
    }
    id = p->req.id;
    memset(&p->req, 0, sizeof p->req);
    p->on = d;
    p->arrived_ns = at_ns;
    p->req.id = id;
    p->req.owner = p;
    p->req.s.cls = cls;
    p->req.n_prompt = N_PROMPT;
    p->req.max_new = MAX_NEW;
    p->req.image_at = 1;
    p->req.n_visual = N_VISUAL;
    p->req.n_tile = N_TILE;
    p->req.image = (struct kv_key){++r->n_made | (uint64_t)r->plan->is_fixed << 63, 1};
    p->req.sampler.top_p = 1;
    p->req.on_done = on_done;
    d->n_inside++;
    return p;
}

static int64_t now_of(struct device_run *d)
{
    return runner_now_ns(&d->engine.runner);
}

static int open_devices(struct sim_run *r)
{
    const struct plan *pl = r->plan;
    struct device_opts dev = {.name = pl->machine};
    struct engine_opts o = {
        .max_running = pl->running,
        .max_waiting = pl->running + 64,
        .reserve = pl->is_static ? 0 : 8,
        .chunk_tok = 8192,
        .kv_tok = 1900000,
        .view_batch_shared = 4,
        .is_static = pl->is_static,
        .static_wait_us = 100000,
    };

    r->dev = mem_zero((size_t)pl->devices, sizeof *r->dev);
    for (int i = 0; i < pl->devices; i++) {
        r->dev[i].all = r;
        TRY(engine_open(&r->dev[i].engine, pl->config, pl->machine, &dev, &o));
    }
    return 0;
}

static struct device_run *earliest(struct sim_run *r)
{
    struct device_run *d = &r->dev[0];

    for (int i = 1; i < r->plan->devices; i++)
        if (now_of(&r->dev[i]) < now_of(d))
            d = &r->dev[i];
    return d;
}

static struct device_run *emptiest(struct sim_run *r)
{
    struct device_run *d = &r->dev[0];

    for (int i = 1; i < r->plan->devices; i++)
        if (r->dev[i].n_inside < d->n_inside)
            d = &r->dev[i];
    return d;
}

static double exponential(uint64_t *rng)
{
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return -log(((double)(*rng >> 11) + 0.5) * 0x1p-53);
}

static void sample_kv(struct sim_run *r, const struct device_run *d)
{
    const struct kv_pool *p = &d->engine.runner.pool;

    r->kv_sum += 1 - (double)p->n_free / p->n_block;
    r->kv_n++;
}

/* When the next page of the batch work is ready, with all workers busy from the start. */
static double ready_s(const struct sim_run *r)
{
    const struct plan *pl = r->plan;

    return (double)(r->n_sent / pl->workers + 1) * pl->prepare_ms / 1e3;
}

/* Batch pages of the first device that has room, so that some always wait. */
static void refill(struct sim_run *r, struct device_run *d)
{
    while (r->n_sent < r->plan->pages && d->engine.n_live < d->engine.max_live - 32 &&
           ready_s(r) <= (double)now_of(d) / 1e9) {
        engine_add(&d->engine, &new_page(r, d, CLASS_BATCH, now_of(d))->req);
        r->n_sent++;
    }
}

static void simulate(struct sim_run *r)
{
    const struct plan *pl = r->plan;
    uint64_t rng = 42;
    double next_s = pl->interactive_s > 0 ? exponential(&rng) * pl->interactive_s : INFINITY;

    while (r->n_done < r->n_sent || r->n_sent < pl->pages) {
        struct device_run *d = earliest(r);
        int64_t before = now_of(d);

        if ((double)before / 1e9 >= next_s) {
            struct device_run *to = emptiest(r);

            if (r->n_sent < pl->pages) {
                engine_add(&to->engine,
                           &new_page(r, to, CLASS_INTERACTIVE, (int64_t)(next_s * 1e9))->req);
                r->n_sent++;
            }
            next_s += exponential(&rng) * pl->interactive_s;
            continue;
        }
        refill(r, d);
        if (engine_turn(&d->engine)) {
            sim_wait_until(d->engine.model.dev, now_of(d) + (int64_t)pl->host_us * 1000);
            d->idle_ns += (int64_t)pl->host_us * 1000;
            if (d->engine.stats.n_step % 64 == 0)
                sample_kv(r, d);
        } else { /* nothing to do: on to the next arrival or the next turn of another device */
            sim_wait_until(d->engine.model.dev, before + 100000);
            d->idle_ns += 100000;
        }
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percentile(double *x, int n, double p)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n ? x[MIN(n - 1, (int)(p * n))] : NAN;
}

static void report(struct sim_run *r, const char *what, int64_t start_ns)
{
    double end_s = 0, idle = 0, step = 0, host_us = 0;
    int64_t n_preempted = 0;

    for (int i = 0; i < r->plan->devices; i++) {
        const struct engine *e = &r->dev[i].engine;

        end_s = fmax(end_s, (double)now_of(&r->dev[i]) / 1e9);
        step += (double)e->stats.n_step;
        host_us += (double)e->stats.sched_ns / 1e3;
        n_preempted += e->sched.n_preempted;
    }
    for (int i = 0; i < r->plan->devices; i++)
        idle += (double)r->dev[i].idle_ns / 1e9 / end_s / r->plan->devices;
    printf(
        "%-22s %2d x %-9s %7lld pages  %7.2f pages/s  %8.0f tok/s  idle %4.1f %%  KV %3.0f %%  preempted %lld  "
        "steps %.0f, %.1f us of host each (real)  simulated in %.1f s\n",
        what, r->plan->devices, r->plan->machine, (long long)r->n_done, (double)r->n_done / end_s,
        (double)r->n_tok / end_s, 100 * idle, 100 * r->kv_sum / (double)MAX(r->kv_n, 1),
        (long long)n_preempted, step, host_us / step, clock_ms_since(start_ns) / 1e3);
    if (r->n_interactive)
        printf(
            "%-22s interactive: %d pages, whole page p50 %.0f ms  p99 %.0f ms; first id p50 %.0f ms  p99 %.0f ms\n",
            "", r->n_interactive, percentile(r->latency_ms, r->n_interactive, 0.50),
            percentile(r->latency_ms, r->n_interactive, 0.99),
            percentile(r->first_ms, r->n_interactive, 0.50),
            percentile(r->first_ms, r->n_interactive, 0.99));
}

static void close_run(struct sim_run *r)
{
    for (int i = 0; r->dev && i < r->plan->devices; i++)
        engine_close(&r->dev[i].engine);
    for (struct page *p = r->free, *next; p; p = next) {
        next = p->next_free;
        free(p->req.id);
        free(p);
    }
    free(r->dev);
    free(r->latency_ms);
    free(r->first_ms);
}

static int run(const struct plan *pl, const char *what)
{
    struct sim_run r = {.plan = pl};
    int64_t start = clock_ns();
    int rc = open_devices(&r);

    if (rc == 0) {
        simulate(&r);
        report(&r, what, start);
    }
    close_run(&r);
    return rc;
}

/* Interactive pages one at a time on an idle device. */
static int run_idle(const struct plan *pl)
{
    struct plan lone = *pl;
    struct sim_run r = {.plan = &lone};
    int64_t start = clock_ns();
    int rc;

    lone.devices = 1;
    lone.pages = 200;
    lone.is_static = false;
    rc = open_devices(&r);
    while (rc == 0 && r.n_sent < lone.pages) {
        engine_add(&r.dev[0].engine,
                   &new_page(&r, &r.dev[0], CLASS_INTERACTIVE, now_of(&r.dev[0]))->req);
        r.n_sent++;
        while (r.n_done < r.n_sent) {
            engine_turn(&r.dev[0].engine);
            sim_wait_until(r.dev[0].engine.model.dev,
                           now_of(&r.dev[0]) + (int64_t)lone.host_us * 1000);
        }
    }
    if (rc == 0)
        report(&r, "idle device", start);
    close_run(&r);
    return rc;
}

static const char *arg_after(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

static bool has_arg(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct plan pl = {
        .config = arg_after(argc, argv, "--config",
                            SOURCE_DIR "/tests/fixtures/config_released.json"),
        .machine = arg_after(argc, argv, "--machine", "sim:h200"),
        .devices = atoi(arg_after(argc, argv, "--devices", "1")),
        .pages = atoll(arg_after(argc, argv, "--pages", "100000")),
        .running = atoi(arg_after(argc, argv, "--running", "256")),
        .host_us = atoi(arg_after(argc, argv, "--host-us", "30")),
        .workers = atoi(arg_after(argc, argv, "--workers", "1")),
        .prepare_ms = atof(arg_after(argc, argv, "--prepare-ms", "0")),
        .interactive_s = atof(arg_after(argc, argv, "--interactive", "1")),
        .is_static = has_arg(argc, argv, "--static"),
        .is_fixed = has_arg(argc, argv, "--fixed"),
    };

    if (pl.devices < 1 || pl.pages < 1 || pl.running < 9 || pl.workers < 1) {
        fprintf(stderr, "bench_sim: --devices, --pages and --workers from 1, --running from 9\n");
        return 2;
    }
    if (pl.is_static)
        pl.running = 32;
    if (run_idle(&pl) < 0 || run(&pl, pl.is_static ? "static batches of 32" : "continuous") < 0) {
        fprintf(stderr, "bench_sim: %s\n", err_text());
        return 1;
    }
    return 0;
}
