/* Sources: ISO 32000-1, 7.7.3 (pages; inherited resources), 7.8 (content streams and resources). */
#include "helper/pdfout/file.h"

#include "base/err.h"
#include "base/mem.h"
#include "helper/pdfout/content.h"

#include <stdio.h>
#include <stdlib.h>

#define PARENTS_MAX 64  /* the page tree is from outside: it may be a ring */
#define NAMES_MAX   100 /* /Rct, /Rct1, ... of one page */
#define NESTED_MAX  10000

/* ---- resources --------------------------------------------------------------------------------- */

/* A dictionary with the same values; empty when `from` is none. */
static qpdf_oh copy_dictionary(struct out_file *f, qpdf_oh from)
{
    qpdf_oh to = qpdf_oh_new_dictionary(f->q);

    if (!qpdf_oh_is_dictionary(f->q, from))
        return to;
    qpdf_oh_begin_dict_key_iter(f->q, from);
    while (qpdf_oh_dict_more_keys(f->q)) {
        const char *key = qpdf_oh_dict_next_key(f->q);

        qpdf_oh_replace_key(f->q, to, key, qpdf_oh_get_key(f->q, from, key));
    }
    return to;
}

/* The page's own, or those of the nearest node above. */
static qpdf_oh find_resources(struct out_file *f, qpdf_oh page)
{
    qpdf_oh node = page;

    for (int i = 0; i < PARENTS_MAX && qpdf_oh_is_dictionary(f->q, node); i++) {
        qpdf_oh found = qpdf_oh_get_key(f->q, node, "/Resources");

        if (qpdf_oh_is_dictionary(f->q, found))
            return found;
        node = qpdf_oh_get_key(f->q, node, "/Parent");
    }
    return qpdf_oh_new_null(f->q);
}

/* "/Rct", or with a number behind it when the page calls another font so. */
static int free_name(struct out_file *f, qpdf_oh fonts, char *name, size_t cap)
{
    snprintf(name, cap, "%s", PDF_FONT_NAME);
    for (int i = 1; i < NAMES_MAX && qpdf_oh_has_key(f->q, fonts, name); i++)
        snprintf(name, cap, "%s%d", PDF_FONT_NAME, i);
    return qpdf_oh_has_key(f->q, fonts, name)
               ? err(RECTO_EDAMAGED, "damaged: a page has our font %d times", NAMES_MAX)
               : 0;
}

/* The page gets resources of its own: those it has, and our font. They may be shared between pages, so they are copied,
 * one level deep. */
static int add_font(struct out_file *f, qpdf_oh page, char *name, size_t cap)
{
    qpdf_oh resources = copy_dictionary(f, find_resources(f, page));
    qpdf_oh fonts = copy_dictionary(f, qpdf_oh_get_key(f->q, resources, "/Font"));

    TRY(free_name(f, fonts, name, cap));
    qpdf_oh_replace_key(f->q, fonts, name, file_object(f, f->font));
    qpdf_oh_replace_key(f->q, resources, "/Font", fonts);
    qpdf_oh_replace_key(f->q, page, "/Resources", resources);
    return 0;
}

/* ---- contents ---------------------------------------------------------------------------------- */

static void add_times(struct buf *b, const char *op, int n)
{
    for (int i = 0; i < MIN(n, NESTED_MAX); i++)
        buf_text(b, op);
}

/* Before the page's own content: one q, and one for each Q that it has too many. */
static qpdf_oh save_stream(struct out_file *f, int n_early)
{
    struct buf b = {0};
    qpdf_oh stream;

    if (n_early == 0 && f->save)
        return file_object(f, f->save);
    buf_text(&b, "q\n");
    add_times(&b, "q\n", n_early);
    stream = file_stream(f, buf_view(&b));
    buf_reset(&b);
    if (n_early == 0)
        f->save = qpdf_oh_get_object_id(f->q, stream);
    return stream;
}

