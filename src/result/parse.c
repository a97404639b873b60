#include "result/parse.h"

#include "base/mem.h"
#include "result/boxes.h"
#include "result/clean.h"
#include "result/model.h"

#include <assert.h>
#include <stdlib.h>

/* Where the pass is. `body` collects the bytes of the current part; what it held is taken over
 * or cut when a part ends. */
enum part {
    PART_GAP,       /* before the first block */
    PART_LABEL,     /* after <|ref|> */
    PART_AFTER_REF, /* after <|/ref|>, only white space so far: boxes may still come */
    PART_DET,       /* after <|det|> */
    PART_BODY,
};

struct parser {
    struct recto_page *page;
    enum part part;
    struct buf body;
    struct recto_block block; /* being built: label, boxes */
    bool has_boxes_before;    /* a det part stands before the body: one newline separates them */
    bool is_last;
    int cap, n_order;
    enum recto_finish finish;
};

static bool is_blank(str s)
{
    return str_trim(s).n == 0;
}

/* Drop the first n bytes of the part. */
static void body_shift(struct parser *p, size_t n)
{
    if (!n)
        return;
    memmove(p->body.p, p->body.p + n, p->body.n - n);
    p->body.n -= n;
}

/* The first n bytes of the part are the label. */
static void set_label(struct parser *p, size_t n)
{
    str label = str_trim((str){buf_view(&p->body).p, n});
    struct buf b = {0};

    clean_add(&b, label, CLEAN_CONTROLS | (p->is_last ? CLEAN_CUT_TAIL : 0));
    if (b.n > LABEL_MAX) {
        b.n = clean_cut(buf_view(&b), LABEL_MAX);
        p->block.flags |= RECTO_BLOCK_LABEL_LONG;
    }
    p->block.label = mem_strndup(b.p ? b.p : "", b.n);
    p->block.kind = block_kind_of_label(buf_view(&b));
    buf_reset(&b);
}

/* A label that was never closed ends at its first newline or after 64 bytes; what follows is
 * body. */
static void end_open_label(struct parser *p)
{
    str all = buf_view(&p->body);
    size_t n = str_find(all, STR("\n"), 0);

    if (n > LABEL_MAX) {
        n = clean_cut(all, LABEL_MAX);
        p->block.flags |= RECTO_BLOCK_LABEL_LONG;
    }
    set_label(p, n);
    body_shift(p, n < all.n && all.p[n] == '\n' ? n + 1 : n);
}

/* The first n bytes of the part are the boxes. */
static void set_boxes(struct parser *p, size_t n)
{
    str det = {buf_view(&p->body).p, n};
    struct boxes b;

    boxes_read(det, &b);
    p->block.box = b.box;
    p->block.n_box = b.n_box;
    p->block.box_error = b.error;
    p->block.flags |= b.swapped ? RECTO_BLOCK_SWAPPED : 0;
    p->block.flags |= b.capped ? RECTO_BLOCK_CAPPED : 0;
    p->block.det = clean_dup(det, p->is_last ? CLEAN_CUT_TAIL : 0, &p->block.n_det);
    p->has_boxes_before = true;
}

/* Boxes that were never closed end with their bracket, else with their line. */
static void end_open_boxes(struct parser *p)
{
    str all = buf_view(&p->body);
    size_t n = boxes_end(all);

    if (!n)
        n = str_find(all, STR("\n"), 0);
    set_boxes(p, n);
    body_shift(p, n);
}

/* Count the # marks before a heading's text and step over them. */
static int take_marks(str *s)
{
    size_t n = 0;

    while (n < s->n && s->p[n] == '#')
        n++;
    if (n == 0 || n > 6 || (n < s->n && s->p[n] != ' ' && s->p[n] != '\t' && s->p[n] != '\n'))
        return 0;
    *s = str_trim((str){s->p + n, s->n - n});
    return (int)n;
}

static void set_text(struct recto_block *b)
{
    str s = str_trim((str){b->raw, b->n_raw});

    if (b->kind == RECTO_BLOCK_TITLE || b->kind == RECTO_BLOCK_HEADING) {
        b->level = take_marks(&s);
        if (!b->level)
            b->level = b->kind == RECTO_BLOCK_TITLE ? 1 : 2;
    }
    b->text = clean_dup(s, CLEAN_CONTROLS, &b->n_text);
}

static bool is_duplicate(const struct recto_block *a, const struct recto_block *b)
{
    return a->n_box == b->n_box &&
           (!a->n_box || memcmp(a->box, b->box, (size_t)a->n_box * sizeof *a->box) == 0) &&
           str_eq((str){a->text, a->n_text}, (str){b->text, b->n_text});
}

/* Hand the finished block to the page, or drop it when the page is full. */
static void store(struct parser *p)
{
    struct recto_page *page = p->page;
    struct recto_block *b = &p->block, *before;

    before = page->n_block ? &page->block[page->n_block - 1] : NULL;
    if (page->n_block == BLOCKS_MAX) {
        before->flags |= RECTO_BLOCK_CAPPED;
        block_reset(b);
        return;
    }
    if (before && is_duplicate(before, b))
        b->flags |= RECTO_BLOCK_DUPLICATE;
    b->order = b->n_text || b->kind == RECTO_BLOCK_FIGURE ? p->n_order++ : -1;
    if (page->n_block == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 8;
        page->block = mem_grow(page->block, (size_t)p->cap, sizeof *b);
    }
    assert(page->block);
    page->block[page->n_block++] = *b;
    *b = (struct recto_block){0};
}

