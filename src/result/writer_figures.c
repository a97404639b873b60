/* Figures alone: what md and html link to, without a document around. */
#include "result/figure.h"

static int figures_page(struct recto_writer *w, const struct recto_page *p)
{
    struct figure f = {0};
    int n_figure = 0, rc = 0;

    for (int i = 0; i < p->n_block && rc >= 0; i++)
        for (int k = 0; k < p->block[i].n_box && rc >= 0; k++) {
            if (p->block[i].kind != RECTO_BLOCK_FIGURE)
                continue;
            rc = figure_cut(w, p, p->block[i].box[k], &n_figure, &f);
            if (rc > 0)
                rc = writer_side(w, f.name, buf_view(&f.bytes));
        }
    figure_reset(&f);
    return rc < 0 ? rc : 0;
}

const struct writer writer_figures = {
    .format = {.name = "figures", .has_side_files = true, .uses_pixels = true},
    .page = figures_page,
};
