#include "picture.h"

#include <string.h>

/* The whole side file that the writer makes is the picture. */
static int save(void *ctx, const char *side, const void *bytes, size_t n)
{
    struct eval_fault f;

    return side ? eval_write_file(ctx, bytes, n, &f) : 0;
}

/* recto's overlay of a page on which nothing was found is the page. */
static bool write_page(struct recto_document *d, const struct recto_page *look, char *path)
{
    struct recto_page bare = {
        .number = look->number, .width = look->width, .height = look->height, .dpi = look->dpi};
    struct recto_write_options o;
    struct recto_writer *w;

    recto_write_options_init(&o);
    o.doc = d;
    o.stem = "page";
    if (recto_writer_open(&w, "overlay", &o, save, path) < 0)
        return false;
    int rc = recto_writer_page(w, &bare);
    return recto_writer_close(w) == 0 && rc == 0;
}

bool eval_picture(const struct eval_case *c, const struct recto_settings *s, const char *path)
{
    struct recto_document *d;
    struct recto_page look;
    char *copy;
    bool is_fine;

    if (!c->file || recto_document_open(&d, &(struct recto_input){.path = c->file}, s) < 0)
        return false;
    is_fine = recto_document_look(d, c->page, &look) == 0;
    if (is_fine) {
        copy = eval_copy(path);
        is_fine = write_page(d, &look, copy) && eval_is_file(path);
        recto_page_reset(&look);
        recto_free(copy);
    }
    recto_document_close(d);
    return is_fine;
}
