/* Writers turn pages into bytes. A writer is a record; it sees the pages of one document in
 * order, and never the engine.
 *
 * All write UTF-8 without byte order mark, "\n" at line ends and at the end; a document without
 * any text is empty.  The same pages and options give the same bytes.  What a model wrote is
 * text to all of them: no HTML beyond html.h, no address that becomes a link or an image. */
#ifndef RECTO_RESULT_WRITER_H
#define RECTO_RESULT_WRITER_H

#include "base/str.h"
#include "recto.h"

/* What only the caller knows and the layout JSON has room for; NULL and -1 become null. */
struct writer_meta {
    const char *model_sha256, *backend, *precision;        /* tool */
    const char *source_name, *source_kind, *source_sha256; /* source */
    const char *task, *prompt, *guard, *rotate;            /* settings */
    int dpi, max_tokens, retries, n_pages;
};

struct writer_opts {
    bool figures;           /* files of figures are written beside the document: link them (md) */
    const char *stem;       /* with figures: links are STEM.files/p0001-f1.jpg */
    bool keep_furniture;    /* headers, footers and page numbers too (md, txt) */
    bool tex_math;          /* leave \( \) and \[ \] as they are (md) */
    const char *page_break; /* between pages (md); NULL: <!-- page 2 -->, "": only a blank line */
    const struct writer_meta *meta; /* json; may be NULL */
};

/* One document being written. */
struct writer_doc {
    const struct writer_opts *opts;
    struct buf
        *out;   /* grows page by page; what is there may be taken away in between (buf_clear) */
    int n_page; /* pages written so far */
    bool has_output; /* md: something was written; txt, raw: something of the last page was */
};

struct writer {
    const char *name, *extension;
    void (*open)(struct writer_doc *d);
    void (*page)(struct writer_doc *d, const struct recto_page *p);
    void (*close)(struct writer_doc *d);
};

extern const struct writer writer_md, writer_txt, writer_json, writer_raw;

/* "md", "txt", "json", "raw"; NULL if there is no such format. */
const struct writer *writer_find(const char *name);

/* Write a whole document to out. */
void writer_run(const struct writer *w, const struct writer_opts *opts,
                const struct recto_page *const *page, int n_page, struct buf *out);

/* One page as a JSON object of recto-layout-1, on one line without a newline. */
void writer_json_page(struct buf *out, const struct recto_page *p);

/* What is wrong with a page, in a few words: "loop, text incomplete"; NULL when nothing is. The
 * text of an error is the page's own. */
const char *writer_problem(const struct recto_page *p);

#endif
