/* Pictures of one page: as it was read, with its boxes, its figures. Made once, kept in the cache. */
#include "result.h"

#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct drawing {
    struct jobs *jobs;
    const struct job_row *job;
    const struct page_row *row;
    int width;          /* of an image */
    const char *format; /* "overlay", "figures" */
    int k, n;           /* figure wanted, figures seen */
    int fd, rc;
    bool is_png, is_found;
    struct fault_note why;
};

static int draw_image(struct drawing *d)
{
    struct recto_document *doc;
    struct recto_image image = {0};

    TRY(job_document(d->jobs, d->job, d->row->input, &doc));
    int rc = recto_document_render(doc, d->row->input_page, &image);
    if (rc < 0)
        rc = fault(JOBS_UNREADABLE, NULL, "page %d: %s", d->row->page, recto_last_error());
    recto_document_close(doc);
    if (rc == 0 && !picture_shrink(&image, d->width))
        rc = fault(JOBS_INTERNAL, NULL, "no memory for a picture of %d x %d", image.width,
                   image.height);
    if (rc == 0)
        rc = picture_write(&image, d->fd);
    recto_image_reset(&image);
    return rc;
}

/* Side files of "overlay" and "figures": the k-th is the one. */
static int take_side(void *ctx, const char *side, const void *bytes, size_t n)
{
    struct drawing *d = ctx;

    if (!side || ++d->n != d->k)
        return 0;
    d->is_found = true;
    d->is_png = strlen(side) > 4 && strcmp(side + strlen(side) - 4, ".png") == 0;
    if (write(d->fd, bytes, n) == (ssize_t)n)
        return 0;
    d->rc = fault_write("a picture");
    fault_save(&d->why, d->rc);
    return RECTO_EOUTPUT;
}

static int write_page(struct drawing *d, struct recto_document *doc)
{
    struct recto_write_options o;
    struct recto_writer *w;
    struct recto_page p;

    TRY(job_page_load(d->jobs, d->job, d->row, VERSION_MODEL, 0, &p));
    p.number = d->row->input_page; /* doc draws its own pages */
    recto_write_options_init(&o);
    o.doc = doc;
    o.stem = "page";
    int rc = recto_writer_open(&w, d->format, &o, take_side, d);
    if (rc == 0)
        rc = recto_writer_page(w, &p);
    int end = recto_writer_close(w);
    recto_page_reset(&p);
    if (rc == 0 && end == 0)
        return 0;
    return d->rc < 0
               ? fault_load(&d->why)
               : fault(JOBS_UNREADABLE, NULL, "page %d: %s", d->row->page, recto_last_error());
}

static int draw_boxes(struct drawing *d)
{
    struct recto_document *doc;

    if (d->row->best == 0)
        return fault(d->row->state == PAGE_ENDED ? JOBS_NOT_FOUND : JOBS_JOB_NOT_FINISHED, NULL,
                     "page %d has no reading", d->row->page);
    TRY(job_document(d->jobs, d->job, d->row->input, &doc));
    int rc = write_page(d, doc);
    recto_document_close(doc);
    if (rc == 0 && !d->is_found)
        rc = fault(JOBS_NOT_FOUND, NULL, "page %d has %d figures", d->row->page, d->n);
    return rc;
}

static int make(struct drawing *d, const char *path)
{
    char *tmp;

    TRY(blob_cache_new(&d->jobs->blob, d->job->id, &tmp, &d->fd));
    int rc = d->format ? draw_boxes(d) : draw_image(d);
    close(d->fd);
    if (rc == 0)
        rc = blob_cache_put(tmp, path);
    if (rc < 0)
        unlink(tmp);
    free(tmp);
    return rc;
}

/* A figure is a JPEG or a PNG: its first bytes say which. */
static void set_media(struct jobs_body *out)
{
    char head[4] = "";

    if (pread(out->fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head + 1, "PNG", 3) == 0)
        snprintf(out->media_type, sizeof out->media_type, "image/png");
}

static int give(struct drawing *d, const char *name, struct jobs_body *out)
{
    char *path = blob_cached(&d->jobs->blob, d->job->id, name);
    int rc = body_of_file(out, path, "image/jpeg");

    if (rc < 0) {
        rc = make(d, path);
        if (rc == 0)
            rc = body_of_file(out, path, "image/jpeg");
    }
    if (rc == 0) {
        set_media(out);
        snprintf(out->etag, sizeof out->etag, "%s-%.40s", d->job->id, name);
        body_name(out, d->job->name, name);
    }
    free(path);
    return rc;
}

static int picture(struct jobs *j, const char *owner, const char *id, int page, struct drawing d,
                   const char *what, struct jobs_body *out)
{
    struct page_row row = {0};
    struct job_row job = {0};
    char name[64];

    *out = (struct jobs_body){.fd = -1};
    int rc = job_find_page(j, owner, id, page, &job, &row);
    d.jobs = j;
    d.job = &job;
    d.row = &row;
    if (d.format)
        snprintf(name, sizeof name, "p%06d-a%d-%s%d.jpg", page, row.best, what, d.k);
    else
        snprintf(name, sizeof name, "p%06d-%s%d.jpg", page, what, d.width);
    if (rc == 0)
        rc = give(&d, name, out);
    page_row_reset(&row);
    job_row_reset(&job);
    if (rc < 0)
        jobs_body_reset(out);
    return rc;
}

int jobs_page_image(struct jobs *j, const char *owner, const char *id, int page, int width,
                    struct jobs_body *out)
{
    *out = (struct jobs_body){.fd = -1};
    if (width != 0 && width != 160 && width != 800 && width != 1600)
        return fault(JOBS_INVALID_VALUE, "w", "a width is 160, 800, 1600 or full, not %d", width);
    return picture(j, owner, id, page, (struct drawing){.width = width}, "w", out);
}

int jobs_page_overlay(struct jobs *j, const char *owner, const char *id, int page,
                      struct jobs_body *out)
{
    return picture(j, owner, id, page, (struct drawing){.format = "overlay", .k = 1}, "overlay",
                   out);
}

int jobs_page_crop(struct jobs *j, const char *owner, const char *id, int page, int k,
                   struct jobs_body *out)
{
    return picture(j, owner, id, page, (struct drawing){.format = "figures", .k = k}, "f", out);
}
