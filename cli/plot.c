#include "plot.h"

#include "cli.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 420, LEFT = 80, RIGHT = 20, TOP = 64, BOTTOM = 76, N_TICK = 5 };

static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c",
                                      "#9467bd", "#8c564b", "#17807e"};

struct frame {
    const struct plot *p;
    FILE *out;
    double max_x, max_y;
};

/* ---- numbers --------------------------------------------------------------------------------- */

/* The next of 1, 2, 2.5, 5, 10 and so on, so that N_TICK steps have round numbers. */
static double round_up(double v)
{
    static const double steps[] = {1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10};
    double unit = v > 0 ? pow(10, floor(log10(v))) : 1;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (v <= steps[i] * unit * (1 + 1e-9))
            return steps[i] * unit;
    return 10 * unit;
}

static void find_range(struct frame *f)
{
    for (int s = 0; s < f->p->n_series; s++)
        for (int i = 0; i < f->p->series[s].n; i++) {
            const struct plot_point *q = &f->p->series[s].point[i];

            f->max_y = fmax(f->max_y, fmax(q->y, q->hi)); /* fmax leaves NAN out */
            f->max_x = fmax(f->max_x, q->at_x);
        }
    f->max_x = round_up(f->max_x);
    f->max_y = round_up(f->max_y);
}

static double place_x(const struct frame *f, int i, const struct plot_point *q)
{
    double width = WIDTH - LEFT - RIGHT;

    if (q->x)
        return LEFT + width * (i + 0.5) / f->p->series[0].n;
    return LEFT + width * q->at_x / f->max_x;
}

static double place_y(const struct frame *f, double y)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - y / f->max_y);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void put_escaped(const struct frame *f, const char *s)
{
    for (; s && *s; s++) {
        if (*s == '<' || *s == '&')
            fputs(*s == '<' ? "&lt;" : "&amp;", f->out);
        else
            fputc(*s, f->out);
    }
}

static void label(const struct frame *f, double x, double y, const char *anchor, int size,
                  const char *text)
{
    fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">", x, y,
            anchor, size);
    put_escaped(f, text);
    fputs("</text>\n", f->out);
}

static void draw_axes(const struct frame *f)
{
    const struct plot_series *first = &f->p->series[0];
    char number[32];

    for (int i = 0; i <= N_TICK; i++) {
        double v = f->max_y * i / N_TICK, y = place_y(f, v);

        fprintf(f->out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                LEFT, WIDTH - RIGHT, y, y);
        snprintf(number, sizeof number, "%.4g", v);
        label(f, LEFT - 8, y + 4, "end", 12, number);
    }
    for (int i = 0; i <= N_TICK && !first->point[0].x; i++) {
        struct plot_point q = {.at_x = f->max_x * i / N_TICK};

        snprintf(number, sizeof number, "%.4g", q.at_x);
        label(f, place_x(f, i, &q), HEIGHT - BOTTOM + 18, "middle", 12, number);
    }
    for (int i = 0; i < first->n && first->point[0].x; i++)
        label(f, place_x(f, i, &first->point[i]), HEIGHT - BOTTOM + 18, "middle",
              first->n > 8 ? 9 : 12, first->point[i].x);
    label(f, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 38, "middle", 13, f->p->x_label);
    fprintf(
        f->out,
        "<text transform=\"translate(18,%d) rotate(-90)\" text-anchor=\"middle\" font-size=\"13\">",
        (TOP + HEIGHT - BOTTOM) / 2);
    put_escaped(f, f->p->y_label);
    fputs("</text>\n", f->out);
}

static void draw_spread(const struct frame *f, double x, const struct plot_point *q,
                        const char *colour)
{
    if (q->lo == q->hi)
        return;
    fprintf(f->out, "<path d=\"M%.1f %.1fh8m-4 0V%.1fm-4 0h8\" stroke=\"%s\" fill=\"none\"/>\n",
            x - 4, place_y(f, q->lo), place_y(f, q->hi), colour);
}

static void draw_line(const struct frame *f, int s)
{
    const struct plot_series *q = &f->p->series[s];

    fprintf(f->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
            colours[s]);
    for (int i = 0; i < q->n; i++)
        if (!isnan(q->point[i].y))
            fprintf(f->out, "%.1f,%.1f ", place_x(f, i, &q->point[i]), place_y(f, q->point[i].y));
    fputs("\"/>\n", f->out);
    for (int i = 0; i < q->n && q->point[0].x; i++)
        if (!isnan(q->point[i].y)) {
            double x = place_x(f, i, &q->point[i]);

            fprintf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x,
                    place_y(f, q->point[i].y), colours[s]);
            draw_spread(f, x, &q->point[i], colours[s]);
        }
    fprintf(f->out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
            LEFT + s * 160, HEIGHT - 24, colours[s]);
    label(f, LEFT + s * 160 + 18, HEIGHT - 13, "start", 12, q->name);
}

static void draw_bars(const struct frame *f)
{
    const struct plot_series *q = &f->p->series[0];
    double width = (WIDTH - LEFT - RIGHT) * 0.6 / q->n;
    char number[32];

    for (int i = 0; i < q->n; i++) {
        double x = place_x(f, i, &q->point[i]), y = place_y(f, q->point[i].y);

        fprintf(f->out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                x - width / 2, y, width, place_y(f, 0) - y, colours[0]);
        draw_spread(f, x, &q->point[i], "#000");
        snprintf(number, sizeof number, "%.4g", q->point[i].y);
        label(f, x, place_y(f, fmax(q->point[i].y, q->point[i].hi)) - 5, "middle", 12, number);
    }
}

int plot_write(const struct plot *p, const char *path)
{
    struct frame f = {.p = p, .out = fopen(path, "we")};

    if (!f.out) {
        say(SAY_ERROR, "cannot write %s: %s (%s)", path, strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
        return EXIT_OUTPUT;
    }
    find_range(&f);
    fprintf(
        f.out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    label(&f, LEFT, 26, "start", 17, p->title);
    label(&f, LEFT, 46, "start", 12, p->note);
    draw_axes(&f);
    for (int s = 0; s < p->n_series && !p->is_bars; s++)
        draw_line(&f, s);
    if (p->is_bars)
        draw_bars(&f);
    fputs("</svg>\n", f.out);
    return fclose(f.out) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}
