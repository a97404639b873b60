/* The model's text as it came, markers and all; pages parted by a form feed. With official "pdf"
 * it is the script's _det file: each page that the model ended itself, and its split line. */
#include "result/official.h"
#include "result/writer.h"

static int raw_page(struct recto_writer *w, const struct recto_page *p)
{
    if (strcmp(w->opts.official, "pdf") == 0) {
        if (p->finish == RECTO_FINISH_EOS)
            buf_add(&w->out, p->n_raw ? p->raw : "", p->n_raw), buf_text(&w->out, OFFICIAL_SPLIT);
        w->has_output = true;
        return 0;
    }
    if (w->n_page)
        buf_char(&w->out, '\f');
    w->has_output = p->n_raw > 0;
    buf_add(&w->out, p->n_raw ? p->raw : "", p->n_raw);
    if (p->n_raw && p->raw[p->n_raw - 1] != '\n')
        buf_char(&w->out, '\n');
    return 0;
}

/* A form feed is not the end of a line. */
static int raw_close(struct recto_writer *w)
{
    if (w->n_page > 1 && !w->has_output)
        buf_char(&w->out, '\n');
    return 0;
}

const struct writer writer_raw = {
    .format = {.name = "raw", .extension = ".raw.txt", .is_text = true},
    .page = raw_page,
    .close = raw_close,
};
