/* A page in pieces, for formats that hold a list of things and not a text: paragraphs, formulas, tables, figures, in reading
 * order.  A block is one piece or several: its tables and displayed formulas are pieces of their own, and so is each box of a
 * figure.  Captions that stand beside a figure or table belong to it and are no pieces. Furniture is left out unless the
 * options keep it. */
#ifndef RECTO_RESULT_PIECE_H
#define RECTO_RESULT_PIECE_H

#include "result/figure.h"
#include "result/table.h"
#include "result/writer.h"

enum piece_kind {
    PIECE_TEXT,    /* of a block of any kind; block->kind says what it is */
    PIECE_FORMULA, /* displayed; text is its TeX */
    PIECE_TABLE,
    PIECE_FIGURE,
};

struct piece {
    enum piece_kind kind;
    const struct recto_block *block;
    struct recto_box box; /* of the figure, else around the block's boxes */
    bool has_box;
    str text;                  /* trimmed, never empty; code without its fences */
    const struct table *table; /* PIECE_TABLE */
    const struct figure
        *figure; /* PIECE_FIGURE; NULL: too small to be cut out, no pixels, or no place for it */
    const struct recto_block *caption; /* of a table or figure; NULL: none */
};

/* 0, or a negative code with which the walk ends. What p points to is valid during the call. */
typedef int piece_fn(void *ctx, const struct piece *p);

enum pieces_figures {
    PIECES_FIGURES_BESIDE, /* figures become side files, if the options have a stem */
    PIECES_FIGURES_INSIDE, /* their bytes go to take alone */
};

/* Call take for each piece of the page. What take or the sink returned, or RECTO_ENOMEM. */
int pieces_of_page(struct recto_writer *w, const struct recto_page *p, enum pieces_figures figures,
                   piece_fn *take, void *ctx);

/* The caption of the figure or table at block i: of a figure the one behind it, else before it; of a table the other way
 * round. NULL: none, or it belongs to another. */
const struct recto_block *caption_of(const struct recto_page *p, int i);
/* Is block i the caption of its neighbour? */
bool caption_is_taken(const struct recto_page *p, int i);

#endif
