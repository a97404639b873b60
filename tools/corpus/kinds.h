/* The kinds of pages. */
#ifndef CORPUS_KINDS_H
#define CORPUS_KINDS_H

#include "lexicon.h"
#include "pen.h"

struct kind {
    const char *name;
    bool is_english; /* in English only */
    bool is_picture; /* shows paper: a raster, also in a PDF */
    void (*size)(struct rng *r, double *width, double *height);       /* points */
    void (*draw)(struct pen *p, const struct lexicon *l, int number); /* on white, in black */
};
/* technical, tables, handwriting, scans, mini, cells; NULL: no such kind. */
const struct kind *kind_find(const char *name);
/* The one of page `number` of a run of `name`: itself, or for "mixed" technical, tables, handwriting and
 * scans by turns. */
const struct kind *kind_of_page(const char *name, int number);

#endif
