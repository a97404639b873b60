/* A document: a PDF, read page by page from its open file, or an image, whose bytes are kept. What
 * it is decides its content, never its name. */
#ifndef RECTO_PAGE_DOCUMENT_H
#define RECTO_PAGE_DOCUMENT_H

#include "base/str.h"
#include "page/source.h"

#define DOCUMENT_WARNINGS 3

struct page_doc {
    char *name; /* for messages */
    bool is_pdf;
    struct pdf pdf;
    struct buf bytes;             /* of an image */
    enum recto_official official; /* how pictures are decoded; set after page_doc_open */
    unsigned serial;              /* > 0: a PDF that is in memory */
    char *frames;                 /* of an animation: which are taken, "all"; NULL: the first */
    int n_page;                   /* of an animation: frames, or 1 */
    struct pdf_look look;
    int n_warning; /* about the document as a whole; static texts */
    const char *warning[DOCUMENT_WARNINGS];
};

/* Open `in`, by its path or with its bytes; in->pages is not looked at. page_doc_close d after
 * either. The sentence of a failure starts with `name: `.
 *     RECTO_ENOTFOUND, RECTO_EREAD   the file system's
 *     RECTO_EURL                     the path is an address
 *     RECTO_EKIND                    a pipe or a device
 * and those of pdf_open. What is wrong with an image shows when it is drawn. */
int page_doc_open(struct page_doc *d, struct page_source *s, const struct recto_input *in);
void page_doc_close(struct page_doc *d);
/* The pages that `pages` (recto_input.pages) selects, as range_select. Of an animation read by its
 * frames those are the pages, and recto_input.frames selects them. The sentence starts with `name: `. */
int page_doc_select(const struct page_doc *d, const char *pages, int **page, int *n, int *is_past);

/* Draw page 1..n_page, orientation applied. Any number of threads may draw from one d, each by a
 * source of its own. note: as page_decode. The sentence starts with `name: `, and `name:page: ` when
 * there are several pages. */
int page_doc_draw(const struct page_doc *d, struct page_source *s, int page,
                  struct recto_image *out, struct page_note *note);
/* What tells this page from all others, for a cache of images within this process. A view of d or
 * of room. */
str page_doc_identity(const struct page_doc *d, int page, struct buf *room);

#endif
