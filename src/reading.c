#include "reading.h"

#include "engine/prefix.h"
#include "result/model.h"
#include "walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- 1 page: pixels -> views ----------------------------------------------------------------------------------------- */

static bool uses_tiles(const struct reading *g)
{
    return model_of(g->job->recto)->cfg.crop_mode && !g->job->book->opt.whole_view;
}

/* The content, and how it was cut: what tells these visual rows from all others. */
static void set_image_key(struct reading *g)
{
    const struct job *j = g->job;
    const struct page_frame *f = &g->frame;
    struct buf room = {0};
    size_t n;
    str what;
    char how[160];

    if (j->recto->set.no_reuse)
        return;
    what = page_doc_identity(&j->book->doc, j->number, &room);
    snprintf(how, sizeof how, "%s", uses_tiles(g) ? "tiles" : "global");
    n = strlen(how);
    if (!frame_is_plain(f) || j->book->opt.official)
        snprintf(how + n, sizeof how - n, " as %d turn %d part %d %d %d %d scale %d border %d %d",
                 j->book->opt.official, f->turn, f->x, f->y, f->w, f->h, f->scale, f->border_x,
                 f->border_y);
    g->image = prefix_image_key(what.p, what.n, how);
    buf_reset(&room);
}

int reading_cut(struct reading *g, const struct recto_image *page)
{
    struct recto_image part;
    int rc;

    set_image_key(g);
    if (frame_is_plain(&g->frame))
        return views_make(&g->views, page, uses_tiles(g));
    TRY(frame_draw(&g->frame, page, &part));
    rc = views_make(&g->views, &part, uses_tiles(g));
    recto_image_reset(&part);
    return rc;
}

/* ---- 3 prompt: text -> ids, image slots ------------------------------------------------------------------------------ */

static int build_prompt(struct reading *g)
{
    const struct recto *r = g->job->recto;
    int context = model_of(r)->cfg.decoder.context, room;
    struct prompt_ask ask = {
        .task = g->ask.task,
        .phrase = g->ask.phrase,
        .prompt = g->ask.prompt,
        .image_id = r->image_id,
        .n_visual = vision_page_rows(&model_of(r)->vision, g->views.n_tile),
    };

    TRY(prompt_build(&g->prompt, &r->tokenizer, &ask));
    TRY(prompt_check_length(&g->prompt, context));
    room = context - g->prompt.n;
    g->req.max_new = g->ask.max_new ? MIN(g->ask.max_new, room) : room;
    g->prompt.id = mem_grow(g->prompt.id, (size_t)(g->prompt.n + g->req.max_new),
                            sizeof *g->prompt.id);
    g->logp = mem_alloc((size_t)g->req.max_new * sizeof *g->logp);
    return 0;
}

/* On a scripted device: what this reading will say. */
static int find_script(struct reading *g)
{
    const struct job *j = g->job;
    const char *slash = strrchr(j->book->in.name, '/');
    struct script_ask ask = {
        .document = slash ? slash + 1 : j->book->in.name,
        .page = j->number,
        .attempt = g->ask.attempt,
        .rung = rung_name(g->ask.rung),
        .turn = g->frame.turn,
        .half = g->ask.half,
        .view = g->views.n_tile ? "tiles" : "global",
    };

    if (!j->recto->script.root)
        return 0;
    TRY(script_find(&j->recto->script, &ask, &g->script));
    g->req.script = &g->script;
    return 0;
}

/* ---- while it is read (engine thread) -------------------------------------------------------------------------------- */

static bool ends_with(const struct table_watch *w, str what)
{
    return memcmp(w->last + sizeof w->last - what.n, what.p, what.n) == 0;
}

static void watch_tables(struct table_watch *w, str piece)
{
    for (size_t i = 0; i < piece.n; i++) {
        memmove(w->last, w->last + 1, sizeof w->last - 1);
        w->last[sizeof w->last - 1] = piece.p[i];
        if (ends_with(w, STR("<table")))
            w->is_in = true;
        else if (ends_with(w, STR("</table>")))
            w->is_in = false;
    }
}

static void note_forced(struct reading *g)
{
    if (g->n_forced && g->forced_in[g->n_forced - 1] == g->n_ref)
        return;
    g->forced_in = mem_grow(g->forced_in, (size_t)g->n_forced + 1, sizeof *g->forced_in);
    g->forced_in[g->n_forced++] = g->n_ref;
}

static void stream(struct reading *g, int32_t id)
{
    struct job *j = g->job;

    detok_put(&g->detok, id, &g->text);
    if (g->text.n == 0)
        return;
    event_push(&j->recto->events, (struct recto_event){.kind = RECTO_EVENT_TEXT,
                                                       .request = j->book->id,
                                                       .number = j->number,
                                                       .text = g->text.p,
                                                       .n_text = g->text.n});
    g->text = (struct buf){0};
}

