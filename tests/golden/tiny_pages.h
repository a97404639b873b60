/* Pages of noise for the tiny model, with room for their ids, and whether two runs read them alike. */
#ifndef TESTS_TINY_PAGES_H
#define TESTS_TINY_PAGES_H

#include "engine/request.h"
#include "hang.h"

#include <math.h>
#include <stdlib.h>

enum { N_NEW = INSTRUMENTED ? 6 : 24, GLOBAL = 1024 * 1024 * 3, TILE = 768 * 768 * 3 };

struct page {
    unsigned char *px; /* tiles, then the global view */
    struct request req;
    atomic_bool is_done;
};

static const int tiles_of[] = {0, 2, 3, 0, 1};

static void on_done(struct request *q)
{
    atomic_store(&((struct page *)q->owner)->is_done, true);
}

static void paint(unsigned char *px, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)(i / 97) * 2654435761u + seed * 40503u;

        px[i] = (unsigned char)(x >> 13 ^ x >> 22);
    }
}

static void make_page(struct page *p, int i)
{
    struct request *q = &p->req;
    int n_tile = INSTRUMENTED ? i % 2 : tiles_of[i % 5], n_visual = 257 + 144 * n_tile, n = 0;
    size_t tiles = (size_t)n_tile * TILE;

    *p = (struct page){.px = malloc(tiles + GLOBAL)};
    paint(p->px, tiles + GLOBAL, (uint32_t)i + 1);
    q->owner = p;
    q->n_visual = n_visual;
    q->max_new = N_NEW;
    q->id = malloc(sizeof *q->id * (size_t)(n_visual + 16 + N_NEW));
    q->logp = malloc(sizeof *q->logp * N_NEW);
    q->id[n++] = 0;
    q->image_at = n;
    while (n < 1 + n_visual)
        q->id[n++] = 600;
    for (int k = 0; k < 5 + i % 7; k++)
        q->id[n++] = 11 * (k + 1) + i;
    q->n_prompt = n;
    q->n_tile = n_tile;
    q->tile = p->px;
    q->global = p->px + tiles;
    q->sampler = (struct sampler){.guard = {20, 90, {-1, -1}}, .top_p = 1};
    q->keeps_going = true;
    q->on_done = on_done;
}

static void free_page(struct page *p)
{
    free(p->px);
    free(p->req.id);
    free(p->req.logp);
}

/* Ids equal; log-probabilities but for the order of fp32 sums. */
static void compare(const struct page *one, const struct page *many, int n)
{
    for (int i = 0; i < n; i++) {
        const struct request *a = &one[i].req, *b = &many[i].req;

        assert_int_equal(a->rc, 0);
        assert_int_equal(b->rc, 0);
        assert_memory_equal(a->id, b->id, sizeof *a->id * (size_t)(a->n_prompt + N_NEW));
        for (int k = 0; k < N_NEW; k++) /* fp32 sums in another order */
            if (fabsf(a->logp[k] - b->logp[k]) > 1e-4f)
                fail_msg("page %d, id %d: log-probability %g, with ranks %g", i, k,
                         (double)a->logp[k], (double)b->logp[k]);
    }
}

#endif
