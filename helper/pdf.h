/* Becoming one of poppler's programs inside the sandbox: recto-decode --pdf-info (pdfinfo), --pdf-draw (pdftoppm),
 * --pdf-text (pdftotext), --pdf-fonts (pdffonts).
 * The document is standard input, the answer standard output, complaints standard error, all of
 * them plain: what the program prints; of pdftoppm one binary PPM. They are other programs, never linked. */
#ifndef RECTO_HELPER_PDF_H
#define RECTO_HELPER_PDF_H

#include "helper/sandbox.h"

/* First line on standard error, before the program starts; %u is enum decode_sandbox: what the
 * kernel could not give. */
#define PDF_SANDBOX_LINE "recto-decode sandbox %u\n"

enum { PDF_EXIT_SANDBOX = 3, PDF_EXIT_NO_PROGRAM = 5 };

enum pdf_what { PDF_INFO, PDF_DRAW, PDF_TEXT, PDF_FONTS };

struct pdf_ask {
    enum pdf_what what;
    int page;          /* all but PDF_INFO: this one */
    int width, height; /* PDF_DRAW: so many pixels, */
    bool hides_annots; /* and without notes and form fields */
    bool is_strict;    /* not without all layers */
    const char *probe; /* for tests: this probe instead of a program */
};

/* Does not return: the process is the program, or ends with one of the codes above. */
void pdf_run(const struct pdf_ask *a, const struct sandbox_limits *l) __attribute__((noreturn));

#endif
