/* Layout JSON, schema recto-layout-1: everything that is known of a page, for programs.
 *
 * What the page holds comes first (json_read.c reads it back); keys that are derived from it for
 * convenience are boxes_px, html, table and tex.  Optional keys are left out when they would say
 * nothing. */
#include "result/json_out.h"
#include "result/place.h"
#include "result/model.h"
#include "result/span.h"
#include "result/writer.h"

#include <math.h>
#include <stdlib.h>

static void set(json_t *obj, const char *key, json_t *value)
{
    json_object_set_new(obj, key, value);
}

static json_t *text_or_null(const char *s)
{
    return s ? json_out_text(str_of(s)) : json_null();
}

static json_t *int_or_null(int v)
{
    return v < 0 ? json_null() : json_integer(v);
}

static json_t *rounded(double v, double unit)
{
    return json_real(isfinite(v) && v > 0 ? round(v * unit) / unit : 0.0);
}

static json_t *pair(int a, int b)
{
    return json_pack("[ii]", a, b);
}

static json_t *boxes(const struct recto_box *b, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("[iiii]", b[i].x1, b[i].y1, b[i].x2, b[i].y2));
    return list;
}

static json_t *boxes_in_px(const struct recto_block *b, const struct recto_page *p)
{
    json_t *list = json_array();

    for (int i = 0; i < b->n_box; i++) {
        struct recto_box px = box_px(b->box[i], p->width, p->height);

        json_array_append_new(list, json_pack("[iiii]", px.x1, px.y1, px.x2, px.y2));
    }
    return list;
}

/* Nothing when nobody knows how large the page is in points. */
static void set_boxes_in_pt(json_t *obj, const struct recto_block *b, const struct recto_page *p)
{
    json_t *list;
    struct place f;

    if (!place_of_page(&f, p))
        return;
    list = json_array();
    for (int i = 0; i < b->n_box; i++) {
        struct box_pt pt = place_box(&f, box_px(b->box[i], p->width, p->height));

        json_array_append_new(list, json_pack("[ffff]", round(pt.x1 * 1e2) / 1e2,
                                              round(pt.y1 * 1e2) / 1e2, round(pt.x2 * 1e2) / 1e2,
                                              round(pt.y2 * 1e2) / 1e2));
    }
    set(obj, "boxes_pt", list);
}

/* ---- tables and math ------------------------------------------------------------------------- */

static json_t *table_json(const struct table *t);

static json_t *cell_json(const struct table *t, const struct table_cell *c)
{
    json_t *obj = json_pack("{sisisisi}", "r", c->row, "c", c->col, "rs", c->rowspan, "cs",
                            c->colspan);
    json_t *nested = c->nested ? json_array() : NULL;

    set(obj, "text", json_out_text(table_cell_text(t, c)));
    if (c->is_header)
        set(obj, "header", json_true());
    for (const struct table *n = c->nested; n; n = n->next)
        json_array_append_new(nested, table_json(n));
    if (nested)
        set(obj, "tables", nested);
    return obj;
}

static json_t *table_json(const struct table *t)
{
    json_t *obj = json_pack("{sisi}", "rows", t->n_row, "cols", t->n_col), *cells = json_array();

    for (int i = 0; i < t->n_cell; i++)
        json_array_append_new(cells, cell_json(t, &t->cell[i]));
    set(obj, "cells", cells);
    if (t->caption_text.n)
        set(obj, "caption", json_out_text(buf_view(&t->caption_text)));
    return obj;
}

