#include "metrics.h"

#include "app.h"
#include "metrics_put.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTES = 64, CODES = 24, BUCKETS = 12, N_STATUS = RECTO_PAGE_CANCELLED + 1 };

/* Seconds; from a health check to a page on a slow processor. */
static const double bounds[BUCKETS] = {.001, .005, .02, .05, .1, .25, .5, 1, 2.5, 10, 60, 300};

struct histogram {
    int64_t bucket[BUCKETS], n;
    double sum;
};

struct by_route {
    const struct route *route;
    struct histogram seconds;
    int code[CODES];
    int64_t n[CODES];
};

enum stage { S_QUEUE, S_RENDER, S_PREPROCESS, S_VISION, S_PREFILL, S_DECODE, S_POST, N_STAGE };
static const char *const stage_name[N_STAGE] = {"queue",   "render", "preprocess", "vision",
                                                "prefill", "decode", "post"};

static const char *const source_name[METRICS_SOURCES] = {"chat", "job"};

struct by_source {
    int64_t page[N_STATUS], attempt[N_STATUS];
    int64_t prompt_text, prompt_image, output, late;
    struct histogram page_seconds, stage[N_STAGE];
};

struct metrics {
    pthread_mutex_t lock;
    struct by_route route[ROUTES]; /* the first for requests without a route */
    int64_t rejected[N_FAULT];
    int64_t cancelled, sse_clients, sse_dropped;
    struct by_source source[METRICS_SOURCES];
};

struct metrics *metrics_open(void)
{
    struct metrics *m = server_zero(1, sizeof *m);

    pthread_mutex_init(&m->lock, NULL);
    return m;
}

