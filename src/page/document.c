#include "page/document.h"

#include "base/err.h"
#include "base/file.h"
#include "base/kind.h"
#include "base/mem.h"
#include "page/range.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES      1024
#define PT_PER_INCH     72.0
#define IMAGE_DPI_LEAST 36
#define IMAGE_DPI_MOST  2400
#define IMAGE_DPI_ELSE  150
#define IMAGE_BYTES     ((size_t)1 << 29) /* of an image file, as base/decode_proto.h */

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_address(const char *path)
{
    return strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0 ||
           strncasecmp(path, "ftp://", 6) == 0;
}

static int check_kind(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err(RECTO_EREAD, "cannot read: %s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err(RECTO_EREAD, "cannot read: is a directory");
    if (!S_ISREG(st.st_mode))
        return err(RECTO_EKIND, "not a regular file; give a pipe as standard input, with -");
    return st.st_size ? 0 : err(RECTO_EEMPTY, "empty file");
}

/* Not blocking, since it may turn out to be a pipe that nobody writes to. */
static int open_path(const char *path)
{
    int fd, rc;

    if (is_address(path) && !file_exists(path))
        return err(RECTO_EURL, "addresses are not fetched; download it first");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? err(RECTO_ENOTFOUND, "no such file")
                   : err(RECTO_EREAD, "cannot read: %s", strerror(errno));
    rc = check_kind(fd);
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

/* Bytes as a file, which is what a PDF is drawn from. */
static int file_of_bytes(const void *data, size_t n)
{
    int fd = memfd_create("recto-document", MFD_CLOEXEC);
    const char *p = data;

    while (fd >= 0 && n) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            close(fd);
            fd = -1;
            break;
        }
        p += done, n -= (size_t)done;
    }
    return fd >= 0 ? fd : err(RECTO_ENOMEM, "no memory for the document: %s", strerror(errno));
}