/* html and table: the first table of the body. tex: the formula of a body that is nothing else. */
static void set_derived(json_t *obj, const struct recto_block *b)
{
    struct spans spans = spans_of((str){b->text, b->n_text});
    struct span s;
    struct buf html = {0};
    bool has_table = false;

    for (bool first = true; span_next(&spans, &s); first = false) {
        bool is_math = s.kind == SPAN_MATH || s.kind == SPAN_DISPLAY;

        if (is_math && first && s.all.n == b->n_text)
            set(obj, "tex", json_out_text(s.inner));
        if (s.kind != SPAN_TABLE || has_table) {
            table_free(s.table);
            continue;
        }
        has_table = true;
        table_put_html(&html, s.table);
        set(obj, "html", json_out_text(buf_view(&html)));
        set(obj, "table", table_json(s.table));
        table_free(s.table);
    }
    buf_reset(&html);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static json_t *flags_json(unsigned flags)
{
    json_t *list = json_array();

    for (int bit = 0; block_flag_name(bit); bit++)
        if (flags & 1u << bit)
            json_array_append_new(list, json_string(block_flag_name(bit)));
    return list;
}

/* The boxes as written, when the boxes as read do not say the same. */
static void set_det(json_t *obj, const struct recto_block *b)
{
    struct buf spelled = {0};

    boxes_spell(&spelled, b->box, b->n_box);
    if (b->det && (!b->n_box || !str_eq(buf_view(&spelled), (str){b->det, b->n_det})))
        set(obj, "det_raw", json_out_text((str){b->det, b->n_det}));
    buf_reset(&spelled);
    if (b->box_error)
        set(obj, "box_error", json_string(recto_box_error_name(b->box_error)));
}

static json_t *block_json(const struct recto_page *p, int i)
{
    const struct recto_block *b = &p->block[i];
    json_t *obj = json_object();

    set(obj, "id", json_sprintf("p%db%d", p->number, i));
    set(obj, "order", json_integer(b->order));
    set(obj, "kind", json_string(recto_block_kind_name(b->kind)));
    set(obj, "label", json_out_text(str_of(b->label)));
    if (b->level)
        set(obj, "level", json_integer(b->level));
    set(obj, "boxes_999", boxes(b->box, b->n_box));
    if (b->n_box && p->width > 0 && p->height > 0)
        set(obj, "boxes_px", boxes_in_px(b, p));
    if (b->n_box)
        set_boxes_in_pt(obj, b, p);
    set_det(obj, b);
    set(obj, "text", json_out_text((str){b->text, b->n_text}));
    set(obj, "raw", json_out_text((str){b->raw, b->n_raw}));
    if (b->kind != RECTO_BLOCK_CODE)
        set_derived(obj, b);
    set(obj, "complete", json_boolean(!(b->flags & RECTO_BLOCK_INCOMPLETE)));
    set(obj, "flags", flags_json(b->flags));
    return obj;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static json_t *timing_json(const struct recto_timing *t)
{
    json_t *obj = json_object();

    set(obj, "queue", rounded(t->queue, 1e3));
    set(obj, "decode_image", rounded(t->decode_image, 1e3));
    set(obj, "preprocess", rounded(t->preprocess, 1e3));
    set(obj, "vision", rounded(t->vision, 1e3));
    set(obj, "prefill", rounded(t->prefill, 1e3));
    set(obj, "decode", rounded(t->decode, 1e3));
    set(obj, "post", rounded(t->post, 1e3));
    set(obj, "total", rounded(t->total, 1e3));
    return obj;
}

static json_t *conf_json(double conf)
{
    return conf >= 0.5e-4 ? rounded(conf, 1e4) : json_null();
}

static json_t *attempts_json(const struct recto_page *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->n_attempt; i++) {
        const struct recto_attempt *a = &p->attempt[i];
        json_t *obj = json_object();

        set(obj, "rung", json_string(a->rung));
        set(obj, "finish", json_string(recto_finish_name(a->finish)));
        set(obj, "n_tok", json_integer(a->n_token));
        set(obj, "conf", conf_json(a->conf));
        if (a->is_chosen)
            set(obj, "chosen", json_true());
        json_array_append_new(list, obj);
    }
    return list;
}

static void set_warnings(json_t *obj, const struct recto_page *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->n_warning; i++)
        json_array_append_new(list, json_out_text(str_of(p->warning[i])));
    set(obj, "warnings", list);
}

static void set_error(json_t *obj, const struct recto_page *p)
{
    if (p->error)
        set(obj, "error", json_pack("{sssn}", "code", recto_error_name(p->error), "text"));
    if (p->error)
        set(json_object_get(obj, "error"), "text", text_or_null(p->error_text));
}

static void set_frame(json_t *obj, const struct recto_page *p)
{
    json_t *list = json_array();
    struct place f;

    if (!place_of_page(&f, p)) {
        json_decref(list);
        return;
    }
    for (int i = 0; i < 4; i++)
        json_array_append_new(list, json_real(round(p->crop_pt[i] * 1e2) / 1e2));
    set(obj, "crop_pt", list);
    set(obj, "turn_pt", json_integer(p->turn_pt));
}

static void set_layer(json_t *obj, const struct recto_page *p)
{
    json_t *layer;

    if (!p->layer)
        return;
    layer = json_object();
    set(layer, "text", json_out_text((str){p->layer, p->n_layer}));
    set(layer, "trusted", json_boolean(p->layer_trusted));
    set(obj, "layer", layer);
}

