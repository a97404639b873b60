#include "limit.h"

#include "clock.h"
#include "text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 1024, WAYS = 4 };

struct bucket {
    char who[72];
    double tokens;
    int64_t last_ms;
};

struct limit {
    pthread_mutex_t lock;
    struct bucket bucket[SETS][WAYS];
};

struct limit *limit_open(void)
{
    struct limit *l = server_zero(1, sizeof *l);

    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void limit_close(struct limit *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* FNV-1a. */
static unsigned hash_of(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static struct bucket *bucket_of(struct limit *l, const char *who, int burst, int64_t now)
{
    struct bucket *set = l->bucket[hash_of(who) % SETS], *oldest = set;

    for (int i = 0; i < WAYS; i++) {
        if (strncmp(set[i].who, who, sizeof set[i].who - 1) == 0)
            return &set[i];
        if (set[i].last_ms < oldest->last_ms)
            oldest = &set[i];
    }
    *oldest = (struct bucket){.tokens = burst, .last_ms = now};
    strncpy(oldest->who, who, sizeof oldest->who - 1);
    return oldest;
}

bool limit_take(struct limit *l, const char *who, double rate, int burst, struct limit_state *out)
{
    int64_t now = clock_ms();

    *out = (struct limit_state){.limit = burst, .remaining = burst};
    if (rate <= 0)
        return true;
    pthread_mutex_lock(&l->lock);
    struct bucket *b = bucket_of(l, who, burst, now);
    b->tokens += (double)(now - b->last_ms) / 1000 * rate;
    b->tokens = b->tokens > burst ? burst : b->tokens;
    b->last_ms = now;
    bool may = b->tokens >= 1;
    b->tokens -= may ? 1 : 0;
    out->remaining = (int)b->tokens;
    out->reset_ms = (int64_t)((burst - b->tokens) / rate * 1000);
    out->retry_ms = may ? 0 : (int64_t)((1 - b->tokens) / rate * 1000) + 1;
    pthread_mutex_unlock(&l->lock);
    return may;
}
