/* What is written on a page, and where: the truth of the corpus. Filled while the page is drawn, so
 * text and boxes come from the layout itself. */
#ifndef CORPUS_SHEET_H
#define CORPUS_SHEET_H

#include "recto.h"
#include "base/str.h"

struct area { /* points, from the top left corner of the page; empty when x2 < x1 */
    double x1, y1, x2, y2;
};
#define NO_AREA ((struct area){1e9, 1e9, -1e9, -1e9})

struct sheet_line { /* a line of print, or a cell of a table */
    char *text;
    struct area ink;
};

struct sheet_block {
    enum recto_block_kind kind;
    const char *label; /* what the model calls it; static */
    int level;         /* of titles and headings */
    char *
        text; /* as read: plain text; HTML of a table; TeX, delimited, of an equation; "" of a figure */
    char *plain; /* text without markup: cells by tabs and newlines, TeX without delimiters */
    struct area ink;
    struct sheet_line *line;
    int n_line;
};

struct sheet {
    double width, height;            /* points */
    const char *kind, *lang, *level; /* level: NULL when pages are not made at levels */
    bool is_picture;                 /* handwriting and scans: a raster also in a PDF */
    struct sheet_block *block;
    int n_block;
};

void sheet_reset(struct sheet *s);
/* A new block; text and plain are copied (plain NULL: the same as text). Valid until the next one. */
struct sheet_block *sheet_add(struct sheet *s, enum recto_block_kind kind, const char *label,
                              const char *text, const char *plain);
/* A line of it; the block's ink grows by the line's. */
void sheet_add_line(struct sheet_block *b, str text, struct area ink);
void area_join(struct area *a, struct area b);
/* The page was turned by this angle (radians, clockwise on the page) round its middle: every box
 * becomes the upright box round the turned one. */
void sheet_turn(struct sheet *s, double angle);

/* The truth as files' contents: text without and with marks, and HTML of the tables alone ("" when there
 * are none). Furniture (headers, footers, page numbers) is left out, as recto leaves it out. */
void sheet_txt(const struct sheet *s, struct buf *out);
void sheet_md(const struct sheet *s, struct buf *out);
void sheet_tables(const struct sheet *s, struct buf *out);
/* A page as an object of our layout JSON (recto-layout-1), with `lines` of exact boxes in every block; and
 * what goes before the first and behind the last page of a document. px_per_pt: size of the raster. */
void sheet_json(const struct sheet *s, int number, double px_per_pt, struct buf *out);
void sheet_json_open(struct buf *out);
void sheet_json_close(struct buf *out);

#endif
