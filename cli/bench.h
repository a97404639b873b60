/* The measurements behind `recto bench WHAT`. */
#ifndef RECTO_CLI_BENCH_H
#define RECTO_CLI_BENCH_H

#include "cli.h"

/* `recto bench stages [PART]`; an exit code. */
int bench_stages(const struct options *o);

/* `recto bench compare A.json B.json`; an exit code. */
int bench_compare(const struct options *o);

/* `recto bench pages INPUT...`: whole pages, from files on disk to Markdown on disk; an exit code. */
int bench_pages(const struct options *o);

/* Watches the devices ten times a second on a thread of its own. */
enum { DEVICE_WATCH_MOST = 16 };
struct device_watch;
struct device_summary {
    int n;       /* samples */
    double busy; /* mean utilisation, 0..1; NAN unknown, like the rest */
    double mean_w, peak_c, peak_bytes;
};
struct devices_summary {
    int n; /* devices */
    struct device_summary at[DEVICE_WATCH_MOST];
    struct device_summary all; /* mean of busy, sums of mean_w and peak_bytes, largest of peak_c */
};
struct device_watch *device_watch_start(struct recto *r); /* NULL: no memory, no thread */
/* Stop and sum up; w may be NULL. */
void device_watch_stop(struct device_watch *w, struct devices_summary *s);

#endif
