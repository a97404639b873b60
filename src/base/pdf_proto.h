/* What recto says to recto-pdf, the helper that builds searchable PDF files: records over its standard input, each a head of
 * PDF_HEAD_BYTES and then n bytes.
 *
 *     OPEN      first; payload: the password of the document, or nothing
 *     PICTURE   only without a document: a new page that shows the payload, a picture (struct pdf_picture before it)
 *     TEXT      the content stream with the text of a page; of PICTURE's page, or of page `page` of the document
 *     GLYPHS    the font's program (TrueType), once
 *     UNICODE   its ToUnicode CMap; MAP its CIDToGIDMap; WIDTHS its W array, as PDF spells it
 *     END       write the file
 *
 * The document, if there is one, is descriptor 3. The file comes on standard output; standard error begins with
 * PDF_ANSWER_LINE when something is wrong. Text streams name the font /Rct; the helper changes the name where a page has
 * one already. Both sides are ours, but the helper reads hostile documents, so its answers are checked. */
#ifndef RECTO_BASE_PDF_PROTO_H
#define RECTO_BASE_PDF_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#define PDF_HEAD_BYTES    24
#define PDF_PICTURE_BYTES 36
#define PDF_DOCUMENT_FD   3
#define PDF_PAYLOAD_MAX   ((uint64_t)1 << 30)
#define PDF_FONT_NAME     "/Rct"
#define PDF_ANSWER_LINE \
    "recto-pdf %d %u " /* a negative RECTO_*, enum decode_sandbox: what is missing; then a sentence */

enum pdf_record {
    PDF_OPEN = 1,
    PDF_PICTURE,
    PDF_TEXT,
    PDF_GLYPHS,
    PDF_UNICODE,
    PDF_MAP,
    PDF_WIDTHS,
    PDF_END,
    PDF_RECORDS
};

/* PDF_OPEN's flags. */
enum pdf_open_flag {
    PDF_HAS_DOCUMENT = 1 << 0,
    PDF_BREAK_SIGNATURE = 1 << 1,
    PDF_OLD_KEEP = 1 << 2, /* invisible text that is there already; else it is replaced */
    PDF_OLD_SKIP = 1 << 3, /* a page that has some gets no text */
    PDF_DECRYPT = 1 << 4,  /* nothing is added: the document as it is, without its encryption */
    PDF_OPEN_FLAGS = (1 << 5) - 1,
};

/* What the numbers of a head mean: OPEN: flags, pages of the document, those that can be drawn. TEXT: page from 1, its
 * number among those that can be drawn. Else 0. */
struct pdf_head {
    enum pdf_record what;
    uint32_t a, b, c;
    uint64_t n;
};

enum pdf_picture_kind {
    PDF_JPEG = 1, /* a whole JPEG file, shown as it is */
    PDF_PNG, /* a whole PNG file without transparency or interlacing, whose data are taken over */
    PDF_BITMAP, /* rows of (width + 7) / 8 bytes, 1 is black */
    PDF_PICTURE_KINDS
};

struct pdf_picture {
    enum pdf_picture_kind kind;
    int width, height; /* as stored */
    int orientation;   /* EXIF 1..8, to be applied when it is shown */
    int components;    /* JPEG: 1, 3 or 4 */
    bool is_inverted;  /* JPEG: 0 is full ink (Adobe's CMYK) */
    double w_pt, h_pt; /* the page, as displayed */
};

void pdf_head_pack(unsigned char out[PDF_HEAD_BYTES], const struct pdf_head *h);
void pdf_picture_pack(unsigned char out[PDF_PICTURE_BYTES], const struct pdf_picture *p);
/* RECTO_EFORMAT names the field that cannot be. */
int pdf_head_unpack(struct pdf_head *h, const unsigned char in[PDF_HEAD_BYTES]);
int pdf_picture_unpack(struct pdf_picture *p, const unsigned char in[PDF_PICTURE_BYTES]);

#endif
