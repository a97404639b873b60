#include "result/writer.h"

#include "base/err.h"
#include "base/mem.h"

static const struct writer *const writers[] = {&writer_md, &writer_txt, &writer_json, &writer_raw};

const struct writer *writer_find(const char *name)
{
    for (size_t i = 0; name && i < COUNT(writers); i++)
        if (strcmp(writers[i]->name, name) == 0)
            return writers[i];
    return NULL;
}

void writer_run(const struct writer *w, const struct writer_opts *opts,
                const struct recto_page *const *page, int n_page, struct buf *out)
{
    struct writer_doc d = {.opts = opts, .out = out};

    w->open(&d);
    for (int i = 0; i < n_page; i++) {
        w->page(&d, page[i]);
        d.n_page++;
    }
    w->close(&d);
}

const char *writer_problem(const struct recto_page *p)
{
    switch (p->status) {
    case RECTO_PAGE_SUSPECT:
        return "suspect, text may be wrong";
    case RECTO_PAGE_LOOP:
        return "loop, text incomplete";
    case RECTO_PAGE_LENGTH:
        return "length, text incomplete";
    case RECTO_PAGE_SKIPPED:
        return "skipped, not read";
    case RECTO_PAGE_ERROR:
        return "error";
    case RECTO_PAGE_CANCELLED:
        return "cancelled, not read";
    default:
        return NULL;
    }
}

int recto_write(const char *format, const struct recto_page *const *page, int n_page, char **out,
                size_t *n_out)
{
    const struct writer *w = writer_find(format);
    struct writer_opts opts = {0};
    struct buf b = {0};

    *out = NULL;
    *n_out = 0;
    if (!w)
        return err(RECTO_EUSAGE, "unknown format '%s': use md, txt, json or raw",
                   format ? format : "");
    writer_run(w, &opts, page, n_page, &b);
    buf_add(&b, "", 0); /* so that an empty document is a string too */
    *out = b.p;
    *n_out = b.n;
    return 0;
}

int recto_page_to_json(const struct recto_page *page, char **out, size_t *n_out)
{
    struct buf b = {0};

    writer_json_page(&b, page);
    *out = b.p;
    *n_out = b.n;
    return 0;
}
