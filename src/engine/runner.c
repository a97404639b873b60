#include "engine/runner.h"

#include "base/clock.h"
#include "decoder/script.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- open: measure, then allocate ------------------------------------------------------------------------------------ */

/* A global view needs more than a tile, so a group of them is the largest. */
static void dry_encode(struct runner *rn, int n_view)
{
    struct run *r = &rn->run;
    const struct vision *v = &rn->model->vision;
    struct views views = {.n = {[GLOBAL_VIEW] = n_view}};

    vision_encode(r, v, scratch(r, DT_F32, vision_rows(v, &views), rn->model->cfg.decoder.hidden),
                  &views);
    scratch_reset(r, 0);
}

static void dry_forward(struct runner *rn, const struct runner_opts *o)
{
    struct run *r = &rn->run;
    const struct decoder_config *c = &rn->model->cfg.decoder;
    struct batch b = {.n_tok = o->max_tok, .n_out = o->max_out};

    op_step(r, &b, NULL, NULL);
    tensor x = scratch(r, DT_F32, b.n_tok, c->hidden),
           logits = scratch(r, DT_F32, b.n_out, c->vocab);
    decoder_embed(r, &rn->model->decoder, x);
    decoder_forward(r, &rn->model->decoder, logits, x);
    scratch_reset(r, 0);
    r->batch = NULL;
}

/* Prove every shape and size the scratch, then take it. */
static int open_scratch(struct runner *rn, const struct runner_opts *o)
{
    struct run *r = &rn->run;
    void *base;

    r->is_dry = true;
    dry_encode(rn, rn->view_batch);
    dry_forward(rn, o);
    r->is_dry = false;
    TRY(run_finish(r));
    TRY(r->be->alloc(r->dev, r->scratch.peak, &base));
    r->scratch = (struct arena){.base = base, .cap = r->scratch.peak};
    return 0;
}

static int open_kv(struct runner *rn, const struct runner_opts *o)
{
    const struct decoder_config *c = &rn->model->cfg.decoder;
    int block = o->kv_block_tok ? o->kv_block_tok : rn->model->info.kv_block_tok;
    int n_block = (int)div_up(o->kv_tok, block);
    struct kv_shape shape = {c->layers, c->kv_heads, c->head_dim,
                             n_block + 1, /* the last is no page's: for rows that fill up a step */
                             block};

    if (block <= 0 || block % 16)
        return err(RECTO_EUSAGE, "a KV block of %d tokens: expected a multiple of 16", block);
    rn->kv_bytes = rn->run.be->kv_bytes(rn->run.dev, &shape);
    TRY(rn->run.be->kv_open(rn->run.dev, &rn->run.kv, &shape));
    kv_pool_init(&rn->pool, n_block, block);
    return 0;
}

int runner_open(struct runner *rn, const struct model *m, const struct runner_opts *o)
{
    size_t n_logit = (size_t)o->max_out * (size_t)m->cfg.decoder.vocab;

    *rn = (struct runner){.model = m,
                          .max_out = o->max_out,
                          .view_batch = o->view_batch ? o->view_batch : MAX(m->info.view_batch, 1)};
    rn->run = (struct run){
        .be = m->be, .dev = m->dev, .act = m->info.act, .tap = o->tap, .tap_ctx = o->tap_ctx};
    TRY(open_scratch(rn, o));
    TRY(open_kv(rn, o));
    rn->logits = malloc(n_logit * sizeof *rn->logits);
    rn->ask = mem_zero((size_t)o->max_out, sizeof *rn->ask);
    rn->next = mem_zero((size_t)o->max_out, sizeof *rn->next);
    if (!rn->logits)
        return err(RECTO_ENOMEM, "no memory for the logits of %d rows", o->max_out);
    sampler_scratch_init(&rn->sampling, m->cfg.decoder.context, m->cfg.decoder.vocab);
    return 0;
}

void runner_close(struct runner *rn)
{
    if (rn->run.kv)
        rn->run.be->kv_close(rn->run.dev, rn->run.kv);
    if (rn->run.scratch.base)
        rn->run.be->free(rn->run.dev, rn->run.scratch.base);
    kv_pool_reset(&rn->pool);
    sampler_scratch_reset(&rn->sampling);
    free(rn->logits);
    free(rn->ask);
    free(rn->next);
    *rn = (struct runner){0};
}

