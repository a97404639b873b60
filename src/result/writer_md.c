/* Markdown: what a reader wants of a page, block by block. What the text itself becomes:
 * markdown.h. */
#include "base/mem.h"
#include "result/markdown.h"
#include "result/model.h"
#include "result/writer.h"

#define CAPTION_ITALIC_MAX 200 /* bytes */
#define CROP_MIN_PX        8

/* Append a block of the document, a blank line before it; nothing when it is empty. */
static void put_part(struct writer_doc *d, str part)
{
    if (!part.n)
        return;
    if (d->has_output)
        buf_text(d->out, "\n\n");
    buf_str(d->out, part);
    d->has_output = true;
}

static str text_of(const struct recto_block *b)
{
    return (str){b->text, b->n_text};
}

/* A heading is one line of Markdown: newlines inside become spaces, unless display math or a
 * table is part of it. */
static void join_lines(struct buf *b)
{
    size_t n = 0;
    str all = buf_view(b);

    if (str_find(all, STR("\n"), 0) == all.n || str_find(all, STR("$$\n"), 0) < all.n ||
        str_find(all, STR("<table>"), 0) < all.n)
        return;
    for (size_t i = 0; i < all.n; i++) {
        if (all.p[i] == '\\' && i + 1 < all.n && all.p[i + 1] == '\n')
            continue;
        if (all.p[i] != '\n')
            b->p[n++] = all.p[i];
        else if (n && b->p[n - 1] != ' ')
            b->p[n++] = ' ';
    }
    b->n = n;
}

static void put_heading(struct buf *out, const struct recto_block *b, bool tex_math)
{
    int depth = b->kind == RECTO_BLOCK_TITLE ? 1 : MIN(MAX(b->level, 2), 6);
    struct buf line = {0};

    markdown_put(&line, text_of(b), tex_math);
    join_lines(&line);
    for (int i = 0; line.n && i < depth; i++)
        buf_char(out, '#');
    if (line.n)
        buf_char(out, ' ');
    buf_str(out, buf_view(&line));
    buf_reset(&line);
}

/* In italics when it is short and has nothing that would end them early. */
static void put_caption(struct buf *out, const struct recto_block *b, bool tex_math)
{
    struct buf line = {0};
    bool italic;

    markdown_put(&line, text_of(b), tex_math);
    italic = line.n && b->n_text <= CAPTION_ITALIC_MAX && line.p[line.n - 1] != '\\' &&
             !strpbrk(line.p, "*\n");
    if (italic)
        buf_char(out, '*');
    buf_str(out, buf_view(&line));
    if (italic)
        buf_char(out, '*');
    buf_reset(&line);
}

/* The caption of the figure at block i: the one after it, else the one before it. */
static str caption_of(const struct recto_page *p, int i)
{
    if (i + 1 < p->n_block && p->block[i + 1].kind == RECTO_BLOCK_CAPTION)
        return text_of(&p->block[i + 1]);
    if (i > 0 && p->block[i - 1].kind == RECTO_BLOCK_CAPTION)
        return text_of(&p->block[i - 1]);
    return STR("");
}

/* Is there a picture to be cut out? Figure files are numbered by the boxes for which this holds. */
static bool has_crop(const struct recto_page *p, struct recto_box box)
{
    struct recto_box px = box_px(box, p->width, p->height);

    return px.x2 - px.x1 >= CROP_MIN_PX && px.y2 - px.y1 >= CROP_MIN_PX;
}

/* A file name in the place of an address: bytes that Markdown or an address would read otherwise
 * as %XX. */
static void put_address(struct buf *out, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c <= ' ' || c == 0x7F || strchr("()<>[]\\\"`%?#$:&", c))
            buf_fmt(out, "%%%02X", c);
        else
            buf_char(out, *s);
    }
}

static void put_figure(struct writer_doc *d, const struct recto_page *p, int i, int *n_figure)
{
    const struct recto_block *b = &p->block[i];
    struct buf link = {0};

    for (int k = 0; d->opts->figures && k < b->n_box; k++) {
        if (!has_crop(p, b->box[k]))
            continue;
        buf_clear(&link);
        buf_text(&link, "![");
        markdown_put_alt(&link, caption_of(p, i));
        buf_text(&link, "](");
        put_address(&link, d->opts->stem ? d->opts->stem : "page");
        buf_fmt(&link, ".files/p%04d-f%d.jpg)", p->number, ++*n_figure);
        put_part(d, buf_view(&link));
    }
    buf_reset(&link);
}

static void put_block(struct writer_doc *d, const struct recto_block *b)
{
    struct buf part = {0};

    switch (b->kind) {
    case RECTO_BLOCK_TITLE:
    case RECTO_BLOCK_HEADING:
        put_heading(&part, b, d->opts->tex_math);
        break;
    case RECTO_BLOCK_CAPTION:
    case RECTO_BLOCK_TABLE_CAPTION:
        put_caption(&part, b, d->opts->tex_math);
        break;
    case RECTO_BLOCK_CODE:
        if (b->n_text)
            markdown_put_code(&part, text_of(b));
        break;
    default:
        markdown_put(&part, text_of(b), d->opts->tex_math);
    }
    put_part(d, buf_view(&part));
    buf_reset(&part);
}

/* Where page p begins, and what is wrong with it: one comment when both are to be said. */
static void put_page_marks(struct writer_doc *d, const struct recto_page *p)
{
    const char *problem = writer_problem(p), *page_break = d->opts->page_break;
    struct buf mark = {0};

    if (d->n_page && page_break)
        put_part(d, str_of(page_break));
    if (problem || (d->n_page && !page_break)) {
        buf_fmt(&mark, "<!-- page %d", p->number);
        if (problem)
            buf_fmt(&mark, ": %s", problem);
        if (p->status == RECTO_PAGE_ERROR && p->error_text) {
            buf_text(&mark, ": ");
            markdown_put_comment(&mark, str_of(p->error_text));
        }
        buf_text(&mark, " -->");
        put_part(d, buf_view(&mark));
    }
    buf_reset(&mark);
}

static void md_open(struct writer_doc *d)
{
    (void)d;
}

static void md_page(struct writer_doc *d, const struct recto_page *p)
{
    int n_figure = 0;

    put_page_marks(d, p);
    for (int i = 0; i < p->n_block; i++) {
        const struct recto_block *b = &p->block[i];

        if (block_is_furniture(b) && !d->opts->keep_furniture)
            continue;
        if (b->kind == RECTO_BLOCK_FIGURE)
            put_figure(d, p, i, &n_figure);
        put_block(d, b);
    }
}

static void md_close(struct writer_doc *d)
{
    if (d->has_output)
        buf_char(d->out, '\n');
}

const struct writer writer_md = {
    .name = "md",
    .extension = ".md",
    .open = md_open,
    .page = md_page,
    .close = md_close,
};
