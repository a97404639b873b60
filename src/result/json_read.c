/* A page back from its JSON object: the inverse of writer_json.c.
 *
 * Unknown keys and the derived ones are ignored.  Required are those that the schema requires;
 * the rest is as if it had never been known.  Values are checked, since the file may have come
 * from anywhere. */
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "result/clean.h"
#include "result/model.h"

#include <limits.h>
#include <stdio.h>

#define SIZE_PX_MAX  1000000
#define DPI_READ_MAX 100000

static int bad(const char *where, const char *key, str value)
{
    return err(RECTO_EFORMAT, "%s: %s: unknown value '%.*s'", where, key, (int)MIN(value.n, 40),
               value.p);
}

static int read_int(const json_t *obj, const char *where, const char *key, bool optional, int lo,
                    int hi, int *out)
{
    int64_t v = *out;

    TRY(json_int(obj, where, key, optional, lo, hi, &v));
    *out = (int)v;
    return 0;
}

/* Two numbers, which the schema lets be reals. */
static int read_numbers(const json_t *obj, const char *where, const char *key, bool optional,
                        double v[2])
{
    json_t *list;

    v[0] = v[1] = 0;
    TRY(json_get_array(obj, where, key, optional, &list));
    if (!list)
        return 0;
    if (json_array_size(list) != 2)
        return err(RECTO_EFORMAT, "%s: %s: expected two numbers", where, key);
    for (size_t i = 0; i < 2; i++) {
        v[i] = json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i)) || !(v[i] >= 0 && v[i] <= SIZE_PX_MAX))
            return err(RECTO_EFORMAT, "%s: %s: expected numbers from 0 to %d", where, key,
                       SIZE_PX_MAX);
    }
    return 0;
}

static int read_pair(const json_t *obj, const char *where, const char *key, int *a, int *b)
{
    double v[2];

    TRY(read_numbers(obj, where, key, false, v));
    *a = (int)v[0], *b = (int)v[1];
    return 0;
}

