/* recto inspect and --version: what a model folder holds, what a picture would cost, what this build can do. */
#include "recto.h"

#include "backend/backend.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "page/source.h"
#include "page/view.h"
#include "settings.h"
#include "tensor/config.h"
#include "tensor/inventory.h"
#include "tensor/quant.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct out {
    recto_line_fn *print;
    void *ctx;
};

static void line(const struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const struct out *o, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    o->print(o->ctx, text);
}

/* ---- model ----------------------------------------------------------------------------------------------------------- */

static void print_config(const struct out *o, const struct model_config *c)
{
    const struct sam_config *s = &c->sam;
    const struct flow_config *f = &c->flow;
    const struct decoder_config *d = &c->decoder;

    line(
        o,
        "sam       %d layers, width %d, %d heads of %d, inner %d, windows of %d, neck %d, then %d and %d channels",
        s->layers, s->width, s->heads, s->head_dim, s->mlp, s->window, s->out_chans, s->net2,
        f->dim);
    line(o, "flow      %d layers, width %d, %d heads (%d KV) of %d, inner %d, rope theta %g",
         f->layers, f->dim, f->heads, f->kv_heads, f->head_dim, f->inner, (double)f->theta);
    line(o, "decoder   %d layers (%d dense of %d), width %d, %d heads of %d, rope theta %g",
         d->layers, d->first_dense, d->dense_inner, d->hidden, d->heads, d->head_dim,
         (double)d->theta);
    line(o, "experts   %d of %d, inner %d, shared %d", d->n_pick, d->n_expert, d->expert_inner,
         d->n_shared * d->expert_inner);
    line(o, "tokens    vocabulary %d, context %d, guard %d/%d, tiles %s", d->vocab, d->context,
         c->guard_n, c->guard_w, c->crop_mode ? "up to 6" : "never");
    line(o, "KV        %d bytes a token in bf16", d->layers * 2 * d->kv_heads * d->head_dim * 2);
}

struct tally {
    const struct ckpt *ckpt;
    enum names_layout layout;
    const struct out *out;
    int n_found, n_bad;
    int64_t n_param;
};

/* int8, or int4: two numbers in a byte. Their scales are checked when they are loaded. */
static bool is_quantised(const struct ckpt_view *v, const struct inventory_item *item)
{
    for (int k = WEIGHT_INT8; k <= WEIGHT_INT4; k++)
        if (v->dtype == quant_dtype((enum weight_kind)k) && item->rank == 2)
            return v->count == item->n[0] * quant_row_bytes((enum weight_kind)k, item->n[1]);
    return false;
}

static int check_item(void *ctx, const struct inventory_item *item)
{
    struct tally *t = ctx;
    char found[SHAPE_TEXT_MAX], wanted[SHAPE_TEXT_MAX];
    struct ckpt_view v;

    if (names_find(t->ckpt, t->layout, item->name, &v) == 0 && is_quantised(&v, item))
        v.count = item->count;
    if (!v.data) {
        t->n_bad++;
        line(t->out, "MISSING   %s", item->name);
    } else if (v.count != item->count) {
        t->n_bad++;
        line(t->out, "WRONG     %s is %s, config.json expects %s", item->name,
             shape_text(found, v.rank, v.n), shape_text(wanted, item->rank, item->n));
    } else {
        t->n_found++;
        t->n_param += v.count;
    }
    return 0;
}

static void print_dtypes(const struct out *o, const struct ckpt *c)
{
    int n[DT_BOOL + 1] = {0};
    int64_t bytes[DT_BOOL + 1] = {0}, all = 0;

    for (int i = 0; i < c->n_tensor; i++) {
        n[c->tensor[i].dtype]++;
        bytes[c->tensor[i].dtype] += (int64_t)c->tensor[i].bytes;
        all += (int64_t)c->tensor[i].bytes;
    }
    line(o, "files     %d, %d tensors, %" PRId64 " bytes of numbers", c->n_file, c->n_tensor, all);
    for (int t = 0; t <= DT_BOOL; t++)
        if (n[t])
            line(o, "          %s: %d tensors, %" PRId64 " bytes",
                 t ? dtype_text(t) : "unread types", n[t], bytes[t]);
}

