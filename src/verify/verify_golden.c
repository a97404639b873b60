/* recto verify --golden: the model on the cases of a folder, tap by tap (golden/README.md describes the layout). */
#include "recto.h"

#include "base/err.h"
#include "base/mem.h"
#include "devices.h"
#include "engine/runner.h"
#include "page/source.h"
#include "page/view.h"
#include "verify/golden.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define LOGITS_EVERY 16

struct case_run {
    const struct model *model;
    const struct ranks *ranks;
    struct page_source *source;
    char *stem; /* DIR/NAME */
    struct ckpt taps;
    struct golden golden;
    struct page_views views;
    struct request req;
    int n_new;
};

/* ---- a case's inputs ------------------------------------------------------------------------------------------------- */

static int decode(struct case_run *c, const char *path, struct recto_image *im)
{
    struct buf file = {0};
    struct page_note note = {0};
    int rc = file_read(&file, path, (size_t)1 << 30);

    if (rc == 0)
        rc = page_decode(c->source, path, file.p, file.n, im, &note);
    page_note_reset(&note);
    buf_reset(&file);
    return rc;
}

/* DIR/NAME.png, or NAME.ppm where that is missing: a PPM needs no helper, so machines without one can verify too. */
static void picture_path(struct buf *path, const char *stem, const char *suffix)
{
    buf_fmt(path, "%s%s.png", stem, suffix);
    if (file_exists(path->p))
        return;
    buf_clear(path);
    buf_fmt(path, "%s%s.ppm", stem, suffix);
}

/* The view of the reference, if its picture is there: must be ours byte for byte. */
static int check_view(struct case_run *c, const char *suffix, const unsigned char *got, int side)
{
    struct recto_image im = {0};
    struct buf path = {0};
    char name[32];
    int rc = 0;

    snprintf(name, sizeof name, "_%s", suffix);
    picture_path(&path, c->stem, name);
    if (file_exists(path.p))
        rc = decode(c, path.p, &im);
    if (im.rgb) {
        bool same = im.width == side && im.height == side &&
                    memcmp(im.rgb, got, (size_t)side * side * 3) == 0;

        c->golden.n_bad += !same;
        golden_line(&c->golden, "  view %-39s %s", suffix,
                    same ? "equal byte for byte  ok" : "FAILED");
    }
    recto_image_reset(&im);
    buf_reset(&path);
    return rc;
}

static int make_views(struct case_run *c)
{
    struct recto_image im = {0};
    struct buf path = {0};
    char name[16];
    int rc;

    picture_path(&path, c->stem, "");
    TRY_OUT(decode(c, path.p, &im));
    TRY_OUT(views_make(&c->views, &im, c->model->cfg.crop_mode));
    TRY_OUT(check_view(c, "global", c->views.global, VIEW_GLOBAL));
    for (int i = 0; i < c->views.n_tile; i++) {
        snprintf(name, sizeof name, "tile%d", i);
        TRY_OUT(check_view(c, name, c->views.tile + (size_t)i * VIEW_TILE_BYTES, VIEW_TILE));
    }
out:
    recto_image_reset(&im);
    buf_reset(&path);
    return rc;
}

/* The prompt is a tap; the run of image ids in it is where the visual rows go. */
static int make_prompt(struct case_run *c)
{
    const struct ckpt_tensor *t, *greedy = ckpt_find(&c->taps, "greedy_64");
    struct request *q = &c->req;
    int n = 0, image = c->model->cfg.image_token_id;

    TRY(ckpt_get(&c->taps, "input_ids", &t));
    c->golden.is_seen[t - c->taps.tensor] = true;
    c->n_new = greedy ? (int)greedy->count : 64;
    if (t->count < 1 || t->count + c->n_new > c->model->cfg.decoder.context)
        return err(RECTO_EMODEL, "%s.safetensors: input_ids has %lld ids, over the context",
                   c->stem, (long long)t->count);
    q->id = mem_zero((size_t)(t->count + c->n_new), sizeof *q->id);
    TRY(ckpt_read_i32(t->dtype, t->data, t->count, q->id));
    q->n_prompt = q->s.n_known = (int)t->count;
    q->image_at = q->n_prompt;
    for (int i = 0; i < q->n_prompt; i++) {
        if (q->id[i] < 0 || q->id[i] >= c->model->cfg.decoder.vocab)
            return err(RECTO_EMODEL, "%s.safetensors: input_ids holds %d, outside the vocabulary",
                       c->stem, q->id[i]);
        if (q->id[i] == image && n++ == 0)
            q->image_at = i;
    }
    q->n_tile = c->views.n_tile;
    q->tile = c->views.tile;
    q->global = c->views.global;
    q->n_visual = vision_page_rows(&c->model->vision, q->n_tile);
    if (n != q->n_visual)
        return err(RECTO_EMODEL,
                   "%s.safetensors: %d image ids in input_ids, the picture makes %d rows", c->stem,
                   n, q->n_visual);
    return 0;
}

/* ---- running it ------------------------------------------------------------------------------------------------------ */

