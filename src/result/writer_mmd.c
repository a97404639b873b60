/* The published scripts' Markdown (official.h), and with raw their unprocessed text. Their bytes
 * are kept: no newline is added at the end of a page. Where they have one page a file, several
 * pages of a document are parted as the pdf script parts its own. */
#include "result/official.h"
#include "result/writer.h"

static enum official mode_of(const struct recto_writer *w)
{
    return strcmp(w->opts.official, "pdf") == 0    ? OFFICIAL_PDF
           : strcmp(w->opts.official, "eval") == 0 ? OFFICIAL_EVAL
                                                   : OFFICIAL_IMAGE;
}

/* state: how many pages the pdf script would have kept so far. It drops those that the model did
 * not end itself, and later pages move up. */
static int mmd_page(struct recto_writer *w, const struct recto_page *p)
{
    enum official mode = mode_of(w);
    str raw = {p->n_raw ? p->raw : "", p->n_raw};
    int *n_kept = w->state;

    if (mode == OFFICIAL_PDF && p->finish != RECTO_FINISH_EOS)
        return 0;
    if (mode != OFFICIAL_PDF && w->n_page)
        buf_text(&w->out, OFFICIAL_SPLIT);
    official_put(&w->out, mode, raw, (*n_kept)++);
    if (mode == OFFICIAL_PDF)
        buf_text(&w->out, OFFICIAL_SPLIT);
    return 0;
}

const struct writer writer_mmd = {
    .format = {.name = "mmd", .extension = ".mmd", .is_text = true},
    .state_size = sizeof(int),
    .page = mmd_page,
};
