/* A page that shows one picture. Its data are taken over: DCTDecode is a JPEG file as it is, FlateDecode with a PNG
 * predictor is the data of a PNG.
 * Sources: ISO 32000-1, 7.4.4.4 (predictors), 7.4.6 (CCITTFaxDecode), 8.9.5 (image dictionaries); the eight orientations:
 * Exif 2.32, 4.6.5 (tag 274). */
#include "helper/pdfout/file.h"

#include "base/err.h"
#include "base/picture_head.h"

struct picture_dict {
    struct buf text; /* as PDF spells it */
    struct buf data;
};

static void put_hex(struct buf *b, str s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_fmt(b, "%02x", (unsigned)(unsigned char)s.p[i]);
}

static void describe_jpeg(struct picture_dict *d, const struct pdf_picture *p, str bytes)
{
    const char *space = p->components == 1   ? "/DeviceGray"
                        : p->components == 3 ? "/DeviceRGB"
                                             : "/DeviceCMYK";

    buf_fmt(&d->text, "/BitsPerComponent 8 /ColorSpace %s /Filter /DCTDecode", space);
    if (p->is_inverted)
        buf_text(&d->text, " /Decode [1 0 1 0 1 0 1 0]");
    buf_str(&d->data, bytes);
}

static int describe_png(struct picture_dict *d, str bytes)
{
    struct png_head h;

    if (!png_head(&h, bytes))
        return err(RECTO_EFORMAT, "a PNG that cannot be taken over");
    buf_fmt(&d->text,
            "/BitsPerComponent %d /Filter /FlateDecode /DecodeParms << /Predictor 15 "
            "/Colors %d /BitsPerComponent %d /Columns %d >> /ColorSpace ",
            h.depth, h.colour == 2 ? 3 : 1, h.depth, h.width);
    if (h.colour == 3) {
        buf_fmt(&d->text, "[/Indexed /DeviceRGB %zu <", h.palette.n / 3 - 1);
        put_hex(&d->text, h.palette);
        buf_text(&d->text, ">]");
    } else {
        buf_text(&d->text, h.colour == 2 ? "/DeviceRGB" : "/DeviceGray");
    }
    png_data(&d->data, bytes);
    return 0;
}

static int describe_bitmap(struct picture_dict *d, const struct pdf_picture *p, str bytes)
{
    buf_fmt(&d->text,
            "/BitsPerComponent 1 /ColorSpace /DeviceGray /Filter /CCITTFaxDecode "
            "/DecodeParms << /K -1 /Columns %d /Rows %d >>",
            p->width, p->height);
    return g4_encode(&d->data, bytes, p->width, p->height);
}

static int describe(struct picture_dict *d, const struct pdf_picture *p, str bytes)
{
    buf_fmt(&d->text, "<< /Type /XObject /Subtype /Image /Width %d /Height %d ", p->width,
            p->height);
    if (p->kind == PDF_JPEG)
        describe_jpeg(d, p, bytes);
    else
        TRY(p->kind == PDF_PNG ? describe_png(d, bytes) : describe_bitmap(d, p, bytes));
    buf_text(&d->text, " >>");
    return 0;
}

/* The stream's dictionary gets the keys of one that is parsed from text; length and filter come with the data. */
static qpdf_oh image_object(struct out_file *f, const struct picture_dict *d)
{
    qpdf_oh stream = qpdf_oh_new_stream(f->q), dict = qpdf_oh_get_dict(f->q, stream);
    qpdf_oh keys = qpdf_oh_parse(f->q, d->text.p);

    qpdf_oh_replace_stream_data(f->q, stream, (const unsigned char *)d->data.p, d->data.n,
                                qpdf_oh_get_key(f->q, keys, "/Filter"),
                                qpdf_oh_get_key(f->q, keys, "/DecodeParms"));
    qpdf_oh_begin_dict_key_iter(f->q, keys);
    while (qpdf_oh_dict_more_keys(f->q)) {
        const char *key = qpdf_oh_dict_next_key(f->q);

        qpdf_oh_replace_key(f->q, dict, key, qpdf_oh_get_key(f->q, keys, key));
    }
    return stream;
}

/* Where the unit square of an image goes for each orientation, on a page of 1 x 1: a b c d e f of its matrix. */
static const int placing[9][6] = {
    [1] = {1, 0, 0, 1, 0, 0},  [2] = {-1, 0, 0, 1, 1, 0},  [3] = {-1, 0, 0, -1, 1, 1},
    [4] = {1, 0, 0, -1, 0, 1}, [5] = {0, -1, -1, 0, 1, 1}, [6] = {0, -1, 1, 0, 0, 1},
    [7] = {0, 1, 1, 0, 0, 0},  [8] = {0, 1, -1, 0, 1, 0},
};

static qpdf_oh contents(struct out_file *f, const struct pdf_picture *p)
{
    const int *m = placing[p->orientation];
    double w = p->w_pt, h = p->h_pt;
    struct buf b = {0};
    qpdf_oh stream;

    buf_fmt(&b, "%g %g %g %g %g %g cm /Im Do\n", m[0] * w, m[1] * h, m[2] * w, m[3] * h, m[4] * w,
            m[5] * h);
    stream = file_stream(f, buf_view(&b));
    buf_reset(&b);
    return stream;
}

static int add_page(struct out_file *f, const struct pdf_picture *p, const struct picture_dict *d)
{
    struct buf b = {0};
    qpdf_oh page, objects;

    buf_fmt(&b, "<< /Type /Page /MediaBox [0 0 %g %g] /Resources << /XObject << >> >> >>", p->w_pt,
            p->h_pt);
    page = qpdf_make_indirect_object(f->q, qpdf_oh_parse(f->q, b.p));
    objects = qpdf_oh_get_key(f->q, qpdf_oh_get_key(f->q, page, "/Resources"), "/XObject");
    qpdf_oh_replace_key(f->q, objects, "/Im", image_object(f, d));
    qpdf_oh_replace_key(f->q, page, "/Contents", contents(f, p));
    qpdf_add_page(f->q, f->q, page, QPDF_FALSE);
    f->new_page = qpdf_oh_get_object_id(f->q, page);
    buf_reset(&b);
    file_release(f);
    return file_check(f);
}

int picture_add(struct out_file *f, const struct pdf_picture *p, str bytes)
{
    struct picture_dict d = {0};
    int rc = describe(&d, p, bytes);

    if (rc == 0)
        rc = add_page(f, p, &d);
    buf_reset(&d.text);
    buf_reset(&d.data);
    return rc;
}
