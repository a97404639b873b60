#include "walk.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/prefix.h"
#include "page/inkcheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Small text on the global view is what the demonstration model cannot read, and it cannot tell (models/mini/README.md). */
static const char *const beyond_mini =
    "the page looks too dense for the small demonstration model: expect nonsense; use --model with the files of "
    "deepseek-ai/DeepSeek-OCR-2";

/* ---- ends ------------------------------------------------------------------------------------------------------------ */

static void push(struct job *j, enum recto_event_kind kind, struct recto_page *page)
{
    event_push(&j->recto->events, (struct recto_event){.kind = kind, .request = j->id, .number = 1, .page = page});
}

/* The page goes out, and nothing more comes of its request. */
static void job_end(struct job *j)
{
    j->page->timing.total = clock_ms_since(j->start_ns);
    push(j, RECTO_EVENT_PAGE, j->page);
    j->page = NULL;
    push(j, RECTO_EVENT_DONE, NULL);
    job_free(j);
}

static void set_error(struct recto_page *p, int code, const char *text)
{
    p->status = code == RECTO_ECANCELED ? RECTO_PAGE_CANCELLED : RECTO_PAGE_ERROR;
    p->error = code;
    free(p->error_text);
    p->error_text = mem_strdup(text);
}

void job_fail(struct job *j, int code)
{
    set_error(j->page, code, code == RECTO_ECANCELED ? "cancelled" : err_text());
    job_end(j);
}

static void add_warning(struct recto_page *p, const char *text)
{
    p->warning = mem_grow(p->warning, (size_t)p->n_warning + 1, sizeof *p->warning);
    p->warning[p->n_warning++] = mem_strdup(text);
}

/* ---- 1 page: file -> pixels -> views --------------------------------------------------------------------------------- */

static int decode(struct job *j, struct page_source *source, struct recto_image *im)
{
    int64_t start = clock_ns();
    struct page_note note = {0};
    struct buf file = {0};
    str bytes = {(const char *)j->data, j->len};
    int rc = 0;

    if (j->path) {
        rc = file_read(&file, j->path, (size_t)4 << 30);
        bytes = buf_view(&file);
    }
    if (rc == 0)
        rc = page_decode(source, j->name, bytes.p, bytes.n, im, &note);
    if (rc == 0 && !j->recto->set.no_reuse)
        j->image = prefix_image_key(bytes.p, bytes.n, j->recto->engine.model.cfg.crop_mode ? "tiles" : "global");
    for (int i = 0; i < note.n_warning; i++)
        add_warning(j->page, note.warning[i]);
    page_note_reset(&note);
    buf_reset(&file);
    j->page->timing.decode_image = clock_ms_since(start);
    return rc;
}

static int cut_views(struct job *j, const struct recto_image *im)
{
    int64_t start = clock_ns();
    struct recto_page *p = j->page;
    struct ink ink;

    TRY(views_make(&j->views, im, j->recto->engine.model.cfg.crop_mode));
    p->width = im->width;
    p->height = im->height;
    p->tiles_w = j->views.tiles_w;
    p->tiles_h = j->views.tiles_h;
    p->n_visual = vision_page_rows(&j->recto->engine.model.vision, j->views.n_tile);
    if (j->recto->is_default_model) {
        TRY(ink_measure(&ink, j->views.global, view_global_frame(im->width, im->height)));
        if (ink_is_dense(&ink))
            add_warning(p, beyond_mini);
    }
    p->timing.preprocess = clock_ms_since(start);
    return 0;
}

/* ---- 3 prompt: text -> ids, image slots ------------------------------------------------------------------------------ */

static int build_prompt(struct job *j)
{
    const struct recto *r = j->recto;
    int context = r->engine.model.cfg.decoder.context, room;
    struct prompt_ask ask = {
        .task = j->opt.task,
        .phrase = j->opt.phrase,
        .prompt = j->opt.prompt,
        .image_id = r->image_id,
        .n_visual = j->page->n_visual,
    };

    TRY(prompt_build(&j->prompt, &r->tokenizer, &ask));
    TRY(prompt_check_length(&j->prompt, context));
    room = context - j->prompt.n;
    j->req.max_new = j->opt.max_tokens ? MIN(j->opt.max_tokens, room) : room;
    j->prompt.id = mem_grow(j->prompt.id, (size_t)(j->prompt.n + j->req.max_new), sizeof *j->prompt.id);
    j->logp = mem_alloc((size_t)j->req.max_new * sizeof *j->logp);
    j->page->n_prompt = j->prompt.n;
    return 0;
}

/* ---- 6 result: ids -> text -> blocks (engine thread) ----------------------------------------------------------------- */

static void on_token(struct request *q, int32_t id)
{
    struct job *j = q->owner;

    detok_put(&j->detok, id, &j->text);
    if (j->text.n == 0)
        return;
    event_push(&j->recto->events, (struct recto_event){.kind = RECTO_EVENT_TEXT,
                                                       .request = j->id,
                                                       .number = 1,
                                                       .text = j->text.p,
                                                       .n_text = j->text.n});
    j->text = (struct buf){0};
}

