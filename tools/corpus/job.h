/* One run: which pages, in which form, and the making of one of them. */
#ifndef CORPUS_JOB_H
#define CORPUS_JOB_H

#include "kinds.h"
#include "raster.h"

enum level { LEVEL_NONE, LEVEL_CLEAN, LEVEL_WORN, LEVEL_POOR, N_LEVEL };
extern const char *const level_names[N_LEVEL]; /* NULL, "clean", ... */

enum form { FORM_PNG, FORM_PDF, FORM_BOOK };

struct job {
    const char *dir, *kind;
    uint64_t seed;
    int n; /* pages */
    enum form form;
    double dpi; /* of rasters */
    const struct lexicon *lang[8];
    int n_lang;
    unsigned spoils;  /* for every page */
    bool is_auto;     /* scans get one or two spoils at random instead */
    enum level level; /* the same pages, cleaner or worse; not with spoils */
    PangoContext *context;
};

struct page {
    int number;
    char name[64]; /* "00001-technical-en" */
    const struct kind *kind;
    const struct lexicon *lang;
    unsigned spoils;
    bool is_picture; /* a raster in a PDF, too */
    struct sheet sheet;
};

/* What page `number` (from 1) will be; nothing is drawn. page_reset frees its sheet. */
void page_plan(struct page *p, const struct job *j, int number);
void page_reset(struct page *p);
/* Draw as vectors; the unit of cr is a point. Fills p->sheet. */
void page_draw(struct page *p, const struct job *j, cairo_t *cr);
/* Draw as pixels, spoiled as planned. Fills p->sheet. */
struct raster page_raster(struct page *p, const struct job *j);

/* ---- files ----------------------------------------------------------------------------------- */

/* Make all pages, their truths and the index in j->dir, which may exist. */
int corpus_write(const struct job *j);

#endif
