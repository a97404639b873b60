/* The next id of each sequence: the host lists what the guard forbids (a few ids, usually none),
 * the device chooses, and 20 bytes a row come back instead of half a megabyte of logits. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool is_exempt(const struct guard *g, int32_t id)
{
    return g->window != SAMPLER_WHOLE && (id == g->exempt[0] || id == g->exempt[1]);
}

/* Ids that would complete an n-gram already in the window (decoder/sampler.h states the rule); out
 * may be NULL to count. */
static int bans(const struct sample_ask *ask, int32_t *out)
{
    const struct guard *g = &ask->sampler->guard;
    bool is_whole = g->window == SAMPLER_WHOLE;
    const int32_t *o = is_whole ? ask->id : ask->id + ask->n_prompt;
    int len = is_whole ? ask->n_id : ask->n_id - ask->n_prompt, n = g->n, n_out = 0;
    int from = is_whole || len <= g->window ? 0 : len - g->window;

    if (n <= 0 || len < n)
        return 0;
    for (int i = from; i <= len - n; i++)
        if (memcmp(o + i, o + len - (n - 1), (size_t)(n - 1) * sizeof *o) == 0 &&
            !is_exempt(g, o[i + n - 1])) {
            if (out)
                out[n_out] = o[i + n - 1] - ask->first_id;
            n_out++;
        }
    return n_out;
}

int32_t *cuda_bans(const struct sample_ask *ask, int n, size_t *n_list)
{
    size_t total = 0;
    int32_t *list;

    for (int i = 0; i < n; i++)
        total += (size_t)bans(&ask[i], NULL);
    *n_list = (size_t)n + 1 + total;
    list = mem_alloc(*n_list * sizeof *list);
    list[0] = 0;
    for (int i = 0; i < n; i++)
        list[i + 1] = list[i] + bans(&ask[i], list + n + 1 + list[i]);
    return list;
}

static int make_room(struct device *d, int n)
{
    struct choosing *c = &d->choosing;
    void *p;

    if (n <= c->cap)
        return 0;
    TRY(cuda_check(cudaStreamSynchronize(d->stream), "sample"));
    cudaFreeHost(c->host);
    *c = (struct choosing){0};
    d->epoch++;
    TRY(cuda_check(cudaMallocHost(&p, (size_t)n * sizeof *c->host), "sample"));
    c->host = p;
    c->cap = n;
    return 0;
}

/* The bans of a step that did not bring them. */
static int upload_bans(struct device *d, const struct sample_ask *ask, int n, const int32_t **from,
                       const int32_t **id)
{
    size_t n_list;
    int32_t *list = cuda_bans(ask, n, &n_list);
    void *p;
    int rc;

    TRY_OUT(cuda_work(d, WORK_BANS, n_list * sizeof *list, &p));
    TRY_OUT(cuda_upload(d, p, list, n_list * sizeof *list));
    *from = p;
    *id = *from + n + 1;
out:
    free(list);
    return rc;
}

void cuda_expect(struct device *d, struct choice *next, const struct sample_ask *ask, int n)
{
    d->choosing.next = next;
    d->choosing.n = n;
    d->choosing.first_id = n ? ask->first_id : 0; /* the same in all of them */
}

void cuda_deliver(struct device *d)
{
    struct choosing *c = &d->choosing;

    for (int i = 0; c->next && i < c->n; i++) {
        c->next[i] = c->host[i];
        c->next[i].id += c->first_id;
        c->next[i].best += c->first_id;
    }
    c->next = NULL;
}

int cuda_sample(struct device *d, tensor logits, const struct sample_ask *ask, struct choice *next)
{
    const int32_t *from = d->step.ban_from, *id = d->step.ban_id;
    int n = (int)logits.n[0];
    void *p;

    if (n == 0) /* a step that only fills the cache */
        return 0;
    if (d->step.ask != ask)
        TRY(upload_bans(d, ask, n, &from, &id));
    TRY(make_room(d, n));
    TRY(cuda_work(d, WORK_CHOICE, (size_t)launch_choose_work(n), &p));
    launch_choose(d->stream, d->choosing.host, logits.data, n, (int)logits.n[1], from, id, p,
                  d->overlaps);
    TRY(cuda_launched("sample"));
    TRY(recorder_end(d));
    cuda_expect(d, next, ask, n);
    return 0;
}
