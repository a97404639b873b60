/* hOCR: XHTML with pages, areas, paragraphs, lines and words in pixels. Source: hOCR
 * specification 1.2 (kba/hocr-spec). Lines and words are estimates (lines.h), and the file says so.
 * A word's confidence is its page's: the model's own figures are not kept word by word. */
#include "base/err.h"
#include "base/mem.h"
#include "result/lines.h"
#include "result/model.h"
#include "result/writer.h"
#include "result/xml.h"

#include <math.h>

static int hocr_open(struct recto_writer *w)
{
    buf_text(&w->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\" "
                      "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
                      "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<title>");
    xml_put(&w->out, str_of(w->opts.name ? w->opts.name : "page"));
    buf_text(&w->out, "</title>\n"
                      "<meta http-equiv=\"Content-Type\" content=\"text/html;charset=utf-8\"/>\n"
                      "<meta name=\"ocr-system\" content=\"recto " RECTO_VERSION "\"/>\n"
                      "<meta name=\"ocr-capabilities\" content=\"ocr_page ocr_carea ocr_par "
                      "ocr_line ocrx_word\"/>\n"
                      "<meta name=\"recto-lines\" content=\"estimated\"/>\n</head>\n<body>\n");
    return 0;
}

static const char *area_class(enum recto_block_kind k)
{
    switch (k) {
    case RECTO_BLOCK_FIGURE:
        return "ocr_photo";
    case RECTO_BLOCK_TABLE:
        return "ocr_table";
    case RECTO_BLOCK_CAPTION:
    case RECTO_BLOCK_TABLE_CAPTION:
        return "ocr_caption";
    default:
        return "ocr_carea";
    }
}

static void put_bbox(struct buf *out, struct recto_box b)
{
    buf_fmt(out, "bbox %d %d %d %d", b.x1, b.y1, b.x2, b.y2);
}

static void put_line(struct buf *out, const struct recto_page *p, const struct lines *k,
                     const struct line *l)
{
    buf_text(out, "<span class=\"ocr_line\" title=\"");
    put_bbox(out, l->px);
    buf_text(out, "\">");
    for (int i = l->word; i < l->word + l->n_word; i++) {
        const struct line_word *word = &k->word[i];

        buf_text(out, i > l->word ? " <span class=\"ocrx_word\" title=\""
                                  : "<span class=\"ocrx_word\" title=\"");
        put_bbox(out, word->px);
        if (p->conf > 0)
            buf_fmt(out, "; x_wconf %d", (int)lround(100 * p->conf));
        buf_text(out, "\">");
        xml_put(out, lines_text(k, word->text, word->n_text));
        buf_text(out, "</span>");
    }
    buf_text(out, "</span>\n");
}

static void put_block(struct recto_writer *w, const struct recto_page *p, int i)
{
    const struct recto_block *b = &p->block[i];
    struct lines k = {0};

    if (b->n_text)
        lines_of_block(&k, p, b, writer_pixels(w, p));
    if (k.n_word || (b->kind == RECTO_BLOCK_FIGURE && b->n_box)) {
        buf_fmt(&w->out, "<div class=\"%s\" id=\"block_%d_%d\" title=\"", area_class(b->kind),
                p->number, i + 1);
        put_bbox(&w->out, block_area(p, b));
        buf_text(&w->out, "\">\n");
        if (k.n_word) {
            buf_fmt(&w->out, "<p class=\"ocr_par\" id=\"par_%d_%d\" title=\"", p->number, i + 1);
            put_bbox(&w->out, block_area(p, b));
            buf_text(&w->out, "\">\n");
        }
        for (int l = 0; l < k.n_line; l++)
            if (k.line[l].n_word)
                put_line(&w->out, p, &k, &k.line[l]);
        buf_text(&w->out, k.n_word ? "</p>\n</div>\n" : "</div>\n");
    }
    lines_reset(&k);
}

static int hocr_page(struct recto_writer *w, const struct recto_page *p)
{
    const char *problem = writer_problem(p);
    struct buf name = {0};

    for (const char *s = w->opts.name ? w->opts.name : ""; *s; s++) {
        if (*s == '"' || *s == '\\') /* the title's own string */
            buf_char(&name, '\\');
        buf_char(&name, *s);
    }
    buf_fmt(&w->out, "<div class=\"ocr_page\" id=\"page_%d\" title=\"image &quot;", p->number);
    xml_put(&w->out, buf_view(&name));
    buf_fmt(&w->out, "&quot;; bbox 0 0 %d %d; ppageno %d", p->width, p->height,
            MAX(p->number - 1, 0));
    if (p->dpi > 0)
        buf_fmt(&w->out, "; scan_res %d %d", (int)lround(p->dpi), (int)lround(p->dpi));
    buf_text(&w->out, "\">\n");
    if (problem)
        buf_fmt(&w->out, "<!-- page %d: %s -->\n", p->number, problem);
    for (int i = 0; i < p->n_block; i++)
        put_block(w, p, i);
    buf_text(&w->out, "</div>\n");
    buf_reset(&name);
    return 0;
}

static int hocr_close(struct recto_writer *w)
{
    buf_text(&w->out, "</body>\n</html>\n");
    return 0;
}

const struct writer writer_hocr = {
    .format = {.name = "hocr", .extension = ".hocr", .is_text = true, .uses_pixels = true},
    .open = hocr_open,
    .page = hocr_page,
    .close = hocr_close,
};
