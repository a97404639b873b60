#include "engine/engine_parts.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/prefix.h"
#include "engine/shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a request's end ------------------------------------------------------------------------------------------------- */

static void count_end(struct engine *e, const struct request *q)
{
    struct engine_stats *s = &e->stats;

    s->n_done++;
    s->n_cancelled += q->rc == RECTO_ECANCELED;
    s->n_late += q->rc == RECTO_EDEADLINE;
    s->n_failed += q->rc < 0 && q->rc != RECTO_ECANCELED && q->rc != RECTO_EDEADLINE;
    s->n_loop += q->finish == RECTO_FINISH_LOOP;
    s->n_intervention += q->n_intervention;
}

void engine_finish(struct engine *e, struct request *q, int rc, enum recto_finish how)
{
    q->rc = rc;
    q->finish = how;
    q->is_done = true;
    if (rc < 0)
        snprintf(q->rc_text, sizeof q->rc_text, "%s",
                 rc == RECTO_ECANCELED ? "cancelled" : err_text());
    q->done_ns = runner_now_ns(&e->runner);
    sched_drop(&e->sched, &q->s);
    if (q->seen)
        image_put(&e->images, q->seen);
    else
        runner_forget(&e->runner, q->visual);
    q->visual = NULL;
    free(q->key);
    q->key = NULL;
    count_end(e, q);
}

/* Done requests go home. */
void engine_publish(struct engine *e)
{
    for (int i = e->n_live - 1; i >= 0; i--) {
        struct request *q = e->live[i];

        if (!q->is_done)
            continue;
        e->live[i] = e->live[--e->n_live];
        q->on_done(q);
    }
    pthread_mutex_lock(&e->stats_lock);
    e->stats_out = e->stats;
    e->stats_out.n_preempted = e->sched.n_preempted;
    e->stats_out.n_image_hit = e->images.n_hit;
    e->stats_out.n_image_miss = e->images.n_miss;
    e->stats_out.n_shared_tok = e->runner.pool.n_shared_tok;
    e->stats_out.n_running = e->sched.n_running;
    e->stats_out.n_waiting = waiting_count(&e->sched.waiting);
    e->stats_out.n_block = e->runner.pool.n_block;
    e->stats_out.n_block_free = e->runner.pool.n_free;
    pthread_mutex_unlock(&e->stats_lock);
}

void engine_get_stats(struct engine *e, struct engine_stats *s)
{
    pthread_mutex_lock(&e->stats_lock);
    *s = e->stats_out;
    pthread_mutex_unlock(&e->stats_lock);
}

/* ---- in -------------------------------------------------------------------------------------------------------------- */

static void fill_page(struct engine *e, struct request *q)
{
    struct sched_page *p = &q->s;

    p->n_prompt = q->n_prompt;
    p->max_tok = q->n_prompt + q->max_new;
    p->n_tile = q->n_tile;
    p->image_end = q->image_at + q->n_visual;
    p->key = q->key;
    p->n_key = q->key ? q->n_prompt / e->runner.pool.block_tok : 0;
    if (q->n_moved == 0)
        loop_init(&q->loop);
}

void engine_add(struct engine *e, struct request *q)
{
    struct kv_pool *pool = &e->runner.pool;

    q->key = prefix_keys(q->id, q->n_prompt, pool->block_tok, q->image);
    fill_page(e, q);
    if (waiting_count(&e->sched.waiting) == 0)
        e->waiting_since_ns = runner_now_ns(&e->runner);
    e->live[e->n_live++] = q;
    if (sched_add(&e->sched, &q->s) < 0) {
        int rc = err(
            RECTO_EDEVICE,
            "device: the page may need %d tokens of KV cache, the pool has %d (--max-tokens or --kv-tokens)",
            q->s.max_tok, pool->n_block * pool->block_tok);

        engine_finish(e, q, rc, RECTO_FINISH_NONE);
        return;
    }
    if (q->n_moved) /* ids that another device chose */
        q->s.n_known = q->n_prompt + q->n_new;
    q->seen = image_get(&e->images, q->image);
    if (q->seen) {
        q->visual = q->seen->rows;
        q->s.n_encoded = q->n_tile + 1;
    }
}

