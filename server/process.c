#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t rss_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    long long all = 0, resident = 0;

    if (f && fscanf(f, "%lld %lld", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

static int open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -3; /* ".", ".." and the directory itself */

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n < 0 ? 0 : n;
}

void process_look(struct process_figures *p)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    p->cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    p->rss_bytes = rss_bytes();
    p->n_fd = open_descriptors();
}

void host_look(struct host_figures *h)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];
    long long kib;

    *h = (struct host_figures){.n_core = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %lld kB", &kib) == 1)
            h->memory_total = kib * 1024;
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            h->memory_available = kib * 1024;
    }
    if (f)
        fclose(f);
}