/* ---- vision ---------------------------------------------------------------------------------------------------------- */

/* Rows [from, from + n) of q's visual rows. */
static tensor visual_rows(const struct runner *rn, const struct request *q, int from, int n)
{
    int hidden = rn->model->cfg.decoder.hidden;

    return tensor_rows(tensor_view(q->visual, DT_F32, 2, q->n_visual, hidden, 1, 1), from, n);
}

static int take_visual(struct runner *rn, struct request *q)
{
    size_t bytes = (size_t)q->n_visual * (size_t)rn->model->cfg.decoder.hidden * sizeof(float);

    return q->visual ? 0 : rn->run.be->alloc(rn->run.dev, bytes, &q->visual);
}

void runner_forget(struct runner *rn, void *visual)
{
    if (visual)
        rn->run.be->free(rn->run.dev, visual);
}

static const unsigned char *view_pixels(const struct request *q, int view)
{
    return view < q->n_tile ? q->tile + (size_t)view * 3 * 768 * 768 : q->global;
}

static enum view_size size_of(const struct sched_view *v)
{
    return v->view < v->page->n_tile ? TILE_VIEW : GLOBAL_VIEW;
}

/* A page's rows: locals first, then the global view, then the separator. */
static void put_rows(struct runner *rn, const struct sched_view *v, tensor rows)
{
    struct run *r = &rn->run;
    const struct vision *vis = &rn->model->vision;
    struct request *q = request_of(v->page);
    int at = v->view * vision_view_rows(vis, TILE_VIEW);

    op_copy(r, visual_rows(rn, q, at, (int)rows.n[0]), rows);
    if (v->view == q->n_tile)
        op_copy(r, visual_rows(rn, q, q->n_visual - 1, 1), vis->separator);
}

static void encode_views(struct runner *rn, const struct sched_view *view, int n_view,
                         const struct views *views)
{
    struct run *r = &rn->run;
    const struct vision *v = &rn->model->vision;
    tensor out = scratch(r, DT_F32, vision_rows(v, views), rn->model->cfg.decoder.hidden);
    int at[VIEW_SIZES] = {[GLOBAL_VIEW] = views->n[TILE_VIEW] * vision_view_rows(v, TILE_VIEW)};

    vision_encode(r, v, out, views);
    for (int i = 0; i < n_view; i++) {
        enum view_size s = size_of(&view[i]);
        int n_row = vision_view_rows(v, s);

        put_rows(rn, &view[i], tensor_rows(out, at[s], n_row));
        at[s] += n_row;
    }
    scratch_reset(r, 0);
}

int runner_encode(struct runner *rn, const struct sched_view *view, int n_view)
{
    const unsigned char **pixels = mem_alloc((size_t)n_view * VIEW_SIZES * sizeof *pixels);
    struct views views = {.pixels = {pixels, pixels + n_view}};
    int rc = 0;

    for (int i = 0; rc == 0 && i < n_view; i++) {
        struct request *q = request_of(view[i].page);
        enum view_size s = size_of(&view[i]);

        views.pixels[s][views.n[s]++] = view_pixels(q, view[i].view);
        rc = take_visual(rn, q);
    }
    if (rc == 0) {
        encode_views(rn, view, n_view, &views);
        rc = run_finish(&rn->run);
    }
    free(pixels);
    return rc;
}

int64_t runner_now_ns(const struct runner *rn)
{
    return rn->run.be->now_ns ? rn->run.be->now_ns(rn->run.dev) : clock_ns();
}

/* ---- decoder --------------------------------------------------------------------------------------------------------- */

