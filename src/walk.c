#include "walk.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/prefix.h"
#include "judge.h"
#include "result/model.h"

#include <math.h>
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

/* The page goes out; with the last of its document nothing more comes of the request. */
static void job_end(struct job *j)
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

void book_fail(struct recto *r, struct book *b, int code)
{
    struct recto_page *p = mem_zero(1, sizeof *p);

    p->n_index = 1;
    set_error(p, code, code == RECTO_ECANCELED ? "cancelled" : err_text());
    event_push(&r->events,
               (struct recto_event){.kind = RECTO_EVENT_PAGE, .request = b->id, .page = p});
    book_end(r, b);
}

/* ---- 1 page: file -> pixels -> views --------------------------------------------------------------------------------- */

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

static void set_image_key(struct job *j)
{
    bool crop_mode = j->recto->engine.model.cfg.crop_mode;
    struct buf room = {0};
    str what = page_doc_identity(&j->book->doc, j->number, &room);

    if (!j->recto->set.no_reuse)
        j->image = prefix_image_key(what.p, what.n, crop_mode ? "tiles" : "global");
    buf_reset(&room);
}

static int decode(struct job *j, struct page_source *source, struct recto_image *im)
{
    int64_t start = clock_ns();
    struct page_note note = {0};
    int rc = page_doc_draw(&j->book->doc, source, j->number, im, &note);

    warn_of_document(j);
    for (int i = 0; i < note.n_warning; i++)
        page_add_warning(j->page, note.warning[i]);
    if (rc == 0)
        set_image_key(j);
    j->page->dpi = note.dpi;
    j->page->width_pt = note.width_pt;
    j->page->height_pt = note.height_pt;
    page_note_reset(&note);
    j->page->timing.decode_image = clock_ms_since(start);
    return rc;
}

/* A page without ink ends here, before anything is computed. */
static int look_at_ink(struct job *j, const struct recto_image *im)
{
    if (j->book->opt.no_blank_check)
        return 0;
    TRY(ink_of_raster(&j->ink, im));
    j->is_blank = ink_is_blank(&j->ink);
    return 0;
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
            page_add_warning(p, beyond_mini);
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
        .task = j->book->opt.task,
        .phrase = j->book->opt.phrase,
        .prompt = j->book->opt.prompt,
        .image_id = r->image_id,
        .n_visual = j->page->n_visual,
    };

    TRY(prompt_build(&j->prompt, &r->tokenizer, &ask));
    TRY(prompt_check_length(&j->prompt, context));
    room = context - j->prompt.n;
    j->req.max_new = j->book->opt.max_tokens ? MIN(j->book->opt.max_tokens, room) : room;
    j->prompt.id = mem_grow(j->prompt.id, (size_t)(j->prompt.n + j->req.max_new),
                            sizeof *j->prompt.id);
    j->logp = mem_alloc((size_t)j->req.max_new * sizeof *j->logp);
    j->page->n_prompt = j->prompt.n;
    return 0;
}

/* ---- 6 result: ids -> text -> blocks (engine thread) ----------------------------------------------------------------- */

static void on_token(struct request *q, struct pick pick)
{
    struct job *j = q->owner;

    detok_put(&j->detok, pick.id, &j->text);
    if (j->text.n == 0)
        return;
    event_push(&j->recto->events, (struct recto_event){.kind = RECTO_EVENT_TEXT,
                                                       .request = j->book->id,
                                                       .number = j->number,
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
    parse_ids(p->id, (size_t)n, tokenizer_pieces(&j->recto->tokenizer),
              tokenizer_n_vocab(&j->recto->tokenizer), &j->recto->marker, q->finish, p);
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
    else {
        take_result(j);
        judge_page(j->page, &j->ink, &j->book->opt);
    }
    t->post = clock_ms_since(start);
    job_end(j);
}

/* ---- 4 engine -------------------------------------------------------------------------------------------------------- */

/* On a scripted device: what this reading will say. */
static int find_script(struct job *j)
{
    const char *slash = strrchr(j->book->in.name, '/');
    struct script_ask ask = {
        .document = slash ? slash + 1 : j->book->in.name,
        .page = j->number,
        .attempt = 1,
        .rung = "first",
    };

    if (!j->recto->script.root)
        return 0;
    TRY(script_find(&j->recto->script, &ask, &j->script));
    j->req.script = &j->script;
    return 0;
}

static void fill_request(struct job *j)
{
    const struct recto *r = j->recto;
    const struct model_config *c = &r->engine.model.cfg;
    struct request *q = &j->req;
    int n = j->book->opt.guard_n ? j->book->opt.guard_n : c->guard_n,
        w = j->book->opt.guard_n ? j->book->opt.guard_w : c->guard_w;

    q->s.cls = (enum sched_class)j->book->opt.priority;
    q->s.caller = j->book->opt.caller;
    q->s.job = j->book->opt.job;
    q->owner = j;
    q->id = j->prompt.id;
    q->logp = j->logp;
    q->image = j->image;
    q->loops = (struct loop_opts){.cell_end = r->exempt[1], .block_start = r->marker.ref_open};
    q->watches_loops = !j->book->opt.no_loop_check;
    q->keeps_going = j->book->opt.ignore_eos;
    q->deadline_ns = j->book->opt.deadline_ms
                         ? j->start_ns + (int64_t)j->book->opt.deadline_ms * 1000000
                         : 0;
    q->n_prompt = j->prompt.n;
    q->image_at = j->prompt.slot;
    q->n_visual = j->prompt.n_visual;
    q->tile = j->views.tile;
    q->global = j->views.global;
    q->n_tile = j->views.n_tile;
    q->sampler = (struct sampler){
        .guard = {MAX(n, 0), w, {r->exempt[0], r->exempt[1]}},
        .temperature = j->book->opt.temperature,
        .top_p = j->book->opt.top_p,
        .seed = j->book->opt.seed,
    };
    q->on_token = j->book->opt.stream ? on_token : NULL;
    q->on_done = on_done;
    detok_init(&j->detok, tokenizer_pieces(&r->tokenizer), tokenizer_n_vocab(&r->tokenizer));
}

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

static int prepare(struct job *j, struct page_source *source)
{
    struct recto_image im = {0};
    int rc;

    if (atomic_load(&j->book->is_cancelled) || atomic_load(&j->book->is_stopped))
        return RECTO_ECANCELED;
    TRY_OUT(decode(j, source, &im));
    TRY_OUT(look_at_ink(j, &im));
    TRY_OUT(cut_views(j, &im));
    if (!j->is_blank) {
        TRY_OUT(build_prompt(j));
        TRY_OUT(find_script(j));
    }
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
    if (j->is_blank) {
        announce(j);
        j->page->status = RECTO_PAGE_BLANK;
        job_end(j);
        return;
    }
    fill_request(j);
    announce(j);
    if (!keep_back(j))
        job_send(j);
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
    views_reset(&j->views);
    prompt_reset(&j->prompt);
    buf_reset(&j->text);
    script_stream_reset(&j->script);
    free(j->logp);
    if (j->page)
        recto_page_reset(j->page);
    free(j->page);
    free(j);
}
