/* The layout as a DoclingDocument, for programs that read those. Items of each sort stand in a list of their own and point at each
 * other, so the lists are gathered until the end; "body" names them in reading order, "furniture" is marked by its layer.
 * A place is in points where the page's size in points is known, else in pixels, from the upper left corner.
 * Source: docling-project/docling-core, docs/DoclingDocument.json (version 1.10.0 of the document). */
#include "base/err.h"
#include "base/mem.h"
#include "result/json_out.h"
#include "result/model.h"
#include "result/piece.h"
#include "result/place.h"
#include "result/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define DOCLING_VERSION "1.10.0"
#define HASH_DIGITS     16
#define NUMBER_DIGITS   3 /* of an item's number */

struct docling_state {
    struct buf texts, tables, pictures, groups, pages,
        body; /* items of each list, parted by commas */
    int n_text, n_table, n_picture, n_group;
    /* of the page that is written */
    const struct recto_writer *w;
    const struct recto_page *page;
    double w_pt, h_pt; /* or pixels */
    str mark;          /* of the list item */
};

static void set(json_t *obj, const char *key, json_t *value)
{
    json_object_set_new(obj, key, value);
}

static void add(struct buf *list, json_t *item)
{
    if (list->n)
        buf_text(list, ",\n");
    json_out_dump(list, item);
}

/* ---- what all items have ----------------------------------------------------------------------- */

static json_t *ref_to(const char *list, int i)
{
    json_t *ref = json_object();

    set(ref, "$ref", json_sprintf("#/%s/%d", list, i));
    return ref;
}

static json_t *body_ref(void)
{
    json_t *ref = json_object();

    set(ref, "$ref", json_string("#/body"));
    return ref;
}

static double rounded(double v)
{
    return round(v * 100) / 100;
}

static json_t *place_of_box(const struct docling_state *s, struct recto_box b, size_t n_text)
{
    json_t *box = json_object(), *prov = json_object(), *list = json_array();

    set(box, "l", json_real(rounded(b.x1 / 999.0 * s->w_pt)));
    set(box, "t", json_real(rounded(b.y1 / 999.0 * s->h_pt)));
    set(box, "r", json_real(rounded(b.x2 / 999.0 * s->w_pt)));
    set(box, "b", json_real(rounded(b.y2 / 999.0 * s->h_pt)));
    set(box, "coord_origin", json_string("TOPLEFT"));
    set(prov, "page_no", json_integer(s->page->number));
    set(prov, "bbox", box);
    set(prov, "charspan", json_pack("[iI]", 0, (json_int_t)n_text));
    json_array_append_new(list, prov);
    return list;
}

/* parent is given away. */
static json_t *item(const struct docling_state *s, const char *list, int i, json_t *parent,
                    const struct recto_block *b)
{
    json_t *obj = json_object();

    set(obj, "self_ref", json_sprintf("#/%s/%d", list, i));
    set(obj, "parent", parent);
    set(obj, "children", json_array());
    set(obj, "content_layer", json_string(block_is_furniture(b) ? "furniture" : "body"));
    return obj;
}

/* ---- text -------------------------------------------------------------------------------------- */

static const char *label_of(const struct piece *p)
{
    if (p->kind == PIECE_FORMULA)
        return "formula";
    switch (p->block->kind) {
    case RECTO_BLOCK_TITLE:
        return "title";
    case RECTO_BLOCK_HEADING:
        return "section_header";
    case RECTO_BLOCK_CODE:
        return "code";
    case RECTO_BLOCK_CAPTION:
    case RECTO_BLOCK_TABLE_CAPTION:
        return "caption";
    case RECTO_BLOCK_FOOTNOTE:
        return "footnote";
    case RECTO_BLOCK_HEADER:
        return "page_header";
    case RECTO_BLOCK_FOOTER:
    case RECTO_BLOCK_PAGE_NUMBER:
        return "page_footer";
    default:
        return "text";
    }
}