static int check_tensors(const struct out *o, const struct ckpt *ckpt, const struct model_config *c,
                         const char *dir)
{
    struct tally t = {.ckpt = ckpt, .out = o};
    int layout = names_detect(ckpt), n_all = inventory_count(c, NULL);

    if (layout < 0)
        return layout;
    t.layout = (enum names_layout)layout;
    inventory_each(c, check_item, &t);
    line(o, "names     %s; %d of %d tensors as config.json expects, %" PRId64 " parameters",
         names_layout_text(t.layout), t.n_found, n_all, t.n_param);
    if (t.n_bad)
        return err(RECTO_EMODEL, "model: %d tensors of %s are missing or of another shape", t.n_bad,
                   dir);
    return 0;
}

int recto_inspect_model(const struct recto_settings *s, recto_line_fn *print, void *ctx)
{
    struct out o = {print, ctx};
    struct model_config c;
    struct ckpt ckpt = {0};
    char *dir = NULL;
    bool is_default;
    int rc;

    TRY_OUT(settings_model_dir(s, &dir, &is_default));
    TRY_OUT(config_load(&c, dir));
    line(&o, "model     %s%s", dir, is_default ? " (the demonstration model)" : "");
    print_config(&o, &c);
    TRY_OUT(ckpt_open(&ckpt, dir));
    print_dtypes(&o, &ckpt);
    rc = check_tensors(&o, &ckpt, &c, dir);
out:
    ckpt_close(&ckpt);
    free(dir);
    return rc;
}

/* ---- image ----------------------------------------------------------------------------------------------------------- */

static void print_views(const struct out *o, const struct recto_image *im, bool crop_mode)
{
    struct view_frame f = view_global_frame(im->width, im->height);
    int w, h, n;

    view_grid(im->width, im->height, crop_mode, &w, &h);
    n = w * h > 1 ? w * h : 0;
    line(o, "size      %d x %d pixels, as displayed", im->width, im->height);
    if (n)
        line(o, "tiles     %d x %d of %d pixels: %d views, %d rows each", w, h, VIEW_TILE, n,
             view_rows(VIEW_TILE));
    else
        line(o, "tiles     none");
    line(o, "global    %d x %d at (%d, %d) of %d x %d: %d rows", f.w, f.h, f.x, f.y, VIEW_GLOBAL,
         VIEW_GLOBAL, view_rows(VIEW_GLOBAL));
    line(o, "visual    %d rows of the prompt, separator included", view_n_visual(n));
}

int recto_inspect_image(const struct recto_settings *s, const char *path, recto_line_fn *print,
                        void *ctx)
{
    struct out o = {print, ctx};
    struct recto_input in = {.path = path};
    struct recto_document *d = NULL;
    struct recto_image im = {0};
    struct model_config c;
    char *dir = NULL;
    bool is_default;
    int rc;

    TRY_OUT(settings_model_dir(s, &dir, &is_default));
    TRY_OUT(config_load(&c, dir));
    TRY_OUT(recto_document_open(&d, &in, s));
    TRY_OUT(recto_document_render(d, 1, &im));
    line(&o, "image     %s", path);
    print_views(&o, &im, c.crop_mode);
out:
    recto_image_reset(&im);
    recto_document_close(d);
    free(dir);
    return rc;
}

/* ---- build ----------------------------------------------------------------------------------------------------------- */

#ifdef RECTO_HAVE_CUDA
static const char has_cuda[] = "in this build (--device cuda)";
#else
static const char has_cuda[] = "not in this build";
#endif

const char *recto_features(void)
{
    static _Thread_local char text[160];
    struct device_opts o = {.name = "cpu", .threads = 1};
    struct device_info info = {0};
    struct device *d;

    if (backend_cpu.open(&d, &o) == 0) {
        backend_cpu.info(d, &info);
        backend_cpu.close(d);
    }
    snprintf(text, sizeof text,
             "cpu: %s kernels in use, %d cores usable; cuda: %s; for tests: sim, script",
             info.kernels, pool_usable_cores(), has_cuda);
    return text;
}
