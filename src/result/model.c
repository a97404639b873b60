#include "result/model.h"

#include "base/mem.h"

#include <stdlib.h>

#define LOOP_DUPLICATES 3
#define LOOP_BLOCKS     400

static const char *const status_names[] = {"ok",     "blank",   "suspect", "loop",
                                           "length", "skipped", "error",   "cancelled"};
static const char *const finish_names[] = {"none", "eos", "length", "loop"};
static const char *const kind_names[] = {
    "text",          "title",    "heading", "list",   "equation",    "table", "figure", "caption",
    "table_caption", "footnote", "header",  "footer", "page_number", "code",  "other",
};
static const char *const box_error_names[] = {NULL, "syntax", "arity", "number", "range"};
static const char *const flag_names[] = {"implicit",   "swapped",    "capped",        "duplicate",
                                         "label_long", "incomplete", "guard_in_table"};

static const struct {
    const char *label;
    enum recto_block_kind kind;
} kinds_of_labels[] = {
    {"title", RECTO_BLOCK_TITLE},
    {"sub_title", RECTO_BLOCK_HEADING},
    {"section_header", RECTO_BLOCK_HEADING},
    {"text", RECTO_BLOCK_TEXT},
    {"paragraph", RECTO_BLOCK_TEXT},
    {"abstract", RECTO_BLOCK_TEXT},
    {"list", RECTO_BLOCK_LIST},
    {"list_item", RECTO_BLOCK_LIST},
    {"equation", RECTO_BLOCK_EQUATION},
    {"formula", RECTO_BLOCK_EQUATION},
    {"table", RECTO_BLOCK_TABLE},
    {"image", RECTO_BLOCK_FIGURE},
    {"figure", RECTO_BLOCK_FIGURE},
    {"chart", RECTO_BLOCK_FIGURE},
    {"figure_title", RECTO_BLOCK_CAPTION},
    {"figure_caption", RECTO_BLOCK_CAPTION},
    {"image_caption", RECTO_BLOCK_CAPTION},
    {"table_title", RECTO_BLOCK_TABLE_CAPTION},
    {"table_caption", RECTO_BLOCK_TABLE_CAPTION},
    {"table_footnote", RECTO_BLOCK_FOOTNOTE},
    {"footnote", RECTO_BLOCK_FOOTNOTE},
    {"page_footnote", RECTO_BLOCK_FOOTNOTE},
    {"header", RECTO_BLOCK_HEADER},
    {"page_header", RECTO_BLOCK_HEADER},
    {"footer", RECTO_BLOCK_FOOTER},
    {"page_footer", RECTO_BLOCK_FOOTER},
    {"page_number", RECTO_BLOCK_PAGE_NUMBER},
    {"code", RECTO_BLOCK_CODE},
    {"algorithm", RECTO_BLOCK_CODE},
};

static const char *name_at(const char *const *names, size_t n, unsigned i, const char *otherwise)
{
    return i < n ? names[i] : otherwise;
}

const char *recto_status_name(enum recto_status s)
{
    return name_at(status_names, COUNT(status_names), s, "unknown");
}

const char *recto_finish_name(enum recto_finish f)
{
    return name_at(finish_names, COUNT(finish_names), f, "unknown");
}

const char *recto_block_kind_name(enum recto_block_kind k)
{
    return name_at(kind_names, COUNT(kind_names), k, "other");
}

const char *recto_box_error_name(enum recto_box_error e)
{
    return name_at(box_error_names, COUNT(box_error_names), e, NULL);
}

const char *block_flag_name(int bit)
{
    return bit >= 0 ? name_at(flag_names, COUNT(flag_names), (unsigned)bit, NULL) : NULL;
}

/* Index of name in names, -1 if it is not there. */
static int index_of(const char *const *names, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && str_eq(str_of(names[i]), name))
            return (int)i;
    return -1;
}

bool status_from_name(str name, enum recto_status *out)
{
    int i = index_of(status_names, COUNT(status_names), name);

    if (i >= 0)
        *out = (enum recto_status)i;
    return i >= 0;
}

bool finish_from_name(str name, enum recto_finish *out)
{
    int i = index_of(finish_names, COUNT(finish_names), name);

    if (i >= 0)
        *out = (enum recto_finish)i;
    return i >= 0;
}

bool block_kind_from_name(str name, enum recto_block_kind *out)
{
    int i = index_of(kind_names, COUNT(kind_names), name);

    if (i >= 0)
        *out = (enum recto_block_kind)i;
    return i >= 0;
}

bool box_error_from_name(str name, enum recto_box_error *out)
{
    int i = index_of(box_error_names, COUNT(box_error_names), name);

    if (i >= 0)
        *out = (enum recto_box_error)i;
    return i >= 0;
}

enum recto_block_kind block_kind_of_label(str label)
{
    char folded[LABEL_MAX];

    label = str_trim(label);
    if (label.n > sizeof folded)
        return RECTO_BLOCK_OTHER;
    for (size_t i = 0; i < label.n; i++) {
        char c = label.p[i];

        folded[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == ' ' || c == '-' ? '_' : c;
    }
    for (size_t i = 0; i < COUNT(kinds_of_labels); i++)
        if (str_eq(str_of(kinds_of_labels[i].label), (str){folded, label.n}))
            return kinds_of_labels[i].kind;
    return RECTO_BLOCK_OTHER;
}

bool block_is_furniture(const struct recto_block *b)
{
    return b->kind == RECTO_BLOCK_HEADER || b->kind == RECTO_BLOCK_FOOTER ||
           b->kind == RECTO_BLOCK_PAGE_NUMBER;
}

static int to_px(int v, int size)
{
    double px = v / 999.0 * size;

    return px <= 0 ? 0 : px >= size ? size : (int)px;
}

struct recto_box box_px(struct recto_box b, int width, int height)
{
    return (struct recto_box){to_px(b.x1, width), to_px(b.y1, height), to_px(b.x2, width),
                              to_px(b.y2, height)};
}

void boxes_spell(struct buf *out, const struct recto_box *box, int n_box)
{
    buf_char(out, '[');
    for (int i = 0; i < n_box; i++)
        buf_fmt(out, "%s[%d, %d, %d, %d]", i ? ", " : "", box[i].x1, box[i].y1, box[i].x2,
                box[i].y2);
    buf_char(out, ']');
}

int page_block_loop(const struct recto_page *p)
{
    int run = 0;

    for (int i = 0; i < p->n_block; i++) {
        run = p->block[i].flags & RECTO_BLOCK_DUPLICATE ? run + 1 : 0;
        if (run == LOOP_DUPLICATES)
            return i - LOOP_DUPLICATES + 1;
        if (i == LOOP_BLOCKS)
            return i;
    }
    return -1;
}

void block_reset(struct recto_block *b)
{
    free(b->label);
    free(b->box);
    free(b->det);
    free(b->text);
    free(b->raw);
    *b = (struct recto_block){0};
}

void recto_page_reset(struct recto_page *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n_block; i++)
        block_reset(&p->block[i]);
    for (int i = 0; i < p->n_warning; i++)
        free(p->warning[i]);
    free(p->block);
    free(p->warning);
    free(p->raw);
    free(p->layer);
    free(p->id);
    free(p->logp);
    free(p->error_text);
    free(p->attempt);
    *p = (struct recto_page){0};
}

void page_add_warning(struct recto_page *p, const char *text)
{
    p->warning = mem_grow(p->warning, (size_t)p->n_warning + 1, sizeof *p->warning);
    p->warning[p->n_warning++] = mem_strdup(text);
}