/* All tiles as one group, as the reference has them, then the global view. */
static int encode_views(struct case_run *c, struct runner *rn)
{
    struct sched_view view[VIEW_MAX_TILES + 1];
    int n = c->req.n_tile;

    c->req.s.n_tile = n;
    for (int i = 0; i <= n; i++)
        view[i] = (struct sched_view){&c->req.s, i};
    if (n)
        TRY(runner_encode(rn, view, n));
    return runner_encode(rn, &view[n], 1);
}

/* The whole prompt as one step, with the logits of every 16th position and of the last. */
static int run_prompt(struct case_run *c, struct runner *rn, struct batch_builder *bb)
{
    struct request *q = &c->req;
    int64_t vocab = c->model->cfg.decoder.vocab;
    int n_every = (q->n_prompt + LOGITS_EVERY - 1) / LOGITS_EVERY;

    TRY(encode_views(c, rn));
    batch_clear(bb);
    batch_add(bb, &rn->pool, q, q->n_prompt, false);
    for (int i = 0; i < n_every; i++)
        bb->out_row[i] = i * LOGITS_EVERY;
    bb->out_row[n_every] = q->n_prompt - 1;
    bb->b.n_out = n_every + 1;
    TRY(runner_forward(rn, bb));
    golden_logits(&c->golden, "logits_every_16th", rn->logits, n_every, vocab);
    golden_logits(&c->golden, "logits_last", rn->logits + n_every * vocab, 1, vocab);
    return 0;
}

/* n_new greedy ids after the prompt, whose K and V are in the cache; name is the tap of the reference's ids. */
static int run_greedy(struct case_run *c, struct runner *rn, struct batch_builder *bb,
                      struct guard guard, const char *name)
{
    struct request *q = &c->req;
    struct pick next;

    if (!ckpt_find(&c->taps, name))
        return 0;
    q->sampler = (struct sampler){.guard = guard, .top_p = 1};
    q->s.n_known = q->n_prompt;
    q->s.n_cached = q->n_prompt - 1; /* its last row again: the same numbers, now with logits */
    while (request_new(q) < c->n_new) {
        batch_clear(bb);
        batch_add(bb, &rn->pool, q, 1, true);
        TRY(runner_step(rn, bb, &next));
        q->s.n_cached++;
        q->id[q->s.n_known++] = next.id;
    }
    golden_ids(&c->golden, name, q->id + q->n_prompt, c->n_new);
    return 0;
}

static int run_ids(struct case_run *c, struct runner *rn, struct batch_builder *bb, int guard_n,
                   int guard_w)
{
    struct guard plain = {.exempt = {-1, -1}},
                 whole = {.n = 3, .window = SAMPLER_WHOLE, .exempt = {-1, -1}};
    struct guard asked = {.n = MAX(guard_n, 0), .window = guard_w, .exempt = {-1, -1}};
    char name[64];

    rn->run.tap = NULL; /* taps are of the prompt alone */
    if (guard_n == 0) {
        TRY(run_greedy(c, rn, bb, plain, "greedy_64"));
        return run_greedy(c, rn, bb, whole, "greedy_64_no_repeat_ngram_3");
    }
    if (guard_n < 0)
        snprintf(name, sizeof name, "greedy_%d", c->n_new);
    else if (guard_w == SAMPLER_WHOLE)
        snprintf(name, sizeof name, "greedy_%d_no_repeat_ngram_%d", c->n_new, guard_n);
    else
        snprintf(name, sizeof name, "greedy_%d_ngram_%d_window_%d", c->n_new, guard_n, guard_w);
    if (!ckpt_find(&c->taps, name))
        return err(RECTO_EUSAGE, "%s.safetensors has no ids for this guard (%s)", c->stem, name);
    return run_greedy(c, rn, bb, asked, name);
}

static int run_case(struct case_run *c, const struct recto_settings *s, int guard_n, int guard_w)
{
    struct batch_builder bb = {0};
    struct runner rn = {0};
    struct request *q = &c->req;
    int n_out = q->n_prompt / LOGITS_EVERY + 2, rc;
    struct runner_opts o = {
        .max_tok = q->n_prompt,
        .max_seq = 1,
        .max_out = n_out,
        .kv_tok = q->n_prompt + c->n_new,
        .kv_block_tok = s->kv_block_tok,
        .view_batch = MAX(q->n_tile, 1), /* a tap holds all tiles */
        .tap = golden_tap,
        .tap_ctx = &c->golden,
        .ranks = c->ranks->n > 1 ? c->ranks : NULL,
    };

    TRY_OUT(runner_open(&rn, c->model, &o));
    batch_init(&bb, o.max_tok, 1, rn.pool.n_block, n_out);
    TRY_OUT(kv_reserve(&rn.pool, &q->s.kv, q->n_prompt + c->n_new));
    TRY_OUT(run_prompt(c, &rn, &bb));
    TRY_OUT(run_ids(c, &rn, &bb, guard_n, guard_w));
    if (guard_n == 0)
        golden_missing(&c->golden);
out:
    if (rn.run.be) {
        kv_release(&rn.pool, &q->s.kv);
        runner_forget(&rn, q->visual);
    }
    kv_seq_reset(&q->s.kv);
    batch_reset(&bb);
    runner_close(&rn);
    return rc;
}

