/* Plain text: blocks parted by a blank line, pages by a form feed. What is removed: plain.h. */
#include "result/markdown.h"
#include "result/model.h"
#include "result/plain.h"
#include "result/writer.h"

static void txt_open(struct writer_doc *d)
{
    (void)d;
}

static void put_block(struct writer_doc *d, const struct recto_block *b, bool *is_first)
{
    struct buf part = {0};
    str text = {b->text, b->n_text};

    if (b->kind == RECTO_BLOCK_CODE)
        buf_str(&part, markdown_unfence(text));
    else
        plain_put(&part, text);
    if (part.n && !*is_first)
        buf_text(d->out, "\n\n");
    if (part.n)
        *is_first = false;
    buf_str(d->out, buf_view(&part));
    buf_reset(&part);
}

static void txt_page(struct writer_doc *d, const struct recto_page *p)
{
    bool is_first = true;

    if (d->n_page)
        buf_char(d->out, '\f');
    for (int i = 0; i < p->n_block; i++)
        if (d->opts->keep_furniture || !block_is_furniture(&p->block[i]))
            put_block(d, &p->block[i], &is_first);
    d->has_output = !is_first;
    if (d->has_output)
        buf_char(d->out, '\n');
}

/* A form feed is not the end of a line. */
static void txt_close(struct writer_doc *d)
{
    if (d->n_page > 1 && !d->has_output)
        buf_char(d->out, '\n');
}

const struct writer writer_txt = {
    .name = "txt",
    .extension = ".txt",
    .open = txt_open,
    .page = txt_page,
    .close = txt_close,
};
