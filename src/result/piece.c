#include "result/piece.h"

#include "base/err.h"
#include "base/mem.h"
#include "result/markdown.h"
#include "result/model.h"
#include "result/span.h"

/* ---- captions -------------------------------------------------------------------------------- */

static bool is_kind(const struct recto_page *p, int i, enum recto_block_kind kind)
{
    return i >= 0 && i < p->n_block && p->block[i].kind == kind;
}

static bool has_table(const struct recto_block *b)
{
    struct spans spans = spans_of((str){b->text, b->n_text});
    bool found = false;
    struct span s;

    while (!found && span_next(&spans, &s)) {
        found = s.kind == SPAN_TABLE;
        table_free(s.table);
    }
    spans_close(&spans);
    return found;
}

/* Is there a piece at block i that a caption can belong to? */
static bool can_own(const struct recto_page *p, int i, enum recto_block_kind kind)
{
    return is_kind(p, i, kind) &&
           (kind == RECTO_BLOCK_TABLE ? has_table(&p->block[i]) : p->block[i].n_box > 0);
}

/* The block whose caption block i is; -1: none. A caption between two goes to the one that looks on its side first. */
static int owner_of(const struct recto_page *p, int i)
{
    bool is_table = is_kind(p, i, RECTO_BLOCK_TABLE_CAPTION);
    enum recto_block_kind what = is_table ? RECTO_BLOCK_TABLE : RECTO_BLOCK_FIGURE;
    int first = is_table ? i + 1 : i - 1, second = is_table ? i - 1 : i + 1;
    int rival = is_table ? second - 1 : second + 1; /* where the second looks first */

    if (!is_table && !is_kind(p, i, RECTO_BLOCK_CAPTION))
        return -1;
    if (can_own(p, first, what))
        return first;
    return can_own(p, second, what) && !is_kind(p, rival, p->block[i].kind) ? second : -1;
}

const struct recto_block *caption_of(const struct recto_page *p, int i)
{
    if (i + 1 < p->n_block && owner_of(p, i + 1) == i)
        return &p->block[i + 1];
    return i > 0 && owner_of(p, i - 1) == i ? &p->block[i - 1] : NULL;
}

bool caption_is_taken(const struct recto_page *p, int i)
{
    return owner_of(p, i) >= 0;
}

/* ---- the pieces of a block --------------------------------------------------------------------- */

struct walk {
    struct recto_writer *w;
    const struct recto_page *page;
    enum pieces_figures figures;
    piece_fn *take;
    void *ctx;
    int n_figure; /* on this page */
};

static struct recto_box around(const struct recto_block *b)
{
    struct recto_box u = b->box[0];

    for (int i = 1; i < b->n_box; i++)
        u = (struct recto_box){MIN(u.x1, b->box[i].x1), MIN(u.y1, b->box[i].y1),
                               MAX(u.x2, b->box[i].x2), MAX(u.y2, b->box[i].y2)};
    return u;
}

static struct piece piece_of(const struct walk *k, int i, enum piece_kind kind)
{
    const struct recto_block *b = &k->page->block[i];
    struct piece p = {.kind = kind, .block = b, .has_box = b->n_box > 0};

    if (p.has_box)
        p.box = around(b);
    if (kind == PIECE_TABLE || kind == PIECE_FIGURE)
        p.caption = caption_of(k->page, i);
    return p;
}

static int take_text(const struct walk *k, int i, enum piece_kind kind, str text)
{
    struct piece p = piece_of(k, i, kind);

    p.text = str_trim(text);
    return p.text.n ? k->take(k->ctx, &p) : 0;
}

/* The caption goes to the first of several tables. */
static int take_table(const struct walk *k, int i, const struct table *t, bool is_first)
{
    struct piece p = piece_of(k, i, PIECE_TABLE);

    p.table = t;
    p.caption = is_first ? p.caption : NULL;
    return k->take(k->ctx, &p);
}

/* Text up to each table and displayed formula, and those. */
static int take_spans(const struct walk *k, int i, str text)
{
    struct spans spans = spans_of(text);
    str run = {text.p, 0};
    bool is_first = true;
    struct span s;
    int rc = 0;

    while (rc == 0 && span_next(&spans, &s)) {
        if (s.kind != SPAN_TABLE && s.kind != SPAN_DISPLAY) {
            run.n += s.all.n;
            continue;
        }
        rc = take_text(k, i, PIECE_TEXT, run);
        if (rc == 0)
            rc = s.kind == SPAN_TABLE ? take_table(k, i, s.table, is_first)
                                      : take_text(k, i, PIECE_FORMULA, s.inner);
        is_first = is_first && s.kind != SPAN_TABLE;
        table_free(s.table);
        run = (str){s.all.p + s.all.n, 0};
    }
    spans_close(&spans);
    return rc ? rc : take_text(k, i, PIECE_TEXT, run);
}

/* The caption goes to the first of several boxes. */
static int take_figure(struct walk *k, int i, int n, struct figure *f)
{
    struct recto_box box = k->page->block[i].box[n];
    struct piece p = piece_of(k, i, PIECE_FIGURE);
    bool is_inside = k->figures == PIECES_FIGURES_INSIDE;
    int rc = is_inside || k->w->opts.stem ? figure_cut(k->w, k->page, box, &k->n_figure, f) : 0;

    p.figure = rc == 1 ? f : NULL;
    if (rc == 1 && !is_inside)
        rc = writer_side(k->w, f->name, buf_view(&f->bytes));
    p.box = box;
    p.caption = n == 0 ? p.caption : NULL;
    return rc < 0 ? rc : k->take(k->ctx, &p);
}

static int take_figures(struct walk *k, int i)
{
    const struct recto_block *b = &k->page->block[i];
    struct figure f = {0};
    int rc = 0;

    for (int n = 0; rc == 0 && n < b->n_box; n++)
        rc = take_figure(k, i, n, &f);
    figure_reset(&f);
    return rc;
}

static int take_block(struct walk *k, int i)
{
    const struct recto_block *b = &k->page->block[i];
    struct buf joined = {0};
    int rc;

    if (b->kind == RECTO_BLOCK_CODE)
        return take_text(k, i, PIECE_TEXT, markdown_unfence((str){b->text, b->n_text}));
    if (b->kind == RECTO_BLOCK_FIGURE)
        TRY(take_figures(k, i));
    rc = take_spans(k, i, writer_text(k->w, b, &joined));
    buf_reset(&joined);
    return rc;
}

int pieces_of_page(struct recto_writer *w, const struct recto_page *p, enum pieces_figures figures,
                   piece_fn *take, void *ctx)
{
    struct walk k = {.w = w, .page = p, .figures = figures, .take = take, .ctx = ctx};
    int rc = 0;

    for (int i = 0; rc == 0 && i < p->n_block; i++)
        if (!caption_is_taken(p, i) &&
            (w->opts.keep_furniture || !block_is_furniture(&p->block[i])))
            rc = take_block(&k, i);
    return rc;
}
