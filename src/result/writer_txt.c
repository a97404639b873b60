/* Plain text: blocks parted by a blank line, pages by a form feed. What is removed: plain.h. */
#include "result/markdown.h"
#include "result/model.h"
#include "result/plain.h"
#include "result/writer.h"

static void put_block(struct recto_writer *w, const struct recto_block *b, bool *is_first)
{
    struct buf part = {0}, joined = {0};
    str text = writer_text(w, b, &joined);

    if (b->kind == RECTO_BLOCK_CODE)
        buf_str(&part, markdown_unfence((str){b->text, b->n_text}));
    else
        plain_put(&part, text);
    if (part.n && !*is_first)
        buf_text(&w->out, "\n\n");
    if (part.n)
        *is_first = false;
    buf_str(&w->out, buf_view(&part));
    buf_reset(&part);
    buf_reset(&joined);
}

static int txt_page(struct recto_writer *w, const struct recto_page *p)
{
    bool is_first = true;

    if (w->n_page)
        buf_char(&w->out, '\f');
    for (int i = 0; i < p->n_block; i++)
        if (w->opts.keep_furniture || !block_is_furniture(&p->block[i]))
            put_block(w, &p->block[i], &is_first);
    w->has_output = !is_first;
    if (w->has_output)
        buf_char(&w->out, '\n');
    return 0;
}

/* A form feed is not the end of a line. */
static int txt_close(struct recto_writer *w)
{
    if (w->n_page > 1 && !w->has_output)
        buf_char(&w->out, '\n');
    return 0;
}

const struct writer writer_txt = {
    .format = {.name = "txt", .extension = ".txt", .is_text = true},
    .page = txt_page,
    .close = txt_close,
};
