#include "walk.h"

#include "base/clock.h"
#include "base/err.h"
#include "course.h"
#include "own_text.h"
#include "result/model.h"

#include <stdio.h>
#include <stdlib.h>

/* Small text on the global view is what the demonstration model cannot read, and it cannot tell (models/mini/README.md). */
static const char *const beyond_mini =
    "the page looks too dense for the small demonstration model: expect nonsense; use --model with the files of "
    "deepseek-ai/DeepSeek-OCR-2";

/* ---- ends ------------------------------------------------------------------------------------------------------------ */

static void push(struct job *j, enum recto_event_kind kind, struct recto_page *page)
{
    event_push(&j->recto->events,
               (struct recto_event){
                   .kind = kind, .request = j->book->id, .number = j->number, .page = page});
}

void book_end(struct recto *r, struct book *b)
{
    event_push(&r->events, (struct recto_event){.kind = RECTO_EVENT_DONE, .request = b->id});
    book_free(&r->books, b);
}

void job_end(struct job *j)
{
    struct recto *r = j->recto;
    struct book *b = j->book;

    j->page->timing.total = clock_ms_since(j->start_ns);
    push(j, RECTO_EVENT_PAGE, j->page);
    j->page = NULL;
    job_free(j);
    if (book_page_ended(&r->books, b))
        book_end(r, b);
}

void page_set_error(struct recto_page *p, int code, const char *text)
{
    p->status = code == RECTO_ECANCELED ? RECTO_PAGE_CANCELLED : RECTO_PAGE_ERROR;
    p->error = code;
    free(p->error_text);
    p->error_text = mem_strdup(text);
}

void job_fail(struct job *j, int code)
{
    page_set_error(j->page, code, code == RECTO_ECANCELED ? "cancelled" : err_text());
    job_end(j);
}

void book_fail(struct recto *r, struct book *b, int code)
{
    struct recto_page *p = mem_zero(1, sizeof *p);

    p->n_index = 1;
    page_set_error(p, code, code == RECTO_ECANCELED ? "cancelled" : err_text());
    event_push(&r->events,
               (struct recto_event){.kind = RECTO_EVENT_PAGE, .request = b->id, .page = p});
    book_end(r, b);
}

/* ---- 1 page: file -> pixels ------------------------------------------------------------------------------------------ */

/* What concerns the whole document is said with its first page. */
static void warn_of_document(struct job *j)
{
    const struct book *b = j->book;

    if (j->index)
        return;
    for (int i = 0; i < b->doc.n_warning; i++)
        page_add_warning(j->page, b->doc.warning[i]);
    if (b->is_past)
        page_add_warning(j->page, "the page range goes beyond the last page");
}

static int decode(struct job *j, struct page_source *source, struct recto_image *im)
{
    int64_t start = clock_ns();
    struct page_note note = {0};
    int rc = page_doc_draw(&j->book->doc, source, j->number, im, &note);

    if (j->rung == RUNG_NONE) { /* the first time */
        warn_of_document(j);
        for (int i = 0; i < note.n_warning; i++)
            page_add_warning(j->page, note.warning[i]);
    }
    j->page->dpi = note.dpi;
    j->page->width_pt = note.width_pt;
    j->page->height_pt = note.height_pt;
    memcpy(j->page->crop_pt, note.crop_pt, sizeof note.crop_pt);
    j->page->turn_pt = note.turn_pt;
    page_note_reset(&note);
    j->page->timing.decode_image += clock_ms_since(start);
    return rc;
}

/* How much ink, and which way its lines run. */
static int look_at_page(struct job *j, const struct recto_image *im)
{
    const struct recto_options *o = &j->book->opt;

    j->page->width = im->width;
    j->page->height = im->height;
    j->turn = o->rotate == RECTO_ROTATE_AUTO ? 0 : o->rotate;
    TRY(ink_of_raster(&j->ink, im));
    j->is_blank = !o->no_blank_check && ink_is_blank(&j->ink);
    j->rung = course_first(j);
    return 0;
}

/* What the first stage tells of the page. */
static int look_at_views(struct job *j)
{
    const struct reading *g = &j->reading[0];
    struct recto_page *p = j->page;
    struct ink ink;
    int w, h;

    p->tiles_w = g->views.tiles_w;
    p->tiles_h = g->views.tiles_h;
    p->n_visual = g->prompt.n_visual;
    p->n_prompt = g->prompt.n;
    if (!j->recto->is_default_model)
        return 0;
    frame_size(&g->frame, &w, &h);
    TRY(ink_measure(&ink, g->views.global, view_global_frame(w, h)));
    if (ink_is_dense(&ink))
        page_add_warning(p, beyond_mini);
    return 0;
}

/* Grid and visual rows of a page that no model sees. */
static void look_at_unread(struct job *j)
{
    struct recto_page *p = j->page;
    const struct model *m = model_of(j->recto);

    view_grid(p->width, p->height, m->cfg.crop_mode && !j->book->opt.whole_view, &p->tiles_w,
              &p->tiles_h);
    p->n_visual = vision_page_rows(&m->vision,
                                   p->tiles_w * p->tiles_h > 1 ? p->tiles_w * p->tiles_h : 0);
}

