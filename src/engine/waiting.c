#include "engine/waiting.h"

#include "base/mem.h"
#include "engine/sched.h"

#include <stdlib.h>
#include <string.h>

static const int stride[CLASSES] = {
    3, 8, 24, 24}; /* 24 / share, for shares 8, 3 and 1; retries share with none */

static struct waiting_caller *find_caller(struct waiting_class *c, uint64_t id)
{
    struct waiting_caller *k;

    for (int i = 0; i < c->n_caller; i++)
        if (c->caller[i].id == id)
            return &c->caller[i];
    if (c->n_caller == c->cap_caller) {
        c->cap_caller = MAX(2 * c->cap_caller, 8);
        c->caller = mem_grow(c->caller, (size_t)c->cap_caller, sizeof *c->caller);
    }
    k = &c->caller[c->n_caller++];
    *k = (struct waiting_caller){
        .id = id, .served = c->clock}; /* it starts level, not with a debt to be paid to it */
    return k;
}

static struct waiting_job *find_job(struct waiting_caller *k, uint64_t id)
{
    struct waiting_job *j;

    for (int i = 0; i < k->n_job; i++)
        if (k->job[i].id == id)
            return &k->job[i];
    if (k->n_job == k->cap_job) {
        k->cap_job = MAX(2 * k->cap_job, 4);
        k->job = mem_grow(k->job, (size_t)k->cap_job, sizeof *k->job);
    }
    j = &k->job[k->n_job++];
    *j = (struct waiting_job){.id = id, .served = k->clock};
    return j;
}

void waiting_add(struct waiting *w, struct sched_page *p, bool at_front)
{
    struct waiting_class *c = &w->cls[p->cls];
    struct waiting_job *j = find_job(find_caller(c, p->caller), p->job);

    if (c->n_page++ == 0)
        c->pass = MAX(c->pass, w->pass);
    p->prev = at_front ? NULL : j->last;
    p->next = at_front ? j->first : NULL;
    if (p->prev)
        p->prev->next = p;
    else
        j->first = p;
    if (p->next)
        p->next->prev = p;
    else
        j->last = p;
}

/* Callers and jobs are few beside pages, so a walk over them is cheap; all listed have pages. */
static struct waiting_caller *next_caller(const struct waiting_class *c)
{
    struct waiting_caller *best = NULL;

    for (int i = 0; i < c->n_caller; i++)
        if (!best || c->caller[i].served < best->served)
            best = &c->caller[i];
    return best;
}

static struct waiting_job *next_job(const struct waiting_caller *k)
{
    struct waiting_job *best = NULL;

    for (int i = 0; i < k->n_job; i++)
        if (!best || k->job[i].served < best->served)
            best = &k->job[i];
    return best;
}

struct sched_page *waiting_peek(const struct waiting *w, int below)
{
    const struct waiting_class *best = NULL;

    for (int i = 0; i < below; i++)
        if (w->cls[i].n_page && (!best || w->cls[i].pass < best->pass))
            best = &w->cls[i];
    return best ? next_job(next_caller(best))->first : NULL;
}

/* Unlink p, and forget its job and caller when they are empty. */
static void take_out(struct waiting *w, struct sched_page *p)
{
    struct waiting_class *c = &w->cls[p->cls];
    struct waiting_caller *k = find_caller(c, p->caller);
    struct waiting_job *j = find_job(k, p->job);

    if (p->prev)
        p->prev->next = p->next;
    else
        j->first = p->next;
    if (p->next)
        p->next->prev = p->prev;
    else
        j->last = p->prev;
    p->next = p->prev = NULL;
    c->n_page--;
    if (j->first)
        return;
    *j = k->job[--k->n_job];
    if (k->n_job)
        return;
    free(k->job);
    *k = c->caller[--c->n_caller];
}

void waiting_take(struct waiting *w, struct sched_page *p)
{
    struct waiting_class *c = &w->cls[p->cls];
    struct waiting_caller *k = find_caller(c, p->caller);
    struct waiting_job *j = find_job(k, p->job);

    c->clock = MAX(c->clock, k->served);
    k->clock = MAX(k->clock, j->served);
    k->served++;
    j->served++;
    w->pass = MAX(w->pass, c->pass);
    c->pass += stride[p->cls];
    take_out(w, p);
}

void waiting_drop(struct waiting *w, struct sched_page *p)
{
    take_out(w, p);
}

int waiting_count(const struct waiting *w)
{
    int n = 0;

    for (int i = 0; i < CLASSES; i++)
        n += w->cls[i].n_page;
    return n;
}

void waiting_reset(struct waiting *w)
{
    for (int i = 0; i < CLASSES; i++) {
        for (int k = 0; k < w->cls[i].n_caller; k++)
            free(w->cls[i].caller[k].job);
        free(w->cls[i].caller);
    }
    memset(w, 0, sizeof *w);
}
