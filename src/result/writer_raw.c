/* The model's text as it came, markers and all; pages parted by a form feed. */
#include "result/writer.h"

static void raw_open(struct writer_doc *d)
{
    (void)d;
}

static void raw_page(struct writer_doc *d, const struct recto_page *p)
{
    if (d->n_page)
        buf_char(d->out, '\f');
    d->has_output = p->n_raw > 0;
    buf_add(d->out, p->n_raw ? p->raw : "", p->n_raw);
    if (p->n_raw && p->raw[p->n_raw - 1] != '\n')
        buf_char(d->out, '\n');
}

/* A form feed is not the end of a line. */
static void raw_close(struct writer_doc *d)
{
    if (d->n_page > 1 && !d->has_output)
        buf_char(d->out, '\n');
}

const struct writer writer_raw = {
    .name = "raw",
    .extension = ".raw.txt",
    .open = raw_open,
    .page = raw_page,
    .close = raw_close,
};