/* Behind it: n_restore Q's, then the text with the font's name on this page. */
static qpdf_oh text_stream(struct out_file *f, int n_restore, str text, const char *name)
{
    const str plain = STR(PDF_FONT_NAME " ");
    struct buf b = {0};
    size_t from = 0, at;
    qpdf_oh stream;

    add_times(&b, "Q\n", n_restore);
    while ((at = str_find(text, plain, from)) < text.n) {
        buf_add(&b, text.p + from, at - from);
        buf_fmt(&b, "%s ", name);
        from = at + plain.n;
    }
    buf_add(&b, text.p + from, text.n - from);
    stream = file_stream(f, buf_view(&b));
    buf_reset(&b);
    return stream;
}

/* The page's content streams as an array of its own; empty when there is none. */
static qpdf_oh own_contents(struct out_file *f, qpdf_oh page)
{
    qpdf_oh contents = qpdf_oh_get_key(f->q, page, "/Contents"), all = qpdf_oh_new_array(f->q);
    int n = qpdf_oh_is_array(f->q, contents) ? qpdf_oh_get_array_n_items(f->q, contents) : 0;

    if (qpdf_oh_is_stream(f->q, contents))
        qpdf_oh_append_item(f->q, all, contents);
    for (int i = 0; i < n; i++) {
        qpdf_oh item = qpdf_oh_get_array_item(f->q, contents, i);

        if (qpdf_oh_is_stream(f->q, item))
            qpdf_oh_append_item(f->q, all, item);
    }
    return all;
}

/* Look at the page's content; cleaned gets it without its invisible text. What cannot be unpacked is not looked at, and
 * stays. */
static void look_at(struct out_file *f, qpdf_oh page, struct content_look *look,
                    struct buf *cleaned)
{
    unsigned char *bytes = NULL;
    size_t n = 0;

    *look = (struct content_look){0};
    if (qpdf_oh_get_page_content_data(f->q, page, &bytes, &n) & QPDF_ERRORS)
        (void)qpdf_get_error(f->q);
    else if (bytes)
        content_look(look, (str){(const char *)bytes, n}, cleaned);
    free(bytes);
}

static void set_contents(struct out_file *f, qpdf_oh page, const struct content_look *look,
                         const struct buf *cleaned, str text, const char *name)
{
    qpdf_oh all = own_contents(f, page);
    bool is_empty = qpdf_oh_get_array_n_items(f->q, all) == 0;

    if (look->n_invisible && !(f->flags & PDF_OLD_KEEP)) {
        all = qpdf_oh_new_array(f->q);
        qpdf_oh_append_item(f->q, all, file_stream(f, buf_view(cleaned)));
    }
    if (!is_empty)
        qpdf_oh_insert_item(f->q, all, 0, save_stream(f, look->n_early));
    qpdf_oh_append_item(f->q, all, text_stream(f, is_empty ? 0 : look->n_open + 1, text, name));
    qpdf_oh_replace_key(f->q, page, "/Contents", all);
}

static int find_page(struct out_file *f, unsigned number, unsigned drawn, qpdf_oh *page)
{
    unsigned index = f->by_drawn ? drawn : number;

    if (!(f->flags & PDF_HAS_DOCUMENT) && f->new_page) {
        *page = file_object(f, f->new_page);
        return 0;
    }
    if (index < 1 || (int)index > qpdf_get_num_pages(f->q))
        return err(RECTO_EFORMAT, "there is no page %u", number);
    *page = qpdf_get_page_n(f->q, index - 1);
    return file_check(f);
}

int page_add_text(struct out_file *f, unsigned number, unsigned drawn, str text)
{
    struct content_look look;
    struct buf cleaned = {0};
    char name[16];
    qpdf_oh page;
    int rc;

    TRY(find_page(f, number, drawn, &page));
    look_at(f, page, &look, &cleaned);
    if (look.n_invisible && (f->flags & PDF_OLD_SKIP)) {
        buf_reset(&cleaned);
        return 0;
    }
    rc = add_font(f, page, name, sizeof name);
    if (rc == 0)
        set_contents(f, page, &look, &cleaned, text, name);
    buf_reset(&cleaned);
    file_release(f);
    return rc < 0 ? rc : file_check(f);
}
