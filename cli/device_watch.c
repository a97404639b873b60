#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct device_watch {
    struct recto *recto;
    pthread_t thread;
    atomic_bool is_stopped;
    int n_device, n, n_busy, n_w;
    double busy, watts, peak_c, peak_bytes;
};

/* All devices together: power and memory as sums, use as the mean. */
static void look(struct device_watch *w)
{
    double watts = 0, bytes = 0;

    for (int i = 0; i < w->n_device; i++) {
        struct recto_device_stats s;
        recto_get_device_stats(w->recto, i, &s);
        if (!isnan(s.utilisation)) {
            w->busy += s.utilisation;
            w->n_busy++;
        }
        watts += s.power_w; /* NAN stays */
        bytes += s.memory_used >= 0 ? (double)s.memory_used : NAN;
        w->peak_c = fmax(w->peak_c, s.temperature_c); /* fmax leaves NAN out */
    }
    w->n++;
    if (!isnan(watts)) {
        w->watts += watts;
        w->n_w++;
    }
    w->peak_bytes = fmax(w->peak_bytes, bytes);
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
    w->n_device = info.n_replica * info.n_rank;
    w->peak_c = w->peak_bytes = NAN;
    if (pthread_create(&w->thread, NULL, watch, w) == 0)
        return w;
    free(w);
    return NULL;
}

void device_watch_stop(struct device_watch *w, struct device_summary *s)
{
    *s = (struct device_summary){0, NAN, NAN, NAN, NAN};
    if (!w)
        return;
    atomic_store(&w->is_stopped, true);
    pthread_join(w->thread, NULL);
    s->n = w->n;
    s->busy = w->n_busy ? w->busy / w->n_busy : NAN;
    s->mean_w = w->n_w ? w->watts / w->n_w : NAN;
    s->peak_c = w->peak_c;
    s->peak_bytes = w->peak_bytes;
    free(w);
}
