#include "page/orient.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 32 /* pixels; a 32 x 32 block of both pictures fits in the first-level cache */

/* Output pixel (x, y) is stored pixel (a, b) = (x, y), or (y, x) when is_transposed, with a counted
 * from the right when from_right and b from the bottom when from_bottom. */
struct turn {
    bool is_transposed, from_right, from_bottom;
};

static const struct turn turns[9] = {
    [2] = {false, true, false}, [3] = {false, true, true}, [4] = {false, false, true},
    [5] = {true, false, false}, [6] = {true, false, true}, [7] = {true, true, true},
    [8] = {true, true, false},
};

/* One block of output rows [y0, y1), columns [x0, x1). */
static void turn_block(unsigned char *out, int out_w, const struct recto_image *im, struct turn t,
                       int x0, int x1, int y0, int y1)
{
    /* Steps in the stored picture, in bytes, for one output pixel to the right and one row down. */
    ptrdiff_t col = t.from_right ? -3 : 3;
    ptrdiff_t row = (ptrdiff_t)im->width * (t.from_bottom ? -3 : 3);
    ptrdiff_t origin = (t.from_right ? (ptrdiff_t)(im->width - 1) * 3 : 0) +
                       (t.from_bottom ? (ptrdiff_t)(im->height - 1) * im->width * 3 : 0);
    ptrdiff_t dx = t.is_transposed ? row : col, dy = t.is_transposed ? col : row;

    for (int y = y0; y < y1; y++) {
        const unsigned char *src = im->rgb + origin + dx * x0 + dy * y;
        unsigned char *dst = out + ((size_t)y * (size_t)out_w + (size_t)x0) * 3;

        for (int x = x0; x < x1; x++, src += dx, dst += 3)
            memcpy(dst, src, 3);
    }
}

int orient_apply(struct recto_image *im, int orientation)
{
    struct turn t;
    int w, h;
    unsigned char *out;

    if (orientation < 2 || orientation > 8)
        return 0;
    t = turns[orientation];
    w = t.is_transposed ? im->height : im->width;
    h = t.is_transposed ? im->width : im->height;
    out = mem_big((size_t)w * (size_t)h * 3);
    if (!out)
        return err(RECTO_ENOMEM, "no memory to turn a picture of %d x %d", im->width, im->height);
    for (int y = 0; y < h; y += BLOCK)
        for (int x = 0; x < w; x += BLOCK)
            turn_block(out, w, im, t, x, MIN(x + BLOCK, w), y, MIN(y + BLOCK, h));
    free(im->rgb);
    *im = (struct recto_image){.width = w, .height = h, .rgb = out};
    return 0;
}
