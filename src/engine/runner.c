#include "engine/runner.h"

#include "base/clock.h"
#include "decoder/script.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- all ranks ------------------------------------------------------------------------------------------------------- */

/* fn by every rank. What one of them left behind when it failed must not be taken for a part of the next step. */
static int by_all(struct runner *rn, team_fn *fn, void *ctx)
{
    int rc;

    if (!rn->ranks)
        return fn(ctx, 0);
    rc = team_run(rn->ranks->team, fn, ctx);
    if (rc < 0) {
        char text[ERR_TEXT_MAX];

        memcpy(text, err_text(), sizeof text);
        TRY(runner_rejoin(rn));
        return err(rc, "%s", text);
    }
    return 0;
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

/* Views dealt out: where they are, and whose they are. */
struct deal {
    struct runner *rn;
    const struct sched_view *view;
    int n_view;
    unsigned char *rank; /* [n_view] */
};

/* A global view costs about two tiles, so it counts for two, and the largest come first; nobody gets more than view_each.  Taps
 * hold all views of a page: they are one rank's. */
static void deal_out(struct deal *d)
{
    int n = runner_ranks(d->rn), load[COMM_RANKS] = {0}, count[COMM_RANKS] = {0};

    for (int size = VIEW_SIZES - 1; size >= 0; size--)
        for (int i = 0; i < d->n_view; i++) {
            int to = -1;

            if ((int)size_of(&d->view[i]) != size)
                continue;
            for (int r = 0; r < n; r++)
                if (count[r] < d->rn->view_each && (to < 0 || load[r] < load[to]))
                    to = r;
            to = d->rn->run.tap || to < 0 ? 0 : to;
            d->rank[i] = (unsigned char)to;
            load[to] += size == GLOBAL_VIEW ? 2 : 1;
            count[to]++;
        }
}

/* A rank's views into the visual rows, which are rank 0's memory. */
static int encode_mine(void *ctx, int rank)
{
    const struct deal *d = ctx;
    struct runner *rn = runner_of(d->rn, rank);
    struct sched_view *mine = mem_alloc((size_t)d->n_view * sizeof *mine);
    const unsigned char **pixels = mem_alloc((size_t)d->n_view * VIEW_SIZES * sizeof *pixels);
    struct views views = {.pixels = {pixels, pixels + d->n_view}};
    int n = 0, rc = 0;

    for (int i = 0; i < d->n_view; i++)
        if (d->rank[i] == rank) {
            enum view_size s = size_of(&d->view[i]);

            mine[n++] = d->view[i];
            views.pixels[s][views.n[s]++] = view_pixels(request_of(d->view[i].page),
                                                        d->view[i].view);
        }
    if (n) {
        encode_views(rn, mine, n, &views);
        rc = run_finish(&rn->run);
    }
    free(mine);
    free(pixels);
    return rc;
}

int runner_encode(struct runner *rn, const struct sched_view *view, int n_view)
{
    struct deal d = {rn, view, n_view, mem_zero((size_t)n_view, 1)};
    int rc = 0;

    for (int i = 0; rc == 0 && i < n_view; i++)
        rc = take_visual(rn, request_of(view[i].page));
    if (rc == 0) {
        deal_out(&d);
        rc = by_all(rn, encode_mine, &d);
    }
    free(d.rank);
    return rc;
}

/* A few bytes there and back. */
static int probe_mine(void *ctx, int rank)
{
    struct run *r = &runner_of(ctx, rank)->run;
    unsigned char out[64], in[64] = {0};

    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i * 7 + 1);
    TRY(r->be->upload(r->dev, r->scratch.base, out, sizeof out));
    TRY(r->be->download(r->dev, in, r->scratch.base, sizeof in));
    TRY(r->be->finish(r->dev));
    return memcmp(in, out, sizeof in) == 0 ? 0 : err(RECTO_EDEVICE, "device: its memory is gone");
}

int runner_probe(struct runner *rn)
{
    return by_all(rn, probe_mine, rn);
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
           logits = scratch(r, DT_F32, b->n_out, d->lm_head.n_out);

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

/* A step and the runner that all ranks run it for. */
struct step {
    struct runner *rn;
    const struct batch_builder *bb;
};

/* Columns of this rank's logits to their places among all. */
static void place_logits(struct runner *rn, const struct runner *mine, int n)
{
    const struct weight *head = &mine->model->decoder.lm_head;
    size_t vocab = (size_t)rn->model->cfg.decoder.vocab, part = (size_t)head->n_out;

    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(rn->logits + i * vocab + head->from, mine->own + i * part, part * sizeof(float));
}

static int forward_mine(void *ctx, int rank)
{
    const struct step *s = ctx;
    struct runner *mine = runner_of(s->rn, rank);
    struct run *r = &mine->run;
    tensor logits;

    op_step(r, &s->bb->b, NULL, NULL);
    logits = forward(mine, s->bb);
    TRY(end_step(r));
    TRY(r->be->download(r->dev, mine->own ? mine->own : mine->logits, logits.data,
                        (size_t)tensor_count(logits) * sizeof(float)));
    if (mine->own)
        place_logits(s->rn, mine, s->bb->b.n_out);
    return 0;
}

int runner_forward(struct runner *rn, const struct batch_builder *bb)
{
    return by_all(rn, forward_mine, &(struct step){rn, bb});
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

static void ask_all(struct runner *rn, const struct runner *all, const struct batch_builder *bb)
{
    static const struct sampler any = {.top_p = 1};

    for (int i = 0; i < bb->b.n_out; i++) {
        const struct request *q = bb->out[i];

        rn->ask[i] = (struct sample_ask){.sampler = &any};
        if (q)
            rn->ask[i] = (struct sample_ask){&q->sampler,
                                             q->id,
                                             q->s.n_known,
                                             q->n_prompt,
                                             q->image.a,
                                             all->model->cfg.decoder.eos,
                                             0};
        rn->ask[i].first_id = (int32_t)rn->model->decoder.lm_head.from;
    }
}

static int choose_mine(void *ctx, int rank)
{
    const struct step *s = ctx;
    struct runner *mine = runner_of(s->rn, rank);
    struct run *r = &mine->run;

    ask_all(mine, s->rn, s->bb);
    if (!op_step(r, &s->bb->b, mine->ask, mine->found))
        op_sample(r, forward(mine, s->bb), mine->ask, mine->found);
    return end_step(r);
}

static int step_on_device(struct runner *rn, const struct batch_builder *bb)
{
    const struct choice *part[COMM_RANKS];

    TRY(by_all(rn, choose_mine, &(struct step){rn, bb}));
    for (int i = 0; i < bb->b.n_out; i++) {
        for (int r = 0; r < runner_ranks(rn); r++)
            part[r] = &runner_of(rn, r)->found[i];
        rn->next[i] = sampler_join(part, runner_ranks(rn));
    }
    return 0;
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
    ask_all(rn, rn, bb);
    rc = rn->run.be->is_scripted            ? step_by_script(rn, bb)
         : chooses_on_device(rn, own.n_out) ? step_on_device(rn, bb)
                                            : step_on_host(rn, bb, own.n_out);
    bb->b = own;
    if (rc == 0)
        memcpy(next, rn->next, (size_t)own.n_out * sizeof *next);
    return rc;
}