static void on_token(struct request *q, struct pick pick)
{
    struct reading *g = q->owner;
    const struct recto *r = g->job->recto;

    g->n_ref += pick.id == r->marker.ref_open;
    if (pick.intervened && g->table.is_in)
        note_forced(g);
    watch_tables(&g->table, tokenizer_piece(&r->tokenizer, pick.id));
    if (g->ask.frees_tables)
        q->sampler.guard.n = g->table.is_in ? 0 : MAX(g->ask.guard_n, 0);
    if ((g->job->book->opt.stream || g->job->book->opt.preview) && g->ask.rung == RUNG_FIRST)
        stream(g, pick.id);
}

/* ---- 4 engine -------------------------------------------------------------------------------------------------------- */

static void fill_request(struct reading *g)
{
    const struct job *j = g->job;
    const struct recto *r = j->recto;
    const struct recto_options *o = &j->book->opt;
    struct request *q = &g->req;

    q->s.cls = g->ask.is_retry ? CLASS_RETRY : (enum sched_class)o->priority;
    q->s.caller = o->caller;
    q->s.job = o->job;
    q->owner = g;
    q->id = g->prompt.id;
    q->logp = g->logp;
    q->image = g->image;
    q->loops = (struct loop_opts){.cell_end = r->exempt[1],
                                  .block_start = r->marker.ref_open,
                                  .ignores_forced = g->ask.frees_tables};
    q->watches_loops = !o->no_loop_check;
    q->keeps_going = o->ignore_eos;
    q->deadline_ns = o->deadline_ms ? j->start_ns + (int64_t)o->deadline_ms * 1000000 : 0;
    q->n_prompt = g->prompt.n;
    q->image_at = g->prompt.slot;
    q->n_visual = g->prompt.n_visual;
    q->tile = g->views.tile;
    q->global = g->views.global;
    q->n_tile = g->views.n_tile;
    q->sampler = (struct sampler){
        .guard = {MAX(g->ask.guard_n, 0), g->ask.guard_w, {r->exempt[0], r->exempt[1]}},
        .temperature = o->temperature,
        .top_p = o->top_p,
        .seed = o->seed,
    };
    q->on_token = on_token;
    q->on_done = reading_done;
    detok_init(&g->detok, tokenizer_pieces(&r->tokenizer), tokenizer_n_vocab(&r->tokenizer));
}

int reading_build(struct reading *g)
{
    TRY(build_prompt(g));
    TRY(find_script(g));
    fill_request(g);
    return 0;
}

/* ---- 6 result: ids -> text -> blocks (engine thread) ----------------------------------------------------------------- */

static void map_boxes(const struct page_frame *f, struct recto_page *p)
{
    if (frame_is_plain(f))
        return;
    for (int i = 0; i < p->n_block; i++)
        for (int k = 0; k < p->block[i].n_box; k++)
            p->block[i].box[k] = frame_box(f, p->block[i].box[k]);
}

/* Tables in which the guard forbade the best id: true repetition may have been altered there. */
static void flag_tables(const struct reading *g, struct recto_page *p)
{
    bool has_gap = p->n_block && p->block[0].flags & RECTO_BLOCK_IMPLICIT, any = false;

    for (int i = 0; i < g->n_forced; i++) {
        int at = g->forced_in[i] - !has_gap;

        if (at < 0 || at >= p->n_block)
            continue;
        p->block[at].flags |= RECTO_BLOCK_GUARD_IN_TABLE;
        any = true;
    }
    if (any)
        page_add_warning(p, "repeated cells may be altered");
}

/* Equal blocks that were not equal id for id are seen only now. */
static void cut_equal_blocks(struct recto_page *p)
{
    int keep = page_block_loop(p);

    if (keep < 0)
        return;
    for (int i = keep; i < p->n_block; i++)
        block_reset(&p->block[i]);
    p->n_block = keep;
    p->finish = RECTO_FINISH_LOOP;
}

void reading_take(struct reading *g, struct recto_page *p)
{
    const struct request *q = &g->req;
    const struct recto *r = g->job->recto;
    int n = q->n_new;
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += q->logp[i];
    p->finish = q->finish;
    p->tiles_w = g->views.tiles_w;
    p->tiles_h = g->views.tiles_h;
    p->n_visual = g->prompt.n_visual;
    p->n_prompt = g->prompt.n;
    p->n_token = n;
    p->n_intervention = q->n_intervention;
    p->conf = n ? exp(sum / n) : 0;
    p->id = mem_alloc((size_t)n * sizeof *p->id);
    memcpy(p->id, q->id + q->n_prompt, (size_t)n * sizeof *p->id);
    p->logp = g->logp;
    g->logp = NULL;
    parse_ids(p->id, (size_t)n, tokenizer_pieces(&r->tokenizer), tokenizer_n_vocab(&r->tokenizer),
              &r->marker, q->finish, p);
    flag_tables(g, p);
    if (!g->job->book->opt.no_loop_check)
        cut_equal_blocks(p);
    map_boxes(&g->frame, p);
}

void reading_forget(struct reading *g)
{
    prompt_reset(&g->prompt);
    buf_reset(&g->text);
    script_stream_reset(&g->script);
    free(g->logp);
    free(g->forced_in);
    g->logp = NULL;
    g->forced_in = NULL;
}

void reading_reset(struct reading *g)
{
    views_reset(&g->views);
    reading_forget(g);
}
