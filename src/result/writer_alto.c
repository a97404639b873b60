/* ALTO 4.4: text with places, for libraries and archives. Source: altoxml/schema,
 * v4/alto-4-4.xsd. Lines and words are estimates (lines.h); WC, a word's confidence, is its page's. */
#include "base/mem.h"
#include "result/lines.h"
#include "result/model.h"
#include "result/writer.h"
#include "result/xml.h"

/* The kinds of blocks come first, as tags that blocks refer to. */
static int alto_open(struct recto_writer *w)
{
    buf_text(&w->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<alto xmlns=\"http://www.loc.gov/standards/alto/ns-v4#\" "
                      "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                      "xsi:schemaLocation=\"http://www.loc.gov/standards/alto/ns-v4# "
                      "http://www.loc.gov/standards/alto/v4/alto-4-4.xsd\" SCHEMAVERSION=\"4.4\">\n"
                      "<Description>\n<MeasurementUnit>pixel</MeasurementUnit>\n"
                      "<sourceImageInformation><fileName>");
    xml_put(&w->out, str_of(w->opts.name ? w->opts.name : ""));
    buf_text(&w->out,
             "</fileName></sourceImageInformation>\n"
             "<Processing ID=\"recto\"><processingStepDescription>blocks are the model's; lines "
             "and words are estimated</processingStepDescription><processingSoftware>"
             "<softwareName>recto</softwareName><softwareVersion>" RECTO_VERSION
             "</softwareVersion></processingSoftware></Processing>\n</Description>\n<Tags>\n");
    for (int k = RECTO_BLOCK_TEXT; k <= RECTO_BLOCK_OTHER; k++) {
        const char *name = recto_block_kind_name((enum recto_block_kind)k);

        buf_fmt(&w->out, "<LayoutTag ID=\"kind_%s\" LABEL=\"%s\"/>\n", name, name);
    }
    buf_text(&w->out, "</Tags>\n<Layout>\n");
    return 0;
}

static void put_place(struct buf *out, struct recto_box b)
{
    buf_fmt(out, " HPOS=\"%d\" VPOS=\"%d\" WIDTH=\"%d\" HEIGHT=\"%d\"", b.x1, b.y1, b.x2 - b.x1,
            b.y2 - b.y1);
}

static struct recto_box gap_between(const struct lines *k, int i)
{
    const struct recto_box a = k->word[i - 1].px, b = k->word[i].px;

    if (k->is_vertical)
        return (struct recto_box){a.x1, MIN(a.y2, b.y1), a.x2, MAX(a.y2, b.y1)};
    return (struct recto_box){MIN(a.x2, b.x1), a.y1, MAX(a.x2, b.x1), a.y2};
}

static void put_line(struct buf *out, const struct recto_page *p, const struct lines *k,
                     const struct line *l)
{
    buf_text(out, "<TextLine");
    put_place(out, l->px);
    buf_char(out, '>');
    for (int i = l->word; i < l->word + l->n_word; i++) {
        if (i > l->word) {
            buf_text(out, "<SP");
            put_place(out, gap_between(k, i));
            buf_text(out, "/>");
        }
        buf_text(out, "<String CONTENT=\"");
        xml_put(out, lines_text(k, k->word[i].text, k->word[i].n_text));
        buf_char(out, '"');
        put_place(out, k->word[i].px);
        if (p->conf > 0)
            buf_fmt(out, " WC=\"%.2f\"", MIN(p->conf, 1));
        buf_text(out, "/>");
    }
    buf_text(out, "</TextLine>\n");
}

static void put_block(struct recto_writer *w, const struct recto_page *p, int i)
{
    const struct recto_block *b = &p->block[i];
    bool is_figure = b->kind == RECTO_BLOCK_FIGURE && b->n_box > 0;
    const char *kind = recto_block_kind_name(b->kind);
    struct lines k = {0};

    if (b->n_text)
        lines_of_block(&k, p, b, writer_pixels(w, p));
    if (is_figure) {
        buf_fmt(&w->out, "<Illustration ID=\"p%df%d\" TAGREFS=\"kind_%s\"", p->number, i, kind);
        put_place(&w->out, block_area(p, b));
        buf_text(&w->out, "/>\n");
    }
    if (k.n_word) {
        buf_fmt(&w->out, "<TextBlock ID=\"p%db%d\" TAGREFS=\"kind_%s\"", p->number, i, kind);
        put_place(&w->out, block_area(p, b));
        buf_text(&w->out, ">\n");
        for (int l = 0; l < k.n_line; l++)
            if (k.line[l].n_word)
                put_line(&w->out, p, &k, &k.line[l]);
        buf_text(&w->out, "</TextBlock>\n");
    }
    lines_reset(&k);
}

static int alto_page(struct recto_writer *w, const struct recto_page *p)
{
    const char *problem = writer_problem(p);
    struct recto_box all = {0, 0, p->width, p->height};

    buf_fmt(&w->out, "<Page ID=\"page%d\" PHYSICAL_IMG_NR=\"%d\" WIDTH=\"%d\" HEIGHT=\"%d\"",
            p->number, p->number, p->width, p->height);
    if (problem)
        buf_fmt(&w->out, " QUALITY_DETAIL=\"%s\"", problem);
    buf_text(&w->out, ">\n<PrintSpace");
    put_place(&w->out, all);
    buf_text(&w->out, ">\n");
    for (int i = 0; i < p->n_block; i++)
        put_block(w, p, i);
    buf_text(&w->out, "</PrintSpace>\n</Page>\n");
    return 0;
}

static int alto_close(struct recto_writer *w)
{
    buf_text(&w->out, "</Layout>\n</alto>\n");
    return 0;
}

const struct writer writer_alto = {
    .format = {.name = "alto", .extension = ".alto.xml", .is_text = true, .uses_pixels = true},
    .open = alto_open,
    .page = alto_page,
    .close = alto_close,
};
