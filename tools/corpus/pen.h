/* Draws on a page with Pango and notes in the sheet what was drawn and where.
 *
 * The layout does not depend on what is drawn upon: sizes are in points, hinting is off, positions are
 * not rounded. So a page has the same lines as a PNG at any resolution and as a PDF. */
#ifndef CORPUS_PEN_H
#define CORPUS_PEN_H

#include "rng.h"
#include "sheet.h"

#include <pango/pangocairo.h>

#ifndef RECTO_BASE_MEM_H /* GLib has a MIN and a MAX of its own, of the same meaning */
#undef MIN
#undef MAX
#include "base/mem.h"
#endif

struct face {
    const char *family;
    double size; /* points */
    bool is_bold, is_justified, is_centred, is_right, is_markup;
    double leading; /* line distance in sizes; 0: 1.35 */
};

struct pen {
    cairo_t *cr;
    PangoContext *context;
    struct sheet *sheet;
    struct rng *rng;
    double x, y, width, bottom; /* what is free of the column, in points */
    double jitter; /* each glyph moved and turned by about this part of its size; 0: print */
};

/* The context of a run; g_object_unref it. */
PangoContext *pen_context(void);

/* A block of text at (x, y); y moves below it. False, and nothing drawn, when it does not fit. In `text`
 * (what is printed) newlines are hard; `read` is what a reader should write, NULL for the same. */
bool pen_text(struct pen *p, const struct face *f, enum recto_block_kind kind, const char *label,
              int level, const char *text, const char *read, const char *plain);
void pen_skip(struct pen *p, double points);

/* For parts of blocks. The layout belongs to the caller (g_object_unref). */
PangoLayout *pen_layout(const struct pen *p, const struct face *f, const char *text, double width);
double pen_height(PangoLayout *layout);
/* Draw it with its top left corner at (x, y) and add its lines to b. */
void pen_draw(struct pen *p, PangoLayout *layout, double x, double y, struct sheet_block *b);

/* A chart without letters, `height` high, over the width of the column; its block. False: no room. */
bool pen_figure(struct pen *p, double height);
/* A formula chosen at random, centred. */
bool pen_equation(struct pen *p, const char *family, double size);
/* A table of print made at random, with rows x cols cells at most. is_plain: no spans, few words. */
bool pen_table(struct pen *p, const char *family, double size, int rows, int cols,
               const char *const *nouns, int n_noun, bool is_plain);
/* rows x cols times the same text. */
bool pen_equal_cells(struct pen *p, const char *family, double size, int rows, int cols,
                     const char *text);

#endif