static double ms_between(int64_t from, int64_t to)
{
    return from && to > from ? (double)(to - from) / 1e6 : 0;
}

static void take_result(struct job *j)
{
    const struct request *q = &j->req;
    struct recto_page *p = j->page;
    int n = q->n_new;
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += q->logp[i];
    p->finish = q->finish;
    p->status = q->finish == RECTO_FINISH_LENGTH ? RECTO_PAGE_LENGTH
                : q->finish == RECTO_FINISH_LOOP ? RECTO_PAGE_LOOP
                                                 : RECTO_PAGE_OK;
    p->n_token = n;
    p->n_intervention = q->n_intervention;
    p->conf = n ? exp(sum / n) : 0;
    p->id = mem_alloc((size_t)n * sizeof *p->id);
    memcpy(p->id, q->id + q->n_prompt, (size_t)n * sizeof *p->id);
    p->logp = j->logp;
    j->logp = NULL;
    parse_ids(p->id, (size_t)n, tokenizer_pieces(&j->recto->tokenizer), tokenizer_n_vocab(&j->recto->tokenizer),
              &j->recto->marker, q->finish, p);
}

static void on_done(struct request *q)
{
    struct job *j = q->owner;
    struct recto_timing *t = &j->page->timing;
    int64_t start = clock_ns();

    t->queue = ms_between(q->submitted_ns, q->admitted_ns);
    t->vision = q->vision_ms;
    t->prefill = ms_between(q->prefill_ns, q->first_ns);
    t->decode = ms_between(q->first_ns, q->done_ns);
    if (q->rc < 0)
        set_error(j->page, q->rc, q->rc_text);
    else
        take_result(j);
    t->post = clock_ms_since(start);
    job_end(j);
}

/* ---- 4 engine -------------------------------------------------------------------------------------------------------- */

static void fill_request(struct job *j)
{
    const struct recto *r = j->recto;
    const struct model_config *c = &r->engine.model.cfg;
    struct request *q = &j->req;
    int n = j->opt.guard_n ? j->opt.guard_n : c->guard_n, w = j->opt.guard_n ? j->opt.guard_w : c->guard_w;

    q->s.cls = (enum sched_class)j->opt.priority;
    q->s.caller = j->opt.caller;
    q->s.job = j->opt.job;
    q->owner = j;
    q->id = j->prompt.id;
    q->logp = j->logp;
    q->image = j->image;
    q->cell_end = r->exempt[1];
    q->watches_loops = !j->opt.no_loop_check;
    q->keeps_going = j->opt.ignore_eos;
    q->deadline_ns = j->opt.deadline_ms ? j->start_ns + (int64_t)j->opt.deadline_ms * 1000000 : 0;
    q->n_prompt = j->prompt.n;
    q->image_at = j->prompt.slot;
    q->n_visual = j->prompt.n_visual;
    q->tile = j->views.tile;
    q->global = j->views.global;
    q->n_tile = j->views.n_tile;
    q->sampler = (struct sampler){
        .guard = {MAX(n, 0), w, {r->exempt[0], r->exempt[1]}},
        .temperature = j->opt.temperature,
        .top_p = j->opt.top_p,
        .seed = j->opt.seed,
    };
    q->on_token = j->opt.stream ? on_token : NULL;
    q->on_done = on_done;
    detok_init(&j->detok, tokenizer_pieces(&r->tokenizer), tokenizer_n_vocab(&r->tokenizer));
}

static void announce(struct job *j)
{
    struct recto_page *p = mem_zero(1, sizeof *p);

    p->number = 1;
    p->width = j->page->width;
    p->height = j->page->height;
    p->tiles_w = j->page->tiles_w;
    p->tiles_h = j->page->tiles_h;
    p->n_visual = j->page->n_visual;
    p->n_prompt = j->page->n_prompt;
    push(j, RECTO_EVENT_STARTED, p);
}

static int prepare(struct job *j, struct page_source *source)
{
    struct recto_image im = {0};
    int rc;

    if (atomic_load(&j->req.is_cancelled))
        return RECTO_ECANCELED;
    TRY_OUT(decode(j, source, &im));
    TRY_OUT(cut_views(j, &im));
    TRY_OUT(build_prompt(j));
out:
    recto_image_reset(&im);
    return rc;
}

void job_send(struct job *j)
{
    int rc = engine_submit_wait(&j->recto->engine, &j->req);

    if (rc < 0)
        job_fail(j, rc);
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

void job_run(struct job *j, struct page_source *source)
{
    int rc = prepare(j, source);

    if (rc < 0) {
        job_fail(j, rc);
        return;
    }
    fill_request(j);
    announce(j);
    if (!keep_back(j))
        job_send(j);
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
    views_reset(&j->views);
    prompt_reset(&j->prompt);
    buf_reset(&j->text);
    free(j->logp);
    free((char *)j->opt.phrase);
    free((char *)j->opt.prompt);
    free(j->name);
    free(j->path);
    free(j->data);
    if (j->page)
        recto_page_reset(j->page);
    free(j->page);
    free(j);
}
