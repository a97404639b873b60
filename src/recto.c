/* The public API over the rooms: open a model, take pages in, give events out. A page's own way is walk.c. */
#include "recto.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/kind.h"
#include "base/log.h"
#include "base/pool.h"
#include "course.h"
#include "fingerprint.h"
#include "page/dpi.h"
#include "page/range.h"
#include "settings.h"
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- open and close -------------------------------------------------------------------------------------------------- */

static int open_tokenizer(struct recto *r)
{
    char *path = file_join(r->model_dir, "tokenizer.json");
    const struct tokenizer *t = &r->tokenizer;
    int rc;

    if (!file_exists(path))
        rc = err(RECTO_EMODEL,
                 "model: tokenizer.json is missing in %s: copy it from where the weights came",
                 r->model_dir);
    else
        rc = tokenizer_open(&r->tokenizer, path);
    free(path);
    if (rc < 0)
        return rc;
    if (tokenizer_n_vocab(t) > model_of(r)->cfg.decoder.vocab)
        return err(
            RECTO_EMODEL,
            "model: tokenizer.json has ids up to %d, the model only %d: these files do not belong together",
            tokenizer_n_vocab(t) - 1, model_of(r)->cfg.decoder.vocab);
    r->marker = (struct parse_markers){
        .ref_open = tokenizer_id(t, STR("<|ref|>")),
        .ref_close = tokenizer_id(t, STR("<|/ref|>")),
        .det_open = tokenizer_id(t, STR("<|det|>")),
        .det_close = tokenizer_id(t, STR("<|/det|>")),
        .eos = model_of(r)->cfg.decoder.eos,
    };
    r->exempt[0] = tokenizer_id(t, STR("<td>"));
    r->exempt[1] = tokenizer_id(t, STR("</td>"));
    r->image_id = model_of(r)->cfg.image_token_id;
    return 0;
}

/* A scripted device is a test instrument, and says so. */
static int open_script(struct recto *r)
{
    const char *file;

    if (!script_is_named(r->set.device, &file))
        return 0;
    r->is_default_model = false; /* its limits do not matter here */
    log_warn("device=script file=%s: a test instrument, no page is read; text comes from the file",
             file);
    return script_open(&r->script, file, &r->tokenizer, model_of(r)->cfg.decoder.context);
}

static void open_book(struct recto *r, struct book *b, struct page_source *source)
{
    int rc = book_open(b, source);
    bool is_done = rc == 0 && b->n_given == b->n_page; /* now: later it may be freed */

    book_opened(&r->books, b, rc);
    if (rc < 0)
        book_fail(r, b, rc);
    else if (is_done)
        book_end(r, b);
}

/* Without a decoder every document fails, with the reason; the next one tries again. */
static void *worker_main(void *arg)
{
    struct recto *r = arg;
    struct page_source *source = NULL;
    struct book_task t;
    int rc = page_source_open(&source, &r->set);

    while (book_take(&r->books, &t)) {
        if (rc < 0) {
            page_source_close(source);
            rc = page_source_open(&source, &r->set);
        }
        if (t.redo && rc < 0)
            course_stage_failed(job_of_redo(t.redo), rc);
        else if (t.redo)
            job_run(job_of_redo(t.redo), source);
        else if (rc < 0 && t.index < 0) {
            book_opened(&r->books, t.book, rc);
            book_fail(r, t.book, rc);
        } else if (rc < 0)
            job_fail(job_new(r, t.book, t.index), rc);
        else if (t.index < 0)
            open_book(r, t.book, source);
        else
            job_run(job_new(r, t.book, t.index), source);
    }
    page_source_close(source);
    return NULL;
}

static int start_workers(struct recto *r)
{
    int n = r->set.page_workers ? r->set.page_workers : pool_usable_cores() > 2 ? 2 : 1;

    for (; r->n_worker < MIN(n, PAGE_WORKERS_MAX); r->n_worker++)
        if (pthread_create(&r->worker[r->n_worker], NULL, worker_main, r) != 0)
            return err(RECTO_EINTERNAL, "internal: no thread for decoding pages");
    return 0;
}

