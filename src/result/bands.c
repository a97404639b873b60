#include "result/bands.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MIN_INK   2
#define ROW_MIN_SHARE 0.005
#define SMALL         0.35
#define NEAR          0.5
#define LARGE         1.6
#define LINE_PITCH    1.15
#define STRIP_MIN_W   0.03
#define STRIP_MIN_H   0.8

static void add(struct bands *b, int y1, int y2)
{
    b->band = mem_grow(b->band, (size_t)b->n + 1, sizeof *b->band);
    b->band[b->n++] = (struct band){.y1 = y1, .y2 = y2};
}

static void find_runs(struct bands *out, const unsigned char *ink, int w, int h)
{
    int from = -1;

    for (int y = 0; y <= h; y++) {
        int n = 0;

        for (int x = 0; y < h && x < w; x++)
            n += ink[(size_t)y * (size_t)w + (size_t)x] != 0;
        if (n >= ROW_MIN_INK && n >= ROW_MIN_SHARE * w) {
            from = from < 0 ? y : from;
        } else if (from >= 0) {
            add(out, from, y);
            from = -1;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static double median_height(const struct bands *b)
{
    int *h = mem_alloc((size_t)b->n * sizeof *h);
    int upper = b->n / 2, lower = (b->n - 1) / 2;
    double median;

    for (int i = 0; i < b->n; i++)
        h[i] = b->band[i].y2 - b->band[i].y1;
    qsort(h, (size_t)b->n, sizeof *h, by_value);
    median = (h[lower] + h[upper]) / 2.0;
    free(h);
    return median;
}

static bool is_small(struct band b, double median)
{
    return b.y2 - b.y1 < SMALL * median;
}

/* Small bands join a neighbour that is none, or vanish. */
static void join_small(struct bands *b, double median)
{
    struct band *full = mem_alloc((size_t)b->n * sizeof *full);
    int n = 0, at = 0; /* at: of the full band that follows */

    for (int i = 0; i < b->n; i++)
        if (!is_small(b->band[i], median))
            full[n++] = b->band[i];
    for (int i = 0; i < b->n; i++) {
        struct band s = b->band[i];
        int up, down;

        if (!is_small(s, median)) {
            at++;
            continue;
        }
        up = at > 0 ? s.y1 - full[at - 1].y2 : b->band[b->n - 1].y2;
        down = at < n ? full[at].y1 - s.y2 : b->band[b->n - 1].y2;
        if (up <= down && up < NEAR * median)
            full[at - 1].y2 = s.y2;
        else if (down < up && down < NEAR * median)
            full[at].y1 = MIN(full[at].y1, s.y1);
    }
    free(b->band);
    b->band = full;
    b->n = n;
}

static void cut_large(struct bands *b, double median)
{
    struct bands cut = {0};

    for (int i = 0; i < b->n; i++) {
        int y = b->band[i].y1, height = b->band[i].y2 - y;
        int n = height > LARGE * median ? (int)lround(height / (LINE_PITCH * median)) : 1;

        for (int k = 0; k < n; k++)
            add(&cut, y + height * k / n, y + height * (k + 1) / n);
    }
    free(b->band);
    *b = cut;
}

static void find_columns(struct band *b, const unsigned char *ink, int w)
{
    b->x1 = w, b->x2 = 0;
    for (int y = b->y1; y < b->y2; y++) {
        const unsigned char *row = ink + (size_t)y * (size_t)w;
        int x1 = 0, x2 = w;

        while (x1 < b->x1 && !row[x1])
            x1++;
        while (x2 > b->x2 && !row[x2 - 1])
            x2--;
        b->x1 = MIN(b->x1, x1);
        b->x2 = MAX(b->x2, x2);
    }
    if (b->x1 >= b->x2) /* part of a cut one, without ink */
        b->x1 = 0, b->x2 = w;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The blank part of column x around the middle of the height: [*top, *bottom); empty with ink there. */
static void blank_part(const unsigned char *ink, int w, int h, int x, int *top, int *bottom)
{
    int y = h / 2;

    while (y > 0 && !ink[(size_t)(y - 1) * (size_t)w + (size_t)x])
        y--;
    *top = y;
    y = h / 2;
    while (y < h && !ink[(size_t)y * (size_t)w + (size_t)x])
        y++;
    *bottom = y;
}

/* A strip that is long enough holds the middle row, so it is enough to look around that. */
static bool has_strip(const unsigned char *ink, int w, int h, int x1, int x2)
{
    int strip = (int)(STRIP_MIN_W * w) + 1, *top = mem_alloc((size_t)w * 2 * sizeof *top),
        *bottom = top + w;
    bool found = false;

    for (int x = x1; x < x2; x++)
        blank_part(ink, w, h, x, &top[x], &bottom[x]);
    for (int x = x1; x + strip <= x2 && !found; x++) {
        int from = 0, to = h;

        for (int i = x; i < x + strip && to - from > STRIP_MIN_H * h; i++) {
            from = MAX(from, top[i]);
            to = MIN(to, bottom[i]);
        }
        found = to - from > STRIP_MIN_H * h;
    }
    free(top);
    return found;
}

static bool is_multi_column(const struct bands *b, const unsigned char *ink, int w, int h)
{
    int x1 = w, x2 = 0;

    for (int i = 0; i < b->n; i++) {
        x1 = MIN(x1, b->band[i].x1);
        x2 = MAX(x2, b->band[i].x2);
    }
    return b->n > 1 && has_strip(ink, w, h, x1, x2);
}

void bands_find(struct bands *out, const unsigned char *ink, int w, int h)
{
    double median;

    *out = (struct bands){0};
    find_runs(out, ink, w, h);
    if (!out->n)
        return;
    median = median_height(out);
    join_small(out, median);
    cut_large(out, median_height(out));
    for (int i = 0; i < out->n; i++)
        find_columns(&out->band[i], ink, w);
    out->is_multi_column = is_multi_column(out, ink, w, h);
}

void bands_reset(struct bands *b)
{
    free(b->band);
    *b = (struct bands){0};
}
