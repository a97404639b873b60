/* A Word document: headings, paragraphs, lists, tables, figures, in reading order; a page of the source begins a new page. Formulas
 * are their TeX. Files go into the archive as they are known: figures with their page, the text at the end.
 * Source: ECMA-376 part 1 (WordprocessingML, 20.4 for pictures in text) and part 2 (packages). */
#include "base/err.h"
#include "base/mem.h"
#include "result/docx_text.h"
#include "result/model.h"
#include "result/piece.h"
#include "result/place.h"
#include "result/xml.h"
#include "result/zip.h"

#include <stdio.h>
#include <stdlib.h>

#define EMU_PER_PT   12700
#define TEXT_W_PT    451.3 /* A4 with margins of an inch */
#define TEXT_H_PT    697.9
#define PT_PER_INCH  72.0
#define DPI_ELSE     150
#define FIRST_FIGURE 100 /* numbers of relations below it are the parts' */
#define XML_HEAD     "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define WORD_SPACE   "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\""
#define RELATIONS    "http://schemas.openxmlformats.org/package/2006/relationships"
#define DOC_RELATION "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define DRAWING      "http://schemas.openxmlformats.org/drawingml/2006/"
#define WORD_TYPE    "application/vnd.openxmlformats-officedocument.wordprocessingml."

struct docx_state {
    struct zip zip;
    struct buf body, relations; /* of document.xml */
    struct docx_text text;      /* into body */
    int n_figure;
    /* of the page that is written */
    struct recto_writer *w;
    const struct recto_page *page;
};

/* ---- the parts that are always the same ---------------------------------------------------------- */

static const char types[] = XML_HEAD
    "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"
    "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package."
    "relationships+xml\"/>"
    "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
    "<Default Extension=\"png\" ContentType=\"image/png\"/>"
    "<Default Extension=\"jpg\" ContentType=\"image/jpeg\"/>"
    "<Override PartName=\"/word/document.xml\" ContentType=\"" WORD_TYPE "document.main+xml\"/>"
    "<Override PartName=\"/word/styles.xml\" ContentType=\"" WORD_TYPE "styles+xml\"/>"
    "<Override PartName=\"/word/numbering.xml\" ContentType=\"" WORD_TYPE
    "numbering+xml\"/></Types>\n";

static const char package[] = XML_HEAD
    "<Relationships xmlns=\"" RELATIONS "\"><Relationship Id=\"rId1\" Type=\"" DOC_RELATION
    "/officeDocument\" Target=\"word/document.xml\"/></Relationships>\n";

static const char numbering[] = XML_HEAD
    "<w:numbering " WORD_SPACE "><w:abstractNum w:abstractNumId=\"0\">"
    "<w:multiLevelType w:val=\"singleLevel\"/><w:lvl w:ilvl=\"0\"><w:start w:val=\"1\"/>"
    "<w:numFmt w:val=\"bullet\"/><w:lvlText w:val=\"\xE2\x80\xA2\"/>"
    "<w:lvlJc w:val=\"left\"/><w:pPr><w:ind w:left=\"360\" w:hanging=\"360\"/></w:pPr>"
    "</w:lvl></w:abstractNum><w:num w:numId=\"1\"><w:abstractNumId w:val=\"0\"/></w:num>"
    "</w:numbering>\n";

/* Half points of the headings' sizes. */
static const int heading_size[] = {36, 30, 26, 24, 22, 22};

static const struct {
    const char *id, *name, *properties;
} styles[] = {
    {"Caption", "caption", "<w:rPr><w:i/></w:rPr>"},
    {"Code", "Code",
     "<w:rPr><w:rFonts w:ascii=\"Courier New\" w:hAnsi=\"Courier New\"/><w:sz w:val=\"20\"/>"
     "</w:rPr>"},
    {"Formula", "Formula", "<w:pPr><w:jc w:val=\"center\"/></w:pPr>"},
    {"FootnoteText", "footnote text", "<w:rPr><w:sz w:val=\"20\"/></w:rPr>"},
    {"Furniture", "Furniture", "<w:rPr><w:color w:val=\"666666\"/><w:sz w:val=\"20\"/></w:rPr>"},
    {"ListBullet", "List Bullet",
     "<w:pPr><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr>"},
    {"Problem", "Problem", "<w:rPr><w:color w:val=\"AA0000\"/></w:rPr>"},
};