int recto_open(struct recto **out, const struct recto_settings *s)
{
    struct recto *r = mem_zero(1, sizeof *r);
    int rc;

    *out = NULL;
    pthread_mutex_init(&r->lock, NULL);
    event_list_init(&r->events);
    settings_copy(&r->set, s);
    rc = devices_plan(&r->plan, &r->set);
    book_list_init(&r->books, r->set.max_waiting, r->set.max_running * MAX(r->plan.n_engine, 1));
    log_set(r->set.log, r->set.log_ctx, r->set.log_least);
    TRY_OUT(rc);
    TRY_OUT(settings_check(&r->set));
    TRY_OUT(settings_model_dir(&r->set, &r->model_dir, &r->is_default_model));
    struct engine_opts eng = {
        .max_running = r->set.max_running,
        .reserve = r->set.interactive_reserve,
        .image_bytes = (size_t)r->set.image_cache_bytes,
        .chunk_tok = r->set.chunk_tok,
        /* Prepared pages are large, so few wait, the rest as files; and retries, up to max_running, keep none of them out. */
        .max_waiting = 2 * r->set.max_running + JOB_READINGS,
        .kv_block_tok = r->set.kv_block_tok,
        .kv_tok = r->set.kv_tok,
        .n_rank = r->plan.n_rank,
    };
    TRY_OUT(
        fleet_open(&r->fleet, r->model_dir, r->set.device, r->plan.opts, &eng, r->plan.n_engine));
    TRY_OUT(open_tokenizer(r));
    TRY_OUT(open_script(r));
    TRY_OUT(fleet_start(&r->fleet));
    TRY_OUT(start_workers(r));
    log_info(
        "model=%s parameters=%lld weight_bytes=%lld load_ms=%.0f device=%s kernels=%s precision=%s weights=%s threads=%d",
        r->model_dir, (long long)model_of(r)->weights.n_param,
        (long long)model_of(r)->weights.bytes, model_of(r)->load_ms, r->set.device,
        model_of(r)->info.kernels, model_of(r)->info.precision,
        quant_kind_text(model_of(r)->weights.quantised), model_of(r)->info.threads);
    *out = r;
    return 0;
out:
    recto_close(r);
    return rc;
}

/* Lock held. */
static void cancel_readings(struct job *j)
{
    for (int i = 0; i < JOB_READINGS; i++)
        atomic_store(&j->reading[i].req.is_cancelled, true);
}

/* Workers stop first, so that nothing more reaches the engine; what waits ends as cancelled. */
void recto_close(struct recto *r)
{
    struct job *j;

    if (!r)
        return;
    book_list_stop(&r->books);
    pthread_mutex_lock(&r->lock);
    for (j = r->live; j; j = j->next)
        cancel_readings(j);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < r->n_worker; i++)
        pthread_join(r->worker[i], NULL);
    while ((j = r->held)) {
        r->held = j->next_held;
        job_fail(j, RECTO_ECANCELED);
    }
    fleet_close(&r->fleet);
    for (struct redo *redo; (redo = book_left_redo(&r->books));)
        job_fail(job_of_redo(redo), RECTO_ECANCELED);
    book_list_reset(&r->books);
    script_close(&r->script);
    tokenizer_close(&r->tokenizer);
    event_list_reset(&r->events);
    pthread_mutex_destroy(&r->lock);
    free(r->model_dir);
    settings_reset(&r->set);
    free(r);
}

/* ---- pages in -------------------------------------------------------------------------------------------------------- */

static int check_options(const struct recto_input *in, const struct recto_options *o)
{
    if (!in->path && !in->data)
        return err(RECTO_EUSAGE, "no input: neither a path nor bytes");
    if (in->dpi && (in->dpi < DPI_MIN || in->dpi > DPI_MAX))
        return err(RECTO_EUSAGE, "dpi is %d, expected %d to %d, or 0 for what fits the model",
                   in->dpi, DPI_MIN, DPI_MAX);
    if (in->pages)
        TRY(range_check(in->pages));
    if (in->frames)
        TRY(range_check(in->frames));
    if (o->max_tokens < 0)
        return err(RECTO_EUSAGE, "max_tokens is %d, expected 1 or more, or 0 for as many as fit",
                   o->max_tokens);
    if (!(o->temperature >= 0 && o->temperature <= 100))
        return err(RECTO_EUSAGE, "temperature is %g, expected 0 (greedy) to 100", o->temperature);
    if (o->priority < RECTO_CLASS_INTERACTIVE || o->priority > RECTO_CLASS_BATCH ||
        o->deadline_ms < 0)
        return err(RECTO_EUSAGE,
                   "priority is %d, expected 0 to 2; deadline_ms is %d, expected 0 or more",
                   (int)o->priority, o->deadline_ms);
    if (o->official > RECTO_OFFICIAL_EVAL)
        return err(RECTO_EUSAGE, "official is %d, expected 0 to 3", (int)o->official);
    if (o->text_layer > RECTO_LAYER_COMPARE)
        return err(RECTO_EUSAGE, "text_layer is %d, expected 0 to 2", (int)o->text_layer);
    if (o->retries < 0 || o->retries > RECTO_RETRIES_MAX)
        return err(RECTO_EUSAGE, "retries is %d, expected 0 to %d", o->retries, RECTO_RETRIES_MAX);
    if (o->rotate != RECTO_ROTATE_AUTO && (o->rotate < 0 || o->rotate > 270 || o->rotate % 90))
        return err(RECTO_EUSAGE, "rotate is %d, expected 0, 90, 180 or 270, or -1 to find out",
                   o->rotate);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return err(RECTO_EUSAGE, "top_p is %g, expected above 0, at most 1", o->top_p);
    if (o->guard_n > 0 && (o->guard_w == 0 || o->guard_w < SAMPLER_WHOLE))
        return err(RECTO_EUSAGE, "the guard's window is %d, expected 1 or more, or -1 for all",
                   o->guard_w);
    return 0;
}

