#include "kinds.h"

#define MARGIN 56.0

/* ---- parts ----------------------------------------------------------------------------------- */

static void paragraph(struct pen *p, const struct lexicon *l, const struct face *f, int n_sentence)
{
    struct buf b = {0};

    lexicon_paragraph(l, p->rng, n_sentence, &b);
    if (pen_text(p, f, RECTO_BLOCK_TEXT, "text", 0, b.p, NULL, NULL))
        pen_skip(p, f->size * 0.8);
    buf_reset(&b);
}

static const char *pick(struct pen *p, const char *const *parts)
{
    return parts[rng_below(p->rng, LEXICON_PARTS)];
}

static void heading(struct pen *p, const struct lexicon *l, const char *family, double size,
                    int level)
{
    struct face f = {.family = family, .size = size, .is_bold = true, .is_centred = level == 1};
    bool is_title = level == 1;

    if (p->y + 4 * size > p->bottom) /* not alone at the foot of a column */
        return;
    pen_text(p, &f, is_title ? RECTO_BLOCK_TITLE : RECTO_BLOCK_HEADING,
             is_title ? "title" : "sub_title", level, pick(p, l->title), NULL, NULL);
    pen_skip(p, size * 0.6);
}

static void list(struct pen *p, const struct lexicon *l, const struct face *f, int n)
{
    struct buf b = {0};

    for (int i = 0; i < n; i++) {
        buf_fmt(&b, "%s%d. ", i ? "\n" : "", i + 1);
        buf_text(&b, pick(p, l->title));
    }
    if (pen_text(p, f, RECTO_BLOCK_LIST, "list", 0, b.p, NULL, NULL))
        pen_skip(p, f->size * 0.8);
    buf_reset(&b);
}

static void caption(struct pen *p, const struct lexicon *l, const struct face *f, bool of_table,
                    int number)
{
    struct buf b = {0};

    lexicon_numbered(of_table ? l->table : l->figure, number, &b);
    buf_text(&b, pick(p, l->title));
    pen_text(p, f, of_table ? RECTO_BLOCK_TABLE_CAPTION : RECTO_BLOCK_CAPTION,
             of_table ? "table_caption" : "figure_title", 0, b.p, NULL, NULL);
    pen_skip(p, f->size * 0.5);
    buf_reset(&b);
}

static void whole_page(struct pen *p)
{
    p->x = p->y = MARGIN;
    p->width = p->sheet->width - 2 * MARGIN;
    p->bottom = p->sheet->height - MARGIN;
}

/* Small print in a margin, y points below the upper edge. */
static void furniture(struct pen *p, const struct lexicon *l, enum recto_block_kind kind,
                      const char *text, double y)
{
    struct face small = {.family = l->sans, .size = 8, .is_centred = true};
    struct pen at = *p;

    whole_page(&at);
    at.y = y;
    at.bottom = p->sheet->height;
    pen_text(&at, &small, kind, recto_block_kind_name(kind), 0, text, NULL, NULL);
}

static void header(struct pen *p, const struct lexicon *l)
{
    furniture(p, l, RECTO_BLOCK_HEADER, pick(p, l->title), MARGIN / 2);
}