/* ---- stages ---------------------------------------------------------------------------------------------------------- */

static void announce(struct job *j)
{
    struct recto_page *p = mem_zero(1, sizeof *p);

    p->number = j->number;
    p->index = j->index;
    p->n_index = j->page->n_index;
    p->dpi = j->page->dpi;
    p->width = j->page->width;
    p->height = j->page->height;
    p->tiles_w = j->page->tiles_w;
    p->tiles_h = j->page->tiles_h;
    p->n_visual = j->page->n_visual;
    p->n_prompt = j->page->n_prompt;
    push(j, RECTO_EVENT_STARTED, p);
}

/* The page's first stage, unless it is blank, or its own text is taken. */
static int begin(struct job *j, struct page_source *source)
{
    struct recto_image im = {0};
    int rc;

    TRY_OUT(decode(j, source, &im));
    TRY_OUT(look_at_page(j, &im));
    own_text_look(j);
    if (j->is_blank || j->page->is_layer)
        look_at_unread(j);
    else {
        TRY_OUT(course_prepare(j, &im));
        TRY_OUT(look_at_views(j));
    }
out:
    recto_image_reset(&im);
    return rc;
}

/* A later stage: the page is drawn again, since rasters are too large to be kept. */
static int resume(struct job *j, struct page_source *source)
{
    struct recto_image im = {0};
    int rc;

    if (j->has_views)
        return course_prepare(j, NULL);
    TRY_OUT(decode(j, source, &im));
    TRY_OUT(course_prepare(j, &im));
out:
    recto_image_reset(&im);
    return rc;
}

/* Once the last reading is handed over, j may be gone. */
void job_send(struct job *j)
{
    int n = j->n_reading;

    for (int i = 0; i < n; i++) {
        struct request *q = &j->reading[i].req;
        int rc = fleet_submit_wait(&j->recto->fleet, q);

        if (rc < 0) {
            q->rc = rc;
            snprintf(q->rc_text, sizeof q->rc_text, "%s", err_text());
            reading_done(q);
        }
    }
}

void reading_done(struct request *q)
{
    struct job *j = ((struct reading *)q->owner)->job;

    if (atomic_fetch_sub(&j->n_open, 1) == 1)
        course_stage_done(j);
}

/* While recto_hold is on, prepared pages queue up instead. */
static bool keep_back(struct job *j)
{
    struct recto *r = j->recto;
    bool is_held;

    pthread_mutex_lock(&r->lock);
    is_held = r->is_held;
    if (is_held) {
        if (r->last_held)
            r->last_held->next_held = j;
        else
            r->held = j;
        r->last_held = j;
    }
    pthread_mutex_unlock(&r->lock);
    return is_held;
}

static void job_begin(struct job *j, struct page_source *source)
{
    int rc = begin(j, source);

    if (rc < 0) {
        job_fail(j, rc);
        return;
    }
    announce(j);
    if (j->is_blank || j->page->is_layer) {
        j->page->status = j->is_blank ? RECTO_PAGE_BLANK : RECTO_PAGE_OK;
        job_end(j);
    } else if (!keep_back(j))
        job_send(j);
}

void job_run(struct job *j, struct page_source *source)
{
    bool is_new = j->rung == RUNG_NONE, is_cancelled = atomic_load(&j->book->is_cancelled);
    int rc;

    if (is_new && (is_cancelled || atomic_load(&j->book->is_stopped)))
        job_fail(j, RECTO_ECANCELED);
    else if (is_cancelled)
        course_stage_failed(j, RECTO_ECANCELED);
    else if (is_new)
        job_begin(j, source);
    else if ((rc = resume(j, source)) < 0)
        course_stage_failed(j, rc);
    else if (!keep_back(j))
        job_send(j);
}

struct job *job_of_redo(struct redo *r)
{
    return (struct job *)((char *)r - offsetof(struct job, redo));
}

struct job *job_new(struct recto *r, struct book *b, int index)
{
    struct job *j = mem_zero(1, sizeof *j);

    j->recto = r;
    j->book = b;
    j->index = index;
    j->number = b->page[index];
    j->start_ns = b->start_ns;
    j->page = mem_zero(1, sizeof *j->page);
    j->page->number = j->number;
    j->page->index = index;
    j->page->n_index = b->n_page;
    pthread_mutex_lock(&r->lock);
    j->next = r->live;
    if (r->live)
        r->live->prev = j;
    r->live = j;
    pthread_mutex_unlock(&r->lock);
    return j;
}

void job_free(struct job *j)
{
    struct recto *r = j->recto;

    pthread_mutex_lock(&r->lock);
    if (j->prev)
        j->prev->next = j->next;
    else
        r->live = j->next;
    if (j->next)
        j->next->prev = j->prev;
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < JOB_READINGS; i++)
        reading_reset(&j->reading[i]);
    for (int i = 0; i < j->n_out; i++)
        if (j->got[i]) {
            recto_page_reset(j->got[i]);
            free(j->got[i]);
        }
    if (j->page)
        recto_page_reset(j->page);
    free(j->page);
    free(j);
}
