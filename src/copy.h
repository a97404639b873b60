/* How a document becomes its searchable copy. */
#ifndef RECTO_COPY_H
#define RECTO_COPY_H

#include "page/document.h"
#include "result/searchable.h"

struct copy_source {
    const struct page_doc *doc;
    const struct page_source *source; /* knows the helper */
    struct page_note note;            /* of an image: of the page drawn last, */
    int n_note;                       /* which is this one; 0: none yet */
};

/* Copies of s, which stays the caller's. */
struct searchable copy_of(struct copy_source *s);

#endif