/* A new string of the caller; *out stays when the key is missing and optional. flags: clean.h. */
static int read_text(const json_t *obj, const char *where, const char *key, bool optional,
                     unsigned flags, char **out, size_t *n)
{
    str s = {NULL, 0};

    TRY(json_str(obj, where, key, optional, &s));
    if (s.p)
        *out = clean_dup(s, flags, n);
    return 0;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int read_box(const json_t *v, const char *where, struct recto_box *out)
{
    int x[4];

    for (size_t i = 0; i < 4; i++) {
        const json_t *n = json_array_get(v, i);
        double d = json_number_value(n);

        if (json_array_size(v) != 4 || !json_is_number(n) || !(d >= 0 && d <= 999))
            return err(RECTO_EFORMAT, "%s: boxes_999: expected four numbers from 0 to 999", where);
        x[i] = (int)d;
    }
    *out = (struct recto_box){x[0], x[1], x[2], x[3]};
    if (x[0] > x[2] || x[1] > x[3])
        return err(RECTO_EFORMAT, "%s: boxes_999: expected left, top, right, bottom", where);
    return 0;
}

static int read_boxes(const json_t *obj, const char *where, struct recto_block *b)
{
    json_t *list;
    size_t n;

    TRY(json_get_array(obj, where, "boxes_999", false, &list));
    n = json_array_size(list);
    if (n > BOXES_MAX)
        return err(RECTO_EFORMAT, "%s: boxes_999: %zu boxes, at most %d", where, n, BOXES_MAX);
    if (n)
        b->box = mem_zero(n, sizeof *b->box);
    for (size_t i = 0; i < n; i++, b->n_box++)
        TRY(read_box(json_array_get(list, i), where, &b->box[i]));
    return 0;
}

/* The spelling of the boxes is in the file only where it says more than they do. */
static int read_det(const json_t *obj, const char *where, struct recto_block *b)
{
    struct buf spelled = {0};
    str error = {NULL, 0};

    TRY(json_str(obj, where, "box_error", true, &error));
    if (error.p && !box_error_from_name(error, &b->box_error))
        return bad(where, "box_error", error);
    TRY(read_text(obj, where, "det_raw", true, 0, &b->det, &b->n_det));
    if (b->det || !b->n_box)
        return 0;
    boxes_spell(&spelled, b->box, b->n_box);
    b->det = spelled.p;
    b->n_det = spelled.n;
    return 0;
}

static int read_flags(const json_t *obj, const char *where, struct recto_block *b)
{
    json_t *list;

    TRY(json_get_array(obj, where, "flags", true, &list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        for (int bit = 0; name && block_flag_name(bit); bit++)
            if (strcmp(name, block_flag_name(bit)) == 0)
                b->flags |= 1u << bit;
    }
    return 0;
}

static int read_block(const json_t *obj, const char *where, struct recto_block *b)
{
    str kind;
    size_t n_label;

    if (!json_is_object(obj))
        return err(RECTO_EFORMAT, "%s: expected an object", where);
    TRY(read_int(obj, where, "order", false, -1, BLOCKS_MAX, &b->order));
    TRY(json_str(obj, where, "kind", false, &kind));
    if (!block_kind_from_name(kind, &b->kind))
        return bad(where, "kind", kind);
    TRY(read_text(obj, where, "label", false, CLEAN_CONTROLS, &b->label, &n_label));
    TRY(read_int(obj, where, "level", true, 0, 6, &b->level));
    TRY(read_boxes(obj, where, b));
    TRY(read_det(obj, where, b));
    TRY(read_text(obj, where, "text", false, CLEAN_CONTROLS, &b->text, &b->n_text));
    TRY(read_text(obj, where, "raw", true, 0, &b->raw, &b->n_raw));
    if (!b->raw)
        b->raw = clean_dup((str){b->text, b->n_text}, 0, &b->n_raw);
    return read_flags(obj, where, b);
}

static int read_blocks(const json_t *obj, struct recto_page *p)
{
    char where[32];
    json_t *list;
    size_t n;

    TRY(json_get_array(obj, "page", "blocks", false, &list));
    n = json_array_size(list);
    if (n > BLOCKS_MAX)
        return err(RECTO_EFORMAT, "page: %zu blocks, at most %d", n, BLOCKS_MAX);
    if (n)
        p->block = mem_zero(n, sizeof *p->block);
    for (size_t i = 0; i < n; i++) {
        snprintf(where, sizeof where, "page: blocks[%zu]", i);
        p->n_block++;
        TRY(read_block(json_array_get(list, i), where, &p->block[i]));
    }
    return 0;
}

/* ---- the page -------------------------------------------------------------------------------- */

static int read_timing(const json_t *obj, struct recto_timing *t)
{
    const struct {
        const char *key;
        double *out;
    } fields[] = {
        {"queue", &t->queue},
        {"decode_image", &t->decode_image},
        {"preprocess", &t->preprocess},
        {"vision", &t->vision},
        {"prefill", &t->prefill},
        {"decode", &t->decode},
        {"post", &t->post},
        {"total", &t->total},
    };
    json_t *timing;

    TRY(json_get_object(obj, "page", "timing", true, &timing));
    for (size_t i = 0; timing && i < COUNT(fields); i++)
        TRY(json_double(timing, "page: timing", fields[i].key, true, 0, 1e15, fields[i].out));
    return 0;
}

#define ATTEMPTS_MAX 64

static int read_attempt(const json_t *obj, struct recto_attempt *a)
{
    static const char where[] = "page: attempts";
    str rung, finish = {0};

    if (!json_is_object(obj))
        return err(RECTO_EFORMAT, "%s: expected objects", where);
    TRY(json_str(obj, where, "rung", false, &rung));
    if (rung.n >= sizeof a->rung)
        return bad(where, "rung", rung);
    memcpy(a->rung, rung.p, rung.n);
    TRY(json_str(obj, where, "finish", false, &finish));
    if (!finish_from_name(finish, &a->finish))
        return bad(where, "finish", finish);
    TRY(read_int(obj, where, "n_tok", true, 0, INT_MAX, &a->n_token));
    TRY(json_bool(obj, where, "chosen", true, &a->is_chosen));
    return json_double(obj, where, "conf", true, 0, 1, &a->conf);
}

static int read_attempts(const json_t *obj, struct recto_page *p)
{
    json_t *list;
    size_t n;

    TRY(json_get_array(obj, "page", "attempts", true, &list));
    n = json_array_size(list);
    if (n > ATTEMPTS_MAX)
        return err(RECTO_EFORMAT, "page: %zu attempts, at most %d", n, ATTEMPTS_MAX);
    if (n)
        p->attempt = mem_zero(n, sizeof *p->attempt);
    for (size_t i = 0; i < n; i++, p->n_attempt++)
        TRY(read_attempt(json_array_get(list, i), &p->attempt[i]));
    return 0;
}

static int read_warnings(const json_t *obj, struct recto_page *p)
{
    json_t *list;
    size_t n, n_text;

    TRY(json_get_array(obj, "page", "warnings", true, &list));
    n = json_array_size(list);
    if (n)
        p->warning = mem_zero(n, sizeof *p->warning);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        str s = {json_string_value(v), json_string_length(v)};

        if (!s.p)
            return err(RECTO_EFORMAT, "page: warnings: expected strings");
        p->warning[p->n_warning++] = clean_dup(s, CLEAN_CONTROLS, &n_text);
    }
    return 0;
}

static int code_from_name(str name)
{
#define X(id, value, printed, what) \
    if (str_eq(name, STR(printed))) \
        return value;
    RECTO_ERRORS(X)
#undef X
    return 0;
}

static int read_error(const json_t *obj, struct recto_page *p)
{
    json_t *error;
    str code;
    size_t n;

    TRY(json_get_object(obj, "page", "error", true, &error));
    if (!error)
        return 0;
    TRY(json_str(error, "page: error", "code", false, &code));
    p->error = code_from_name(code);
    if (!p->error)
        return bad("page: error", "code", code);
    return read_text(error, "page: error", "text", true, CLEAN_CONTROLS, &p->error_text, &n);
}

static int read_layer(const json_t *obj, struct recto_page *p)
{
    str source = STR("ocr");
    json_t *layer;

    TRY(json_str(obj, "page", "source", true, &source));
    p->is_layer = str_eq(source, STR("pdf-text"));
    if (!p->is_layer && !str_eq(source, STR("ocr")))
        return bad("page", "source", source);
    TRY(json_get_object(obj, "page", "layer", true, &layer));
    if (!layer)
        return 0;
    TRY(json_bool(layer, "page: layer", "trusted", false, &p->layer_trusted));
    return read_text(layer, "page: layer", "text", false, 0, &p->layer, &p->n_layer);
}

static int read_state(const json_t *obj, struct recto_page *p)
{
    str status, finish = STR("none");

    TRY(json_str(obj, "page", "status", false, &status));
    if (!status_from_name(status, &p->status))
        return bad("page", "status", status);
    TRY(json_str(obj, "page", "finish", true, &finish));
    if (!finish_from_name(finish, &p->finish))
        return bad("page", "finish", finish);
    return 0;
}

/* obj[key], if it is there: a list of n numbers. */
static int read_reals(const json_t *obj, const char *key, double *v, size_t n)
{
    json_t *list;

    TRY(json_get_array(obj, "page", key, true, &list));
    if (list && json_array_size(list) != n)
        return err(RECTO_EFORMAT, "page.%s: expected %zu numbers", key, n);
    for (size_t i = 0; list && i < n; i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_number(item))
            return err(RECTO_EFORMAT, "page.%s: expected %zu numbers", key, n);
        v[i] = json_number_value(item);
    }
    return 0;
}