/* The rows of a begun step through the decoder; logits stay on the device, in scratch that the caller resets. */
static tensor forward(struct runner *rn, const struct batch_builder *bb)
{
    struct run *r = &rn->run;
    const struct decoder *d = &rn->model->decoder;
    const struct batch *b = &bb->b;
    tensor x = scratch(r, DT_F32, b->n_tok, d->cfg->hidden),
           logits = scratch(r, DT_F32, b->n_out, d->cfg->vocab);

    decoder_embed(r, d, x);
    for (int i = 0; i < bb->n_visual; i++) {
        const struct batch_visual *v = &bb->visual[i];

        op_copy(r, tensor_rows(x, v->row, v->n), visual_rows(rn, v->q, v->from, v->n));
    }
    decoder_forward(r, d, logits, x);
    return logits;
}

static int end_step(struct run *r)
{
    scratch_reset(r, 0);
    r->batch = NULL;
    return run_finish(r);
}

int runner_forward(struct runner *rn, const struct batch_builder *bb)
{
    struct run *r = &rn->run;
    tensor logits;

    op_step(r, &bb->b, NULL, NULL);
    logits = forward(rn, bb);
    TRY(end_step(r));
    return r->be->download(r->dev, rn->logits, logits.data,
                           (size_t)tensor_count(logits) * sizeof(float));
}

/* Devices choose the likeliest id; drawing at random is the host's, but for a simulated device, which has no logits. */
static bool chooses_on_device(const struct runner *rn, int n)
{
    if (!rn->run.be->sample || rn->run.be->is_simulated)
        return rn->run.be->sample != NULL;
    for (int i = 0; i < n; i++)
        if (rn->ask[i].sampler->temperature > 0)
            return false;
    return true;
}

/* A scripted device: the rows run for their bookkeeping, the ids stand in the requests. */
static int step_by_script(struct runner *rn, const struct batch_builder *bb)
{
    int token_us = 0;

    op_step(&rn->run, &bb->b, NULL, NULL);
    forward(rn, bb);
    scratch_reset(&rn->run, 0);
    for (int i = 0; i < bb->b.n_out; i++) {
        const struct script_stream *s = bb->out[i]->script;

        if (!s)
            return err(RECTO_EDEVICE, "device: nothing is scripted for this page");
        TRY(script_next(s, &rn->ask[i], &rn->sampling, &rn->next[i]));
        token_us = MAX(token_us, s->token_us);
    }
    if (token_us)
        usleep((useconds_t)token_us);
    return end_step(&rn->run);
}

static void ask_all(struct runner *rn, const struct batch_builder *bb)
{
    static const struct sampler any = {.top_p = 1};

    for (int i = 0; i < bb->b.n_out; i++) {
        const struct request *q = bb->out[i];

        rn->ask[i] = (struct sample_ask){.sampler = &any};
        if (q)
            rn->ask[i] = (struct sample_ask){&q->sampler, q->id,      q->s.n_known,
                                             q->n_prompt, q->image.a, rn->model->cfg.decoder.eos};
    }
}

static int step_on_device(struct runner *rn, const struct batch_builder *bb)
{
    struct run *r = &rn->run;

    if (!op_step(r, &bb->b, rn->ask, rn->next))
        op_sample(r, forward(rn, bb), rn->ask, rn->next);
    return end_step(r);
}

static int step_on_host(struct runner *rn, const struct batch_builder *bb, int n)
{
    int vocab = rn->model->cfg.decoder.vocab;

    TRY(runner_forward(rn, bb));
    for (int i = 0; i < n; i++)
        rn->next[i] = sampler_next(&rn->ask[i], rn->logits + (size_t)i * (size_t)vocab, vocab,
                                   &rn->sampling);
    return 0;
}

int runner_step(struct runner *rn, struct batch_builder *bb, struct pick *next)
{
    const struct batch own = bb->b; /* without what fills it up */
    int rc;

    if (rn->model->info.replays && batch_is_decode(bb))
        batch_pad(bb, MIN(batch_bucket(own.n_out), rn->max_out), rn->pool.n_block,
                  rn->pool.block_tok);
    ask_all(rn, bb);
    rc = rn->run.be->is_scripted            ? step_by_script(rn, bb)
         : chooses_on_device(rn, own.n_out) ? step_on_device(rn, bb)
                                            : step_on_host(rn, bb, own.n_out);
    bb->b = own;
    if (rc == 0)
        memcpy(next, rn->next, (size_t)own.n_out * sizeof *next);
    return rc;
}