static int verify_case(const struct model *m, const struct ranks *ranks, struct page_source *source,
                       const struct recto_settings *s, const char *dir, const char *name,
                       int guard_n, int guard_w, recto_line_fn *print, void *ctx, int *n_bad)
{
    struct case_run c = {
        .model = m,
        .ranks = ranks,
        .source = source,
        .golden = {.kind = m->weights.quantised, .print = print, .print_ctx = ctx}};
    struct golden_bounds bound = golden_bounds_of(m->weights.quantised);
    struct buf path = {0};
    int rc;

    c.stem = file_join(dir, name);
    golden_line(&c.golden, "case %s", name);
    buf_fmt(&path, "%s.safetensors", c.stem);
    TRY_OUT(ckpt_open(&c.taps, path.p));
    c.golden.want = &c.taps;
    c.golden.is_seen = mem_zero((size_t)c.taps.n_tensor, sizeof(bool));
    TRY_OUT(make_views(&c));
    TRY_OUT(make_prompt(&c));
    TRY_OUT(run_case(&c, s, guard_n, guard_w));
    golden_line(&c.golden,
                "  %s: worst tap %.2e (bound %.0e), worst logit %.2e (bound %.0e), divergence %.2e "
                "nats (bound %.0e): %s",
                name, c.golden.worst_rel, bound.tap_rel, c.golden.worst_logit, bound.logits_abs,
                c.golden.worst_kl, bound.kl, c.golden.n_bad ? "FAILED" : "all hold");
    *n_bad += c.golden.n_bad;
out:
    free(c.golden.is_seen);
    free(c.req.id);
    views_reset(&c.views);
    ckpt_close(&c.taps);
    free(c.stem);
    buf_reset(&path);
    return rc;
}

/* ---- all cases of a folder ------------------------------------------------------------------------------------------- */

static int is_case(const struct dirent *d)
{
    str n = str_of(d->d_name);

    return str_ends(n, STR(".safetensors")) && !str_starts(n, STR("model"));
}

static int verify_all(const struct model *m, const struct ranks *ranks, struct page_source *source,
                      const struct recto_settings *s, const char *dir, const char *name,
                      int guard_n, int guard_w, recto_line_fn *print, void *ctx)
{
    struct dirent **list = NULL;
    int n_bad = 0, rc = 0, n = name ? 0 : scandir(dir, &list, is_case, alphasort);

    if (name)
        rc = verify_case(m, ranks, source, s, dir, name, guard_n, guard_w, print, ctx, &n_bad);
    else if (n <= 0)
        rc = err(RECTO_ENOTFOUND, "%s: no case (NAME.png beside NAME.safetensors) in this folder",
                 dir);
    for (int i = 0; i < n; i++) {
        char *stem = mem_strndup(list[i]->d_name, strlen(list[i]->d_name) - strlen(".safetensors"));

        if (rc == 0)
            rc = verify_case(m, ranks, source, s, dir, stem, guard_n, guard_w, print, ctx, &n_bad);
        free(stem);
        free(list[i]);
    }
    free(list);
    if (rc == 0 && n_bad)
        rc = err(
            RECTO_EVERIFY,
            "%d comparisons are out of bounds: this build, or this checkpoint, differs from the reference",
            n_bad);
    return rc;
}

int recto_verify_golden(const struct recto_settings *s, const char *dir, const char *name,
                        int guard_n, int guard_w, recto_line_fn *print, void *ctx)
{
    /* fp32 unless asked for: the bounds are those of fp32 */
    struct recto_settings set = *s;
    struct device_plan plan;
    struct page_source *source = NULL;
    struct model m = {0};
    struct ranks ranks = {0};
    char line[256];
    int rc;

    set.precision = strcmp(s->precision, "auto") == 0 ? "fp32" : s->precision;
    TRY_OUT(page_source_open(&source, s));
    TRY_OUT(devices_plan(&plan, &set));
    if (plan.n_engine > 1)
        TRY_OUT(err(RECTO_EUSAGE, "parallel: %s; one model is verified, so tp=N or nothing",
                    s->parallel));
    TRY_OUT(ranks_open(&ranks, &m, dir, s->device, plan.opts, plan.n_rank));
    snprintf(
        line, sizeof line,
        "model %s: %lld parameters, %d x device %s, kernels %s, precision %s, weights %s, %d threads",
        dir, (long long)m.weights.n_param, ranks.n, m.be->name, m.info.kernels, m.info.precision,
        quant_kind_text(m.weights.quantised), m.info.threads);
    print(ctx, line);
    rc = verify_all(&m, &ranks, source, s, dir, name, guard_n, guard_w, print, ctx);
out:
    model_close(&m);
    ranks_close(&ranks);
    page_source_close(source);
    return rc;
}
