#include "course.h"

#include "base/clock.h"
#include "base/err.h"
#include "judge.h"
#include "result/join.h"
#include "result/model.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is known --------------------------------------------------------------------------------------------------- */

/* Text that was streamed cannot be taken back, a benchmark wants just what it asked for, and who stops wants an end. */
static bool reads_once(const struct job *j)
{
    return j->book->opt.stream || j->book->opt.ignore_eos || atomic_load(&j->book->is_stopped);
}

static bool finds_turn(const struct job *j)
{
    const struct recto_options *o = &j->book->opt;

    return o->rotate == RECTO_ROTATE_AUTO && !o->ignore_eos && wants_text(o);
}

static const struct ink *known_ink(const struct job *j)
{
    static const struct ink unknown;

    return j->book->opt.no_blank_check ? &unknown : &j->ink;
}

static struct ladder_terms terms_of(const struct job *j)
{
    const struct recto_options *o = &j->book->opt;
    struct page_frame f = frame_whole(j->page->width, j->page->height, j->turn);
    struct ladder_terms t = {
        .retries = reads_once(j) ? 0 : o->retries,
        .budget = course_budget(j),
        .has_ink = known_ink(j)->n_kept >= INK_FEW_KEPT,
        .is_greedy = o->temperature == 0,
        .wants_text = wants_text(o),
        .asks_boxes = o->task != RECTO_TASK_TEXT,
        .can_halve = frame_can_halve(&f),
    };

    course_guard(j, &t.guard_n, &t.guard_w);
    return t;
}

enum rung course_first(const struct job *j)
{
    return finds_turn(j) && j->ink.line_ratio < PROBE_LINE_RATIO ? RUNG_PROBE : RUNG_FIRST;
}

static void close_readings(struct job *j)
{
    for (int i = 0; i < j->n_reading; i++)
        reading_reset(&j->reading[i]);
}

/* ---- what came of it (engine thread) --------------------------------------------------------------------------------- */

static double ms_between(int64_t from, int64_t to)
{
    return from && to > from ? (double)(to - from) / 1e6 : 0;
}

/* Times and ids of all readings count, those of probes and of failures too. */
static void add_costs(struct job *j)
{
    struct recto_timing *t = &j->page->timing;

    for (int i = 0; i < j->n_reading; i++) {
        const struct request *q = &j->reading[i].req;

        t->queue += ms_between(q->submitted_ns, q->admitted_ns);
        t->vision += q->vision_ms;
        t->prefill += ms_between(q->prefill_ns, q->first_ns);
        t->decode += ms_between(q->first_ns, q->done_ns);
        j->n_spent += q->s.n_known ? request_new(q) : 0;
    }
}

static struct outcome outcome_of(const struct job *j, const struct recto_page *p)
{
    struct yield y = yield_of(p);
    const struct recto_block *last = p->n_block ? &p->block[p->n_block - 1] : NULL;

    return (struct outcome){
        .rung = j->rung,
        .finish = p->finish,
        .n_token = p->n_token,
        .n_char = y.n_char,
        .has_figure = y.has_figure,
        .in_table = j->reading[0].table.is_in || (last && last->kind == RECTO_BLOCK_TABLE),
        .conf = p->conf,
    };
}

/* A reading that failed is listed as one, and no more. */
static void take_failure(struct job *j, int rc, const char *text)
{
    if (j->n_out == 0) {
        j->failure = rc;
        snprintf(j->failure_text, sizeof j->failure_text, "%s", text);
    }
    j->out[j->n_out++] = (struct outcome){.rung = j->rung, .has_failed = true};
}

static void take_attempt(struct job *j)
{
    struct recto_page *p = mem_zero(1, sizeof *p), second = {0};

    reading_take(&j->reading[0], p);
    if (j->n_reading == 2) {
        reading_take(&j->reading[1], &second);
        page_join(p, &second);
    }
    j->got[j->n_out] = p;
    j->turn_of[j->n_out] = j->turn;
    j->out[j->n_out++] = outcome_of(j, p);
}

/* Read on at the best angle; a page not read yet keeps that probe's views. */
static void take_probe(struct job *j)
{
    double logp[4] = {0};
    int n[4], best;

    for (int i = 0; i < 4; i++) {
        const struct request *q = &j->reading[i].req;

        n[i] = q->rc < 0 ? 0 : q->n_new;
        for (int k = 0; k < n[i]; k++)
            logp[i] += q->logp[k] / n[i];
    }
    best = probe_choose(n, logp);
    j->turn = 90 * best;
    j->is_probed = true;
    j->has_views = j->n_out == 0 && j->reading[best].views.global;
    if (!j->has_views || best == 0)
        return;
    struct reading *to = &j->reading[0], *from = &j->reading[best];
    struct page_views views = to->views;

    to->views = from->views;
    to->frame = from->frame;
    to->image = from->image;
    from->views = views;
}

/* ---- what next ------------------------------------------------------------------------------------------------------- */

