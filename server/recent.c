#include "recent.h"

#include "jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 4096 };

struct item {
    uint64_t seq;
    char *owner, *job;
    struct text text;
};

struct recent {
    pthread_mutex_t lock;
    struct item item[KEPT]; /* a ring: the oldest is at (n_added - n) % KEPT */
    uint64_t n_added;
    int n;
    uint64_t base, last; /* every event behind base, up to last, is here */
    bool has_begun;
};

struct recent *recent_open(void)
{
    struct recent *r = server_zero(1, sizeof *r);

    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void item_reset(struct item *i)
{
    free(i->owner);
    free(i->job);
    text_reset(&i->text);
}

void recent_close(struct recent *r)
{
    if (!r)
        return;
    for (int i = 0; i < KEPT; i++)
        item_reset(&r->item[i]);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* The lock is held. */
static void begin(struct recent *r, uint64_t last)
{
    if (!r->has_begun)
        r->base = r->last = last;
    r->has_begun = true;
}

void recent_begin(struct recent *r, uint64_t last)
{
    pthread_mutex_lock(&r->lock);
    begin(r, last);
    pthread_mutex_unlock(&r->lock);
}

void recent_add(struct recent *r, const struct jobs_event *ev)
{
    pthread_mutex_lock(&r->lock);
    struct item *i = &r->item[r->n_added % KEPT];

    begin(r, ev->seq - 1);
    if (r->n == KEPT)
        r->base = i->seq;
    item_reset(i);
    *i = (struct item){
        .seq = ev->seq, .owner = server_strdup(ev->owner), .job = server_strdup(ev->job)};
    text_fmt(&i->text, "id: %llu\nevent: %s\ndata: %s\n\n", (unsigned long long)ev->seq, ev->type,
             ev->body);
    r->last = ev->seq;
    r->n_added++;
    r->n += r->n < KEPT;
    pthread_mutex_unlock(&r->lock);
}

uint64_t recent_last(struct recent *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t last = r->last;
    pthread_mutex_unlock(&r->lock);
    return last;
}

/* The k-th newest, k from 1. */
static const struct item *newest(const struct recent *r, int k)
{
    return &r->item[(r->n_added - (uint64_t)k) % KEPT];
}

/* How many are behind seq. Mostly few: counted from the newest. */
static int count_since(const struct recent *r, uint64_t seq)
{
    int k = 0;

    while (k < r->n && newest(r, k + 1)->seq > seq)
        k++;
    return k;
}

bool recent_since(struct recent *r, uint64_t *seq, const char *owner, const char *job,
                  size_t enough, struct text *out)
{
    pthread_mutex_lock(&r->lock);
    bool is_known = r->has_begun && *seq >= r->base;

    for (int k = is_known ? count_since(r, *seq) : 0; k > 0 && out->n < enough; k--) {
        const struct item *i = newest(r, k);
        *seq = i->seq;
        if ((!owner || strcmp(owner, i->owner) == 0) && (!job || strcmp(job, i->job) == 0))
            text_add(out, i->text.p, i->text.n);
    }
    pthread_mutex_unlock(&r->lock);
    return is_known;
}

bool recent_has(struct recent *r, uint64_t seq, const char *job)
{
    bool has = false;

    pthread_mutex_lock(&r->lock);
    for (int k = count_since(r, seq); k > 0 && !has; k--)
        has = strcmp(newest(r, k)->job, job) == 0;
    pthread_mutex_unlock(&r->lock);
    return has;
}
