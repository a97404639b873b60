/* Pages that wait for a place, and which of them comes next.
 *
 * Three classes share admissions 8 : 3 : 1 while all wait (stride scheduling), so none starves.  Inside a class callers take
 * turns, and inside a caller its jobs, by start-time fair queueing with one page as the unit: a 3-page job beside a 3000-page
 * job is through after about six pages.  Inside a job pages keep their order.
 * Sources: Waldspurger 1995, "Lottery and Stride Scheduling", chapter 3; Goyal et al. 1996, "Start-time Fair Queuing".
 * Engine thread only. */
#ifndef RECTO_ENGINE_WAITING_H
#define RECTO_ENGINE_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* Behind the three, retries: they run only where no page of the three could. */
enum sched_class { CLASS_INTERACTIVE, CLASS_NORMAL, CLASS_BATCH, CLASS_RETRY, CLASSES };

struct sched_page;

struct waiting_job {
    uint64_t id;
    int64_t served; /* virtual time: pages admitted, on the caller's clock */
    struct sched_page *first, *last;
};

struct waiting_caller {
    uint64_t id;
    int64_t served, clock; /* own virtual time; that of its jobs */
    struct waiting_job *job;
    int n_job, cap_job;
};

struct waiting_class {
    struct waiting_caller *caller;
    int n_caller, cap_caller, n_page;
    int64_t clock; /* virtual time of its callers */
    int64_t pass;  /* of the class among classes */
};

struct waiting {
    struct waiting_class cls[CLASSES];
    int64_t pass; /* of the last admission: a class that was empty starts from here */
};

void waiting_reset(struct waiting *w);
/* At the end of its job, or at the front: for a page that had a place and lost it. */
void waiting_add(struct waiting *w, struct sched_page *p, bool at_front);
/* Which page would come next, from classes [0, below); NULL: none waits. Takes nothing. */
struct sched_page *waiting_peek(const struct waiting *w, int below);
/* Take p, which waiting_peek named, and count it as served. */
void waiting_take(struct waiting *w, struct sched_page *p);
/* Take p out, uncounted (cancelled). */
void waiting_drop(struct waiting *w, struct sched_page *p);
int waiting_count(const struct waiting *w);

#endif
