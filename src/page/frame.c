#include "page/frame.h"

#include "base/err.h"
#include "base/mem.h"
#include "page/inkcheck.h"
#include "page/orient.h"
#include "page/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BORDER 0.03
#define WIDE   1.75 /* a page of two columns of its own, or a spread */
#define FROM   0.4
#define TO     0.6

/* ---- frames ---------------------------------------------------------------------------------------------------------- */

struct page_frame frame_whole(int page_w, int page_h, int turn)
{
    bool is_across = turn == 90 || turn == 270;

    return (struct page_frame){.page_w = page_w,
                               .page_h = page_h,
                               .turn = turn,
                               .w = is_across ? page_h : page_w,
                               .h = is_across ? page_w : page_h,
                               .scale = 1};
}

struct page_frame frame_shifted(struct page_frame f, bool is_tiled)
{
    f.scale = is_tiled ? 1 : 2;
    f.border_x = (int)lrint(f.w * f.scale * BORDER);
    f.border_y = (int)lrint(f.h * f.scale * BORDER);
    return f;
}

static bool is_wide(const struct page_frame *f)
{
    return f->w > WIDE * f->h;
}

bool frame_can_halve(const struct page_frame *f)
{
    int cut = (int)(FROM * (is_wide(f) ? f->w : f->h)), rest = is_wide(f) ? f->h : f->w;

    return cut >= FRAME_HALF_MIN && rest >= FRAME_HALF_MIN;
}

bool frame_is_plain(const struct page_frame *f)
{
    return f->turn == 0 && f->w == f->page_w && f->h == f->page_h && f->scale == 1 &&
           f->border_x == 0 && f->border_y == 0;
}

void frame_size(const struct page_frame *f, int *w, int *h)
{
    *w = f->w * f->scale + 2 * f->border_x;
    *h = f->h * f->scale + 2 * f->border_y;
}

/* ---- halves ---------------------------------------------------------------------------------------------------------- */

/* Middle of the best run of least ink in ink[from .. to). */
static int emptiest(const int *ink, int from, int to, int n)
{
    int best = from, best_len = 0, len = 0;

    for (int i = from; i < to; i++) {
        int mid;

        len = i > from && ink[i] == ink[i - 1] ? len + 1 : 1;
        mid = i - (len - 1) / 2;
        if (best_len == 0 || ink[i] < ink[best] ||
            (ink[i] == ink[best] &&
             (len > best_len || (len == best_len && abs(2 * mid - n) < abs(2 * best - n))))) {
            best = mid;
            best_len = len;
        }
    }
    return best;
}

/* Ink along the side that is to be cut, of the turned page: rows or columns of the page as displayed, perhaps backwards. */
static int ink_along(const struct page_frame *f, const struct recto_image *page, int *ink, int n)
{
    bool is_across = f->turn == 90 || f->turn == 270, of_rows = is_wide(f) == is_across;
    bool is_reversed = f->turn == 180 || f->turn == (is_wide(f) ? 90 : 270);

    TRY(ink_profile(page, of_rows ? ink : NULL, of_rows ? NULL : ink));
    for (int i = 0; is_reversed && i < n / 2; i++) {
        int t = ink[i];

        ink[i] = ink[n - 1 - i];
        ink[n - 1 - i] = t;
    }
    return 0;
}

int frame_halves(const struct page_frame *f, const struct recto_image *page,
                 struct page_frame half[2])
{
    int n = is_wide(f) ? f->w : f->h, at, rc;
    int *ink = mem_zero((size_t)n, sizeof *ink);

    rc = ink_along(f, page, ink, n);
    at = emptiest(ink, (int)(FROM * n), (int)(TO * n) + 1, n);
    free(ink);
    half[0] = half[1] = *f;
    if (is_wide(f)) {
        half[0].w = half[1].x = at;
        half[1].w = n - at;
    } else {
        half[0].h = half[1].y = at;
        half[1].h = n - at;
    }
    return rc;
}

/* ---- the picture ----------------------------------------------------------------------------------------------------- */