static void put_styles(struct buf *out)
{
    buf_text(out, XML_HEAD
             "<w:styles " WORD_SPACE "><w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val=\"22\"/>"
             "</w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after=\"120\"/></w:pPr>"
             "</w:pPrDefault></w:docDefaults><w:style w:type=\"paragraph\" w:default=\"1\" "
             "w:styleId=\"Normal\"><w:name w:val=\"Normal\"/></w:style>\n");
    for (size_t i = 0; i < COUNT(heading_size); i++)
        buf_fmt(out,
                "<w:style w:type=\"paragraph\" w:styleId=\"Heading%zu\"><w:name w:val=\"heading "
                "%zu\"/><w:basedOn w:val=\"Normal\"/><w:next w:val=\"Normal\"/><w:pPr><w:keepNext/>"
                "<w:spacing w:before=\"240\" w:after=\"120\"/><w:outlineLvl w:val=\"%zu\"/></w:pPr>"
                "<w:rPr><w:b/><w:sz w:val=\"%d\"/></w:rPr></w:style>\n",
                i + 1, i + 1, i, heading_size[i]);
    for (size_t i = 0; i < COUNT(styles); i++)
        buf_fmt(out,
                "<w:style w:type=\"paragraph\" w:styleId=\"%s\"><w:name w:val=\"%s\"/><w:basedOn "
                "w:val=\"Normal\"/>%s</w:style>\n",
                styles[i].id, styles[i].name, styles[i].properties);
    buf_text(out, "<w:style w:type=\"table\" w:styleId=\"TableGrid\"><w:name w:val=\"Table "
                  "Grid\"/><w:tblPr><w:tblBorders>");
    for (int i = 0; i < 6; i++)
        buf_fmt(out, "<w:%s w:val=\"single\" w:sz=\"4\" w:space=\"0\" w:color=\"999999\"/>",
                (const char *const[]){"top", "left", "bottom", "right", "insideH", "insideV"}[i]);
    buf_text(out, "</w:tblBorders></w:tblPr></w:style></w:styles>\n");
}

/* ---- figures --------------------------------------------------------------------------------------- */

/* Pixels of the page as points, no larger than the text. */
static void size_of(const struct docx_state *s, struct recto_box px, int64_t *w_emu, int64_t *h_emu)
{
    struct place f;
    double pt_per_px = place_of_page(&f, s->page) ? f.w / f.width : PT_PER_INCH / DPI_ELSE;
    double w = (px.x2 - px.x1) * pt_per_px, h = (px.y2 - px.y1) * pt_per_px;
    double shrink = MIN(1.0, MIN(TEXT_W_PT / w, TEXT_H_PT / h));

    *w_emu = MAX((int64_t)(w * shrink * EMU_PER_PT), 1);
    *h_emu = MAX((int64_t)(h * shrink * EMU_PER_PT), 1);
}

static void put_drawing(struct docx_state *s, const struct piece *p)
{
    int64_t w, h;
    struct buf caption = {0};

    size_of(s, box_px(p->box, s->page->width, s->page->height), &w, &h);
    if (p->caption)
        xml_put(&caption, (str){p->caption->text, p->caption->n_text});
    buf_fmt(&s->body, "<w:p>%s<w:r><w:drawing><wp:inline><wp:extent cx=\"%lld\" cy=\"%lld\"/>",
            s->text.breaks_page ? "<w:pPr><w:pageBreakBefore/></w:pPr>" : "", (long long)w,
            (long long)h);
    s->text.breaks_page = false;
    buf_fmt(&s->body, "<wp:docPr id=\"%d\" name=\"%s\" descr=\"", s->n_figure, p->figure->name);
    buf_str(&s->body, buf_view(&caption));
    buf_fmt(&s->body,
            "\"/><a:graphic><a:graphicData uri=\"" DRAWING "picture\"><pic:pic><pic:nvPicPr>"
            "<pic:cNvPr id=\"%d\" name=\"%s\"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip "
            "r:embed=\"rId%d\"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr>"
            "<a:xfrm><a:off x=\"0\" y=\"0\"/><a:ext cx=\"%lld\" cy=\"%lld\"/></a:xfrm><a:prstGeom "
            "prst=\"rect\"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic>"
            "</wp:inline></w:drawing></w:r></w:p>\n",
            s->n_figure, p->figure->name, FIRST_FIGURE + s->n_figure, (long long)w, (long long)h);
    buf_reset(&caption);
}

static void put_caption(struct docx_state *s, const struct recto_block *caption)
{
    if (caption)
        docx_put_inline(&s->text, (str){caption->text, caption->n_text}, "Caption");
}