/* The part is a body without its separators: make it the block's raw text.  The buffer itself is
 * handed over, so that a page of one long block is not held twice. */
static void set_raw(struct parser *p)
{
    unsigned flags = p->is_last ? CLEAN_CUT_TAIL : 0;
    struct recto_block *b = &p->block;

    if (clean_already(buf_view(&p->body), flags)) {
        b->n_raw = p->body.n;
        b->raw = mem_grow(p->body.p, b->n_raw + 1, 1);
        b->raw[b->n_raw] = 0;
        p->body = (struct buf){0};
    } else {
        b->raw = clean_dup(buf_view(&p->body), flags, &b->n_raw);
        buf_clear(&p->body);
    }
}

/* The current block ends, before a <|ref|> or at the end of the page. */
static void end_block(struct parser *p)
{
    if (p->part == PART_LABEL)
        end_open_label(p);
    else if (p->part == PART_DET)
        end_open_boxes(p);
    if (p->has_boxes_before && p->body.n && p->body.p[0] == '\n')
        body_shift(p, 1);
    for (int i = 0; i < 2 && !p->is_last && p->body.n && p->body.p[p->body.n - 1] == '\n'; i++)
        p->body.n--;
    if (p->part == PART_GAP) {
        if (is_blank(buf_view(&p->body)))
            return;
        p->block.label = mem_strdup("");
        p->block.flags |= RECTO_BLOCK_IMPLICIT;
    }
    if (p->is_last && (p->finish == RECTO_FINISH_LENGTH || p->finish == RECTO_FINISH_LOOP))
        p->block.flags |= RECTO_BLOCK_INCOMPLETE;
    set_raw(p);
    set_text(&p->block);
    store(p);
}

static void on_text(struct parser *p, str s)
{
    buf_str(&p->body, s);
    if (p->part == PART_AFTER_REF && !is_blank(s))
        p->part = PART_BODY;
}

static void on_ref_open(struct parser *p)
{
    end_block(p);
    buf_clear(&p->body);
    p->has_boxes_before = false;
    p->part = PART_LABEL;
}

static bool on_ref_close(struct parser *p)
{
    if (p->part != PART_LABEL)
        return false;
    set_label(p, p->body.n);
    buf_clear(&p->body);
    p->part = PART_AFTER_REF;
    return true;
}

static bool on_det_open(struct parser *p)
{
    if (p->part == PART_LABEL) {
        end_open_label(p);
        p->part = is_blank(buf_view(&p->body)) ? PART_AFTER_REF : PART_BODY;
    }
    if (p->part != PART_AFTER_REF)
        return false;
    buf_clear(&p->body);
    p->part = PART_DET;
    return true;
}

static bool on_det_close(struct parser *p)
{
    if (p->part != PART_DET)
        return false;
    set_boxes(p, p->body.n);
    buf_clear(&p->body);
    p->part = PART_BODY;
    return true;
}

/* True if the token belonged somewhere. */
static bool on_token(struct parser *p, enum lex_kind kind, str bytes)
{
    switch (kind) {
    case LEX_TEXT:
        on_text(p, bytes);
        return true;
    case LEX_REF_OPEN:
        on_ref_open(p);
        return true;
    case LEX_REF_CLOSE:
        return on_ref_close(p);
    case LEX_DET_OPEN:
        return on_det_open(p);
    case LEX_DET_CLOSE:
        return on_det_close(p);
    default:
        return false;
    }
}

/* Bytes of all tokens but the end of sequence, in one buffer of just their size. */
static void set_page_raw(struct lex x, struct recto_page *page)
{
    struct lex again = x;
    struct buf b = {0};
    size_t n = 0;
    str s;

    for (enum lex_kind k; (k = lex_next(&x, &s)) != LEX_END;)
        n += k == LEX_EOS ? 0 : s.n;
    b.cap = n + 1;
    b.p = mem_alloc(b.cap);
    b.p[0] = 0;
    for (enum lex_kind k; (k = lex_next(&again, &s)) != LEX_END;)
        if (k != LEX_EOS)
            buf_str(&b, s);
    if (clean_already(buf_view(&b), CLEAN_CUT_TAIL)) {
        page->raw = b.p;
        page->n_raw = b.n;
        return;
    }
    page->raw = clean_dup(buf_view(&b), CLEAN_CUT_TAIL, &page->n_raw);
    buf_reset(&b);
}

static void parse(struct lex x, enum recto_finish finish, struct recto_page *page)
{
    struct parser p = {.page = page, .finish = finish};
    enum lex_kind k = LEX_END, last = LEX_END;
    str bytes;

    set_page_raw(x, page);
    while ((k = lex_next(&x, &bytes)) != LEX_END) {
        page->n_stray += !on_token(&p, k, bytes);
        last = k;
    }
    page->n_stray -= last == LEX_EOS;
    p.is_last = true;
    end_block(&p);
    if (page->n_block)
        page->block = mem_grow(page->block, (size_t)page->n_block, sizeof *page->block);
    buf_reset(&p.body);
}

void parse_ids(const int32_t *id, size_t n_id, const str *piece, int n_piece,
               const struct parse_markers *marker, enum recto_finish finish,
               struct recto_page *page)
{
    static const int32_t none;
    struct lex x = {.id = id ? id : &none, .n_id = n_id, .piece = piece, .n_piece = n_piece};

    x.marker = *marker;
    parse(x, finish, page);
}

void parse_text(str text, enum recto_finish finish, struct recto_page *page)
{
    parse((struct lex){.text = text}, finish, page);
}
