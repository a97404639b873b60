#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- open, close ----------------------------------------------------------------------------------------------------- */

static void drop_rows(void *ctx, void *rows)
{
    runner_forget(ctx, rows);
}

static void init_parts(struct engine *e, const struct engine_opts *o, const struct runner_opts *ro)
{
    struct sched_opts so = {
        .max_running = o->max_running,
        .reserve = o->reserve,
        .chunk_tok = o->chunk_tok,
        .view_batch = e->runner.view_batch,
        .view_batch_shared = o->view_batch_shared,
        .is_static = o->is_static,
        .static_wait_us = o->static_wait_us,
    };

    e->max_live = o->max_running + o->max_waiting;
    e->live = mem_zero((size_t)e->max_live, sizeof(struct request *));
    e->next = mem_zero((size_t)o->max_running, sizeof *e->next);
    e->alone = mem_zero((size_t)o->max_running, sizeof *e->alone);
    sched_init(&e->sched, &so, &e->runner.pool);
    image_cache_init(&e->images, o->image_bytes, drop_rows, &e->runner);
    batch_init(&e->batch, ro->max_tok, ro->max_seq,
               (int)div_up(e->model.cfg.decoder.context, e->runner.pool.block_tok), ro->max_out);
}

/* max_running pages of full length, or what the device has room for once the weights are on it: KV_SHARE per cent of it, since
 * views, steps and what is recorded of them want memory, too. */
static int64_t default_kv_tok(const struct engine *e, const struct engine_opts *o)
{
    enum { KV_SHARE = 85, SOME = 64 };
    const struct model *m = &e->model;
    const struct decoder_config *c = &m->cfg.decoder;
    int block = o->kv_block_tok ? o->kv_block_tok : m->info.kv_block_tok;
    struct kv_shape shape = {c->layers, (int)(m->decoder.block[0].wk.n_out / c->head_dim),
                             c->head_dim, SOME, block};
    int64_t all = (int64_t)o->max_running * c->context, bytes = m->be->kv_bytes(m->dev, &shape);
    struct device_stats s = DEVICE_STATS_UNKNOWN;

    if (m->be->stats)
        m->be->stats(m->dev, &s);
    if (s.memory_total < 0 || s.memory_used < 0 || bytes <= 0)
        return all;
    int64_t fit = (s.memory_total - s.memory_used) / 100 * KV_SHARE / bytes * SOME * block;

    if (fit < all)
        log_info("cache: room for %lld tokens beside the weights, not for %lld", (long long)fit,
                 (long long)all);
    return MIN(all, MAX(fit, c->context));
}

int engine_open(struct engine *e, const char *model_dir, const char *backend,
                const struct device_opts *dev, const struct engine_opts *o)
{
    int64_t kv_tok;

    *e = (struct engine){.shelf = o->shelf, .number = o->number};
    snprintf(e->name, sizeof e->name, "%s", dev->name ? dev->name : backend);
    pthread_mutex_init(&e->stats_lock, NULL);
    queue_open(&e->inbox, o->max_waiting);
    TRY(ranks_open(&e->ranks, &e->model, model_dir, backend, dev, MAX(o->n_rank, 1)));
    kv_tok = o->kv_tok ? o->kv_tok : default_kv_tok(e, o);
    if (kv_tok > INT32_MAX / 2)
        return err(RECTO_EUSAGE, "a KV pool of %lld tokens is over the limit of %d",
                   (long long)kv_tok, INT32_MAX / 2);
    struct runner_opts ro = {
        .max_tok = o->chunk_tok + o->max_running,
        .max_seq = o->max_running,
        .max_out = o->max_running,
        .kv_tok = (int)kv_tok,
        .kv_block_tok = o->kv_block_tok,
        .view_batch = o->view_batch,
        .ranks = e->ranks.n > 1 ? &e->ranks : NULL,
    };
    TRY(runner_open(&e->runner, &e->model, &ro));
    init_parts(e, o, &ro);
    return 0;
}

/* The thread has ended: this one may touch what was its own. */
static void end_all(struct engine *e)
{
    struct request *q;

    for (int i = 0; i < e->n_live; i++)
        if (!e->live[i]->is_done)
            engine_finish(e, e->live[i], RECTO_ECANCELED, RECTO_FINISH_NONE);
    engine_publish(e);
    while ((q = queue_get(&e->inbox, 0))) {
        q->rc = RECTO_ECANCELED;
        snprintf(q->rc_text, sizeof q->rc_text, "cancelled");
        q->on_done(q);
    }
}

void engine_close(struct engine *e)
{
    atomic_store(&e->is_stopping, true);
    if (e->inbox.item)
        queue_stop(&e->inbox);
    if (e->has_thread)
        pthread_join(e->thread, NULL);
    if (e->live) {
        end_all(e);
        image_cache_reset(&e->images);
        sched_reset(&e->sched);
    }
    if (e->inbox.item)
        pthread_mutex_destroy(&e->stats_lock);
    queue_close(&e->inbox);
    batch_reset(&e->batch);
    free(e->live);
    free(e->next);
    free(e->alone);
    runner_close(&e->runner);
    model_close(&e->model);
    ranks_close(&e->ranks);
    *e = (struct engine){0};
}

int engine_submit(struct engine *e, struct request *q)
{
    q->submitted_ns = runner_now_ns(&e->runner);
    return queue_put(&e->inbox, q);
}

int engine_submit_wait(struct engine *e, struct request *q)
{
    q->submitted_ns = runner_now_ns(&e->runner);
    return queue_put_wait(&e->inbox, q);
}
