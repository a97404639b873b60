/* What pdfinfo prints, read with caution: the document's title may say anything. */
#ifndef RECTO_PAGE_PDF_INFO_H
#define RECTO_PAGE_PDF_INFO_H

#include "base/str.h"
#include "page/pdf.h"

/* Fill n_page, page, is_encrypted, is_repaired from pdfinfo's output and complaints.
 * RECTO_EEMPTY, RECTO_EDAMAGED, RECTO_ETOOLARGE. */
int pdf_info_read(struct pdf *p, str out, str complaint);

/* Does the end of the file lead to a table of contents? True for any sound file; a false answer
 * only means that a reader had to repair it. */
bool pdf_table_is_sound(int fd);

/* The first complaint that is an error, without its prefix, as one printable line; "" if there is
 * none. Valid until the next call of this thread. */
const char *pdf_first_error(str complaint);

#endif
