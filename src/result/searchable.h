/* What the format "pdf" needs of the source: a copy of it that takes text. Made over the document by src/copy.c, or by a
 * test. */
#ifndef RECTO_RESULT_SEARCHABLE_H
#define RECTO_RESULT_SEARCHABLE_H

#include "base/pdf_proto.h"
#include "base/str.h"
#include "recto.h"

struct searchable {
    void *ctx; /* first argument of open */
    /* *copy, from then on, is the first argument of the others. flags: enum pdf_open_flag. */
    int (*open)(void *ctx, void **copy, unsigned flags);
    /* Before a page's text, for pages that are pictures: the page itself. im: its pixels, NULL: there are none. */
    int (*page)(void *copy, const struct recto_page *p, const struct recto_image *im);
    int (*text)(void *copy, int number, str content);
    int (*font)(void *copy, enum pdf_record what, str bytes);
    int (*finish)(void *copy, int (*put)(void *to, const void *bytes, size_t n), void *to);
    void (*close)(void *copy); /* NULL is fine */
};

#endif
