/* Markdown: what a reader wants of a page, block by block. What the text itself becomes:
 * markdown.h. */
#include "base/err.h"
#include "base/mem.h"
#include "result/figure.h"
#include "result/markdown.h"
#include "result/model.h"
#include "result/writer.h"

#define CAPTION_ITALIC_MAX 200 /* bytes */

/* Append a block of the document, a blank line before it; nothing when it is empty. */
static void put_part(struct recto_writer *w, str part)
{
    if (!part.n)
        return;
    if (w->has_output)
        buf_text(&w->out, "\n\n");
    buf_str(&w->out, part);
    w->has_output = true;
}

static unsigned flags_of(const struct recto_writer *w)
{
    return (strcmp(w->opts.math, "tex") == 0 ? MARKDOWN_TEX : 0u) |
           (strcmp(w->opts.tables, "pipe") == 0 ? MARKDOWN_PIPES : 0u);
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

static void put_heading(struct buf *out, const struct recto_block *b, str text, unsigned flags)
{
    int depth = b->kind == RECTO_BLOCK_TITLE ? 1 : MIN(MAX(b->level, 2), 6);
    struct buf line = {0};

    markdown_put(&line, text, flags);
    join_lines(&line);
    for (int i = 0; line.n && i < depth; i++)
        buf_char(out, '#');
    if (line.n)
        buf_char(out, ' ');
    buf_str(out, buf_view(&line));
    buf_reset(&line);
}

/* In italics when it is short and has nothing that would end them early. */
static void put_caption(struct buf *out, const struct recto_block *b, str text, unsigned flags)
{
    struct buf line = {0};
    bool italic;

    markdown_put(&line, text, flags);
    italic = line.n && b->n_text <= CAPTION_ITALIC_MAX && line.p[line.n - 1] != '\\' &&
             !strpbrk(line.p, "*\n");
    if (italic)
        buf_char(out, '*');
    buf_str(out, buf_view(&line));
    if (italic)
        buf_char(out, '*');
    buf_reset(&line);
}

static void put_link(struct recto_writer *w, const char *file, str caption)
{
    struct buf link = {0};

    buf_text(&link, "![");
    markdown_put_alt(&link, caption);
    buf_text(&link, "](");
    figure_put_address(&link, w->opts.stem, file);
    buf_char(&link, ')');
    put_part(w, buf_view(&link));
    buf_reset(&link);
}

/* The figures of block i, each as a file and a link to it. */
static int put_figures(struct recto_writer *w, const struct recto_page *p, int i, int *n_figure)
{
    const struct recto_block *b = &p->block[i];
    struct figure f = {0};
    int rc = 0;

    for (int k = 0; k < b->n_box && rc >= 0; k++) {
        rc = figure_cut(w, p, b->box[k], n_figure, &f);
        if (rc != 1)
            continue;
        put_link(w, f.name, figure_caption(p, i));
        rc = writer_side(w, f.name, buf_view(&f.bytes));
    }
    figure_reset(&f);
    return rc < 0 ? rc : 0;
}

static void put_block(struct recto_writer *w, const struct recto_block *b)
{
    struct buf part = {0}, joined = {0};
    str text = writer_text(w, b, &joined);
    unsigned flags = flags_of(w);

    switch (b->kind) {
    case RECTO_BLOCK_TITLE:
    case RECTO_BLOCK_HEADING:
        put_heading(&part, b, text, flags);
        break;
    case RECTO_BLOCK_CAPTION:
    case RECTO_BLOCK_TABLE_CAPTION:
        put_caption(&part, b, text, flags);
        break;
    case RECTO_BLOCK_CODE:
        if (b->n_text)
            markdown_put_code(&part, (str){b->text, b->n_text});
        break;
    default:
        markdown_put(&part, text, flags);
    }
    put_part(w, buf_view(&part));
    buf_reset(&part);
    buf_reset(&joined);
}

/* Where page p begins, and what is wrong with it: one comment when both are to be said. */
static void put_page_marks(struct recto_writer *w, const struct recto_page *p)
{
    const char *problem = writer_problem(p), *page_break = w->opts.page_break;
    struct buf mark = {0};

    if (w->n_page && page_break)
        put_part(w, str_of(page_break));
    if (problem || (w->n_page && !page_break)) {
        buf_fmt(&mark, "<!-- page %d", p->number);
        if (problem)
            buf_fmt(&mark, ": %s", problem);
        if (p->status == RECTO_PAGE_ERROR && p->error_text) {
            buf_text(&mark, ": ");
            markdown_put_comment(&mark, str_of(p->error_text));
        }
        buf_text(&mark, " -->");
        put_part(w, buf_view(&mark));
    }
    buf_reset(&mark);
}

static int md_page(struct recto_writer *w, const struct recto_page *p)
{
    int n_figure = 0;

    put_page_marks(w, p);
    for (int i = 0; i < p->n_block; i++) {
        const struct recto_block *b = &p->block[i];

        if (block_is_furniture(b) && !w->opts.keep_furniture)
            continue;
        if (b->kind == RECTO_BLOCK_FIGURE && w->opts.stem)
            TRY(put_figures(w, p, i, &n_figure));
        put_block(w, b);
    }
    return 0;
}

static int md_close(struct recto_writer *w)
{
    if (w->has_output)
        buf_char(&w->out, '\n');
    return 0;
}

const struct writer writer_md = {
    .format = {.name = "md",
               .extension = ".md",
               .is_text = true,
               .has_side_files = true,
               .uses_pixels = true},
    .page = md_page,
    .close = md_close,
};
