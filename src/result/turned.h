/* A page as it was read: turned clockwise by its `rotate`, pixels and boxes, so that its lines run from left to right. */
#ifndef RECTO_RESULT_TURNED_H
#define RECTO_RESULT_TURNED_H

#include "recto.h"

struct turned {
    struct recto_page page;          /* borrows everything but boxes and sizes */
    const struct recto_image *image; /* NULL: there are no pixels */
    struct recto_image own;          /* if it is turned */
    struct recto_box *box;           /* of all blocks; NULL: as they were */
};

/* p and im (which may be NULL) stay the caller's and must outlive v. No memory for the pixels: v has none. */
void turned_open(struct turned *v, const struct recto_page *p, const struct recto_image *im);
void turned_close(struct turned *v);

#endif