/* Of what waits for all engines this one takes what it can start: pages beyond that are better left to the others. */
static struct shelf_room free_places(const struct engine *e)
{
    const struct sched *s = &e->sched;
    struct shelf_room room = {.n_in = s->n_running + waiting_count(&s->waiting)};
    int shared = s->opt.max_running - s->opt.reserve;
    int n_other = 0, n_retry = s->n_retry + s->waiting.cls[CLASS_RETRY].n_page;

    n_other = room.n_in - n_retry - s->n_interactive - s->waiting.cls[CLASS_INTERACTIVE].n_page;
    room.interactive = room.n_in - n_retry < s->opt.max_running &&
                       s->waiting.cls[CLASS_INTERACTIVE].n_page == 0;
    room.others = room.interactive && n_other < shared && waiting_count(&s->waiting) == 0;
    room.retries = room.others && n_other + n_retry < shared;
    return room;
}

static struct request *next_request(struct engine *e, int wait_ms)
{
    if (!e->shelf)
        return queue_get(&e->inbox, e->n_live ? 0 : wait_ms);
    return shelf_take(e->shelf, e->number, free_places(e), runner_now_ns(&e->runner),
                      e->n_live ? 0 : wait_ms);
}

static void take_inbox(struct engine *e, int wait_ms)
{
    while (e->n_live < e->max_live) {
        struct request *q = next_request(e, wait_ms);

        if (!q)
            return;
        engine_add(e, q);
    }
}

/* Cancelled pages, and those whose time is over, leave wherever they are. */
static void drop_unwanted(struct engine *e)
{
    int64_t now = runner_now_ns(&e->runner);

    for (int i = 0; i < e->n_live; i++) {
        struct request *q = e->live[i];

        if (q->is_done)
            continue;
        if (atomic_load_explicit(&q->is_cancelled, memory_order_relaxed))
            engine_finish(e, q, RECTO_ECANCELED, RECTO_FINISH_NONE);
        else if (q->deadline_ns && now > q->deadline_ns)
            engine_finish(e, q, err(RECTO_EDEADLINE, "not done by its deadline"),
                          RECTO_FINISH_NONE);
    }
}

/* ---- views ----------------------------------------------------------------------------------------------------------- */

/* A group that failed runs view by view: only the page at fault ends. */
static void encode_alone(struct engine *e)
{
    struct sched_step *st = &e->sched.step;

    for (int i = 0; i < st->n_view;) {
        struct request *q = request_of(st->view[i].page);
        int rc = runner_encode(&e->runner, &st->view[i], 1);

        if (rc < 0 && engine_lost(e))
            return;
        if (rc < 0)
            engine_finish(e, q, rc, RECTO_FINISH_NONE); /* takes all its views out of the step */
        else
            i++;
    }
}

static void encode(struct engine *e)
{
    struct sched_step *st = &e->sched.step;
    int64_t start = runner_now_ns(&e->runner);
    double each_ms;

    if (runner_encode(&e->runner, st->view, st->n_view) < 0 && !engine_lost(e))
        encode_alone(e);
    each_ms = st->n_view ? (double)(runner_now_ns(&e->runner) - start) / 1e6 / st->n_view : 0;
    for (int i = 0; i < st->n_view; i++)
        request_of(st->view[i].page)->vision_ms += each_ms;
    e->stats.n_view += st->n_view;
}

