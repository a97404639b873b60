/* Which part of a page a reading sees, and how: turned, cut, enlarged, with a white border; and boxes back to the page.
 *
 * A picture for a reading is made from the page as displayed in this order: turn it clockwise, cut a rectangle out, enlarge
 * it by a whole factor, lay a white border around.  frame_box is the way back. */
#ifndef RECTO_PAGE_FRAME_H
#define RECTO_PAGE_FRAME_H

#include "recto.h"

#include <stdbool.h>

struct page_frame {
    int page_w, page_h;     /* of the page as displayed */
    int turn;               /* degrees clockwise: 0, 90, 180, 270 */
    int x, y, w, h;         /* of the cut, in pixels of the turned page */
    int scale;              /* 1 or 2 */
    int border_x, border_y; /* pixels on each side, after enlarging */
};

/* The whole page, turned. */
struct page_frame frame_whole(int page_w, int page_h, int turn);
/* f with tiles cut elsewhere: twice the size when it has no tiles (is_tiled: view.h's grid is not 1 x 1), then a border of 3 %
 * of each side. */
struct page_frame frame_shifted(struct page_frame f, bool is_tiled);
/* Cut f, a whole page, in two at the emptiest row (emptiest column when it is wider than 1.75 times its height) within 40 to
 * 60 % of the side: the middle of the longest run of rows with the least ink, the one nearest to the page's middle among
 * equals. The upper or left half comes first.  page is as displayed. RECTO_ENOMEM. */
int frame_halves(const struct page_frame *f, const struct recto_image *page,
                 struct page_frame half[2]);
/* Both sides of both halves would have this many pixels. */
#define FRAME_HALF_MIN 32
bool frame_can_halve(const struct page_frame *f);

bool frame_is_plain(const struct page_frame *f); /* the page itself */
void frame_size(const struct page_frame *f, int *w, int *h);
/* The picture; out->rgb is the caller's. page is as displayed and stays. RECTO_ENOMEM. */
int frame_draw(const struct page_frame *f, const struct recto_image *page, struct recto_image *out);

/* A box of 0..999 over the picture as 0..999 over the page as displayed, rounded to the nearest; what lies on the border
 * comes to lie on the cut's edge. A plain or turned frame changes no number but by 999 - v. */
struct recto_box frame_box(const struct page_frame *f, struct recto_box box);

#endif
