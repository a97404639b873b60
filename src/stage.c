/* A stage of a page's course, on a page worker: which questions over which views. */
#include "base/clock.h"
#include "base/err.h"
#include "course.h"

#include <string.h>

void course_guard(const struct job *j, int *n, int *w)
{
    const struct recto_options *o = &j->book->opt;
    const struct model_config *c = &model_of(j->recto)->cfg;

    *n = o->guard_n ? o->guard_n : c->guard_n;
    *w = o->guard_n ? o->guard_w : c->guard_w;
}

int course_budget(const struct job *j)
{
    return LADDER_CONTEXTS * model_of(j->recto)->cfg.decoder.context - j->n_spent;
}

/* ---- a stage's readings (page worker) -------------------------------------------------------------------------------- */

int course_readings(enum rung r)
{
    return r == RUNG_PROBE ? 4 : r == RUNG_HALVES ? 2 : 1;
}

static struct reading_ask ask_of(const struct job *j)
{
    const struct recto_options *o = &j->book->opt;
    int most = course_budget(j) / course_readings(j->rung);
    struct reading_ask a = {
        .rung = j->rung,
        .attempt = j->n_out + 1,
        .task = o->task,
        .phrase = o->phrase,
        .prompt = o->prompt,
        .max_new = MAX(o->max_tokens ? MIN(o->max_tokens, most) : most, 1),
        .frees_tables = j->rung == RUNG_TABLE,
        .is_retry = j->n_out > 0,
    };

    course_guard(j, &a.guard_n, &a.guard_w);
    if (j->rung == RUNG_WIDE) {
        a.guard_n = LADDER_WIDE_N;
        a.guard_w = LADDER_WIDE_W;
    }
    if (j->rung == RUNG_TEXT || j->rung == RUNG_PROBE) {
        a.task = RECTO_TASK_TEXT;
        a.prompt = NULL;
    }
    if (j->rung == RUNG_PROBE) {
        a.attempt = 0;
        a.max_new = MIN(PROBE_TOKENS, most);
    }
    return a;
}

/* Fresh readings; the first keeps its views, frame and key when it has any. */
static void open_readings(struct job *j)
{
    struct recto *r = j->recto;
    struct reading_ask ask = ask_of(j);

    pthread_mutex_lock(&r->lock); /* against recto_cancel */
    j->n_reading = course_readings(j->rung);
    atomic_store(&j->n_open, j->n_reading);
    for (int i = 0; i < j->n_reading; i++) {
        struct reading *g = &j->reading[i], fresh = {.job = j, .ask = ask};

        if (j->has_views) {
            fresh.views = g->views;
            fresh.frame = g->frame;
            fresh.image = g->image;
        }
        memcpy(g, &fresh, sizeof fresh);
        if (j->n_reading == 2)
            g->ask.half = i + 1;
        atomic_store(&g->req.is_cancelled, atomic_load(&j->book->is_cancelled));
    }
    pthread_mutex_unlock(&r->lock);
}

static int set_frames(struct job *j, const struct recto_image *page)
{
    struct page_frame whole = frame_whole(page->width, page->height, j->turn), half[2];
    int tiles_w, tiles_h;

    for (int i = 0; i < j->n_reading; i++)
        j->reading[i].frame = j->rung == RUNG_PROBE ? frame_whole(page->width, page->height, 90 * i)
                                                    : whole;
    if (j->rung == RUNG_SHIFT) {
        view_grid(whole.w, whole.h, true, &tiles_w, &tiles_h);
        j->reading[0].frame = frame_shifted(whole, tiles_w * tiles_h > 1);
    }
    if (j->rung == RUNG_HALVES) {
        TRY(frame_halves(&whole, page, half));
        j->reading[0].frame = half[0];
        j->reading[1].frame = half[1];
    }
    return 0;
}

int course_prepare(struct job *j, const struct recto_image *page)
{
    int64_t start = clock_ns();

    j->has_views &= page == NULL;
    open_readings(j);
    if (!j->has_views)
        TRY(set_frames(j, page));
    for (int i = 0; i < j->n_reading && !j->has_views; i++)
        TRY(reading_cut(&j->reading[i], page));
    j->has_views = false;
    for (int i = 0; i < j->n_reading; i++)
        TRY(reading_build(&j->reading[i]));
    j->page->timing.preprocess += clock_ms_since(start);
    return 0;
}