/* Pages whose last view is done: their rows can serve others with the same image. */
static void keep_rows(struct engine *e)
{
    size_t row = (size_t)e->model.cfg.decoder.hidden * sizeof(float);

    for (int i = 0; i < e->sched.step.n_view; i++) {
        struct request *q = request_of(e->sched.step.view[i].page);

        if (q->s.n_encoded == q->n_tile + 1 && !q->seen) {
            q->seen = image_add(&e->images, q->image, q->visual, (size_t)q->n_visual * row);
            q->prefill_ns = runner_now_ns(&e->runner);
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------------------------------ */

static int run_parts(struct engine *e, const struct sched_part *part, int n)
{
    batch_clear(&e->batch);
    for (int i = 0; i < n; i++)
        batch_add(&e->batch, &e->runner.pool, request_of(part[i].page), part[i].n_tok,
                  part[i].is_last);
    return runner_step(&e->runner, &e->batch, e->next);
}

static void append(struct engine *e, struct request *q, struct pick p)
{
    int n;

    if (q->first_ns == 0)
        q->first_ns = runner_now_ns(&e->runner);
    q->n_intervention += p.intervened;
    if (p.id == e->model.cfg.decoder.eos && !q->keeps_going) {
        engine_finish(e, q, 0, RECTO_FINISH_EOS);
        return;
    }
    q->id[q->s.n_known++] = p.id;
    n = q->n_new = request_new(q);
    if (q->logp)
        q->logp[n - 1] = p.logp;
    if (q->on_token)
        q->on_token(q, p);
    if (q->watches_loops) {
        int keep = loop_put(&q->loop, &q->loops, q->id + q->n_prompt, n, p.intervened);

        if (keep >= 0) {
            q->n_new = keep;
            engine_finish(e, q, 0, RECTO_FINISH_LOOP);
            return;
        }
    }
    if (n == q->max_new)
        engine_finish(e, q, 0, RECTO_FINISH_LENGTH);
}

/* A step that failed runs page by page: only those at fault end.  K and V written twice are the same numbers. */
static void rows_alone(struct engine *e)
{
    struct sched_step *st = &e->sched.step;

    for (int i = 0; i < st->n_part;) {
        struct request *q = request_of(st->part[i].page);
        int rc = run_parts(e, &st->part[i], 1);

        if (rc < 0 && engine_lost(e))
            return;
        if (rc < 0)
            engine_finish(e, q, rc, RECTO_FINISH_NONE); /* takes it out of the step */
        else {
            if (st->part[i].is_last)
                e->alone[i] = e->next[0];
            i++;
        }
    }
}

static void run_rows(struct engine *e)
{
    struct sched_step *st = &e->sched.step;

    if (run_parts(e, st->part, st->n_part) < 0) {
        if (!engine_lost(e))
            rows_alone(e);
        return;
    }
    e->stats.n_row += e->batch.b.n_tok;
    e->stats.n_out += e->batch.b.n_out;
    for (int i = 0, out = 0; i < st->n_part; i++)
        if (st->part[i].is_last)
            e->alone[i] = e->next[out++];
}

/* Ids go in after the commit, which counts the rows as cached. The step's list shrinks as pages end: walk it from the end. */
static void append_all(struct engine *e)
{
    for (int i = e->sched.step.n_part - 1; i >= 0; i--)
        if (e->sched.step.part[i].is_last)
            append(e, request_of(e->sched.step.part[i].page), e->alone[i]);
}

/* ---- a turn ---------------------------------------------------------------------------------------------------------- */

static void note_admitted(struct engine *e)
{
    for (int i = e->sched.n_running - 1; i >= 0; i--) {
        struct request *q = request_of(e->sched.running[i]);

        if (q->admitted_ns)
            break; /* by age: the rest was noted before */
        q->admitted_ns = e->waiting_since_ns = runner_now_ns(&e->runner);
        if (sched_is_encoded(&q->s))
            q->prefill_ns = q->admitted_ns;
    }
}

bool engine_turn(struct engine *e)
{
    int64_t host = clock_ns(), start, used;
    bool busy;

    drop_unwanted(e);
    busy = sched_next(&e->sched, (runner_now_ns(&e->runner) - e->waiting_since_ns) / 1000);
    note_admitted(e);
    host = clock_ns() - host;
    start = runner_now_ns(&e->runner);
    if (e->sched.step.n_view)
        encode(e);
    if (e->sched.step.n_part)
        run_rows(e);
    used = runner_now_ns(&e->runner) - start;
    e->stats.busy_ns += used;
    host -= clock_ns();
    if (busy) {
        e->stats.n_step++;
        sched_commit(&e->sched, used / 1000);
        keep_rows(e);
        append_all(e);
    }
    engine_publish(e);
    e->stats.sched_ns += host + clock_ns();
    return busy;
}

/* Without a device: the last engine ends what comes, the others have left. */
static void idle(struct engine *e)
{
    if (shelf_engines(e->shelf) == 0) {
        take_inbox(e, 100);
        engine_refuse(e);
        engine_publish(e);
    } else
        usleep(10000);
}

static void *engine_main(void *arg)
{
    struct engine *e = arg;

    while (!atomic_load(&e->is_stopping)) {
        if (e->is_lost) {
            idle(e);
            continue;
        }
        take_inbox(e, 100);
        engine_turn(e);
    }
    return NULL;
}

int engine_start(struct engine *e)
{
    if (pthread_create(&e->thread, NULL, engine_main, e) != 0)
        return err(RECTO_EINTERNAL, "internal: no thread for the engine");
    e->has_thread = true;
    return 0;
}
