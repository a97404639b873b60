/* The layout as MinerU's content list, for programs that read those: one flat list over all pages, in reading order.
 * Boxes are 0..1000 over the page, pages count from 0.
 * Source: opendatalab/MinerU, docs/en/reference/output_files.md (content_list.json). */
#include "base/mem.h"
#include "result/json_out.h"
#include "result/markdown.h"
#include "result/piece.h"

static int to_1000(int v_999)
{
    return (v_999 * 1000 + 499) / 999;
}

static void set(json_t *item, const char *key, json_t *value)
{
    json_object_set_new(item, key, value);
}

static json_t *markdown_of(str text)
{
    struct buf b = {0};
    json_t *v;

    markdown_put(&b, text, 0);
    v = json_out_text(buf_view(&b));
    buf_reset(&b);
    return v;
}

static json_t *list_of(const struct recto_block *caption)
{
    json_t *list = json_array();

    if (caption)
        json_array_append_new(list, markdown_of((str){caption->text, caption->n_text}));
    return list;
}

static void set_text(json_t *item, const struct piece *p)
{
    bool is_title = p->block->kind == RECTO_BLOCK_TITLE;

    set(item, "type", json_string("text"));
    set(item, "text",
        p->block->kind == RECTO_BLOCK_CODE ? json_out_text(p->text) : markdown_of(p->text));
    if (is_title || p->block->kind == RECTO_BLOCK_HEADING)
        set(item, "text_level", json_integer(is_title ? 1 : MAX(p->block->level, 2)));
}

static void set_formula(json_t *item, const struct piece *p)
{
    struct buf tex = {0};

    buf_text(&tex, "$$\n");
    buf_str(&tex, p->text);
    buf_text(&tex, "\n$$");
    set(item, "type", json_string("equation"));
    set(item, "img_path", json_string(""));
    set(item, "text", json_out_text(buf_view(&tex)));
    set(item, "text_format", json_string("latex"));
    buf_reset(&tex);
}

static void set_table(json_t *item, const struct piece *p)
{
    struct buf html = {0};

    table_put_html(&html, p->table);
    set(item, "type", json_string("table"));
    set(item, "img_path", json_string(""));
    set(item, "table_caption", list_of(p->caption));
    set(item, "table_footnote", json_array());
    set(item, "table_body", json_out_text(buf_view(&html)));
    buf_reset(&html);
}

static void set_figure(json_t *item, const struct piece *p, const char *stem)
{
    struct buf path = {0};

    if (p->figure)
        buf_fmt(&path, "%s.files/%s", stem, p->figure->name);
    set(item, "type", json_string("image"));
    set(item, "img_path", json_out_text(buf_view(&path)));
    set(item, "image_caption", list_of(p->caption));
    set(item, "image_footnote", json_array());
    buf_reset(&path);
}

struct list_state {
    int page_idx;
    bool has_item;
};

static int put_item(void *ctx, const struct piece *p)
{
    struct recto_writer *w = ctx;
    struct list_state *s = w->state;
    json_t *item = json_object();

    if (p->kind == PIECE_FORMULA)
        set_formula(item, p);
    else if (p->kind == PIECE_TABLE)
        set_table(item, p);
    else if (p->kind == PIECE_FIGURE)
        set_figure(item, p, w->opts.stem);
    else
        set_text(item, p);
    if (p->has_box)
        set(item, "bbox",
            json_pack("[iiii]", to_1000(p->box.x1), to_1000(p->box.y1), to_1000(p->box.x2),
                      to_1000(p->box.y2)));
    set(item, "page_idx", json_integer(s->page_idx));
    buf_text(&w->out, s->has_item ? ",\n" : "\n");
    s->has_item = true;
    json_out_dump(&w->out, item);
    return 0;
}

static int mineru_open(struct recto_writer *w)
{
    buf_char(&w->out, '[');
    return 0;
}

static int mineru_page(struct recto_writer *w, const struct recto_page *p)
{
    struct list_state *s = w->state;

    s->page_idx = p->number - 1;
    return pieces_of_page(w, p, PIECES_FIGURES_BESIDE, put_item, w);
}

static int mineru_close(struct recto_writer *w)
{
    buf_text(&w->out, "\n]\n");
    return 0;
}

const struct writer writer_mineru = {
    .format = {.name = "json",
               .extension = ".json",
               .is_text = true,
               .has_side_files = true,
               .uses_pixels = true},
    .state_size = sizeof(struct list_state),
    .open = mineru_open,
    .page = mineru_page,
    .close = mineru_close,
};