static json_t *page_json(const struct recto_page *p)
{
    json_t *obj = json_object(), *list = json_array();

    set(obj, "page", json_integer(p->number));
    set(obj, "status", json_string(recto_status_name(p->status)));
    set(obj, "finish", json_string(recto_finish_name(p->finish)));
    set(obj, "size_px", pair(p->width, p->height));
    if (p->dpi > 0) {
        set(obj, "dpi", rounded(p->dpi, 1e2));
        set(obj, "size_pt",
            json_pack("[oo]", rounded(p->width_pt, 1e2), rounded(p->height_pt, 1e2)));
    }
    set_frame(obj, p);
    set(obj, "rotate", json_integer(p->rotate));
    set(obj, "grid", pair(p->tiles_w, p->tiles_h));
    set(obj, "source", json_string(p->is_layer ? "pdf-text" : "ocr"));
    set(obj, "conf", conf_json(p->conf));
    set(obj, "n_tok", json_integer(p->n_token));
    set(obj, "n_prompt", json_integer(p->n_prompt));
    set(obj, "n_visual", json_integer(p->n_visual));
    set(obj, "interventions", json_integer(p->n_intervention));
    set(obj, "stray_markers", json_integer(p->n_stray));
    set(obj, "attempts", attempts_json(p));
    set_warnings(obj, p);
    set_error(obj, p);
    set(obj, "timing", timing_json(&p->timing));
    set(obj, "raw", json_out_text((str){p->raw, p->n_raw}));
    set_layer(obj, p);
    for (int i = 0; i < p->n_block; i++)
        json_array_append_new(list, block_json(p, i));
    set(obj, "blocks", list);
    return obj;
}

void writer_json_page(struct buf *out, const struct recto_page *p)
{
    json_out_dump(out, page_json(p));
}

/* ---- the document ---------------------------------------------------------------------------- */

static json_t *tool_json(const struct recto_write_options *o)
{
    json_t *obj = json_pack("{ssss}", "name", "recto", "version", RECTO_VERSION);

    set(obj, "model_sha256", text_or_null(o->model_sha256));
    set(obj, "backend", text_or_null(o->backend));
    set(obj, "precision", text_or_null(o->precision));
    return obj;
}

static json_t *source_json(const struct recto_write_options *o)
{
    json_t *obj = json_object();

    set(obj, "name", text_or_null(o->name));
    set(obj, "kind", text_or_null(o->source_kind));
    set(obj, "sha256", text_or_null(o->source_sha256));
    set(obj, "n_pages", int_or_null(o->n_pages));
    return obj;
}

/* "144" as a number, "auto" as it is. */
static json_t *number_or_text(const char *s)
{
    char *end = NULL;
    long v = s && *s >= '0' && *s <= '9' ? strtol(s, &end, 10) : 0;

    return end && !*end ? json_integer(v) : text_or_null(s);
}

static json_t *settings_json(const struct recto_write_options *o)
{
    json_t *obj = json_object();

    set(obj, "task", text_or_null(o->task));
    set(obj, "prompt", text_or_null(o->prompt));
    set(obj, "dpi", number_or_text(o->dpi));
    set(obj, "guard", text_or_null(o->guard));
    set(obj, "max_tokens", int_or_null(o->max_tokens));
    set(obj, "retries", int_or_null(o->retries));
    set(obj, "rotate", text_or_null(o->rotate));
    return obj;
}

static int json_open(struct recto_writer *w)
{
    buf_text(&w->out, "{\"schema\":\"recto-layout-1\"");
    if (w->opts.created) {
        buf_text(&w->out, ",\"created\":");
        json_out_dump(&w->out, json_out_text(str_of(w->opts.created)));
    }
    buf_text(&w->out, ",\"tool\":");
    json_out_dump(&w->out, tool_json(&w->opts));
    buf_text(&w->out, ",\"source\":");
    json_out_dump(&w->out, source_json(&w->opts));
    buf_text(&w->out, ",\"settings\":");
    json_out_dump(&w->out, settings_json(&w->opts));
    buf_text(&w->out, ",\"pages\":[");
    return 0;
}

static int json_page(struct recto_writer *w, const struct recto_page *p)
{
    buf_text(&w->out, w->n_page ? ",\n" : "\n");
    writer_json_page(&w->out, p);
    return 0;
}

static int json_close(struct recto_writer *w)
{
    buf_text(&w->out, "\n]}\n");
    return 0;
}

const struct writer writer_json = {
    .format = {.name = "json", .extension = ".json", .is_text = true},
    .open = json_open,
    .page = json_page,
    .close = json_close,
};

/* ---- a page a line --------------------------------------------------------------------------- */

static int jsonl_page(struct recto_writer *w, const struct recto_page *p)
{
    writer_json_page(&w->out, p);
    buf_char(&w->out, '\n');
    return 0;
}

const struct writer writer_jsonl = {
    .format = {.name = "jsonl", .extension = ".jsonl", .is_text = true},
    .page = jsonl_page,
};
