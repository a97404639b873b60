#include "engine/fleet.h"

#include "base/err.h"
#include "engine/shelf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct opening {
    struct fleet *fleet;
    const char *model_dir, *backend;
    const struct device_opts *dev;
    const struct engine_opts *o;
};

/* Weights are read by all engines at the same time. */
static int open_one(void *ctx, int i)
{
    const struct opening *a = ctx;
    struct engine_opts o = *a->o;

    o.shelf = a->fleet->shelf;
    o.number = i;
    return engine_open(&a->fleet->engine[i], a->model_dir, a->backend,
                       a->dev + i * MAX(o.n_rank, 1), &o);
}

int fleet_open(struct fleet *f, const char *model_dir, const char *backend,
               const struct device_opts *dev, const struct engine_opts *o, int n)
{
    struct opening a = {f, model_dir, backend, dev, o};
    struct team *team = NULL;
    int rc;

    *f = (struct fleet){.engine = mem_zero((size_t)n, sizeof *f->engine), .n = n};
    if (n == 1)
        return open_one(&a, 0);
    f->shelf = shelf_open(n * o->max_waiting, n);
    TRY_OUT(team_open(&team, n));
    rc = team_run(team, open_one, &a);
out:
    team_close(team);
    return rc;
}

int fleet_start(struct fleet *f)
{
    for (int i = 0; i < f->n; i++)
        TRY(engine_start(&f->engine[i]));
    return 0;
}

void fleet_close(struct fleet *f)
{
    struct request *q;

    if (f->shelf)
        shelf_stop(f->shelf);
    for (int i = 0; i < f->n; i++) /* all, before one waits for its thread */
        atomic_store(&f->engine[i].is_stopping, true);
    for (int i = 0; i < f->n; i++)
        engine_close(&f->engine[i]);
    while (f->shelf && (q = shelf_left(f->shelf))) {
        q->rc = RECTO_ECANCELED;
        snprintf(q->rc_text, sizeof q->rc_text, "cancelled");
        q->on_done(q);
    }
    shelf_close(f->shelf);
    free(f->engine);
    *f = (struct fleet){0};
}

int fleet_submit_wait(struct fleet *f, struct request *q)
{
    if (!f->shelf)
        return engine_submit_wait(f->engine, q);
    q->submitted_ns = runner_now_ns(&f->engine->runner);
    return shelf_put_wait(f->shelf, q);
}

static void add(struct engine_stats *to, const struct engine_stats *s)
{
    to->n_step += s->n_step;
    to->n_row += s->n_row;
    to->n_out += s->n_out;
    to->n_view += s->n_view;
    to->n_done += s->n_done;
    to->n_failed += s->n_failed;
    to->n_cancelled += s->n_cancelled;
    to->n_late += s->n_late;
    to->n_loop += s->n_loop;
    to->n_intervention += s->n_intervention;
    to->n_preempted += s->n_preempted;
    to->n_image_hit += s->n_image_hit;
    to->n_image_miss += s->n_image_miss;
    to->n_shared_tok += s->n_shared_tok;
    to->n_moved += s->n_moved;
    to->n_lost += s->n_lost;
    to->busy_ns += s->busy_ns;
    to->sched_ns += s->sched_ns;
    to->n_running += s->n_running;
    to->n_waiting += s->n_waiting;
    to->n_block_free += s->n_block_free;
    to->n_block += s->n_block;
}

const struct model *fleet_model(const struct fleet *f, int i)
{
    int n_rank = f->engine[0].ranks.n > 1 ? f->engine[0].ranks.n : 1;
    const struct engine *e = &f->engine[i / n_rank];

    assert(i >= 0 && i / n_rank < f->n);
    return i % n_rank == 0 ? &e->model : &e->ranks.more[i % n_rank - 1];
}

void fleet_get_stats(struct fleet *f, struct engine_stats *s)
{
    struct engine_stats one;

    *s = (struct engine_stats){0};
    for (int i = 0; i < f->n; i++) {
        engine_get_stats(&f->engine[i], &one);
        add(s, &one);
    }
    if (f->shelf)
        s->n_waiting += shelf_count(f->shelf);
}
