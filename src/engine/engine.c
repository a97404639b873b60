#include "engine/engine.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a request's end ------------------------------------------------------------------------------------------------- */

static void finish(struct engine *e, struct request *q, int rc, enum recto_finish how)
{
    q->rc = rc;
    q->finish = how;
    q->is_done = true;
    if (rc < 0)
        snprintf(q->rc_text, sizeof q->rc_text, "%s", rc == RECTO_ECANCELED ? "cancelled" : err_text());
    q->done_ns = clock_ns();
    kv_release(&e->runner.pool, &q->kv);
    kv_seq_reset(&q->kv);
    runner_forget(&e->runner, q);
}

/* Done requests leave the running array, which keeps its order of age, and go home. */
static void publish(struct engine *e)
{
    int kept = 0;

    for (int i = 0; i < e->n_running; i++) {
        struct request *q = e->running[i];

        if (q->is_done)
            q->on_done(q);
        else
            e->running[kept++] = q;
    }
    e->n_running = kept;
}

static void refuse(struct engine *e, struct request *q, int rc)
{
    finish(e, q, rc, RECTO_FINISH_NONE);
    q->on_done(q);
}

/* ---- admission ------------------------------------------------------------------------------------------------------- */

/* A page reserves for its longest outcome, so it can never run out of blocks half way. */
static bool admit_one(struct engine *e, struct request *q)
{
    int n_tok = q->n_prompt + q->max_new;

    if (atomic_load(&q->is_cancelled)) {
        refuse(e, q, RECTO_ECANCELED);
        return true;
    }
    if (div_up(n_tok, e->runner.pool.block_tok) > e->runner.pool.n_block) {
        refuse(e, q,
               err(RECTO_EDEVICE, "device: the page may need %d tokens of KV cache, the pool has %d (--max-tokens or --kv-tokens)",
                   n_tok, e->runner.pool.n_block * e->runner.pool.block_tok));
        return true;
    }
    if (kv_reserve(&e->runner.pool, &q->kv, n_tok) < 0)
        return false;
    q->n_id = q->n_prompt;
    q->admitted_ns = clock_ns();
    e->running[e->n_running++] = q;
    return true;
}

static void admit(struct engine *e, int wait_ms)
{
    while (e->n_running < e->max_running) {
        struct request *q = e->waiting ? e->waiting : queue_get(&e->inbox, e->n_running ? 0 : wait_ms);

        e->waiting = NULL;
        if (!q)
            return;
        if (!admit_one(e, q)) {
            e->waiting = q;
            return;
        }
        wait_ms = 0;
    }
}

/* ---- one turn -------------------------------------------------------------------------------------------------------- */

static bool plan(struct engine *e)
{
    for (int i = 0; i < e->n_running; i++) {
        const struct request *q = e->running[i];

        e->seq[i] = (struct sched_seq){request_views(q) - q->n_encoded, q->n_id - q->n_cached};
    }
    return sched_next(e->seq, e->n_running, e->chunk_tok, &e->step);
}

static void encode(struct engine *e, struct request *q)
{
    int64_t start = clock_ns();
    int rc = runner_encode(&e->runner, q);

    q->vision_ms += clock_ms_since(start);
    if (q->n_encoded == request_views(q))
        q->prefill_ns = clock_ns();
    if (rc < 0)
        finish(e, q, rc, RECTO_FINISH_NONE);
}

static void commit_token(struct engine *e, struct request *q, struct pick p)
{
    if (request_new(q) == 0)
        q->first_ns = clock_ns();
    q->n_intervention += p.intervened;
    if (p.id == e->model.cfg.decoder.eos && !q->keeps_going) {
        finish(e, q, 0, RECTO_FINISH_EOS);
        return;
    }
    q->id[q->n_id++] = p.id;
    q->logp_sum += p.logp;
    if (q->on_token)
        q->on_token(q, p.id);
    if (request_new(q) == q->max_new)
        finish(e, q, 0, RECTO_FINISH_LENGTH);
}