void metrics_close(struct metrics *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static void observe(struct histogram *h, double seconds)
{
    for (int i = 0; i < BUCKETS; i++)
        h->bucket[i] += seconds <= bounds[i];
    h->n++;
    h->sum += seconds;
}

/* ---- counting -------------------------------------------------------------------------------------------------------- */
static struct by_route *place_of(struct metrics *m, const struct route *r)
{
    int i = r ? 1 : 0;

    while (r && i < ROUTES - 1 && m->route[i].route && m->route[i].route != r)
        i++;
    m->route[i].route = r;
    return &m->route[i];
}

void metrics_request(struct metrics *m, const struct route *r, int status, double seconds)
{
    int i = 0;

    pthread_mutex_lock(&m->lock);
    struct by_route *b = place_of(m, r);
    while (i < CODES - 1 && b->code[i] && b->code[i] != status)
        i++;
    b->code[i] = status;
    b->n[i]++;
    observe(&b->seconds, seconds);
    pthread_mutex_unlock(&m->lock);
}

void metrics_rejected(struct metrics *m, int fault)
{
    pthread_mutex_lock(&m->lock);
    m->rejected[fault]++;
    pthread_mutex_unlock(&m->lock);
}

void metrics_page(struct metrics *m, enum metrics_source from, const struct recto_page *p)
{
    struct by_source *s = &m->source[from];
    const struct recto_timing *t = &p->timing;
    const double ms[N_STAGE] = {t->queue,   t->decode_image, t->preprocess, t->vision,
                                t->prefill, t->decode,       t->post};

    pthread_mutex_lock(&m->lock);
    s->page[p->status]++;
    s->attempt[p->status] += p->n_attempt;
    s->prompt_image += p->n_visual;
    s->prompt_text += p->n_prompt - p->n_visual;
    s->output += p->n_token;
    s->late += p->error == RECTO_EDEADLINE;
    observe(&s->page_seconds, t->total / 1e3);
    for (int i = 0; i < N_STAGE; i++)
        observe(&s->stage[i], ms[i] / 1e3);
    pthread_mutex_unlock(&m->lock);
}

static void add(struct metrics *m, int64_t *counter, int64_t n)
{
    pthread_mutex_lock(&m->lock);
    *counter += n;
    pthread_mutex_unlock(&m->lock);
}

void metrics_cancelled(struct metrics *m)
{
    add(m, &m->cancelled, 1);
}

void metrics_sse(struct metrics *m, int change)
{
    add(m, &m->sse_clients, change);
}

void metrics_sse_dropped(struct metrics *m)
{
    add(m, &m->sse_dropped, 1);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */
static void put_histogram(struct text *out, const char *name, const char *labels,
                          const struct histogram *h)
{
    const char *comma = *labels ? "," : "";

    for (int i = 0; i < BUCKETS; i++)
        text_fmt(out, "recto_%s_bucket{%s%sle=\"%g\"} %lld\n", name, labels, comma, bounds[i],
                 (long long)h->bucket[i]);
    text_fmt(out, "recto_%s_bucket{%s%sle=\"+Inf\"} %lld\n", name, labels, comma, (long long)h->n);
    text_fmt(out, *labels ? "recto_%s_sum{%s} %.6f\n" : "recto_%s_sum%s %.6f\n", name, labels,
             h->sum);
    text_fmt(out, *labels ? "recto_%s_count{%s} %lld\n" : "recto_%s_count%s %lld\n", name, labels,
             (long long)h->n);
}

static void put_requests(struct text *out, const struct metrics *m)
{
    metrics_head(out, "http_requests_total", "counter", "requests answered");
    for (int i = 0; i < ROUTES; i++)
        for (int k = 0; k < CODES && m->route[i].n[k]; k++)
            text_fmt(out,
                     "recto_http_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"} %lld\n",
                     m->route[i].route ? m->route[i].route->pattern : "none",
                     m->route[i].route ? m->route[i].route->method : "none", m->route[i].code[k],
                     (long long)m->route[i].n[k]);
    metrics_head(out, "http_request_seconds", "histogram",
                 "from the header to the end of the answer");
    for (int i = 0; i < ROUTES; i++) {
        char label[200];
        if (m->route[i].seconds.n == 0)
            continue;
        snprintf(label, sizeof label, "route=\"%s %s\"",
                 m->route[i].route ? m->route[i].route->method : "none",
                 m->route[i].route ? m->route[i].route->pattern : "none");
        put_histogram(out, "http_request_seconds", label, &m->route[i].seconds);
    }
    metrics_head(out, "http_rejected_total", "counter", "requests refused, by code of the fault");
    for (int f = 1; f < N_FAULT; f++)
        if (m->rejected[f])
            text_fmt(out, "recto_http_rejected_total{reason=\"%s\"} %lld\n",
                     fault_code((enum fault)f), (long long)m->rejected[f]);
}

static void put_statuses(struct text *out, const char *name, const char *source,
                         const int64_t n[N_STATUS])
{
    for (int i = 0; i < N_STATUS; i++)
        text_fmt(out, "recto_%s{status=\"%s\",source=\"%s\"} %lld\n", name,
                 recto_status_name((enum recto_status)i), source, (long long)n[i]);
}

static void put_pages(struct text *out, const struct metrics *m)
{
    metrics_head(out, "pages_total", "counter", "pages that have ended, by status and source");
    for (int k = 0; k < METRICS_SOURCES; k++)
        put_statuses(out, "pages_total", source_name[k], m->source[k].page);
    metrics_head(out, "page_attempts_total", "counter", "readings of these pages");
    for (int k = 0; k < METRICS_SOURCES; k++)
        put_statuses(out, "page_attempts_total", source_name[k], m->source[k].attempt);
    metrics_head(out, "prompt_tokens_total", "counter", "tokens of prompts");
    for (int k = 0; k < METRICS_SOURCES; k++)
        text_fmt(out,
                 "recto_prompt_tokens_total{kind=\"text\",source=\"%s\"} %lld\n"
                 "recto_prompt_tokens_total{kind=\"image\",source=\"%s\"} %lld\n",
                 source_name[k], (long long)m->source[k].prompt_text, source_name[k],
                 (long long)m->source[k].prompt_image);
    metrics_head(out, "output_tokens_total", "counter", "tokens of texts");
    for (int k = 0; k < METRICS_SOURCES; k++)
        text_fmt(out, "recto_output_tokens_total{source=\"%s\"} %lld\n", source_name[k],
                 (long long)m->source[k].output);
    metrics_head(out, "deadline_exceeded_total", "counter", "pages not done in time");
    for (int k = 0; k < METRICS_SOURCES; k++)
        text_fmt(out, "recto_deadline_exceeded_total{source=\"%s\"} %lld\n", source_name[k],
                 (long long)m->source[k].late);
}

static void put_times(struct text *out, const struct metrics *m)
{
    char label[60];

    metrics_head(out, "page_seconds", "histogram", "a page, from queue to text");
    for (int k = 0; k < METRICS_SOURCES; k++) {
        snprintf(label, sizeof label, "source=\"%s\"", source_name[k]);
        put_histogram(out, "page_seconds", label, &m->source[k].page_seconds);
    }
    metrics_head(out, "stage_seconds", "histogram", "a page, stage by stage");
    for (int k = 0; k < METRICS_SOURCES; k++)
        for (int i = 0; i < N_STAGE; i++) {
            snprintf(label, sizeof label, "source=\"%s\",stage=\"%s\"", source_name[k],
                     stage_name[i]);
            put_histogram(out, "stage_seconds", label, &m->source[k].stage[i]);
        }
}

static void put_clients(struct text *out, const struct metrics *m)
{
    metrics_one(out, "cancelled_total", "counter", "calls whose client left", (double)m->cancelled);
    metrics_one(out, "sse_clients", "gauge", "clients of event streams", (double)m->sse_clients);
    metrics_one(out, "sse_dropped_total", "counter", "of those, cut off as too slow",
                (double)m->sse_dropped);
}

void metrics_write(struct server *s, struct text *out)
{
    struct metrics *m = s->metrics;

    pthread_mutex_lock(&m->lock);
    put_requests(out, m);
    put_pages(out, m);
    put_times(out, m);
    put_clients(out, m);
    pthread_mutex_unlock(&m->lock);
    metrics_put_rest(s, out);
}
