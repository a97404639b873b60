/* What the kernel says of this process, and of the machine. */
#ifndef RECTO_SERVER_PROCESS_H
#define RECTO_SERVER_PROCESS_H

#include <stdint.h>

struct process_figures {
    int64_t rss_bytes;
    double cpu_s; /* user and system, since the start */
    int n_fd;     /* open descriptors */
};
void process_look(struct process_figures *p);

struct host_figures {
    int n_core;                             /* that are online */
    int64_t memory_total, memory_available; /* bytes */
};
void host_look(struct host_figures *h);

#endif
