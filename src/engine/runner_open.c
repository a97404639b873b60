#include "engine/runner.h"

#include "base/clock.h"
#include "engine/warm.h"

#include <stdlib.h>
#include <string.h>

/* ---- measure, then allocate ------------------------------------------------------------------------------------------ */

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
    const struct decoder *d = &rn->model->decoder;
    struct batch b = {.n_tok = o->max_tok, .n_out = o->max_out};

    op_step(r, &b, NULL, NULL);
    tensor x = scratch(r, DT_F32, b.n_tok, d->cfg->hidden),
           logits = scratch(r, DT_F32, b.n_out, d->lm_head.n_out);
    decoder_embed(r, d, x);
    decoder_forward(r, d, logits, x);
    scratch_reset(r, 0);
    r->batch = NULL;
}

/* Prove every shape and size the scratch, then take it. */
static int open_scratch(struct runner *rn, const struct runner_opts *o)
{
    struct run *r = &rn->run;
    void *base;

    r->is_dry = true;
    dry_encode(rn, rn->view_each);
    dry_forward(rn, o);
    r->is_dry = false;
    TRY(run_finish(r));
    TRY(r->be->alloc(r->dev, r->scratch.peak, &base));
    r->scratch = (struct arena){.base = base, .cap = r->scratch.peak};
    return 0;
}

static int block_tok(const struct runner *rn, const struct runner_opts *o)
{
    return o->kv_block_tok ? o->kv_block_tok : rn->model->info.kv_block_tok;
}

static int open_kv(struct runner *rn, const struct runner_opts *o)
{
    const struct decoder_config *c = &rn->model->cfg.decoder;
    int block = block_tok(rn, o);
    struct kv_shape shape = {c->layers, (int)(rn->model->decoder.block[0].wk.n_out / c->head_dim),
                             c->head_dim, 0, block};

    if (block <= 0 || block % 16)
        return err(RECTO_EUSAGE, "a KV block of %d tokens: expected a multiple of 16", block);
    shape.n_block = (int)div_up(o->kv_tok, block) +
                    1; /* the last is no page's: for rows that fill up a step */
    rn->kv_bytes = rn->run.be->kv_bytes(rn->run.dev, &shape);
    return rn->run.be->kv_open(rn->run.dev, &rn->run.kv, &shape);
}

/* Where the sums of ranks come from. */
static int zero_part(struct runner *rn)
{
    struct run *r = &rn->run;
    void *zero = calloc((size_t)tensor_count(r->part), sizeof(float));
    int rc = zero ? 0
                  : err(RECTO_ENOMEM, "no memory for a step of %lld rows", (long long)r->part.n[0]);

    if (rc == 0)
        op_upload(r, r->part, zero);
    rc = rc < 0 ? rc : run_finish(r);
    free(zero);
    return rc;
}

static int open_part(struct runner *rn, const struct runner_opts *o)
{
    struct run *r = &rn->run;
    int hidden = rn->model->cfg.decoder.hidden;
    void *p;

    TRY(r->be->alloc(r->dev, (size_t)o->max_tok * (size_t)hidden * sizeof(float), &p));
    r->part = tensor_view(p, DT_F32, 2, o->max_tok, hidden, 1, 1);
    return zero_part(rn);
}

static int host_room(float **out, int rows, int64_t width)
{
    *out = malloc((size_t)rows * (size_t)width * sizeof **out);
    return *out ? 0 : err(RECTO_ENOMEM, "no memory for the logits of %d rows", rows);
}

/* What every rank has of its own. */
static int open_rank(struct runner *rn, const struct model *m, const struct runner_opts *o)
{
    rn->model = m;
    rn->max_out = o->max_out;
    rn->view_each = o->view_batch ? o->view_batch : MAX(m->info.view_batch, 1);
    rn->run = (struct run){.be = m->be, .dev = m->dev, .act = m->info.act};
    rn->ask = mem_zero((size_t)o->max_out, sizeof *rn->ask);
    rn->found = mem_zero((size_t)o->max_out, sizeof *rn->found);
    TRY(open_scratch(rn, o));
    TRY(open_kv(rn, o));
    if (!o->ranks)
        return 0;
    TRY(host_room(&rn->own, o->max_out, m->decoder.lm_head.n_out));
    return open_part(rn, o);
}

