/* A plot as an SVG file: lines with the spread of each point, or bars. No fonts or colours from elsewhere. */
#ifndef RECTO_CLI_PLOT_H
#define RECTO_CLI_PLOT_H

#include <stddef.h>

struct plot_point {
    const char *x; /* of lines over categories and of bars; NULL: at_x counts */
    double at_x, y;
    double lo, hi; /* spread; equal to y: none */
};

struct plot_series {
    const char *name;
    const struct plot_point *point;
    int n;
};

struct plot {
    const char *title, *note, *x_label, *y_label;
    const struct plot_series *series; /* all over the same categories, or all over numbers */
    int n_series;                     /* at most 6 */
    int is_bars;                      /* one series only */
};

/* 0, or an exit code after a message. */
int plot_write(const struct plot *p, const char *path);

#endif