static int put_figure(struct docx_state *s, const struct piece *p)
{
    char name[64];

    if (p->figure) {
        s->n_figure++;
        snprintf(name, sizeof name, "word/media/%s", p->figure->name);
        TRY(zip_add(&s->zip, &s->w->out, name, buf_view(&p->figure->bytes)));
        buf_fmt(&s->relations,
                "<Relationship Id=\"rId%d\" Type=\"" DOC_RELATION
                "/image\" Target=\"media/%s\"/>\n",
                FIRST_FIGURE + s->n_figure, p->figure->name);
        put_drawing(s, p);
    }
    put_caption(s, p->caption);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------------- */

static const char *style_of(const struct recto_block *b)
{
    static const char *const headings[] = {"Heading1", "Heading2", "Heading3",
                                           "Heading4", "Heading5", "Heading6"};

    switch (b->kind) {
    case RECTO_BLOCK_TITLE:
        return headings[0];
    case RECTO_BLOCK_HEADING:
        return headings[MIN(MAX(b->level, 2), 6) - 1];
    case RECTO_BLOCK_CAPTION:
    case RECTO_BLOCK_TABLE_CAPTION:
        return "Caption";
    case RECTO_BLOCK_FOOTNOTE:
        return "FootnoteText";
    case RECTO_BLOCK_HEADER:
    case RECTO_BLOCK_FOOTER:
    case RECTO_BLOCK_PAGE_NUMBER:
        return "Furniture";
    default:
        return NULL;
    }
}

static int put_piece(void *ctx, const struct piece *p)
{
    struct docx_state *s = ctx;
    bool is_heading = p->block->kind == RECTO_BLOCK_TITLE || p->block->kind == RECTO_BLOCK_HEADING;

    if (p->kind == PIECE_FIGURE)
        return put_figure(s, p);
    if (p->kind == PIECE_TABLE) {
        put_caption(s, p->caption);
        docx_put_table(&s->text, p->table);
    } else if (p->kind == PIECE_FORMULA) {
        docx_put_plain(&s->text, p->text, "Formula");
    } else if (p->block->kind == RECTO_BLOCK_CODE) {
        docx_put_plain(&s->text, p->text, "Code");
    } else if (is_heading) {
        docx_put_inline(&s->text, p->text, style_of(p->block));
    } else {
        docx_put_blocks(&s->text, p->text, style_of(p->block));
    }
    return 0;
}

static void put_problem(struct docx_state *s, const struct recto_page *p)
{
    const char *problem = writer_problem(p);
    struct buf line = {0};

    if (!problem)
        return;
    buf_fmt(&line, "page %d: %s", p->number, problem);
    if (p->status == RECTO_PAGE_ERROR && p->error_text)
        buf_fmt(&line, ": %s", p->error_text);
    docx_put_plain(&s->text, buf_view(&line), "Problem");
    buf_reset(&line);
}

/* ---- the document ------------------------------------------------------------------------------------ */

static int docx_open(struct recto_writer *w)
{
    struct docx_state *s = w->state;
    struct buf part = {0};
    int rc;

    s->w = w;
    s->text.out = &s->body;
    TRY(zip_add(&s->zip, &w->out, "[Content_Types].xml", STR(types)));
    TRY(zip_add(&s->zip, &w->out, "_rels/.rels", STR(package)));
    TRY(zip_add(&s->zip, &w->out, "word/numbering.xml", STR(numbering)));
    put_styles(&part);
    rc = zip_add(&s->zip, &w->out, "word/styles.xml", buf_view(&part));
    buf_reset(&part);
    return rc;
}

/* A page without text is an empty one. */
static int docx_page(struct recto_writer *w, const struct recto_page *p)
{
    struct docx_state *s = w->state;

    s->page = p;
    s->text.breaks_page = w->n_page > 0;
    put_problem(s, p);
    TRY(pieces_of_page(w, p, PIECES_FIGURES_INSIDE, put_piece, s));
    docx_put_break(&s->text);
    return 0;
}

static int add_document(struct docx_state *s)
{
    struct buf part = {0};
    int rc;

    buf_text(&part, XML_HEAD "<w:document " WORD_SPACE " xmlns:r=\"" DOC_RELATION
                             "\" xmlns:wp=\"" DRAWING "wordprocessingDrawing\" xmlns:a=\"" DRAWING
                             "main\" xmlns:pic=\"" DRAWING "picture\"><w:body>\n");
    buf_str(&part, buf_view(&s->body));
    buf_text(&part, "<w:sectPr><w:pgSz w:w=\"11906\" w:h=\"16838\"/><w:pgMar w:top=\"1440\" "
                    "w:right=\"1440\" w:bottom=\"1440\" w:left=\"1440\" w:header=\"720\" "
                    "w:footer=\"720\" w:gutter=\"0\"/></w:sectPr></w:body></w:document>\n");
    rc = zip_add(&s->zip, &s->w->out, "word/document.xml", buf_view(&part));
    buf_reset(&part);
    return rc;
}

static int add_relations(struct docx_state *s)
{
    struct buf part = {0};
    int rc;

    buf_text(&part, XML_HEAD "<Relationships xmlns=\"" RELATIONS
                             "\"><Relationship Id=\"rId1\" Type=\"" DOC_RELATION
                             "/styles\" Target=\"styles.xml\"/><Relationship Id=\"rId2\" "
                             "Type=\"" DOC_RELATION "/numbering\" Target=\"numbering.xml\"/>\n");
    buf_str(&part, buf_view(&s->relations));
    buf_text(&part, "</Relationships>\n");
    rc = zip_add(&s->zip, &s->w->out, "word/_rels/document.xml.rels", buf_view(&part));
    buf_reset(&part);
    return rc;
}

static int docx_close(struct recto_writer *w)
{
    struct docx_state *s = w->state;

    TRY(add_document(s));
    TRY(add_relations(s));
    zip_end(&s->zip, &w->out);
    return 0;
}

static void docx_reset(struct recto_writer *w)
{
    struct docx_state *s = w->state;

    zip_reset(&s->zip);
    buf_reset(&s->body);
    buf_reset(&s->relations);
}

const struct writer writer_docx = {
    .format = {.name = "docx", .extension = ".docx", .uses_pixels = true},
    .state_size = sizeof(struct docx_state),
    .open = docx_open,
    .page = docx_page,
    .close = docx_close,
    .reset = docx_reset,
};
