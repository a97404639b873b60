#include "page/inkcheck.h"

#include "base/err.h"
#include "base/ink.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define TRIM       0.02
#define MIN_PIXELS 6
#define MIN_SIDE   4

#define RASTER_SIDE 3000 /* longer ones are halved before */

/* The part of a picture that is looked at, w x h pixels. */
struct field {
    const unsigned char *first; /* its first pixel */
    int w, h, stride;           /* stride: pixels from one row to the next */
};

static struct field trimmed(const unsigned char *rgb, int stride, struct view_frame f)
{
    int dx = (int)(f.w * TRIM), dy = (int)(f.h * TRIM);
    size_t at = (size_t)(f.y + dy) * (size_t)stride + (size_t)(f.x + dx);

    return (struct field){rgb + at * 3, f.w - 2 * dx, f.h - 2 * dy, stride};
}

struct blob {
    int n, left, right, top, bottom;
};

/* Take the component around pixel `at` off the map (ink becomes 0); stack can hold every pixel. */
static struct blob take_blob(unsigned char *ink, int w, int h, int at, int *stack)
{
    struct blob b = {.left = w, .top = h};
    int n = 0;

    ink[at] = 0;
    stack[n++] = at;
    while (n) {
        int p = stack[--n], x = p % w, y = p / w;

        b.n++;
        b.left = MIN(b.left, x), b.right = MAX(b.right, x);
        b.top = MIN(b.top, y), b.bottom = MAX(b.bottom, y);
        for (int v = MAX(y - 1, 0); v <= MIN(y + 1, h - 1); v++)
            for (int u = MAX(x - 1, 0); u <= MIN(x + 1, w - 1); u++)
                if (ink[v * w + u]) {
                    ink[v * w + u] = 0;
                    stack[n++] = v * w + u;
                }
    }
    return b;
}

static void count_blobs(struct ink *out, unsigned char *map, int w, int h, int *stack)
{
    int of_height[RASTER_SIDE + 1] = {0}, seen = 0;

    for (int at = 0; at < w * h; at++) {
        struct blob b;
        int bw, bh;

        if (!map[at])
            continue;
        b = take_blob(map, w, h, at, stack);
        bw = b.right - b.left + 1;
        bh = b.bottom - b.top + 1;
        if (b.n < MIN_PIXELS || MAX(bw, bh) < MIN_SIDE)
            continue;
        of_height[bh]++;
        out->n_kept++;
    }
    for (int v = 0; v <= RASTER_SIDE && seen * 2 < out->n_kept; v++) {
        seen += of_height[v];
        out->median_height = v;
    }
}

static double change(const int *a, int n)
{
    double change = 0, sum = (double)a[0] * a[0];

    for (int i = 1; i < n; i++) {
        double d = a[i] - a[i - 1];

        change += d * d;
        sum += (double)a[i] * a[i];
    }
    return sum > 0 ? change / sum : 0;
}

/* Ink of a map's rows and columns, which start at 0; either may be NULL. */
static void add_ink(const unsigned char *map, int w, int h, int *row, int *column)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, map++) {
            if (row)
                row[y] += *map;
            if (column)
                column[x] += *map;
        }
}

static double line_ratio(const unsigned char *map, int w, int h)
{
    int *row = mem_zero((size_t)(w + h), sizeof *row), *column = row + h;
    double across, down;

    add_ink(map, w, h, row, column);
    across = change(row, h);
    down = change(column, w);
    free(row);
    return down > 0 ? across / down : 1;
}

int ink_profile(const struct recto_image *im, int *row, int *column)
{
    size_t n = (size_t)im->width * (size_t)im->height;
    unsigned char *map = mem_big(n);
    int threshold;

    if (!map)
        return err(RECTO_ENOMEM, "no memory to look at the page's ink");
    threshold = ink_differences(map, im->rgb, (size_t)im->width * 3, im->width, im->height);
    for (size_t i = 0; i < n; i++)
        map[i] = map[i] > threshold;
    add_ink(map, im->width, im->height, row, column);
    free(map);
    return 0;
}

static int measure(struct ink *ink, const struct field *f)
{
    size_t n = (size_t)f->w * (size_t)f->h;
    unsigned char *map = malloc(n);
    int *stack = malloc(n * sizeof *stack);

    *ink = (struct ink){0};
    if (!map || !stack) {
        free(map);
        free(stack);
        return err(RECTO_ENOMEM, "no memory to look at the page's ink");
    }
    ink->threshold = ink_differences(map, f->first, (size_t)f->stride * 3, f->w, f->h);
    for (size_t i = 0; i < n; i++) {
        map[i] = map[i] > ink->threshold;
        ink->n_ink += map[i];
    }
    ink->n_pixel = (int)n;
    ink->line_ratio = line_ratio(map, f->w, f->h);
    count_blobs(ink, map, f->w, f->h, stack);
    free(map);
    free(stack);
    return 0;
}

int ink_measure(struct ink *ink, const unsigned char *global, struct view_frame frame)
{
    struct field f = trimmed(global, VIEW_GLOBAL, frame);

    return measure(ink, &f);
}

/* Half of w x h (whole pixels only), each the mean of 2 x 2, into out; out may be in. */
static void halve(unsigned char *out, const unsigned char *in, int w, int h)
{
    size_t row = (size_t)w * 3;

    for (int y = 0; y < h / 2; y++) {
        const unsigned char *p = in + (size_t)y * 2 * row;

        for (int x = 0; x < w / 2; x++, p += 6)
            for (int c = 0; c < 3; c++)
                *out++ = (unsigned char)((p[c] + p[c + 3] + p[row + (size_t)c] +
                                          p[row + (size_t)c + 3] + 2) /
                                         4);
    }
}

int ink_of_raster(struct ink *ink, const struct recto_image *im)
{
    int w = im->width, h = im->height, rc;
    unsigned char *less = NULL;
    struct field f;

    while (MAX(w, h) > RASTER_SIDE && w > 1 && h > 1) {
        if (!less && !(less = mem_big((size_t)(w / 2) * (size_t)(h / 2) * 3)))
            return err(RECTO_ENOMEM, "no memory to look at the page's ink");
        halve(less, w == im->width ? im->rgb : less, w, h);
        w /= 2;
        h /= 2;
    }
    /* A strip of one pixel cannot be halved; its start tells enough. */
    f = trimmed(less ? less : im->rgb, w,
                (struct view_frame){0, 0, MIN(w, RASTER_SIDE), MIN(h, RASTER_SIDE)});
    rc = measure(ink, &f);
    free(less);
    return rc;
}

bool ink_is_blank(const struct ink *ink)
{
    return ink->n_kept == 0;
}

bool ink_is_scarce(const struct ink *ink)
{
    return ink->n_kept < INK_FEW_KEPT || ink->n_ink < INK_LEAST_SHARE * ink->n_pixel;
}

bool ink_is_dense(const struct ink *ink)
{
    return ink->n_kept > INK_MAX_KEPT || (ink->n_kept > 0 && ink->median_height < INK_MIN_HEIGHT);
}
