/* Sources: ISO 32000-1, 9.7 (composite fonts), 9.8 (descriptors), 9.10.3 (ToUnicode). */
#include "helper/pdfout/file.h"

#include "base/err.h"

#define FONT_NAME "RCTAAA+RectoText" /* subsets have such a tag before their name */

/* Flags 4: symbolic, for its characters are no standard set. The box is that of both glyphs. */
static const char descriptor[] =
    "<< /Type /FontDescriptor /FontName /" FONT_NAME " /Flags 4 /FontBBox [0 -200 1000 800] "
    "/ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 800 /StemV 80 >>";
static const char cid_font[] =
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /" FONT_NAME " /DW 500 "
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>";
static const char type0[] = "<< /Type /Font /Subtype /Type0 /BaseFont /" FONT_NAME
                            " /Encoding /Identity-H >>";

static qpdf_oh parse(struct out_file *f, const char *text)
{
    return qpdf_make_indirect_object(f->q, qpdf_oh_parse(f->q, text));
}

static int number(struct out_file *f, qpdf_oh oh)
{
    return qpdf_oh_get_object_id(f->q, oh);
}

/* A stream whose bytes come later. */
static qpdf_oh promise(struct out_file *f, int *id)
{
    qpdf_oh stream = file_stream(f, STR(""));

    *id = number(f, stream);
    return stream;
}

int font_add(struct out_file *f)
{
    qpdf_oh font = parse(f, type0), cid = parse(f, cid_font), desc = parse(f, descriptor);

    qpdf_oh_replace_key(f->q, desc, "/FontFile2", promise(f, &f->glyphs));
    qpdf_oh_replace_key(f->q, cid, "/FontDescriptor", desc);
    qpdf_oh_replace_key(f->q, cid, "/CIDToGIDMap", promise(f, &f->map));
    qpdf_oh_replace_key(f->q, font, "/DescendantFonts", qpdf_oh_wrap_in_array(f->q, cid));
    qpdf_oh_replace_key(f->q, font, "/ToUnicode", promise(f, &f->unicode));
    f->font = number(f, font);
    f->cid_font = number(f, cid);
    return file_check(f);
}

int font_set(struct out_file *f, enum pdf_record what, str bytes)
{
    int id = what == PDF_GLYPHS ? f->glyphs : what == PDF_MAP ? f->map : f->unicode;
    qpdf_oh stream = file_object(f, id);

    if (what == PDF_WIDTHS)
        qpdf_oh_replace_key(f->q, file_object(f, f->cid_font), "/W", qpdf_oh_parse(f->q, bytes.p));
    else
        file_stream_set(f, stream, bytes);
    if (what == PDF_GLYPHS) /* the length when unpacked: ISO 32000-1, table 127 */
        qpdf_oh_replace_key(f->q, qpdf_oh_get_dict(f->q, stream), "/Length1",
                            qpdf_oh_new_integer(f->q, (long long)bytes.n));
    file_release(f);
    return file_check(f);
}
