#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Sums of one device's samples. */
struct watched {
    int n, n_busy, n_w;
    double busy, watts, peak_c, peak_bytes;
};

struct device_watch {
    struct recto *recto;
    pthread_t thread;
    atomic_bool is_stopped;
    int n;
    struct watched at[DEVICE_WATCH_MOST];
};

static void add(struct watched *w, const struct recto_device_stats *s)
{
    w->n++;
    if (!isnan(s->utilisation)) {
        w->busy += s->utilisation;
        w->n_busy++;
    }
    if (!isnan(s->power_w)) {
        w->watts += s->power_w;
        w->n_w++;
    }
    w->peak_c = fmax(w->peak_c, s->temperature_c); /* fmax leaves NAN out */
    if (s->memory_used >= 0)
        w->peak_bytes = fmax(w->peak_bytes, (double)s->memory_used);
}

static void look(struct device_watch *w)
{
    for (int i = 0; i < w->n; i++) {
        struct recto_device_stats s;

        recto_get_device_stats(w->recto, i, &s);
        add(&w->at[i], &s);
    }
}

static void *watch(void *arg)
{
    static const struct timespec tenth = {.tv_nsec = 100000000};
    struct device_watch *w = arg;

    while (!atomic_load(&w->is_stopped)) {
        look(w);
        nanosleep(&tenth, NULL);
    }
    return NULL;
}

struct device_watch *device_watch_start(struct recto *r)
{
    struct device_watch *w = calloc(1, sizeof *w);
    struct recto_info info;

    if (!w)
        return NULL;
    w->recto = r;
    recto_get_info(r, &info);
    w->n = info.n_replica * info.n_rank;
    if (w->n > DEVICE_WATCH_MOST)
        w->n = DEVICE_WATCH_MOST;
    for (int i = 0; i < DEVICE_WATCH_MOST; i++)
        w->at[i].peak_c = w->at[i].peak_bytes = NAN;
    if (pthread_create(&w->thread, NULL, watch, w) == 0)
        return w;
    free(w);
    return NULL;
}

static struct device_summary summary_of(const struct watched *w)
{
    return (struct device_summary){.n = w->n,
                                   .busy = w->n_busy ? w->busy / w->n_busy : NAN,
                                   .mean_w = w->n_w ? w->watts / w->n_w : NAN,
                                   .peak_c = w->peak_c,
                                   .peak_bytes = w->peak_bytes};
}

void device_watch_stop(struct device_watch *w, struct devices_summary *s)
{
    struct device_summary *all = &s->all;

    *s = (struct devices_summary){.all = {0, NAN, NAN, NAN, NAN}};
    if (!w)
        return;
    atomic_store(&w->is_stopped, true);
    pthread_join(w->thread, NULL);
    s->n = w->n;
    for (int i = 0; i < w->n; i++) {
        const struct device_summary *d = &s->at[i];

        s->at[i] = summary_of(&w->at[i]);
        all->n = d->n;
        all->busy = (i ? all->busy : 0) + d->busy / w->n;
        all->mean_w = (i ? all->mean_w : 0) + d->mean_w;
        all->peak_c = fmax(all->peak_c, d->peak_c);
        all->peak_bytes = (i ? all->peak_bytes : 0) + d->peak_bytes;
    }
    free(w);
}
