/* One HTML file, no script, nothing from outside: the policy in its head forbids both. Every block
 * says where it stood, data-box="x1 y1 x2 y2" on the 0..999 grid. */
#include "base/base64.h"
#include "base/err.h"
#include "result/figure.h"
#include "result/markdown.h"
#include "result/model.h"
#include "result/rich.h"
#include "result/writer.h"
#include "result/xml.h"

static const char style[] =
    "body{font-family:serif;max-width:45em;margin:2em auto;padding:0 1em}"
    "section{border-bottom:1px solid #999;padding-bottom:1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #999;padding:.2em .5em}"
    "figure{margin:1em 0}img{max-width:100%}.caption,figcaption{font-style:italic}"
    ".eq{text-align:center}.problem{color:#a00}.header,.footer,.page_number,.footnote{font-size:"
    "smaller}";

static int html_open(struct recto_writer *w)
{
    buf_text(&w->out,
             "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
             "'self' data:; style-src 'unsafe-inline'\">\n<title>");
    xml_put(&w->out, str_of(w->opts.name ? w->opts.name : "recto"));
    buf_fmt(&w->out, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
    return 0;
}

/* class and data-box of a block, as they go into its first element. */
static void put_attributes(struct buf *out, const char *class, const struct recto_block *b)
{
    if (class)
        buf_fmt(out, " class=%s", class);
    if (b->n_box)
        buf_fmt(out, " data-box=\"%d %d %d %d\"", b->box[0].x1, b->box[0].y1, b->box[0].x2,
                b->box[0].y2);
    buf_add(out, "", 0);
}

static const char *class_of(const struct recto_block *b)
{
    switch (b->kind) {
    case RECTO_BLOCK_EQUATION:
        return "eq";
    case RECTO_BLOCK_CAPTION:
    case RECTO_BLOCK_TABLE_CAPTION:
        return "caption";
    case RECTO_BLOCK_FOOTNOTE:
    case RECTO_BLOCK_HEADER:
    case RECTO_BLOCK_FOOTER:
    case RECTO_BLOCK_PAGE_NUMBER:
        return recto_block_kind_name(b->kind);
    default:
        return NULL;
    }
}

static void put_heading(struct buf *out, const struct recto_block *b, str text, const char *attrs)
{
    int depth = b->kind == RECTO_BLOCK_TITLE ? 1 : b->level < 2 ? 2 : b->level > 6 ? 6 : b->level;

    if (!text.n)
        return;
    buf_fmt(out, "<h%d%s>", depth, attrs);
    rich_put_inline(out, text);
    buf_fmt(out, "</h%d>\n", depth);
}

static void put_block(struct recto_writer *w, const struct recto_block *b)
{
    struct buf attrs = {0}, joined = {0};
    str text = writer_text(w, b, &joined);

    put_attributes(&attrs, class_of(b), b);
    if (b->kind == RECTO_BLOCK_TITLE || b->kind == RECTO_BLOCK_HEADING) {
        put_heading(&w->out, b, text, attrs.p);
    } else if (b->kind == RECTO_BLOCK_CODE) {
        buf_fmt(&w->out, "<pre%s>", attrs.p);
        xml_put(&w->out, markdown_unfence((str){b->text, b->n_text}));
        buf_text(&w->out, "</pre>\n");
    } else {
        rich_put_blocks(&w->out, text, attrs.p);
    }
    buf_reset(&attrs);
    buf_reset(&joined);
}

static int put_picture(struct recto_writer *w, const struct figure *f, str caption)
{
    struct buf alt = {0};

    buf_text(&w->out, "<img src=\"");
    if (w->opts.embed) {
        buf_fmt(&w->out, "data:image/%s;base64,", f->is_png ? "png" : "jpeg");
        base64_add(&w->out, buf_view(&f->bytes));
    } else {
        figure_put_address(&w->out, w->opts.stem, f->name);
    }
    buf_text(&w->out, "\" alt=\"");
    buf_str(&alt, caption);
    for (size_t i = 0; i < alt.n; i++)
        alt.p[i] = alt.p[i] == '\n' || alt.p[i] == '\t' ? ' ' : alt.p[i];
    xml_put(&w->out, buf_view(&alt));
    buf_text(&w->out, "\">");
    buf_reset(&alt);
    return w->opts.embed ? 0 : writer_side(w, f->name, buf_view(&f->bytes));
}

static int put_pictures(struct recto_writer *w, const struct recto_page *p, int i, int *n_figure)
{
    const struct recto_block *b = &p->block[i];
    struct figure f = {0};
    int rc = 0;

    for (int k = 0; k < b->n_box && rc >= 0 && (w->opts.embed || w->opts.stem); k++) {
        rc = figure_cut(w, p, b->box[k], n_figure, &f);
        if (rc == 1)
            rc = put_picture(w, &f, figure_caption(p, i));
    }
    figure_reset(&f);
    return rc < 0 ? rc : 0;
}

/* The figure at block i, and the caption behind it. Returns how many blocks that were. */
static int put_figure(struct recto_writer *w, const struct recto_page *p, int i, int *n_figure)
{
    const struct recto_block *b = &p->block[i];
    bool has_caption = i + 1 < p->n_block && p->block[i + 1].kind == RECTO_BLOCK_CAPTION;
    struct buf attrs = {0};

    put_attributes(&attrs, NULL, b);
    buf_fmt(&w->out, "<figure%s>", attrs.p);
    buf_reset(&attrs);
    TRY(put_pictures(w, p, i, n_figure));
    if (b->n_text) {
        buf_char(&w->out, '\n');
        rich_put_blocks(&w->out, (str){b->text, b->n_text}, "");
    }
    if (has_caption) {
        put_attributes(&attrs, NULL, &p->block[i + 1]);
        buf_fmt(&w->out, "<figcaption%s>", attrs.p);
        rich_put_inline(&w->out, (str){p->block[i + 1].text, p->block[i + 1].n_text});
        buf_text(&w->out, "</figcaption>");
        buf_reset(&attrs);
    }
    buf_text(&w->out, "</figure>\n");
    return has_caption ? 2 : 1;
}

static void put_problem(struct buf *out, const struct recto_page *p)
{
    const char *problem = writer_problem(p);

    if (!problem)
        return;
    buf_fmt(out, "<p class=problem>page %d: %s", p->number, problem);
    if (p->status == RECTO_PAGE_ERROR && p->error_text) {
        buf_text(out, ": ");
        xml_put(out, str_of(p->error_text));
    }
    buf_text(out, "</p>\n");
}

static int html_page(struct recto_writer *w, const struct recto_page *p)
{
    int n_figure = 0, n;

    buf_fmt(&w->out, "<section class=page data-page=%d data-status=%s>\n", p->number,
            recto_status_name(p->status));
    put_problem(&w->out, p);
    for (int i = 0; i < p->n_block; i += n) {
        n = 1;
        if (p->block[i].kind == RECTO_BLOCK_FIGURE) {
            n = put_figure(w, p, i, &n_figure);
            if (n < 0)
                return n;
        } else if (w->opts.keep_furniture || !block_is_furniture(&p->block[i])) {
            put_block(w, &p->block[i]);
        }
    }
    buf_text(&w->out, "</section>\n");
    return 0;
}

static int html_close(struct recto_writer *w)
{
    buf_text(&w->out, "</body>\n</html>\n");
    return 0;
}

const struct writer writer_html = {
    .format = {.name = "html",
               .extension = ".html",
               .is_text = true,
               .has_side_files = true,
               .uses_pixels = true},
    .open = html_open,
    .page = html_page,
    .close = html_close,
};
