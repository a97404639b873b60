/* What writers write, kept for tests, and the page that shows what each format makes of the same text. */
#ifndef RECTO_TESTS_WRITTEN_H
#define RECTO_TESTS_WRITTEN_H

#include "unit/result_pages.h"

#include "result/writer.h"

#include <stdio.h>

#define EXAMPLE_TABLE "<table><tr><td>A</td><td>B</td></tr><tr><td>1</td><td>2</td></tr></table>"

/* The page of the example in the contract: 1998 x 2997 pixels, six blocks. */
/* clang-format off */
#define EXAMPLE \
    REF("title") DET("[[100, 50, 500, 80]]") "\n# Report\n\n" \
    REF("text") DET("[[100, 100, 899, 160]]") "\nCost is $5 (2024).\n\n" \
    REF("equation") DET("[[300, 180, 700, 220]]") "\n\\[ E \\coloneqq mc^{2} \\quad (1) \\]\n\n" \
    REF("table") DET("[[100, 240, 899, 330]]") "\n" EXAMPLE_TABLE "\n\n" \
    REF("image") DET("[[100, 350, 500, 600]]") "\n\n\n" \
    REF("figure_title") DET("[[100, 610, 500, 640]]") "\nFig. 1. Map"

/* What no format may let through as markup. */
#define HOSTILE \
    REF("<b onload=x>\"'") DET("[[1, 1, 900, 99]]") "\n<script>alert(1)</script> & \"q\" ]]> --> \x07\n\n" \
    REF("table") DET("[[1, 100, 900, 199]]") "\n<table><tr><td><script>alert(1)</script></td>" \
        "<td><a href=\"javascript:alert(1)\">x</a></td></tr></table>\n\n" \
    REF("text") DET("[[1, 200, 900, 299]]") "\n[link](javascript:alert(1)) ![i](http://x/y.png) <img src=x onerror=y>\n\n" \
    REF("code") DET("[[1, 300, 900, 399]]") "\n```\n<script>alert(1)</script>\n```\n\n" \
    REF("figure_title") DET("[]") "\n\"><script>alert(1)</script>\n\n" \
    REF("image") DET("[[1, 400, 900, 499]]") "\n<script>alert(1)</script>"
/* clang-format on */

static inline struct recto_page example_page(void)
{
    struct recto_page p = PAGE(EXAMPLE);

    p.width = 1998, p.height = 2997;
    return p;
}

/* The files of one document. */
struct written {
    struct buf main, sides; /* sides: "NAME:content\n" of each */
    struct buf side;        /* the last of them, */
    char name[64];          /* which has this name */
    int n_side;
};

/* A recto_sink_fn. */
static inline int written_take(void *ctx, const char *side, const void *bytes, size_t n)
{
    struct written *w = ctx;

    if (!side) {
        buf_add(&w->main, bytes, n);
        return 0;
    }
    buf_fmt(&w->sides, "%s:", side);
    buf_add(&w->sides, bytes, n);
    buf_char(&w->sides, '\n');
    snprintf(w->name, sizeof w->name, "%s", side);
    buf_clear(&w->side);
    buf_add(&w->side, bytes, n);
    w->n_side++;
    return 0;
}

static inline void written_reset(struct written *w)
{
    buf_reset(&w->main);
    buf_reset(&w->sides);
    buf_reset(&w->side);
    *w = (struct written){0};
}

/* Write n pages with the pixels at `pixels`, or those of o->doc, or none, behind what w has. What went wrong. */
static inline int written_try(struct written *w, const char *format,
                              const struct recto_write_options *o, struct pixels *pixels,
                              const struct recto_page *page, int n)
{
    struct recto_writer *writer;
    int rc = pixels ? writer_open(&writer, format, o, written_take, w, pixels)
                    : recto_writer_open(&writer, format, o, written_take, w);

    for (int i = 0; rc == 0 && i < n; i++)
        rc = recto_writer_page(writer, &page[i]);
    if (rc == 0)
        return recto_writer_close(writer);
    recto_writer_abort(writer);
    return rc;
}

/* The same, which has to go well; the main file as a string, valid as long as w. */
static inline const char *written(struct written *w, const char *format,
                                  const struct recto_write_options *o, struct pixels *pixels,
                                  const struct recto_page *page, int n)
{
    if (written_try(w, format, o, pixels, page, n) < 0)
        fail_msg("%s: %s", format, recto_last_error());
    buf_add(&w->main, "", 0);
    buf_add(&w->sides, "", 0);
    return w->main.p;
}

#endif
