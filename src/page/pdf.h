/* PDF: how many pages, how large, and one of them as pixels, by poppler's programs inside the
 * sandbox of recto-decode (helper/pdf.h). Every call runs one process, which reads from the open
 * file what it needs; the file is never held in memory. Only its first and last kilobyte are looked
 * at in this process. */
#ifndef RECTO_PAGE_PDF_H
#define RECTO_PAGE_PDF_H

#include "base/str.h"
#include "recto.h"

#define PDF_PAGES_MAX 100000

/* How to run the helper. */
struct pdf_tool {
    const char *helper; /* path of recto-decode */
    bool is_strict;     /* not without Landlock and seccomp */
    int cpu_s;          /* of CPU time, for each call */
    int timeout_ms;     /* of waiting (patience.h), for each call: the guard behind cpu_s */
    int64_t max_pixels; /* of a drawn page */
};

struct pdf_page {
    double w, h;    /* points, as displayed; 0: unknown */
    double crop[4]; /* CropBox in user space: x0 y0 x1 y1; zeroes: unknown */
    int turn;       /* /Rotate: 0, 90, 180, 270 */
    int drawn;      /* its number for poppler, which does not count a page that it cannot find;
                    0: this is such a page */
};

struct pdf {
    struct pdf_tool tool;
    int fd;
    char *password; /* as given, whether it was needed or not; owned; NULL: none */
    int n_page;
    struct pdf_page *page; /* [n_page] */
    bool is_encrypted;     /* and opened without a password: the user's one is empty */
    bool is_decrypted;     /* fd is a copy without encryption, which the password has made */
    bool is_repaired;      /* its table of contents was damaged */
    unsigned missing;      /* enum decode_sandbox */
};

/* "%PDF-" at the very beginning, or within the first 1024 bytes of what is no other kind. */
bool pdf_is(const void *head, size_t n);

/* fd: a regular file or memfd, taken over (closed by pdf_close, also after a failure). password: the user's or the owner's,
 * looked at when the empty one does not open the document; poppler's programs would show it to all who list processes, so it
 * makes a copy without encryption instead, in memory (pdf_decrypt.h), and they see that one.
 *     RECTO_EEMPTY     has no pages
 *     RECTO_EPASSWORD  needs a password, or another one than this
 *     RECTO_EDAMAGED   nothing can be made of it
 *     RECTO_ETOOLARGE  over PDF_PAGES_MAX pages, or over the decoder's memory or time
 *     RECTO_ERENDER    the helper or poppler is missing, or fails */
int pdf_open(struct pdf *p, const struct pdf_tool *tool, int fd, const char *password);
void pdf_close(struct pdf *p);
/* The file once more, with a position of its own, for a process that reads it. The caller's. RECTO_EREAD. */
int pdf_reopen(const struct pdf *p);

struct pdf_look {
    int dpi;           /* 0: auto (dpi.h) */
    bool hides_annots; /* without notes and form fields */
};

/* Draw page 1..n_page on white; *dpi is what it was drawn at. Any number of threads may draw from
 * one pdf. out->rgb is the caller's. Errors as above, for this page alone. */
int pdf_draw(const struct pdf *p, int page, const struct pdf_look *look, struct recto_image *out,
             double *dpi);

/* Add to `out` what the helper prints of a page when it is asked with `option` (helper/pdf.h), at most `most` bytes. Errors as
 * pdf_draw's. */
int pdf_print(const struct pdf *p, const char *option, int page, size_t most, struct buf *out);

#endif