static void close_rank(struct runner *rn)
{
    if (rn->run.kv)
        rn->run.be->kv_close(rn->run.dev, rn->run.kv);
    if (rn->run.scratch.base)
        rn->run.be->free(rn->run.dev, rn->run.scratch.base);
    if (rn->run.part.data)
        rn->run.be->free(rn->run.dev, rn->run.part.data);
    free(rn->own);
    free(rn->ask);
    free(rn->found);
}

/* ---- ranks ----------------------------------------------------------------------------------------------------------- */

struct opening {
    struct runner *rn;
    const struct model *first;
    const struct runner_opts *o;
};

static int open_one(void *ctx, int rank)
{
    const struct opening *a = ctx;
    const struct ranks *k = a->o->ranks;

    return open_rank(runner_of(a->rn, rank), rank ? &k->more[rank - 1] : a->first, a->o);
}

/* Steps as large as they will ever be, each rank by itself: later, a workspace that grows would wait for a device that waits for
 * this one.  What they compute means nothing. */
static int warm_rank(void *ctx, int rank)
{
    const struct opening *a = ctx;

    return runner_warm(runner_of(a->rn, rank), a->o, block_tok(a->rn, a->o));
}

static int join_rank(void *ctx, int rank)
{
    struct runner *rn = ctx, *mine = runner_of(rn, rank);

    mine->run.comm = rn->ranks->comm;
    TRY(mine->run.be->join(mine->run.dev, rn->ranks->comm, rank, mine->run.part.n[0],
                           mine->run.part.n[1]));
    return zero_part(mine); /* until it has joined again, a device says that a rank has failed */
}

int runner_rejoin(struct runner *rn)
{
    comm_reset(rn->ranks->comm);
    return team_run(rn->ranks->team, join_rank, rn);
}

static int open_ranks(struct runner *rn, const struct model *m, const struct runner_opts *o)
{
    struct opening a = {rn, m, o};

    rn->ranks = o->ranks;
    rn->peer = mem_zero((size_t)o->ranks->n - 1, sizeof *rn->peer);
    TRY(team_run(o->ranks->team, open_one, &a));
    for (int r = 1; r < o->ranks->n; r++)
        rn->kv_bytes += rn->peer[r - 1].kv_bytes;
    if (m->info.grows)
        TRY(team_run(o->ranks->team, warm_rank, &a));
    return runner_rejoin(rn);
}

/* ---- open and close -------------------------------------------------------------------------------------------------- */

int runner_open(struct runner *rn, const struct model *m, const struct runner_opts *o)
{
    const struct decoder_config *c = &m->cfg.decoder;

    *rn = (struct runner){0};
    if (o->ranks && o->ranks->n > 1)
        TRY(open_ranks(rn, m, o));
    else
        TRY(open_rank(rn, m, o));
    rn->view_batch = rn->view_each * runner_ranks(rn);
    for (int r = 0; r < runner_ranks(rn); r++)
        runner_of(rn, r)->run.all_rows = o->tap != NULL;
    rn->run.tap = o->tap;
    rn->run.tap_ctx = o->tap_ctx;
    kv_pool_init(&rn->pool, (int)div_up(o->kv_tok, block_tok(rn, o)), block_tok(rn, o));
    rn->next = mem_zero((size_t)o->max_out, sizeof *rn->next);
    TRY(host_room(&rn->logits, o->max_out, c->vocab));
    sampler_scratch_init(&rn->sampling, c->context, c->vocab);
    return 0;
}

void runner_close(struct runner *rn)
{
    for (int r = 1; r < runner_ranks(rn); r++)
        close_rank(runner_of(rn, r));
    close_rank(rn);
    kv_pool_reset(&rn->pool);
    sampler_scratch_reset(&rn->sampling);
    free(rn->peer);
    free(rn->logits);
    free(rn->next);
    *rn = (struct runner){0};
}