static int alloc_image(struct recto_image *im, int w, int h)
{
    *im = (struct recto_image){.width = w, .height = h};
    im->rgb = mem_big((size_t)w * (size_t)h * 3);
    return im->rgb ? 0 : err(RECTO_ENOMEM, "no memory for a picture of %d x %d", w, h);
}

static void put(struct recto_image *to, int to_x, int to_y, const struct recto_image *from, int x,
                int y, int w, int h)
{
    for (int i = 0; i < h; i++)
        memcpy(to->rgb + ((size_t)(to_y + i) * (size_t)to->width + (size_t)to_x) * 3,
               from->rgb + ((size_t)(y + i) * (size_t)from->width + (size_t)x) * 3, (size_t)w * 3);
}

static int turn_copy(const struct recto_image *page, int turn, struct recto_image *out)
{
    static const int orientation[] = {1, 6, 3, 8}; /* of a quarter turn clockwise, two, three */

    TRY(alloc_image(out, page->width, page->height));
    memcpy(out->rgb, page->rgb, (size_t)page->width * (size_t)page->height * 3);
    return orient_apply(out, orientation[turn / 90]);
}

static int cut_out(const struct page_frame *f, const struct recto_image *turned,
                   struct recto_image *out)
{
    struct recto_image cut = {0};
    int rc;

    TRY(alloc_image(out, f->w * f->scale, f->h * f->scale));
    if (f->scale == 1) {
        put(out, 0, 0, turned, f->x, f->y, f->w, f->h);
        return 0;
    }
    TRY(alloc_image(&cut, f->w, f->h));
    put(&cut, 0, 0, turned, f->x, f->y, f->w, f->h);
    rc = resize_bicubic(out->rgb, out->width, out->height, cut.rgb, cut.width, cut.height);
    recto_image_reset(&cut);
    return rc;
}

static int lay_border(const struct page_frame *f, struct recto_image *im)
{
    struct recto_image out;
    int w, h;

    frame_size(f, &w, &h);
    if (w == im->width && h == im->height)
        return 0;
    TRY(alloc_image(&out, w, h));
    memset(out.rgb, 255, (size_t)w * (size_t)h * 3);
    put(&out, f->border_x, f->border_y, im, 0, 0, im->width, im->height);
    recto_image_reset(im);
    *im = out;
    return 0;
}

int frame_draw(const struct page_frame *f, const struct recto_image *page, struct recto_image *out)
{
    struct recto_image turned = {0};
    int rc = f->turn ? turn_copy(page, f->turn, &turned) : 0;

    *out = (struct recto_image){0};
    if (rc == 0)
        rc = cut_out(f, f->turn ? &turned : page, out);
    recto_image_reset(&turned);
    if (rc == 0)
        rc = lay_border(f, out);
    if (rc < 0)
        recto_image_reset(out);
    return rc;
}

/* ---- boxes ----------------------------------------------------------------------------------------------------------- */

struct point {
    double x, y;
};

static double clamp(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* 0..999 over the picture to pixels of the page as displayed. */
static struct point to_page(const struct page_frame *f, int x, int y)
{
    struct point p;
    int w, h;

    frame_size(f, &w, &h);
    p.x = f->x + clamp((x / 999.0 * w - f->border_x) / f->scale, 0, f->w);
    p.y = f->y + clamp((y / 999.0 * h - f->border_y) / f->scale, 0, f->h);
    switch (f->turn) {
    case 90:
        return (struct point){p.y, f->page_h - p.x};
    case 180:
        return (struct point){f->page_w - p.x, f->page_h - p.y};
    case 270:
        return (struct point){f->page_w - p.y, p.x};
    }
    return p;
}

static int to_999(double v, int size)
{
    return (int)clamp(rint(v / size * 999), 0, 999);
}

struct recto_box frame_box(const struct page_frame *f, struct recto_box box)
{
    struct point a = to_page(f, box.x1, box.y1), b = to_page(f, box.x2, box.y2);

    return (struct recto_box){to_999(MIN(a.x, b.x), f->page_w), to_999(MIN(a.y, b.y), f->page_h),
                              to_999(MAX(a.x, b.x), f->page_w), to_999(MAX(a.y, b.y), f->page_h)};
}