static int read_image(struct page_doc *d, int fd)
{
    struct stat st;
    size_t n;

    if (fstat(fd, &st) < 0)
        return err(RECTO_EREAD, "cannot read: %s", strerror(errno));
    n = (size_t)st.st_size;
    if (n > IMAGE_BYTES)
        return err(RECTO_ETOOLARGE, "%zu bytes are over the limit of an image file (512 MiB)", n);
    d->bytes.p = malloc(n + 1);
    if (!d->bytes.p)
        return err(RECTO_ENOMEM, "no memory for a file of %zu bytes", n);
    d->bytes.cap = n + 1;
    while (d->bytes.n < n) {
        ssize_t got = pread(fd, d->bytes.p + d->bytes.n, n - d->bytes.n, (off_t)d->bytes.n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err(RECTO_EREAD, "cannot read: %s", strerror(errno));
        if (got == 0)
            break; /* it shrank meanwhile */
        d->bytes.n += (size_t)got;
    }
    return 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

static atomic_uint n_memory; /* documents that are in memory */

static void warn(struct page_doc *d, const char *text)
{
    d->warning[d->n_warning++] = text;
}

static int open_pdf(struct page_doc *d, struct page_source *s, const struct recto_input *in, int fd)
{
    struct pdf_tool tool = page_source_pdf_tool(s);

    d->is_pdf = true;
    d->look = (struct pdf_look){.dpi = in->dpi, .hides_annots = in->no_annots};
    TRY(pdf_open(&d->pdf, &tool, fd, in->password));
    page_source_warn_missing(d->pdf.missing);
    if (d->pdf.is_repaired && in->strict)
        return err(RECTO_EDAMAGED, "damaged: its table of contents had to be repaired");
    if (d->pdf.is_decrypted)
        d->serial = atomic_fetch_add(&n_memory, 1) + 1;
    if (d->pdf.is_encrypted)
        warn(d, "encrypted, empty user password");
    if (d->pdf.is_repaired)
        warn(d, "repaired");
    d->n_page = d->pdf.n_page;
    return 0;
}

/* Of this kind, as it is to be read, the file may have several pages. */
static bool has_pages(struct page_doc *d, const char *kind, const char *frames)
{
    if (strcmp(kind, "TIFF") == 0 || strcmp(kind, "BigTIFF") == 0)
        return true;
    if (!frames || (strcmp(kind, "GIF") != 0 && strcmp(kind, "WebP") != 0))
        return false;
    d->frames = mem_strdup(frames);
    return true;
}

static int open_image(struct page_doc *d, struct page_source *s, const struct recto_input *in,
                      int fd)
{
    d->n_page = 1;
    if (fd >= 0)
        TRY(read_image(d, fd));
    else
        buf_add(&d->bytes, in->data, in->len);
    if (!has_pages(d, kind_of(d->bytes.p, d->bytes.n), in->frames))
        return 0;
    d->n_page = page_count(s, d->bytes.p, d->bytes.n);
    return d->n_page < 0 ? d->n_page : 0;
}

static int open_any(struct page_doc *d, struct page_source *s, const struct recto_input *in)
{
    char head[HEAD_BYTES];
    int fd = -1, rc;
    ssize_t n;

    if (in->path) {
        fd = open_path(in->path);
        if (fd < 0)
            return fd;
        n = pread(fd, head, sizeof head, 0);
        if (n > 0 && pdf_is(head, (size_t)n))
            return open_pdf(d, s, in, fd);
    } else if (pdf_is(in->data, in->len)) {
        d->serial = atomic_fetch_add(&n_memory, 1) + 1;
        fd = file_of_bytes(in->data, in->len);
        return fd < 0 ? fd : open_pdf(d, s, in, fd);
    }
    rc = open_image(d, s, in, fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

int page_doc_open(struct page_doc *d, struct page_source *s, const struct recto_input *in)
{
    int rc;

    *d = (struct page_doc){.pdf.fd = -1};
    d->name = mem_strdup(in->name ? in->name : in->path ? in->path : "bytes");
    rc = open_any(d, s, in);
    return rc < 0 ? err_prefix(rc, "%s", d->name) : 0;
}

void page_doc_close(struct page_doc *d)
{
    pdf_close(&d->pdf);
    buf_reset(&d->bytes);
    free(d->name);
    free(d->frames);
    *d = (struct page_doc){.pdf.fd = -1};
}

/* ---- pages ----------------------------------------------------------------------------------- */

int page_doc_select(const struct page_doc *d, const char *pages, int **page, int *n, int *is_past)
{
    int rc = range_select(d->frames ? d->frames : pages, d->n_page, page, n, is_past);

    return rc < 0 ? err_prefix(rc, "%s", d->name) : 0;
}

static int draw_pdf(const struct page_doc *d, int page, struct recto_image *out,
                    struct page_note *note)
{
    double dpi;
    int rc = pdf_draw(&d->pdf, page, &d->look, out, &dpi);

    if (rc < 0 || !note)
        return rc;
    *note = (struct page_note){.kind = "PDF",
                               .declared_width = out->width,
                               .declared_height = out->height,
                               .rows = out->height,
                               .reduce = 1,
                               .orientation = 1,
                               .dpi_x = (int)(dpi + 0.5),
                               .dpi_y = (int)(dpi + 0.5),
                               .dpi = dpi,
                               .width_pt = d->pdf.page[page - 1].w,
                               .height_pt = d->pdf.page[page - 1].h,
                               .turn_pt = d->pdf.page[page - 1].turn};
    memcpy(note->crop_pt, d->pdf.page[page - 1].crop, sizeof note->crop_pt);
    return 0;
}

/* A picture that says how large it is on paper is believed within reason. */
static double image_dpi(int dpi)
{
    return dpi >= IMAGE_DPI_LEAST && dpi <= IMAGE_DPI_MOST ? dpi : IMAGE_DPI_ELSE;
}

/* The page that an image would be, in points: its own pixels, not those of a reduced decoding. */
static void set_image_frame(struct page_note *note, const struct recto_image *im)
{
    bool is_swapped = note->orientation >= 5;
    int w = is_swapped ? note->declared_height : note->declared_width;
    int h = is_swapped ? note->declared_width : note->declared_height;

    note->crop_pt[2] = PT_PER_INCH * (w ? w : im->width) / image_dpi(note->dpi_x);
    note->crop_pt[3] = PT_PER_INCH * (h ? h : im->height) / image_dpi(note->dpi_y);
}

int page_doc_draw(const struct page_doc *d, struct page_source *s, int page,
                  struct recto_image *out, struct page_note *note)
{
    int rc;

    *out = (struct recto_image){0};
    if (note)
        *note = (struct page_note){.reduce = 1, .orientation = 1};
    if (page < 1 || page > d->n_page)
        return err(RECTO_EPAGERANGE, "%s: no page %d (has %d)", d->name, page, d->n_page);
    page_source_imitate(s, d->official);
    rc = d->is_pdf ? draw_pdf(d, page, out, note)
         : d->n_page == 1 && !d->frames
             ? page_decode(s, NULL, d->bytes.p, d->bytes.n, out, note)
             : page_decode_frame(s, NULL, d->bytes.p, d->bytes.n, page - 1, out, note);
    if (rc == 0 && note && !d->is_pdf)
        set_image_frame(note, out);
    if (rc == 0)
        return 0;
    return d->n_page > 1 ? err_prefix(rc, "%s:%d", d->name, page) : err_prefix(rc, "%s", d->name);
}

/* A PDF is told by its file, not by its bytes: they may be gigabytes. One that came as bytes is told
 * from every other. */
str page_doc_identity(const struct page_doc *d, int page, struct buf *room)
{
    struct stat st = {0};

    if (!d->is_pdf && d->n_page == 1)
        return buf_view(&d->bytes);
    if (!d->is_pdf) {
        buf_fmt(room, "page %d of ", page);
        buf_str(room, buf_view(&d->bytes));
        return buf_view(room);
    }
    fstat(d->pdf.fd, &st);
    buf_fmt(room, "pdf %u %lld %lld %lld %lld %lld page %d dpi %d annots %d", d->serial,
            (long long)st.st_dev, (long long)st.st_ino, (long long)st.st_size,
            (long long)st.st_mtim.tv_sec, (long long)st.st_mtim.tv_nsec, page, d->look.dpi,
            d->look.hides_annots);
    return buf_view(room);
}
