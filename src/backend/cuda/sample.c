/* The next id of each sequence: the host lists what the guard forbids (a few ids, usually none),
 * the device chooses, and 20 bytes a row come back instead of half a megabyte of logits. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
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
                out[n_out] = o[i + n - 1];
            n_out++;
        }
    return n_out;
}

/* List of row i in [list[i], list[i + 1]) behind the n + 1 bounds. */
static int32_t *list_bans(const struct sample_ask *ask, int n, size_t *n_list)
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

static struct pick pick_of(const struct choice *c)
{
    double norm = (double)c->max + log((double)c->sum);
    bool all_banned = c->logit == -INFINITY;

    return (struct pick){
        .id = all_banned ? c->best : c->id,
        .logp = (float)((all_banned ? c->max : c->logit) - norm),
        .intervened = c->id != c->best,
    };
}

int cuda_sample(struct device *d, tensor logits, const struct sample_ask *ask, struct pick *next)
{
    int n = (int)logits.n[0];
    size_t n_list, list_bytes, out_bytes = (size_t)n * sizeof(struct choice);
    struct choice *host;
    int32_t *list;
    char *base;
    void *p;
    int rc;

    if (n == 0) /* a step that only fills the cache */
        return 0;
    host = mem_alloc(out_bytes);
    list = list_bans(ask, n, &n_list);
    list_bytes = (n_list * sizeof *list + 255) / 256 * 256;
    TRY_OUT(cuda_work(d, WORK_CHOICE, list_bytes + out_bytes + 256 + (size_t)launch_choose_work(n),
                      &p));
    base = p;
    TRY_OUT(cuda_upload(d, base, list, n_list * sizeof *list));
    launch_choose(d->stream, (struct choice *)(void *)(base + list_bytes), logits.data, n,
                  (int)logits.n[1], (const int32_t *)p, (const int32_t *)p + n + 1,
                  base + list_bytes + (out_bytes + 255) / 256 * 256);
    TRY_OUT(cuda_launched("sample"));
    TRY_OUT(cuda_download(d, host, base + list_bytes, out_bytes));
    for (int i = 0; i < n; i++)
        next[i] = pick_of(&host[i]);
out:
    free(host);
    free(list);
    return rc;
}