/* Characters, which is what a charspan counts. */
static size_t n_chars(str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

/* A new item of "texts"; its number. parent is given away. */
static int add_text(struct docling_state *s, const struct piece *p, const char *label, str text,
                    json_t *parent)
{
    json_t *obj = item(s, "texts", s->n_text, parent, p->block);

    set(obj, "label", json_string(label));
    set(obj, "prov", p->has_box ? place_of_box(s, p->box, n_chars(text)) : json_array());
    set(obj, "orig", json_out_text(p->text));
    set(obj, "text", json_out_text(text));
    if (strcmp(label, "section_header") == 0)
        set(obj, "level", json_integer(MAX(p->block->level - 1, 1)));
    if (strcmp(label, "list_item") == 0) {
        set(obj, "enumerated", json_boolean(*s->mark.p >= '0' && *s->mark.p <= '9'));
        set(obj, "marker", json_out_text(str_trim(s->mark)));
    }
    add(&s->texts, obj);
    return s->n_text++;
}

/* "- ", "2. " or the like at the front of a line; empty: none. */
static str list_mark(str line)
{
    static const str marks[] = {STR("- "), STR("* "), STR("• ")};
    size_t n = 0;

    for (size_t i = 0; i < COUNT(marks); i++)
        if (str_starts(line, marks[i]))
            return marks[i];
    while (n < line.n && n < NUMBER_DIGITS && line.p[n] >= '0' && line.p[n] <= '9')
        n++;
    if (n && n + 1 < line.n && (line.p[n] == '.' || line.p[n] == ')') && line.p[n + 1] == ' ')
        return (str){line.p, n + 2};
    return (str){"", 0};
}

/* The items of a list block: lines with a mark, and those without one that go on. False: it is no such list. */
static bool add_list(struct docling_state *s, const struct piece *p)
{
    json_t *group, *children;
    str rest = p->text;

    if (p->block->kind != RECTO_BLOCK_LIST || !list_mark(rest).n)
        return false;
    group = item(s, "groups", s->n_group, body_ref(), p->block);
    children = json_object_get(group, "children");
    while (rest.n) {
        struct buf text = {0};
        struct piece one = *p;
        size_t end = 0;

        s->mark = list_mark(rest);
        do {
            end = MIN(str_find(rest, STR("\n"), end) + 1, rest.n);
        } while (end < rest.n && !list_mark((str){rest.p + end, rest.n - end}).n);
        one.text = str_trim((str){rest.p + s->mark.n, end - s->mark.n});
        plain_put(&text, one.text);
        json_array_append_new(children,
                              ref_to("texts", add_text(s, &one, "list_item", buf_view(&text),
                                                       ref_to("groups", s->n_group))));
        buf_reset(&text);
        rest = (str){rest.p + end, rest.n - end};
    }
    set(group, "name", json_string("list"));
    set(group, "label", json_string("list"));
    add(&s->groups, group);
    add(&s->body, ref_to("groups", s->n_group++));
    return true;
}

static void add_paragraph(struct docling_state *s, const struct piece *p)
{
    struct buf text = {0};

    if (add_list(s, p))
        return;
    if (p->kind == PIECE_FORMULA || p->block->kind == RECTO_BLOCK_CODE)
        buf_str(&text, p->text);
    else
        plain_put(&text, p->text);
    add(&s->body, ref_to("texts", add_text(s, p, label_of(p), buf_view(&text), body_ref())));
    buf_reset(&text);
}

/* ---- tables and figures -------------------------------------------------------------------------- */

/* The caption as an item of its own below this one, which names it. */
static void set_captions(struct docling_state *s, json_t *obj, const struct piece *p,
                         const char *list, int i)
{
    json_t *captions = json_array();

    if (p->caption) {
        struct piece c = {.kind = PIECE_TEXT, .block = p->caption};
        struct buf text = {0};
        int n;

        c.text = (str){p->caption->text, p->caption->n_text};
        c.has_box = p->caption->n_box > 0;
        c.box = c.has_box ? p->caption->box[0] : c.box;
        plain_put(&text, c.text);
        n = add_text(s, &c, "caption", buf_view(&text), ref_to(list, i));
        buf_reset(&text);
        json_array_append_new(captions, ref_to("texts", n));
        json_array_append_new(json_object_get(obj, "children"), ref_to("texts", n));
    }
    set(obj, "captions", captions);
}

static json_t *cell_of(const struct table *t, const struct table_cell *c)
{
    json_t *obj = json_pack("{sisisisisisi}", "row_span", c->rowspan, "col_span", c->colspan,
                            "start_row_offset_idx", c->row, "end_row_offset_idx",
                            c->row + c->rowspan, "start_col_offset_idx", c->col,
                            "end_col_offset_idx", c->col + c->colspan);

    set(obj, "text", json_out_text(table_cell_text(t, c)));
    set(obj, "column_header", json_boolean(c->is_header && c->row == 0));
    set(obj, "row_header", json_boolean(c->is_header && c->row > 0));
    return obj;
}

static void add_table(struct docling_state *s, const struct piece *p)
{
    json_t *obj = item(s, "tables", s->n_table, body_ref(), p->block), *cells = json_array();
    json_t *data = json_pack("{sisi}", "num_rows", p->table->n_row, "num_cols", p->table->n_col);

    for (int i = 0; i < p->table->n_cell; i++)
        json_array_append_new(cells, cell_of(p->table, &p->table->cell[i]));
    set(data, "table_cells", cells);
    set(obj, "label", json_string("table"));
    set(obj, "prov", p->has_box ? place_of_box(s, p->box, 0) : json_array());
    set_captions(s, obj, p, "tables", s->n_table);
    set(obj, "data", data);
    add(&s->tables, obj);
    add(&s->body, ref_to("tables", s->n_table++));
}

static void set_image(const struct docling_state *s, json_t *obj, const struct piece *p)
{
    struct recto_box px = box_px(p->box, s->page->width, s->page->height);
    json_t *image = json_object(), *size = json_object();
    struct buf uri = {0};

    figure_put_address(&uri, s->w->opts.stem, p->figure->name);
    set(size, "width", json_integer(px.x2 - px.x1));
    set(size, "height", json_integer(px.y2 - px.y1));
    set(image, "mimetype", json_string(p->figure->is_png ? "image/png" : "image/jpeg"));
    set(image, "dpi", json_integer(lround(72 * s->page->width / s->w_pt)));
    set(image, "size", size);
    set(image, "uri", json_out_text(buf_view(&uri)));
    set(obj, "image", image);
    buf_reset(&uri);
}

static void add_picture(struct docling_state *s, const struct piece *p)
{
    json_t *obj = item(s, "pictures", s->n_picture, body_ref(), p->block);

    set(obj, "label", json_string("picture"));
    set(obj, "prov", place_of_box(s, p->box, 0));
    set_captions(s, obj, p, "pictures", s->n_picture);
    if (p->figure)
        set_image(s, obj, p);
    add(&s->pictures, obj);
    add(&s->body, ref_to("pictures", s->n_picture++));
}

/* ---- pages ----------------------------------------------------------------------------------------- */

static int take_piece(void *ctx, const struct piece *p)
{
    if (p->kind == PIECE_TABLE)
        add_table(ctx, p);
    else if (p->kind == PIECE_FIGURE)
        add_picture(ctx, p);
    else
        add_paragraph(ctx, p);
    return 0;
}

static int docling_page(struct recto_writer *w, const struct recto_page *p)
{
    struct docling_state *s = w->state;
    json_t *page = json_object(), *size = json_object();
    struct place f;
    bool has_points = place_of_page(&f, p);

    s->w = w, s->page = p;
    s->w_pt = has_points ? f.w : p->width;
    s->h_pt = has_points ? f.h : p->height;
    set(size, "width", json_real(rounded(s->w_pt)));
    set(size, "height", json_real(rounded(s->h_pt)));
    set(page, "size", size);
    set(page, "page_no", json_integer(p->number));
    buf_fmt(&s->pages, "%s\"%d\":", s->pages.n ? ",\n" : "", p->number);
    json_out_dump(&s->pages, page);
    return pieces_of_page(w, p, PIECES_FIGURES_BESIDE, take_piece, s);
}

/* ---- the document ---------------------------------------------------------------------------------- */

static const char *mime_of(const char *kind)
{
    static const char *const types[][2] = {
        {"PDF", "application/pdf"}, {"PNG", "image/png"},      {"JPEG", "image/jpeg"},
        {"TIFF", "image/tiff"},     {"BigTIFF", "image/tiff"}, {"WebP", "image/webp"},
        {"GIF", "image/gif"},       {"BMP", "image/bmp"},
    };

    for (size_t i = 0; kind && i < COUNT(types); i++)
        if (strcmp(kind, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

/* The file's hash has 64 bits there: the last ones of its SHA-256. */
static void put_origin(struct buf *out, const struct recto_write_options *o)
{
    size_t n = o->source_sha256 ? strlen(o->source_sha256) : 0;
    const char *last = n >= HASH_DIGITS ? o->source_sha256 + n - HASH_DIGITS : "0";

    buf_fmt(out, ",\"origin\":{\"mimetype\":\"%s\",\"binary_hash\":%" PRIu64 ",\"filename\":",
            mime_of(o->source_kind), (uint64_t)strtoull(last, NULL, 16));
    json_out_dump(out, json_out_text(str_of(o->name ? o->name : "")));
    buf_char(out, '}');
}

static void put_list(struct buf *out, const char *name, const struct buf *items, const char *open,
                     const char *close)
{
    buf_fmt(out, ",\n\"%s\":%s", name, open);
    buf_str(out, buf_view(items));
    buf_text(out, close);
}

static int docling_close(struct recto_writer *w)
{
    const struct docling_state *s = w->state;
    const char *name = w->opts.name ? w->opts.name : "document", *dot = strrchr(name, '.');
    struct buf *out = &w->out;

    buf_text(out,
             "{\"schema_name\":\"DoclingDocument\",\"version\":\"" DOCLING_VERSION "\",\"name\":");
    json_out_dump(
        out, json_out_text((str){name, dot && dot != name ? (size_t)(dot - name) : strlen(name)}));
    put_origin(out, &w->opts);
    buf_text(out, ",\n\"furniture\":{\"self_ref\":\"#/furniture\",\"children\":[],"
                  "\"content_layer\":\"furniture\",\"name\":\"_root_\",\"label\":\"unspecified\"}");
    put_list(out, "body", &s->body, "{\"self_ref\":\"#/body\",\"children\":[",
             "],\"content_layer\":\"body\",\"name\":\"_root_\",\"label\":\"unspecified\"}");
    put_list(out, "groups", &s->groups, "[", "]");
    put_list(out, "texts", &s->texts, "[", "]");
    put_list(out, "pictures", &s->pictures, "[", "]");
    put_list(out, "tables", &s->tables, "[", "]");
    put_list(out, "pages", &s->pages, "{", "}}\n");
    return 0;
}

static void docling_reset(struct recto_writer *w)
{
    struct docling_state *s = w->state;

    buf_reset(&s->texts);
    buf_reset(&s->tables);
    buf_reset(&s->pictures);
    buf_reset(&s->groups);
    buf_reset(&s->pages);
    buf_reset(&s->body);
}

const struct writer writer_docling = {
    .format = {.name = "json",
               .extension = ".json",
               .is_text = true,
               .has_side_files = true,
               .uses_pixels = true},
    .state_size = sizeof(struct docling_state),
    .page = docling_page,
    .close = docling_close,
    .reset = docling_reset,
};
