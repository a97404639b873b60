/* The files of a corpus:
 *
 *     DIR/index.jsonl                          the run, then a line for each page
 *     DIR/pages/NAME.png|jpg|pdf               or one pages/book.pdf
 *     DIR/truth/NAME.txt .md .json .html       .html: the tables, where there are any */
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "fonts.h"
#include "job.h"

#include <cairo-pdf.h>
#include <errno.h>
#include <math.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct truth {
    struct buf txt, md, json, html;
    int n_page;
};

struct writer {
    const struct job *job;
    struct truth truth; /* of the file being written */
    struct buf index;
    cairo_surface_t *book; /* FORM_BOOK */
};

/* ---- small things ---------------------------------------------------------------------------- */

static int save(const struct job *j, const char *folder, const char *name, const char *extension,
                str content)
{
    char path[1024];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s%s%s", j->dir, folder, name, extension);
    f = fopen(path, "wb");
    if (!f)
        return err(RECTO_EOUTPUT, "cannot write %s: %s", path, strerror(errno));
    bool is_whole = fwrite(content.p, 1, content.n, f) == content.n;
    is_whole = fclose(f) == 0 && is_whole;
    return is_whole ? 0 : err(RECTO_EOUTPUT, "cannot write %s: %s", path, strerror(errno));
}

static int make_folder(const char *dir, const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s%s", dir, name);
    if (mkdir(path, 0777) < 0 && !file_is_dir(path))
        return err(RECTO_EOUTPUT, "cannot make the folder %s: %s", path, strerror(errno));
    return 0;
}

static void index_add(struct buf *index, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(8));

    buf_text(index, text);
    buf_char(index, '\n');
    free(text);
    json_decref(line);
}

/* ---- truth ----------------------------------------------------------------------------------- */

static void truth_add(struct truth *t, const struct sheet *s, double px_per_pt)
{
    if (t->n_page++ == 0)
        sheet_json_open(&t->json);
    else {
        buf_char(&t->txt, '\f');
        buf_fmt(&t->md, "\n<!-- page %d -->\n\n", t->n_page);
        buf_char(&t->json, ',');
    }
    sheet_txt(s, &t->txt);
    sheet_md(s, &t->md);
    sheet_tables(s, &t->html);
    sheet_json(s, t->n_page, px_per_pt, &t->json);
}

static int truth_save(struct truth *t, const struct job *j, const char *name)
{
    int rc;

    sheet_json_close(&t->json);
    TRY_OUT(save(j, "truth/", name, ".txt", buf_view(&t->txt)));
    TRY_OUT(save(j, "truth/", name, ".md", buf_view(&t->md)));
    TRY_OUT(save(j, "truth/", name, ".json", buf_view(&t->json)));
    if (t->html.n)
        TRY_OUT(save(j, "truth/", name, ".html", buf_view(&t->html)));
out:
    buf_reset(&t->txt);
    buf_reset(&t->md);
    buf_reset(&t->json);
    buf_reset(&t->html);
    *t = (struct truth){0};
    return rc;
}

/* ---- PDF ------------------------------------------------------------------------------------- */

static cairo_status_t append(void *out, const unsigned char *p, unsigned n)
{
    buf_add(out, p, n);
    return CAIRO_STATUS_SUCCESS;
}

/* The date would differ from run to run. */
static void undate(cairo_surface_t *pdf)
{
    cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
}

/* The picture over the whole page, as the JPEG it would be as a file unless that loses a 1-bit scan. */
static int paint_raster(const struct page *p, const struct job *j, const struct raster *r,
                        cairo_t *cr)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, r->width, r->height);
    unsigned char *data = cairo_image_surface_get_data(s);
    struct buf jpeg = {0};

    for (int y = 0; y < r->height; y++)
        for (int x = 0; x < r->width; x++) {
            const unsigned char *q = r->px + ((size_t)y * (size_t)r->width + (size_t)x) * 3;
            uint32_t v = (uint32_t)q[0] << 16 | (uint32_t)q[1] << 8 | q[2];

            memcpy(data + (size_t)y * (size_t)cairo_image_surface_get_stride(s) + (size_t)x * 4, &v,
                   4);
        }
    cairo_surface_mark_dirty(s);
    if (p->spoils & SPOIL_JPEG30 || !(p->spoils & SPOIL_BITS1)) {
        raster_jpeg(r, p->spoils & SPOIL_JPEG30 ? 30 : 90, &jpeg);
        cairo_surface_set_mime_data(s, CAIRO_MIME_TYPE_JPEG, (unsigned char *)jpeg.p, jpeg.n, free,
                                    jpeg.p);
    }
    cairo_scale(cr, p->sheet.width / r->width, p->sheet.height / r->height);
    cairo_set_source_surface(cr, s, 0, 0);
    cairo_paint(cr);
    cairo_surface_destroy(s);
    return 0;
}

static int pdf_page(struct page *p, const struct job *j, cairo_surface_t *pdf)
{
    cairo_t *cr;

    cairo_pdf_surface_set_size(pdf, p->sheet.width, p->sheet.height);
    cr = cairo_create(pdf);
    if (p->is_picture) {
        struct raster r = page_raster(p, j);

        paint_raster(p, j, &r, cr);
        raster_reset(&r);
    } else
        page_draw(p, j, cr);
    cairo_show_page(cr);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    return status ? err(RECTO_EOUTPUT, "page %d: %s", p->number, cairo_status_to_string(status))
                  : 0;
}

