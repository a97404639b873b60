/* One PDF file being made, through libqpdf's C interface: an existing document whose objects are kept, or a new one whose
 * pages are pictures. Text is appended to its pages, in one font that all share.
 *
 * Functions return 0 or a negative RECTO_* with a sentence (base/err.h). libqpdf is C++ inside; its exceptions end as such
 * returns. Handles of objects are given back after each page (file_release), so objects that outlive one are kept by
 * number. */
#ifndef RECTO_HELPER_PDFOUT_FILE_H
#define RECTO_HELPER_PDFOUT_FILE_H

#include "base/pdf_proto.h"
#include "base/str.h"

#include <qpdf/qpdf-c.h>

struct out_file {
    qpdf_data q;
    unsigned flags; /* enum pdf_open_flag */
    bool by_drawn;  /* libqpdf counts only the pages that can be drawn */
    int font;       /* number of the object: the font, */
    int glyphs, unicode, map, cid_font;
    int save;     /* a stream of one q; 0: not made yet */
    int new_page; /* of a new file: the page of the last picture; 0: none yet */
};

/* document, n: the bytes of the existing document, which stay the caller's until file_close; NULL: a new one. head: of
 * PDF_OPEN. Also after a failure: file_close.
 *     RECTO_EPASSWORD  encrypted, and no password or a wrong one: the result is open to all
 *     RECTO_EUSAGE     signed, and PDF_BREAK_SIGNATURE is not set
 *     RECTO_EDAMAGED   not to be read, or its pages are not those that were counted */
int file_open(struct out_file *f, const unsigned char *document, size_t n,
              const struct pdf_head *head, const char *password);
/* What libqpdf could not do since the last call, as err(RECTO_EDAMAGED); 0: nothing. */
int file_check(struct out_file *f);
/* A new stream object of these bytes, deflated; the same for a stream that is there. */
qpdf_oh file_stream(struct out_file *f, str bytes);
void file_stream_set(struct out_file *f, qpdf_oh stream, str bytes);
qpdf_oh file_object(struct out_file *f, int number);
void file_release(struct out_file *f);
/* To standard output. Nothing may follow but file_close. */
int file_write_out(struct out_file *f);
void file_close(struct out_file *f);

/* font.c: a Type0 font of which everything but glyphs, map, widths and Unicode is there. */
int font_add(struct out_file *f);
/* PDF_GLYPHS, PDF_UNICODE, PDF_MAP, PDF_WIDTHS. */
int font_set(struct out_file *f, enum pdf_record what, str bytes);

/* page.c: append a content stream to a page. number: from 1; drawn: see pdf_head. */
int page_add_text(struct out_file *f, unsigned number, unsigned drawn, str text);

/* picture.c: a new page with this picture; bytes are its payload. */
int picture_add(struct out_file *f, const struct pdf_picture *p, str bytes);

/* g4.c: 1-bit rows, 1 black, as CCITT group 4 (libtiff). RECTO_EINTERNAL. */
int g4_encode(struct buf *out, str rows, int width, int height);

#endif