/* A step that failed ends its pages; the engine goes on with the others. */
static void step_tokens(struct engine *e)
{
    int rc, n_out;

    batch_clear(&e->batch);
    for (int i = 0; i < e->step.n_part; i++) {
        const struct sched_part *p = &e->step.part[i];

        batch_add(&e->batch, &e->runner.pool, e->running[p->seq], p->n_tok, p->is_last);
    }
    rc = runner_step(&e->runner, &e->batch, e->next);
    for (int i = 0; i < e->step.n_part; i++) {
        struct request *q = e->running[e->step.part[i].seq];

        q->n_cached += e->step.part[i].n_tok;
        if (rc < 0)
            finish(e, q, rc, RECTO_FINISH_NONE);
    }
    n_out = rc < 0 ? 0 : e->batch.b.n_out;
    for (int i = 0; i < n_out; i++)
        commit_token(e, e->batch.out[i], e->next[i]);
}

static void drop_cancelled(struct engine *e)
{
    for (int i = 0; i < e->n_running; i++)
        if (atomic_load(&e->running[i]->is_cancelled))
            finish(e, e->running[i], RECTO_ECANCELED, RECTO_FINISH_NONE);
    publish(e);
}

static void *engine_main(void *arg)
{
    struct engine *e = arg;

    while (!atomic_load(&e->is_stopping)) {
        admit(e, 100);
        drop_cancelled(e);
        if (!plan(e))
            continue;
        if (e->step.encode >= 0)
            encode(e, e->running[e->step.encode]);
        if (e->step.n_part)
            step_tokens(e);
        publish(e);
    }
    return NULL;
}

/* ---- open, close ----------------------------------------------------------------------------------------------------- */

static void init_arrays(struct engine *e)
{
    size_t n = (size_t)e->max_running;

    e->running = mem_zero(n, sizeof(struct request *));
    e->seq = mem_zero(n, sizeof *e->seq);
    e->step.part = mem_zero(n, sizeof *e->step.part);
    e->next = mem_zero(n, sizeof *e->next);
}

int engine_open(struct engine *e, const char *model_dir, const char *backend, const struct device_opts *dev,
                const struct engine_opts *o)
{
    int context, max_block;
    int64_t kv_tok;

    *e = (struct engine){.max_running = o->max_running, .chunk_tok = o->chunk_tok};
    TRY(model_open(&e->model, model_dir, backend, dev));
    context = e->model.cfg.decoder.context;
    kv_tok = o->kv_tok ? o->kv_tok : (int64_t)o->max_running * context;
    if (kv_tok > INT32_MAX / 2)
        return err(RECTO_EUSAGE, "a KV pool of %lld tokens is over the limit of %d", (long long)kv_tok, INT32_MAX / 2);
    struct runner_opts ro = {
        .max_tok = o->chunk_tok + o->max_running,
        .max_seq = o->max_running,
        .max_out = o->max_running,
        .kv_tok = (int)kv_tok,
        .kv_block_tok = o->kv_block_tok,
    };
    TRY(runner_open(&e->runner, &e->model, &ro));
    max_block = (int)div_up(context, e->runner.pool.block_tok);
    batch_init(&e->batch, ro.max_tok, ro.max_seq, max_block, ro.max_out);
    init_arrays(e);
    queue_open(&e->inbox, o->max_waiting);
    if (pthread_create(&e->thread, NULL, engine_main, e) != 0)
        return err(RECTO_EINTERNAL, "internal: no thread for the engine");
    e->has_thread = true;
    return 0;
}

/* The thread has ended: this one may touch what was its own. */
static void end_all(struct engine *e)
{
    struct request *q;

    for (int i = 0; i < e->n_running; i++)
        finish(e, e->running[i], RECTO_ECANCELED, RECTO_FINISH_NONE);
    publish(e);
    if (e->waiting)
        refuse(e, e->waiting, RECTO_ECANCELED);
    while ((q = queue_get(&e->inbox, 0)))
        refuse(e, q, RECTO_ECANCELED);
}

void engine_close(struct engine *e)
{
    atomic_store(&e->is_stopping, true);
    if (e->has_thread) {
        queue_stop(&e->inbox);
        pthread_join(e->thread, NULL);
        end_all(e);
    }
    queue_close(&e->inbox);
    batch_reset(&e->batch);
    free(e->running);
    free(e->seq);
    free(e->step.part);
    free(e->next);
    runner_close(&e->runner);
    model_close(&e->model);
    *e = (struct engine){0};
}

int engine_submit(struct engine *e, struct request *q)
{
    q->submitted_ns = clock_ns();
    return queue_put(&e->inbox, q);
}

int engine_submit_wait(struct engine *e, struct request *q)
{
    q->submitted_ns = clock_ns();
    return queue_put_wait(&e->inbox, q);
}
