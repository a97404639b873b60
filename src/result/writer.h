/* Writers turn pages into bytes. A writer is a record; it sees the pages of one document in
 * order, and never the engine.
 *
 * Text formats write UTF-8 without byte order mark, "\n" at line ends and at the end; a document
 * without any text is empty.  The same pages, options and pixels give the same bytes.  What a
 * model wrote is text to all of them: no HTML beyond html.h, no address that becomes a link or an
 * image. */
#ifndef RECTO_RESULT_WRITER_H
#define RECTO_RESULT_WRITER_H

#include "base/str.h"
#include "result/pixels.h"

struct writer {
    struct recto_format format; /* what the public API says of it */
    size_t state_size;          /* bytes of zeroed memory at recto_writer.state */
    /* Each may be NULL; 0 or a negative code. */
    int (*open)(struct recto_writer *w);
    int (*page)(struct recto_writer *w, const struct recto_page *p);
    int (*close)(struct recto_writer *w);
    void (*reset)(struct recto_writer *w); /* free what state owns; also after a failure */
};

/* One document being written. */
struct recto_writer {
    const struct writer *kind;
    struct recto_write_options opts; /* checked, complete */
    struct buf out;  /* what a call appends here goes to the sink behind it: empty at the start */
    int n_page;      /* pages written so far */
    bool has_output; /* md: something was written; txt, raw: something of the last page was */
    void *state;     /* the format's own */
    const struct searchable *searchable; /* pdf; NULL: there is no document to copy */
    /* the rest belongs to write.c */
    recto_sink_fn *sink;
    void *sink_ctx;
    struct pixels *pixels;  /* shared with other writers; NULL: there are none */
    int warned_page;        /* told that this page's cannot be had */
    bool has_warned_pixels; /* told that there are none */
    int error;
};

/* In the order of recto_format_at. */
extern const struct writer writer_md, writer_txt, writer_html, writer_json, writer_jsonl,
    writer_hocr, writer_alto, writer_csv, writer_mmd, writer_raw, writer_pdf, writer_docx,
    writer_overlay, writer_figures;
/* "json" as other programs have it (recto_write_options.json_as). */
extern const struct writer writer_mineru, writer_docling;

/* recto_writer_open with any source of pixels, borrowed like o. */
int writer_open(struct recto_writer **out, const char *format, const struct recto_write_options *o,
                recto_sink_fn *sink, void *ctx, struct pixels *pixels);

/* The pixels of a page, of the size that the page says; until another page's are asked for, by this writer or one that
 * shares them. NULL when there are none: the writer does without, and the
 * user has been told. */
const struct recto_image *writer_pixels(struct recto_writer *w, const struct recto_page *p);

/* Hand over a whole side file. */
int writer_side(struct recto_writer *w, const char *name, str content);

/* A block's text as the options want it: a view of the block, or of joined, which the caller resets. */
str writer_text(const struct recto_writer *w, const struct recto_block *b, struct buf *joined);

/* Tell the user what could not be written as asked. */
void writer_warn(struct recto_writer *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One page as a JSON object of recto-layout-1, on one line without a newline. */
void writer_json_page(struct buf *out, const struct recto_page *p);

/* What is wrong with a page, in a few words: "loop, text incomplete"; NULL when nothing is. The
 * text of an error is the page's own. */
const char *writer_problem(const struct recto_page *p);

#endif
