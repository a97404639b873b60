#include "base/ink.h"

#include "base/mem.h"

#include <stdlib.h>

#define BINS    64
#define QUIET_D 40 /* differences up to this are paper and its noise */
#define LEAST_T 16

static void background(const unsigned char *rgb, size_t stride, int w, int h, unsigned char back[3])
{
    int count[3][BINS] = {{0}};

    for (int y = 0; y < h; y++) {
        const unsigned char *p = rgb + (size_t)y * stride;

        for (int x = 0; x < w; x++, p += 3)
            for (int c = 0; c < 3; c++)
                count[c][p[c] * BINS / 256]++;
    }
    for (int c = 0; c < 3; c++) {
        int best = 0;

        for (int b = 1; b < BINS; b++)
            if (count[c][b] > count[c][best])
                best = b;
        back[c] = (unsigned char)(best * 256 / BINS + 128 / BINS);
    }
}

/* From how many pixels have each difference. */
static int threshold(const int count[256])
{
    int n_quiet = 0, seen = 0, median = 0, t;

    for (int d = 0; d <= QUIET_D; d++)
        n_quiet += count[d];
    while (median < QUIET_D && (seen += count[median]) * 2 < n_quiet)
        median++;
    t = (int)(4 * 1.4826 * median);
    return MAX(t, LEAST_T);
}

int ink_differences(unsigned char *diff, const unsigned char *rgb, size_t stride, int w, int h)
{
    int count[256] = {0};
    unsigned char back[3];

    background(rgb, stride, w, h, back);
    for (int y = 0; y < h; y++) {
        const unsigned char *p = rgb + (size_t)y * stride;

        for (int x = 0; x < w; x++, p += 3) {
            int d = 0;

            for (int c = 0; c < 3; c++)
                d = MAX(d, abs(p[c] - back[c]));
            *diff++ = (unsigned char)d;
            count[d]++;
        }
    }
    return threshold(count);
}