static void list_attempts(struct job *j, int best)
{
    struct recto_page *p = j->page;

    p->n_attempt = j->n_out;
    p->attempt = mem_zero((size_t)MAX(j->n_out, 1), sizeof *p->attempt);
    for (int i = 0; i < j->n_out; i++) {
        const struct outcome *o = &j->out[i];

        p->attempt[i] = (struct recto_attempt){
            .finish = o->finish, .n_token = o->n_token, .conf = o->conf, .is_chosen = i == best};
        snprintf(p->attempt[i].rung, sizeof p->attempt[i].rung, "%s", rung_name(o->rung));
    }
}

/* The reading becomes the page. */
static void adopt(struct recto_page *p, struct recto_page *from)
{
    p->finish = from->finish;
    p->tiles_w = from->tiles_w;
    p->tiles_h = from->tiles_h;
    p->n_visual = from->n_visual;
    p->n_prompt = from->n_prompt;
    p->n_token = from->n_token;
    p->n_intervention = from->n_intervention;
    p->conf = from->conf;
    p->raw = from->raw;
    p->n_raw = from->n_raw;
    p->id = from->id;
    p->logp = from->logp;
    p->n_block = from->n_block;
    p->block = from->block;
    p->n_stray = from->n_stray;
    for (int i = 0; i < from->n_warning; i++)
        page_add_warning(p, from->warning[i]);
    from->raw = NULL;
    from->id = NULL;
    from->logp = NULL;
    from->block = NULL;
    from->n_block = 0;
}

static void finish(struct job *j)
{
    struct recto_page *p = j->page;
    int best = ladder_choose(j->out, j->n_out);

    list_attempts(j, best);
    if (best < 0) {
        page_set_error(p, j->failure, j->failure_text);
        job_end(j);
        return;
    }
    adopt(p, j->got[best]);
    p->rotate = j->turn_of[best];
    p->status = p->finish == RECTO_FINISH_LENGTH ? RECTO_PAGE_LENGTH
                : p->finish == RECTO_FINISH_LOOP ? RECTO_PAGE_LOOP
                                                 : RECTO_PAGE_OK;
    judge_page(p, known_ink(j), &j->book->opt);
    job_end(j);
}

static enum rung next_rung(const struct job *j)
{
    struct ladder_terms t = terms_of(j);
    const struct outcome *last;

    if (j->n_out == 0)
        return RUNG_FIRST;
    last = &j->out[j->n_out - 1];
    if (j->n_out == 1 && last->has_failed)
        return RUNG_NONE;
    if (j->rung == RUNG_PROBE && j->turn)
        return RUNG_TURNED;
    if (j->rung == RUNG_FIRST && finds_turn(j) && !reads_once(j) && !j->is_probed && t.budget > 0 &&
        probe_is_due(&t, last))
        return RUNG_PROBE;
    return ladder_next(&t, j->out, j->n_out);
}

/* On to the next stage, or out. */
static void go_on(struct job *j)
{
    enum rung next = next_rung(j);

    if (next == RUNG_NONE) {
        finish(j);
        return;
    }
    j->rung = next;
    j->redo = (struct redo){
        .book = j->book, .is_first = j->n_out == 0, .n_reading = course_readings(next)};
    book_put_redo(&j->recto->books, &j->redo);
}

/* The worst of the stage: 0, or the failure of a reading, a cancelled one first. */
static const struct request *fault_of(const struct job *j)
{
    const struct request *worst = NULL;

    for (int i = 0; i < j->n_reading; i++) {
        const struct request *q = &j->reading[i].req;

        if (q->rc == RECTO_ECANCELED || (q->rc < 0 && !worst))
            worst = q;
    }
    return worst;
}

static void end_stage(struct job *j, int rc, const char *text)
{
    if (j->rung == RUNG_PROBE)
        take_probe(j);
    else if (rc < 0)
        take_failure(j, rc, text);
    else
        take_attempt(j);
    if (!j->has_views)
        close_readings(j);
    else
        for (int i = 0; i < j->n_reading; i++)
            i ? reading_reset(&j->reading[i]) : reading_forget(&j->reading[i]);
    if (rc == RECTO_EDEADLINE && j->n_out)
        finish(j);
    else
        go_on(j);
}

void course_stage_done(struct job *j)
{
    int64_t start = clock_ns();
    const struct request *fault = fault_of(j);

    book_redo_done(&j->recto->books, &j->redo);
    add_costs(j);
    j->page->timing.post += clock_ms_since(start);
    if (fault && fault->rc == RECTO_ECANCELED)
        job_fail(j, RECTO_ECANCELED);
    else
        end_stage(j, fault ? fault->rc : 0, fault ? fault->rc_text : "");
}

void course_stage_failed(struct job *j, int rc)
{
    book_redo_done(&j->recto->books, &j->redo);
    if (rc == RECTO_ECANCELED) {
        job_fail(j, rc);
        return;
    }
    for (int i = 0; i < JOB_READINGS; i++)
        j->reading[i].req.rc = rc; /* so that a probe counts as nothing */
    j->has_views = false;
    end_stage(j, rc, err_text());
}
