/* An encrypted PDF without its encryption: libqpdf, in the sandbox of recto-pdf, gets the password over a pipe and gives the
 * document back. Not by poppler, whose programs take a password only as an argument, which every user of the machine can
 * read while they run (proc(5), /proc/PID/cmdline). */
#ifndef RECTO_PAGE_PDF_DECRYPT_H
#define RECTO_PAGE_PDF_DECRYPT_H

#include "page/pdf.h"

/* p: its fd, tool and password. *fd: the copy, in memory, without a name, the caller's.
 *     RECTO_EPASSWORD  it is another password
 *     RECTO_EDAMAGED   libqpdf cannot read the document
 *     RECTO_ENOMEM, RECTO_ETOOLARGE, RECTO_ERENDER (recto-pdf is missing or fails) */
int pdf_decrypt(const struct pdf *p, int *fd);

#endif
