/* From the bytes of an image file to pixels, by the helper program recto-decode
 * (base/decode_proto.h), which runs in a sandbox. Only binary PPM is read in this process (ppm.h).
 * One source holds at most one helper process, started when first needed, kept for further pages,
 * replaced when it crashes, hangs or has used its time. One thread at a time may use a source. */
#ifndef RECTO_PAGE_SOURCE_H
#define RECTO_PAGE_SOURCE_H

#include "page/pdf.h"
#include "recto.h"

#include <sys/types.h>

struct page_source_options {
    const char *helper;  /* path of recto-decode; NULL: beside the running program */
    int64_t max_pixels;  /* declared pixels accepted; 0: 1.5 G */
    int64_t keep_pixels; /* pixels given out at most, larger pictures are reduced by a whole factor;
                            0: 64 Mi */
    bool is_strict; /* refuse to decode without Landlock and seccomp; else one warning in the log */
    int cpu_s; /* of CPU time that decoding a page may use, at least; a half more at most; 0: 60 */
    int timeout_ms; /* of waiting for it (patience.h), a guard behind cpu_s; 0: ten minutes */
};

struct page_source;

enum page_note_flag {
    PAGE_TRUNCATED = 1 << 0, /* the file is cut short; its last rows are grey */
    PAGE_CORRUPT = 1 << 1,   /* damaged inside */
    PAGE_REDUCED = 1 << 2,   /* scaled down by `reduce` while decoding */
    PAGE_BACKDROP = 1 << 3,  /* light lettering on transparency, laid on grey */
    PAGE_ICC = 1 << 4,       /* had a colour profile, ignored */
    PAGE_ALPHA = 1 << 5,     /* had transparency */
};

/* What is worth knowing about a decoded page. */
struct page_note {
    char kind[16];                       /* "JPEG", "PDF"... */
    int declared_width, declared_height; /* of the file, before orientation and reduction */
    int rows;                            /* of declared_height that could be decoded */
    int reduce;                          /* 1: every pixel kept */
    int orientation;                     /* 1..8, already applied */
    int n_frame;                         /* in the file */
    int dpi_x, dpi_y;                    /* 0: unknown; as displayed */
    double dpi, width_pt, height_pt;     /* of a page of a PDF, as displayed; else 0 */
    double crop_pt[4];                   /* by page_doc_draw, as recto_page has them */
    int turn_pt;
    unsigned flags; /* enum page_note_flag */
    int n_warning;  /* what the user should be told, for recto_page.warning; owned by the note */
    char *warning[5];
};
void page_note_reset(struct page_note *note);

/* Starts nothing yet, so that a machine without the helper can still read PPM. On failure *out is
 * NULL. RECTO_ERENDER when the helper is to be found beside the program and the program's folder is
 * unknown. */
int page_source_open(struct page_source **out, const struct recto_settings *set);
int page_source_open_with(struct page_source **out, const struct page_source_options *o);
/* How the next pictures are to be decoded; RECTO_OFFICIAL_NO at first. An official way neither reduces nor mends. */
void page_source_imitate(struct page_source *s, enum recto_official how);
/* Start the helper now if it is not running, to learn at once whether that works. RECTO_ERENDER
 * names the path. */
int page_source_start(struct page_source *s);
/* Process id of the helper; 0 when none runs. */
pid_t page_source_helper(const struct page_source *s);
/* Decode the n bytes at data. out->rgb is the caller's (free), orientation is applied; note may be
 * NULL, else page_note_reset it (also after a failure). On failure *out is empty and the sentence
 * starts with `name: ` (unless NULL):
 *     RECTO_EEMPTY, RECTO_EKIND, RECTO_EDAMAGED, RECTO_ETRUNCATED, RECTO_ETOOLARGE: the file's
 *     RECTO_ERENDER: the helper is missing, crashed or took too long; the next call starts another
 *     RECTO_ENOMEM */
int page_decode(struct page_source *s, const char *name, const void *data, size_t n,
                struct recto_image *out, struct page_note *note);
/* Frame 0, 1, ... of a file that has several: a page of a TIFF, a frame of an animation on its
 * canvas, without the warning that there are others. RECTO_EPAGERANGE. */
int page_decode_frame(struct page_source *s, const char *name, const void *data, size_t n,
                      int frame, struct recto_image *out, struct page_note *note);
/* How many pages or frames the file has, or a failure as page_decode's, without a name. */
int page_count(struct page_source *s, const void *data, size_t n);
void page_source_close(struct page_source *s); /* NULL is fine */

/* How this source would run the helper for a PDF; the path stays the source's. */
struct pdf_tool page_source_pdf_tool(const struct page_source *s);
/* Say in the log, once in a process, what the sandbox lacks (enum decode_sandbox). */
void page_source_warn_missing(unsigned missing);

#endif