static int read_frame(const json_t *obj, struct recto_page *p)
{
    double size[2] = {0};

    TRY(json_double(obj, "page", "dpi", true, 0, 1e5, &p->dpi));
    TRY(read_reals(obj, "size_pt", size, 2));
    p->width_pt = size[0];
    p->height_pt = size[1];
    TRY(read_reals(obj, "crop_pt", p->crop_pt, 4));
    TRY(read_int(obj, "page", "turn_pt", true, 0, 270, &p->turn_pt));
    return p->turn_pt % 90 ? err(RECTO_EFORMAT, "page.turn_pt: expected 0, 90, 180 or 270") : 0;
}

static int read_page(const json_t *obj, struct recto_page *p)
{
    size_t n_raw = 0;
    double pt[2];

    /* 0: a document that could not be opened */
    TRY(read_int(obj, "page", "page", false, 0, INT_MAX, &p->number));
    TRY(read_state(obj, p));
    TRY(read_pair(obj, "page", "size_px", &p->width, &p->height));
    TRY(read_pair(obj, "page", "grid", &p->tiles_w, &p->tiles_h));
    TRY(json_double(obj, "page", "dpi", true, 0, DPI_READ_MAX, &p->dpi));
    TRY(read_numbers(obj, "page", "size_pt", true, pt));
    p->width_pt = pt[0], p->height_pt = pt[1];
    TRY(json_double(obj, "page", "conf", true, 0, 1, &p->conf));
    TRY(read_int(obj, "page", "n_tok", true, 0, INT_MAX, &p->n_token));
    TRY(read_int(obj, "page", "n_prompt", true, 0, INT_MAX, &p->n_prompt));
    TRY(read_int(obj, "page", "n_visual", true, 0, INT_MAX, &p->n_visual));
    TRY(read_int(obj, "page", "interventions", true, 0, INT_MAX, &p->n_intervention));
    TRY(read_int(obj, "page", "stray_markers", true, 0, INT_MAX, &p->n_stray));
    TRY(read_int(obj, "page", "rotate", true, 0, 270, &p->rotate));
    TRY(read_frame(obj, p));
    TRY(read_attempts(obj, p));
    TRY(read_warnings(obj, p));
    TRY(read_error(obj, p));
    TRY(read_layer(obj, p));
    TRY(read_timing(obj, &p->timing));
    TRY(read_text(obj, "page", "raw", true, 0, &p->raw, &n_raw));
    p->n_raw = n_raw;
    return read_blocks(obj, p);
}

/* A whole document of one page stands for its page. */
static int find_page(const json_t *root, const json_t **page)
{
    json_t *pages;

    *page = root;
    if (!json_is_object(root))
        return err(RECTO_EFORMAT, "page: expected an object");
    TRY(json_get_array(root, "document", "pages", true, &pages));
    if (!pages)
        return 0;
    if (json_array_size(pages) != 1)
        return err(RECTO_EFORMAT, "document: %zu pages, expected one: pass a single page object",
                   json_array_size(pages));
    *page = json_array_get(pages, 0);
    return json_is_object(*page) ? 0 : err(RECTO_EFORMAT, "page: expected an object");
}

int recto_page_from_json(const char *json, size_t n, struct recto_page *page)
{
    const json_t *obj;
    json_t *root;
    int rc;

    *page = (struct recto_page){0};
    TRY(json_parse(&root, (str){json, n}, "page"));
    rc = find_page(root, &obj);
    if (rc == 0)
        rc = read_page(obj, page);
    if (rc < 0)
        recto_page_reset(page);
    json_decref(root);
    return rc;
}