const char *recto_kind(const void *head, size_t n)
{
    const char *kind = kind_of(head, n);

    return kind_is_read(kind) ? kind : NULL;
}

int recto_range_check(const char *pages)
{
    return range_check(pages);
}

int recto_submit(struct recto *r, const struct recto_input *in, const struct recto_options *o,
                 uint64_t *request)
{
    TRY(check_options(in, o));
    return book_add(&r->books, in, o, request);
}

void recto_stop(struct recto *r, uint64_t request)
{
    book_cancel(&r->books, request, false);
}

void recto_cancel(struct recto *r, uint64_t request)
{
    book_cancel(&r->books, request, true);
    pthread_mutex_lock(&r->lock);
    for (struct job *j = r->live; j; j = j->next)
        if (j->book->id == request)
            cancel_readings(j);
    pthread_mutex_unlock(&r->lock);
}

void recto_hold(struct recto *r, bool held)
{
    struct job *j, *next;

    pthread_mutex_lock(&r->lock);
    r->is_held = held;
    j = held ? NULL : r->held;
    if (!held)
        r->held = r->last_held = NULL;
    pthread_mutex_unlock(&r->lock);
    for (; j; j = next) {
        next = j->next_held;
        j->next_held = NULL;
        job_send(j);
    }
}

int recto_poll(struct recto *r, struct recto_event *ev, int wait_ms)
{
    return event_pop(&r->events, ev, wait_ms);
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

void recto_get_info(const struct recto *r, struct recto_info *info)
{
    const struct engine *e = r->fleet.engine;
    int n = r->fleet.n;
    const char *slash = strrchr(r->model_dir, '/');

    *info = (struct recto_info){
        .is_default_model = r->is_default_model,
        .crop_mode = e->model.cfg.crop_mode,
        .threads = e->model.info.threads,
        .n_param = e->model.weights.n_param,
        .n_replica = n,
        .n_rank = e->ranks.n,
        .weight_bytes = n * ranks_weight_bytes(&e->ranks, &e->model),
        .kv_tok = (int64_t)n * e->runner.pool.n_block * e->runner.pool.block_tok,
        .kv_bytes = n * e->runner.kv_bytes,
        .scratch_bytes = (int64_t)n * e->ranks.n * (int64_t)e->runner.run.scratch.cap,
        .load_ms = e->model.load_ms,
        .guard_n = e->model.cfg.guard_n,
        .guard_w = e->model.cfg.guard_w,
        .context = e->model.cfg.decoder.context,
    };
    snprintf(info->model_dir, sizeof info->model_dir, "%s", r->model_dir);
    snprintf(info->model_name, sizeof info->model_name, "%s", slash ? slash + 1 : r->model_dir);
    snprintf(info->backend, sizeof info->backend, "%s", e->model.be->name);
    snprintf(info->precision, sizeof info->precision, "%s", e->model.info.precision);
    snprintf(info->weights, sizeof info->weights, "%s",
             quant_kind_text(e->model.weights.quantised));
    snprintf(info->kernels, sizeof info->kernels, "%s", e->model.info.kernels);
}

int recto_model_hash(const struct recto *r, char hex[65])
{
    return fingerprint_of_model(r->model_dir, hex);
}

void recto_get_stats(struct recto *r, struct recto_stats *out)
{
    struct engine_stats s;
    struct recto_stats full;

    fleet_get_stats(&r->fleet, &s);
    full = (struct recto_stats){
        .size = MIN(out->size, sizeof full),
        .n_step = s.n_step,
        .n_row = s.n_row,
        .n_out = s.n_out,
        .n_view = s.n_view,
        .n_done = s.n_done,
        .n_failed = s.n_failed,
        .n_cancelled = s.n_cancelled,
        .n_late = s.n_late,
        .n_loop = s.n_loop,
        .n_intervention = s.n_intervention,
        .n_preempted = s.n_preempted,
        .n_image_hit = s.n_image_hit,
        .n_image_miss = s.n_image_miss,
        .n_shared_tok = s.n_shared_tok,
        .busy_ns = s.busy_ns,
        .sched_ns = s.sched_ns,
        .n_running = s.n_running,
        .n_waiting = s.n_waiting,
        .n_block_free = s.n_block_free,
        .n_block = s.n_block,
        .n_moved = s.n_moved,
        .n_lost = s.n_lost,
    };
    memcpy(out, &full, full.size);
}

void recto_get_device_stats(struct recto *r, int device, struct recto_device_stats *s)
{
    const struct model *m = fleet_model(&r->fleet, device);
    struct device_stats d = DEVICE_STATS_UNKNOWN;

    if (m->be->stats)
        m->be->stats(m->dev, &d);
    *s = (struct recto_device_stats){
        .utilisation = d.utilisation,
        .power_w = d.power_w,
        .temperature_c = d.temperature_c,
        .memory_used = d.memory_used,
        .memory_total = d.memory_total,
    };
}

const char *recto_last_error(void)
{
    return err_text();
}

void recto_free(void *p)
{
    free(p);
}
