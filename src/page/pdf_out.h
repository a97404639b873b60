/* Making a searchable PDF, by the helper recto-pdf (base/pdf_proto.h): the pages of an existing PDF, or pages that are
 * pictures, get text that cannot be seen but found. Nothing of the document is parsed in this process. Pages go to the
 * helper as they come; the file comes back at the end. */
#ifndef RECTO_PAGE_PDF_OUT_H
#define RECTO_PAGE_PDF_OUT_H

#include "base/pdf_proto.h"
#include "base/str.h"
#include "page/pdf.h"

struct pdf_out;

/* document: the PDF whose pages are kept, open until pdf_out_close; NULL: pages will be pictures. tool: how to run the
 * helper, which is the program recto-pdf in the folder of tool->helper. flags: enum pdf_open_flag but
 * PDF_HAS_DOCUMENT. On failure *out is NULL.
 *     RECTO_ERENDER  the helper cannot be started */
int pdf_out_open(struct pdf_out **out, const struct pdf *document, const struct pdf_tool *tool,
                 unsigned flags);
/* A new page (no document) that shows a picture. */
int pdf_out_picture(struct pdf_out *o, const struct pdf_picture *p, str bytes);
/* The content stream with the text of page `number` (from 1) of the document, or of the last picture. */
int pdf_out_text(struct pdf_out *o, int number, str content);
/* A part of the font: PDF_GLYPHS, PDF_UNICODE, PDF_MAP, PDF_WIDTHS. */
int pdf_out_font(struct pdf_out *o, enum pdf_record what, str bytes);
/* Write the file: sink gets it piece by piece; what it returns below 0 ends it. Whatever was passed on is worthless unless
 * this returns 0. Errors of all calls, those of an earlier one may come with a later one:
 *     RECTO_EPASSWORD, RECTO_EUSAGE (signed), RECTO_EDAMAGED, RECTO_EREAD: as helper/pdfout/file.h says
 *     RECTO_ETOOLARGE  over the helper's memory or time
 *     RECTO_ERENDER    the helper crashed, hangs, or is missing */
typedef int pdf_out_sink(void *ctx, const void *bytes, size_t n);
int pdf_out_finish(struct pdf_out *o, pdf_out_sink *sink, void *ctx);
void pdf_out_close(struct pdf_out *o); /* NULL is fine */

#endif
