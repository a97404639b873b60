/* The truth of a page as files. Written without recto's own writers, so that the two can be compared;
 * only the page objects of the JSON are theirs, because the schema is. */
#include "base/json.h"
#include "base/mem.h"
#include "sheet.h"

#include <math.h>
#include <stdlib.h>

static bool is_furniture(const struct sheet_block *b)
{
    return b->kind == RECTO_BLOCK_HEADER || b->kind == RECTO_BLOCK_FOOTER ||
           b->kind == RECTO_BLOCK_PAGE_NUMBER;
}

static void add_block(struct buf *out, bool *is_first, const char *marks, const char *text)
{
    if (!*is_first)
        buf_char(out, '\n');
    *is_first = false;
    buf_fmt(out, "%s%s\n", marks, text);
}

void sheet_txt(const struct sheet *s, struct buf *out)
{
    bool is_first = true;

    for (int i = 0; i < s->n_block; i++)
        if (!is_furniture(&s->block[i]) && s->block[i].plain[0])
            add_block(out, &is_first, "", s->block[i].plain);
}

static const char *marks_of(const struct sheet_block *b)
{
    static const char marks[] = "###### ";

    return b->level ? marks + 6 - MAX(b->level, b->kind == RECTO_BLOCK_HEADING ? 2 : 1) : "";
}

/* A caption in italics, a formula between $$ on lines of their own, a literal $ escaped. */
static void md_body(const struct sheet_block *b, struct buf *out)
{
    bool is_caption = b->kind == RECTO_BLOCK_CAPTION || b->kind == RECTO_BLOCK_TABLE_CAPTION;

    if (b->kind == RECTO_BLOCK_EQUATION) {
        buf_fmt(out, "$$\n%s\n$$", b->plain);
        return;
    }
    if (is_caption)
        buf_char(out, '*');
    for (const char *c = b->text; *c; c++) {
        if (*c == '$')
            buf_char(out, '\\');
        buf_char(out, *c);
    }
    if (is_caption)
        buf_char(out, '*');
}

void sheet_md(const struct sheet *s, struct buf *out)
{
    struct buf body = {0};
    bool is_first = true;

    for (int i = 0; i < s->n_block; i++) {
        const struct sheet_block *b = &s->block[i];

        if (is_furniture(b) || !b->text[0])
            continue;
        buf_clear(&body);
        md_body(b, &body);
        add_block(out, &is_first, marks_of(b), body.p);
    }
    buf_reset(&body);
}

void sheet_tables(const struct sheet *s, struct buf *out)
{
    for (int i = 0; i < s->n_block; i++)
        if (s->block[i].kind == RECTO_BLOCK_TABLE)
            buf_fmt(out, "%s\n", s->block[i].text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static int on_grid(double v, double size)
{
    return (int)fmin(999, fmax(0, round(v / size * 999)));
}

static struct recto_block page_block(const struct sheet *s, const struct sheet_block *b, int order)
{
    bool has_box = b->ink.x1 <= b->ink.x2;
    struct recto_block out = {.order = order, .kind = b->kind, .level = b->level, .n_box = has_box};
    struct buf raw = {0};

    out.label = mem_strdup(b->label);
    out.box = mem_zero(1, sizeof *out.box);
    if (has_box)
        out.box[0] = (struct recto_box){on_grid(b->ink.x1, s->width), on_grid(b->ink.y1, s->height),
                                        on_grid(b->ink.x2, s->width),
                                        on_grid(b->ink.y2, s->height)};
    out.text = mem_strdup(b->text);
    out.n_text = strlen(b->text);
    buf_fmt(&raw, "%s%s", marks_of(b), b->text);
    out.raw = raw.p;
    out.n_raw = raw.n;
    return out;
}

static struct recto_page page_of(const struct sheet *s, int number, double px_per_pt)
{
    struct recto_page p = {.number = number,
                           .width = (int)round(s->width * px_per_pt),
                           .height = (int)round(s->height * px_per_pt),
                           .tiles_w = 1,
                           .tiles_h = 1,
                           .dpi = 72 * px_per_pt,
                           .width_pt = s->width,
                           .height_pt = s->height,
                           .n_block = s->n_block};

    p.block = mem_zero((size_t)s->n_block, sizeof *p.block);
    for (int i = 0; i < s->n_block; i++)
        p.block[i] = page_block(s, &s->block[i], i);
    return p;
}

static json_t *lines_json(const struct sheet_block *b, double px_per_pt)
{
    json_t *list = json_array();

    for (int i = 0; i < b->n_line; i++) {
        struct area a = b->line[i].ink;

        json_array_append_new(list,
                              json_pack("{s:s, s:[iiii]}", "text", b->line[i].text, "box_px",
                                        (int)floor(a.x1 * px_per_pt), (int)floor(a.y1 * px_per_pt),
                                        (int)ceil(a.x2 * px_per_pt), (int)ceil(a.y2 * px_per_pt)));
    }
    return list;
}

/* One page object, with the keys that say nothing of a truth left out and the lines put in. */
static json_t *page_json(const struct sheet *s, int number, double px_per_pt)
{
    static const char *const empty[] = {"timing",   "conf",          "n_tok",         "n_prompt",
                                        "n_visual", "interventions", "stray_markers", "finish",
                                        "raw",      "warnings"};
    struct recto_page page = page_of(s, number, px_per_pt);
    char *text;
    size_t n;
    json_t *obj = NULL, *list;

    if (recto_page_to_json(&page, &text, &n) == 0) {
        obj = json_loadb(text, n, 0, NULL);
        recto_free(text);
    }
    for (size_t i = 0; i < COUNT(empty); i++)
        json_object_del(obj, empty[i]);
    json_object_set_new(obj, "kind", json_string(s->kind));
    json_object_set_new(obj, "lang", json_string(s->lang));
    if (s->level)
        json_object_set_new(obj, "level", json_string(s->level));
    list = json_object_get(obj, "blocks");
    for (int i = 0; i < s->n_block; i++)
        json_object_set_new(json_array_get(list, (size_t)i), "lines",
                            lines_json(&s->block[i], px_per_pt));
    recto_page_reset(&page);
    return obj;
}

void sheet_json(const struct sheet *s, int number, double px_per_pt, struct buf *out)
{
    json_t *page = page_json(s, number, px_per_pt);
    char *text = json_dumps(page, JSON_COMPACT | JSON_REAL_PRECISION(10));

    buf_text(out, text);
    free(text);
    json_decref(page);
}

void sheet_json_open(struct buf *out)
{
    buf_text(out,
             "{\"schema\":\"recto-layout-1\",\"tool\":{\"name\":\"recto-corpus\"},\"pages\":[");
}

void sheet_json_close(struct buf *out)
{
    buf_text(out, "]}\n");
}