static void page_number(struct pen *p, const struct lexicon *l, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    furniture(p, l, RECTO_BLOCK_PAGE_NUMBER, text, p->sheet->height - MARGIN * 0.8);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void size_a4(struct rng *r, double *width, double *height)
{
    *width = 595.28;
    *height = 841.89;
}

static void technical_column(struct pen *p, const struct lexicon *l, const struct face *body,
                             int *n_figure)
{
    for (int i = 0; i < 14; i++) {
        int what = rng_below(p->rng, 10);

        if (what == 0 && pen_figure(p, 90)) {
            pen_skip(p, 6);
            caption(p, l, body, false, ++*n_figure);
        } else if (what == 1) {
            pen_equation(p, "DejaVu Serif", body->size * 1.1);
            pen_skip(p, body->size);
        } else if (what == 2)
            list(p, l, body, rng_in(p->rng, 2, 5));
        else if (what < 5)
            heading(p, l, l->sans, body->size * 1.25, 2);
        else
            paragraph(p, l, body, rng_in(p->rng, 2, 6));
    }
}

static void draw_technical(struct pen *p, const struct lexicon *l, int number)
{
    struct face body = {
        .family = l->serif, .size = rng_in(p->rng, 9, 11), .is_justified = !l->is_cjk};
    int n_col = rng_in(p->rng, 1, 2), n_figure = 0;

    whole_page(p);
    header(p, l);
    heading(p, l, l->sans, 18, 1);
    paragraph(p, l, &(struct face){.family = l->serif, .size = body.size}, 3);
    double gap = 18, top = p->y, width = p->width;
    p->width = (width - gap * (n_col - 1)) / n_col;
    for (int c = 0; c < n_col; c++) {
        p->y = top;
        technical_column(p, l, &body, &n_figure);
        p->x += p->width + gap;
    }
    page_number(p, l, number);
}

static void draw_tables(struct pen *p, const struct lexicon *l, int number)
{
    struct face body = {.family = l->serif, .size = 10};
    int n = rng_in(p->rng, 1, 3);

    whole_page(p);
    header(p, l);
    heading(p, l, l->sans, 16, 1);
    for (int i = 0; i < n; i++) {
        paragraph(p, l, &body, rng_in(p->rng, 1, 3));
        caption(p, l, &body, true, i + 1);
        if (pen_table(p, l->sans, 9, 12, 6, l->noun, LEXICON_PARTS, false))
            pen_skip(p, 14);
    }
    paragraph(p, l, &body, 2);
    page_number(p, l, number);
}

/* Letters that are not quite in line. */
static void draw_handwriting(struct pen *p, const struct lexicon *l, int number)
{
    bool has_script = strcmp(l->code, "en") == 0 || strcmp(l->code, "fr") == 0 ||
                      strcmp(l->code, "de") == 0;
    struct face hand = {
        .family = has_script ? "Z003" : l->serif, .size = rng_in(p->rng, 15, 18), .leading = 1.7};

    whole_page(p);
    p->jitter = 0.035;
    cairo_set_source_rgb(p->cr, 0.1, 0.1, 0.35);
    pen_text(p, &hand, RECTO_BLOCK_TEXT, "text", 0, l->greeting, NULL, NULL);
    pen_skip(p, hand.size);
    for (int i = 0; i < 5; i++)
        paragraph(p, l, &hand, rng_in(p->rng, 2, 3));
    pen_text(p, &hand, RECTO_BLOCK_TEXT, "text", 0, l->farewell, NULL, NULL);
}

static void draw_scan(struct pen *p, const struct lexicon *l, int number)
{
    struct face body = {.family = l->serif, .size = 12, .is_justified = !l->is_cjk, .leading = 1.5};

    whole_page(p);
    header(p, l);
    if (rng_below(p->rng, 3) == 0)
        heading(p, l, l->serif, 17, 1);
    for (int i = 0; i < 9; i++)
        paragraph(p, l, &body, rng_in(p->rng, 2, 5));
    page_number(p, l, number);
}

/* What the mini model reads (models/mini/README.md): large English print, less than 350 letters, at most
 * 768 px on the longer side, which a point is here. */
static void size_mini(struct rng *r, double *width, double *height)
{
    *width = 768;
    *height = rng_in(r, 560, 768);
}

static void draw_mini(struct pen *p, const struct lexicon *l, int number)
{
    static const char *const families[] = {"DejaVu Sans", "DejaVu Serif", "Liberation Sans",
                                           "Liberation Serif"};
    const char *family = families[rng_below(p->rng, (int)COUNT(families))];
    struct face body = {.family = family, .size = rng_in(p->rng, 27, 32)};
    struct face title = {.family = family, .size = body.size * 1.7};

    p->x = p->y = 40;
    p->width = p->sheet->width - 80;
    p->bottom = p->sheet->height - 20;
    pen_text(p, &title, RECTO_BLOCK_TITLE, "title", 1, pick(p, l->title), NULL, NULL);
    pen_skip(p, body.size);
    if (number % 3 == 2) {
        pen_table(p, family, body.size * 0.9, 4, 3, l->noun, LEXICON_PARTS, true);
        pen_skip(p, body.size);
    }
    for (int i = 0; i < 2; i++)
        paragraph(p, l, &body, number % 3 == 2 ? 1 : 2);
}

static void draw_cells(struct pen *p, const struct lexicon *l, int number)
{
    p->x = MARGIN;
    p->y = 20;
    p->width = p->sheet->width - 2 * MARGIN;
    p->bottom = p->sheet->height - 10;
    pen_equal_cells(p, l->sans, 6, 73, 5, "0");
}

static const struct kind kinds[] = {
    {"technical", false, false, size_a4, draw_technical},
    {"tables", false, false, size_a4, draw_tables},
    {"handwriting", false, true, size_a4, draw_handwriting},
    {"scans", false, true, size_a4, draw_scan},
    {"mini", true, false, size_mini, draw_mini},
    {"cells", true, false, size_a4, draw_cells},
};

const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

const struct kind *kind_of_page(const char *name, int number)
{
    return strcmp(name, "mixed") == 0 ? &kinds[(number - 1) % 4] : kind_find(name);
}