static int pdf_file(struct page *p, const struct job *j, struct buf *out)
{
    cairo_surface_t *pdf = cairo_pdf_surface_create_for_stream(append, out, 1, 1);

    undate(pdf);
    int rc = pdf_page(p, j, pdf);
    cairo_surface_finish(pdf);
    cairo_surface_destroy(pdf);
    return rc;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static json_t *spoil_list(unsigned spoils)
{
    json_t *list = json_array();

    for (int i = 0; i < N_SPOIL; i++)
        if (spoils >> i & 1)
            json_array_append_new(list, json_string(spoil_name(i)));
    return list;
}

static void index_page(struct writer *w, const struct page *p, const char *file,
                       const struct buf *bytes)
{
    json_t *line = json_pack("{s:i, s:s, s:s, s:s, s:o, s:[ff]}", "page", p->number, "kind",
                             p->kind->name, "lang", p->lang->code, "file", file, "spoils",
                             spoil_list(p->spoils), "size_pt", p->sheet.width, p->sheet.height);
    char hex[SHA256_DIGEST_STRING_LENGTH];

    if (bytes) {
        SHA256Data((const unsigned char *)bytes->p, bytes->n, hex);
        json_object_set_new(line, "sha256", json_string(hex));
    }
    index_add(&w->index, line);
}

/* Its bytes into out, and the ending of its name. */
static int page_bytes(struct page *p, const struct job *j, struct buf *out, const char **extension)
{
    struct raster r;
    int rc;

    *extension = ".pdf";
    if (j->form == FORM_PDF)
        return pdf_file(p, j, out);
    r = page_raster(p, j);
    *extension = p->spoils & SPOIL_JPEG30 ? ".jpg" : ".png";
    rc = p->spoils & SPOIL_JPEG30 ? raster_jpeg(&r, 30, out) : raster_png(&r, out);
    raster_reset(&r);
    return rc;
}

static int file_page(struct writer *w, struct page *p)
{
    struct buf bytes = {0};
    const char *extension;
    char file[96];
    int rc;

    TRY_OUT(page_bytes(p, w->job, &bytes, &extension));
    snprintf(file, sizeof file, "pages/%s%s", p->name, extension);
    TRY_OUT(save(w->job, "", file, "", buf_view(&bytes)));
    index_page(w, p, file, &bytes);
    truth_add(&w->truth, &p->sheet, w->job->dpi / 72);
    rc = truth_save(&w->truth, w->job, p->name);
out:
    buf_reset(&bytes);
    return rc;
}

static int one_page(struct writer *w, int number)
{
    struct page p;
    int rc;

    page_plan(&p, w->job, number);
    if (w->book) {
        rc = pdf_page(&p, w->job, w->book);
        truth_add(&w->truth, &p.sheet, w->job->dpi / 72);
        index_page(w, &p, "pages/book.pdf", NULL);
    } else
        rc = file_page(w, &p);
    page_reset(&p);
    return rc;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int index_open(struct writer *w)
{
    static const char *const always[] = {"DejaVu Sans", "DejaVu Serif", "Liberation Sans",
                                         "Liberation Serif", "Z003"};
    static const char *const forms[] = {"png", "pdf", "book"};
    const struct job *j = w->job;
    json_t *fonts = json_array();

    for (size_t i = 0; i < COUNT(always); i++)
        TRY(fonts_add(fonts, always[i]));
    for (int i = 0; i < j->n_lang && !kind_of_page(j->kind, 1)->is_english; i++)
        if (j->lang[i]->is_cjk) {
            TRY(fonts_add(fonts, j->lang[i]->sans));
            TRY(fonts_add(fonts, j->lang[i]->serif));
        }
    index_add(&w->index,
              json_pack("{s:s, s:s, s:I, s:s, s:s*, s:i, s:s, s:f, s:s, s:s, s:o}", "corpus",
                        "recto-corpus", "version", RECTO_VERSION, "seed", (json_int_t)j->seed,
                        "kind", j->kind, "level", level_names[j->level], "n", j->n, "as",
                        forms[j->form], "dpi", j->dpi, "pango", pango_version_string(), "cairo",
                        cairo_version_string(), "fonts", fonts));
    return 0;
}

static int book_close(struct writer *w)
{
    cairo_surface_finish(w->book);
    cairo_status_t status = cairo_surface_status(w->book);
    cairo_surface_destroy(w->book);
    if (status)
        return err(RECTO_EOUTPUT, "book.pdf: %s", cairo_status_to_string(status));
    return truth_save(&w->truth, w->job, "book");
}

int corpus_write(const struct job *j)
{
    struct writer w = {.job = j};
    char path[1024];
    int rc;

    TRY(make_folder(j->dir, ""));
    TRY(make_folder(j->dir, "/pages"));
    TRY(make_folder(j->dir, "/truth"));
    TRY_OUT(index_open(&w));
    if (j->form == FORM_BOOK) {
        snprintf(path, sizeof path, "%s/pages/book.pdf", j->dir);
        w.book = cairo_pdf_surface_create(path, 1, 1);
        undate(w.book);
    }
    for (int i = 1; i <= j->n; i++)
        TRY_OUT(one_page(&w, i));
    if (w.book)
        TRY_OUT(book_close(&w));
    rc = save(j, "", "index", ".jsonl", buf_view(&w.index));
out:
    buf_reset(&w.index);
    return rc;
}
